// specialize: a model for each bucket of shapes, with its symbols bound to the bucket's sizes, optimized and,
// when there are devices, partitioned like the whole (docs/buckets.md). It has no options of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "graphopt/stages/lower.h"

namespace graphopt {

struct SpecializeStage {
  struct Model {
    std::vector<std::int64_t> sizes;  // in the order of the symbols of BucketsStage::Report
    std::uint64_t nodes = 0;          // by the counting rule of ModelFigures
    std::uint64_t bytes = 0;          // of its file, without shared weights; 0 when nothing was written
    // Of activations that are needed at once; nothing where a size is not a number.
    std::optional<std::uint64_t> peak_bytes;
    // With devices: subgraphs, those of accelerators, and the nodes in them.
    std::uint64_t subgraphs = 0, accelerator_subgraphs = 0, accelerator_nodes = 0;
    std::vector<LowerStage::Lowered> lowered;  // most frequent first
    std::string file;                          // empty when nothing was written
  };
  // What padding costs for the lengths of a histogram: sums over all observations.
  struct Waste {
    std::string symbol;
    std::uint64_t observed = 0;  // how many lengths
    std::uint64_t elements = 0, padded_elements = 0;
    std::vector<std::uint64_t> by_size;  // how many lengths take each size of the symbol
  };
  struct Report {
    std::vector<Model> models;  // in the order of their sizes
    std::vector<Waste> waste;   // of symbols with a histogram
  };
};

}  // namespace graphopt
