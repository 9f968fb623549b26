#include "partition/partition.h"

#include <utility>

#include "partition/algorithms.h"
#include "partition/finish.h"
#include "partition/unit_graph.h"

namespace graphopt::partition {
namespace {

Found run(const UnitGraph& graph, Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::Grow: return grow(graph);
    case Algorithm::Fewest: return fewest(graph);
    case Algorithm::Depth: return depth(graph);
  }
  return {};
}

}  // namespace

Result<Partition> partition(const Problem& problem, const Options& options) {
  if (const Status status = check(problem); !status) return status.errors();
  const UnitGraph graph = make_units(problem, options);
  Found found = run(graph, options.algorithm);
  Partition out = finish(problem, graph, found.labels);
  out.proven = found.proven;
  return out;
}

}  // namespace graphopt::partition
