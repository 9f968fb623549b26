// What a device is, and why its profile refuses a node (docs/devices.md).
#pragma once

#include <cstdint>

#include "graphopt/words.h"

namespace graphopt {

enum class DeviceKind : std::uint8_t { Cpu, Gpu, Npu, Dsp, Fpga, Other };
template <> struct Words<DeviceKind> {
  static constexpr std::string_view plural = "kinds";
  static constexpr std::array<std::string_view, 6> all = {"cpu", "gpu", "npu", "dsp", "fpga", "other"};
};

enum class DeviceRefusal : std::uint8_t {
  None,          // supported
  NoRule,        // no rule names the operator
  Opset,         // the rules are for other versions of the operator
  Presence,      // an operand is there and must not be, or is not and must
  Dtype,         // an element type, also: operands that must have one type
  Rank,          // a rank is not allowed or not known
  DynamicShape,  // a dim is no number, has no bound, or is not known
  Dims,          // a known dim is not allowed
  Bytes,         // an operand is too large or too small
  Constant,      // an operand must be a constant, or must not
  Value,         // elements of a constant are not allowed
  Attribute,     // an attribute's value is not allowed or not known
  Denied,        // deny_nodes names the node
  ControlFlow,   // a node with bodies: the device takes none, or a node inside is refused
  Qdq,           // the node must be inside a QDQ group, or must not
};
template <> struct Words<DeviceRefusal> {
  static constexpr std::string_view plural = "reasons";
  static constexpr std::array<std::string_view, 15> all = {
      "none",  "no_rule",       "opset",  "presence",     "dtype",
      "rank",  "dynamic_shape", "dims",   "bytes",        "constant",
      "value", "attribute",     "denied", "control_flow", "qdq"};
};

}  // namespace graphopt
