// A device profile: what a device takes, what it costs and how a runtime addresses it, as plain data.
//
// Profiles are files of the user's or ones that are installed beside the tool (docs/devices.md has every
// key); nothing about a device is compiled in. The reader (profile_reader.h) fills the struct, support.h
// evaluates its rules, atomic.h finds its groups. A member has the name and the meaning of the key in the
// file.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "graphopt/device_enums.h"
#include "ir/types.h"
#include "support/int_range.h"

namespace graphopt {

// Element types as in TensorProto.DataType, in the order of DType from 1.
inline constexpr std::array<std::string_view, 28> kDTypeNames = {
    "FLOAT",      "UINT8",          "INT8",       "UINT16",    "INT16",        "INT32",
    "INT64",      "STRING",         "BOOL",       "FLOAT16",   "DOUBLE",       "UINT32",
    "UINT64",     "COMPLEX64",      "COMPLEX128", "BFLOAT16",  "FLOAT8E4M3FN", "FLOAT8E4M3FNUZ",
    "FLOAT8E5M2", "FLOAT8E5M2FNUZ", "UINT4",      "INT4",      "FLOAT4E2M1",   "FLOAT8E8M0",
    "UINT2",      "INT2",           "FLOAT6E2M3", "FLOAT6E3M2"};
static_assert(static_cast<std::size_t>(DType::Float6E3M2) == kDTypeNames.size());

// What the dims of an operand must be. Bounded: a number, or an expression with a known greatest value.
enum class ShapeNeed : std::uint8_t { Any, Bounded, Static };

enum class Presence : std::uint8_t { Optional, Required, Absent };

// Who decided that an operator has no rule: the documents that the profile was made of, or what made it.
enum class OmittedBy : std::uint8_t { Source, Converter };

enum class ControlFlow : std::uint8_t { None, Whole };

using ProfileNumber = std::variant<std::int64_t, double>;
using ProfileScalar = std::variant<std::int64_t, double, std::string>;

// A condition on an attribute, or on the elements of a constant operand: all that are given hold together.
struct ValueCondition {
  std::vector<ProfileScalar> choices;      // key "enum": each element is one of them; empty: no condition
  std::optional<ProfileNumber> low, high;  // key "range": each element lies between them
  std::optional<IntRange> length;          // number of elements of a list; 1 for a single value
  std::optional<bool> present;
};

struct AttributeCondition {
  std::string name;
  ValueCondition value;
};

struct DimCondition {
  std::int64_t axis = 0;  // negative: from the end
  std::optional<IntRange> range;
  std::optional<std::int64_t> multiple_of;
  std::optional<bool> is_static;  // true: a number; false: no number
};

struct OperandCondition {
  static constexpr std::uint32_t kRest = 0xFFFFFFFFu;  // all operands without a condition of their own
  std::uint32_t index = 0;
  Presence presence = Presence::Optional;
  std::optional<std::vector<DType>> dtypes;  // else those of the profile
  std::optional<IntRange> ranks;             // else those of the profile
  std::optional<IntRange> extents;           // of each dim; else that of the profile, for inputs
  std::optional<bool> constant;              // true: the same in every run; false: not so
  std::optional<ValueCondition> value;       // on the elements of a constant
  std::vector<DimCondition> dims;
  std::optional<IntRange> bytes;
};

// A rule holds for a node when all its conditions hold.
struct SupportRule {
  std::string domain, op;  // domain "" is ai.onnx
  IntRange opset;          // of the version of the standard that last changed the operator, as imported
  std::vector<OperandCondition> inputs, outputs;
  std::vector<AttributeCondition> attributes;  // in the order of the file
  std::optional<ShapeNeed> shapes;             // else that of the profile
  std::vector<std::uint32_t> same_dtype;       // inputs
  std::optional<bool> qdq;                     // whether the node is inside a QDQ group (qdq_group.h)
  std::string note;
};

// An operator that the profile has no rule for on purpose.
struct OmittedOperator {
  std::string domain, op;  // domain "" is ai.onnx
  OmittedBy by = OmittedBy::Source;
  std::string note;  // what the source says, or why the converter wrote no rule
};

enum class AtomicKind : std::uint8_t { Qdq, State, Sequence, Optional, Chain, Nodes };

// Nodes that stay together (atomic.h).
struct AtomicRule {
  AtomicKind kind = AtomicKind::Qdq;
  std::vector<std::string> members;  // Chain: operators, "Conv" or "domain::Op"; Nodes: names of nodes
};

struct ProfileSource {
  std::string document, version, date;  // version and date: empty when not given
};

using NodeTable = std::map<std::string, std::int64_t, std::less<>>;  // nanoseconds by the name of a node

struct DeviceCost {
  // By element type; Undefined is "*", the rest. Sorted by type.
  std::vector<std::pair<DType, std::int64_t>> flops_per_s;
  std::optional<std::int64_t> memory_bytes_per_s;
  std::optional<std::int64_t> node_ns;
  std::string table;   // relative to the profile; empty: none
  NodeTable measured;  // what stands there
};

struct Profile {
  std::string id;
  DeviceKind kind = DeviceKind::Other;
  bool host = false;  // takes every node, whatever the rules say
  std::optional<std::int64_t> priority;

  std::string profile_version;
  std::vector<ProfileSource> sources;
  bool measured = false;
  std::vector<std::string> notes;  // for people: what the sources leave open

  std::optional<std::int64_t> memory_bytes;  // none: no limit
  std::int64_t launch_ns = 0;
  // None: memory is shared with the host, and borders cost nothing.
  std::optional<std::int64_t> to_device_bytes_per_s, from_device_bytes_per_s;
  std::int64_t transfer_latency_ns = 0;
  bool connected = false;  // takes only weakly connected subgraphs
  std::int64_t min_nodes = 1;
  std::optional<std::int64_t> max_subgraphs;
  ControlFlow control_flow = ControlFlow::None;

  ShapeNeed shapes = ShapeNeed::Any;         // of operands, unless the rule says otherwise
  std::optional<IntRange> ranks;             // of operands without their own
  std::optional<std::vector<DType>> dtypes;  // of operands without their own
  std::optional<IntRange> extents;           // of each dim of the inputs without their own; not of results

  std::string ep;  // name of ONNX Runtime's execution provider; empty: none
  std::vector<std::pair<std::string, std::string>> ep_options;  // in the order of the file
  std::string openvino_device;

  std::vector<SupportRule> rules;
  // Given: an operator that neither this nor the rules have is not in the sources. In the order of the file.
  std::optional<std::vector<OmittedOperator>> omitted;
  std::vector<std::string> allow_nodes, deny_nodes;  // globs: * and ?
  std::vector<AtomicRule> atomic;
  std::optional<DeviceCost> cost;

  std::string file, sha256;  // where it was read from, and the hash of its bytes; not keys
};

}  // namespace graphopt
