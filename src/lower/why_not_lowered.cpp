#include "lower/why_not_lowered.h"

#include <algorithm>
#include <utility>

#include "lower/expansion.h"
#include "ops/node_facts.h"
#include "placement/device_policy.h"
#include "rewrite/dead.h"
#include "rewrite/why.h"

namespace graphopt {
struct LoweringReasons::State {
  PassContext& c;
  DevicePolicy policy;
  DeadSweeper dead;
  std::vector<std::pair<Exact, std::unique_ptr<Rule>>> expansions;

  State(PassContext& context, std::span<const Profile> devices)
      : c(context), policy(devices, context.model, context.infer), dead(context.model) {
    for (const Expansion& e : all_expansions()) expansions.emplace_back(e.exact, e.make());
  }
  std::string refusals_of(std::span<const NodeId> written);
};

LoweringReasons::LoweringReasons(PassContext& c, std::span<const Profile> devices)
    : s_(std::make_unique<State>(c, devices)) {}
LoweringReasons::~LoweringReasons() = default;

bool LoweringReasons::is_supported(NodeId n) { return s_->policy.supporting(n) != 0; }

// Returns for each accelerator why it refuses the first of the nodes that it refuses.
std::string LoweringReasons::State::refusals_of(std::span<const NodeId> written) {
  std::vector<std::pair<std::string_view, std::string>> first;
  for (const NodeId n : written) {
    auto reasons = policy.reasons(n);
    if (first.empty()) first.resize(reasons.size());
    for (std::size_t d = 0; d < reasons.size(); ++d)
      if (first[d].second.empty()) first[d] = std::move(reasons[d]);
  }
  std::string out;
  for (const auto& [device, reason] : first)
    out +=
        (out.empty() ? "" : "; ") +
        (reason.empty() ? std::string(device) + " takes what it writes, but denies the node, would refuse " +
                              "a node next to it, or would give it back to the host"
                        : std::string(device) + " refuses what it writes: " + reason);
  return out;
}

std::vector<NotLowered> LoweringReasons::of(NodeId n) {
  PassContext& c = s_->c;
  Model& m = c.model;
  std::vector<NotLowered> out;
  // As for passes: the operator must be known at its opset.
  const bool known = facts_of(m, n).kind == m.kind(n);
  for (const auto& [exact, rule] : s_->expansions) {
    if (!known || std::ranges::find(rule->roots(), m.kind(n)) == rule->roots().end()) continue;
    NotLowered& no = out.emplace_back(NotLowered{rule->name(), {}});
    Why why;
    if (exact == Exact::No && keeps_bits(c.options.strictness)) {
      no.reason = "it rounds, which -O1 and --exact do not allow";
    } else if (!rule->match(c.matching(&why), n)) {
      no.reason = why.text(m, n);
      if (no.reason.empty()) no.reason = "it does not fit the node";
    } else {
      m.begin_trial();
      const std::size_t made_from = m.node_count();
      rule->apply(c, n);
      s_->dead.sweep();
      const std::vector<NodeId> written = written_nodes(m, made_from, n);
      c.infer.infer_in_trial(written);
      no.reason = s_->refusals_of(written);
      m.undo_trial();
    }
  }
  if (out.empty()) out.push_back({"", "there is no expansion of this operator"});
  return out;
}

}  // namespace graphopt
