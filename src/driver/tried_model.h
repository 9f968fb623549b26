// A copy of the model of a run, in which something is tried and looked at.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "devices/profile.h"
#include "driver/run.h"
#include "graphopt/error.h"
#include "graphopt/options.h"
#include "rewrite/context.h"

namespace graphopt {

// Inference has run in the copy. The journal counts what is tried, without a limit.
struct TriedModel {
  Model model;
  Inference inference;
  Journal journal;

  explicit TriedModel(const Work& work);
  PassContext context(const PassOptions& options) {
    return {.model = model, .infer = inference, .journal = journal, .options = options};
  }
};

// A partition of a model for the devices of a run.
struct PlanFigures {
  std::size_t subgraphs = 0, host_nodes = 0;
  std::vector<bool> on_host;  // by node
};
Result<PlanFigures> plan_figures(const Options& options, Model& m, const Inference& inference,
                                 std::span<const Profile> devices);

}  // namespace graphopt
