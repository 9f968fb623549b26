#include "driver/tried_model.h"

#include "driver/lowering.h"
#include "driver/partitioned.h"
#include "placement/placement.h"

namespace graphopt {

TriedModel::TriedModel(const Work& work)
    : model(work.model.clone()), inference(model, work.inference->options()) {
  inference.run();
  journal.begin_pass(kLowerPass);
}

Result<PlanFigures> plan_figures(const Options& options, Model& m, const Inference& inference,
                                 std::span<const Profile> devices) {
  const Placement placement = place(m, inference, devices);
  const auto found = partition::partition(placement.problem, partition_options(options.partition));
  if (!found) return found.errors();
  PlanFigures out{.subgraphs = found->size(), .host_nodes = 0, .on_host = std::vector<bool>(m.node_count())};
  for (std::size_t k = 0; k < placement.nodes.size(); ++k) {
    if (!devices[found->devices[found->subgraph_of[k]]].host) continue;
    out.on_host[placement.nodes[k].index()] = true;
    ++out.host_nodes;
  }
  return out;
}

}  // namespace graphopt
