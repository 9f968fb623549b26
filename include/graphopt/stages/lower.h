// lower: with devices, nodes that no accelerator supports are written in operators that one does
// (docs/lowering.md). Sizes of buckets are lowered each with their own numbers; the model without sizes is
// not.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace graphopt {

enum class Lowering : std::uint8_t {
  Auto,  // wherever a device then supports the node; at -O1 and with --exact only what keeps every bit
  Never,
};

struct LowerStage {
  struct Options {
    Lowering lower = Lowering::Auto;  // --lower
  };

  // Nodes of one operator that were lowered in one way.
  struct Lowered {
    std::string device, op;
    std::string expansion;                 // that the way begins with
    std::uint64_t nodes = 0, written = 0;  // how many, and how many stand in their place
  };
  // What became int32 in place of int64, for one device.
  struct Narrowed {
    std::string device;
    std::uint64_t nodes = 0, values = 0;  // with operands or results of int32; results of int32
    std::uint64_t casts = 0;              // that were added, before the passes ran again
  };
  struct Report {
    std::vector<Lowered> lowered;    // most frequent first
    std::vector<Narrowed> narrowed;  // in the order of the devices
    std::uint64_t nodes = 0;         // of all that were lowered
  };
};

}  // namespace graphopt
