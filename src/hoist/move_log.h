// What searches over moves kept and where limits stopped them, for --report.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "graphopt/search_limit.h"
#include "ir/model.h"

namespace graphopt {

struct MoveCost {
  std::int64_t compute = 0, free = 0, deform = 0;  // C', F, D of hoist/cost.h
  std::int64_t apart = 0, nodes = 0;               // see there
};

struct KeptMove {
  std::string_view pass;  // the name in its descriptor
  std::string_view kind;  // "merge", "fork", ... (docs/hoisting.md)
  NodeId place;  // the node where it started; erased since, perhaps, but place_of() still describes it
  MoveCost before, after;  // of the graph
};

// How often a limit of the search refused a candidate or cut it short.
struct LimitCount {
  SearchLimit limit{};
  std::uint64_t times = 0;
};

// The cost of a graph that was searched, when a search first saw it and when the last one left it.
struct GraphCost {
  std::uint32_t graph;  // its GraphId
  std::string name;
  MoveCost before, after;
};

struct MoveLog {
  std::vector<KeptMove> kept;
  std::vector<GraphCost> costs;    // in the order of the searches
  std::vector<LimitCount> limits;  // each once, those that were met

  void add_limit(SearchLimit limit, std::uint64_t times) {
    const auto known = std::ranges::find(limits, limit, &LimitCount::limit);
    if (known != limits.end()) known->times += times;
    else limits.push_back({limit, times});
  }
};

}  // namespace graphopt
