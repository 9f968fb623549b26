// What passes refused, and what a search over moves kept, for --report and --explain.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "graphopt/error.h"
#include "ir/model.h"

namespace graphopt {

struct MoveCost {
  std::int64_t compute = 0, free = 0, deform = 0;  // C', F, D of hoist/cost.h
};

struct KeptMove {
  std::string_view pass;  // the name in its descriptor
  std::string_view kind;  // "merge", "fork", ... (docs/hoisting.md)
  NodeId place;  // the node where it started; erased since, perhaps, but place_of() still describes it
  MoveCost before, after;  // of the graph
};

struct RefusedMove {
  std::string pass;
  std::string_view kind;  // of a search: listed in docs/hoisting.md, like its reasons; else the rule's name
  std::string reason;
  Place place;
  std::string value;       // the first result of the node at that place, or the initializer
  std::string_view limit;  // of reason "limit": its name; "" where a limit has none
};

// How often a limit of the search refused a candidate or cut it short.
struct LimitCount {
  std::string_view name;
  std::uint64_t times = 0;
};

// The cost of a graph that was searched, when a search first saw it and when the last one left it.
struct GraphCost {
  std::uint32_t graph;  // its GraphId
  std::string name;
  MoveCost before, after;
};

struct MoveLog {
  std::vector<std::string> explain;  // names of passes whose refusals are wanted
  std::vector<KeptMove> kept;
  std::vector<RefusedMove> refused;  // of the last run of each pass
  std::vector<GraphCost> costs;      // in the order of the searches
  std::vector<LimitCount> limits;    // each once, those that were met

  bool explains(std::string_view pass) const { return std::ranges::count(explain, pass) > 0; }

  void add_limit(std::string_view name, std::uint64_t times) {
    const auto known = std::ranges::find(limits, name, &LimitCount::name);
    if (known != limits.end()) known->times += times;
    else limits.push_back({name, times});
  }
};

}  // namespace graphopt
