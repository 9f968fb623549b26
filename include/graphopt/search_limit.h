// The limits of the search over moves and of the list of regions (docs/report.md).
#pragma once

#include <cstdint>

#include "graphopt/words.h"

namespace graphopt {

// Those that can cost a rewrite; the others only choose the way to the same result.
enum class SearchLimit : std::uint8_t {
  ClusterVisits,
  ForkConsumers,
  ConstantElements,
  PathNodes,
  PathOperands,
  BranchNodes,
  BlockChain,
  StridedSlices,
  StridedReaders,
  SliceChain,
  CommonUses,
  CommonOperands,
  DuplicateUses,
  RegionUpdate,
  RegionVisits,
  ClusterEdges,
};
template <> struct Words<SearchLimit> {
  static constexpr std::string_view plural = "limits";
  // Those of the fields of SearchLimits (draft/search_limits.h).
  static constexpr std::array<std::string_view, 16> all = {
      "cluster-visits",  "fork-consumers", "constant-elements", "path-nodes",
      "path-operands",   "branch-nodes",   "block-chain",       "strided-slices",
      "strided-readers", "slice-chain",    "common-uses",       "common-operands",
      "duplicate-uses",  "region-update",  "region-visits",     "cluster-edges",
  };
};

}  // namespace graphopt
