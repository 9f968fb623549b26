#include "driver/lowering.h"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "driver/clean_up.h"
#include "driver/narrowing.h"
#include "driver/partitioned.h"
#include "driver/stages/stage.h"
#include "driver/tried_model.h"
#include "ir/verify.h"
#include "lower/lower.h"
#include "lower/narrow.h"
#include "lower/why_not_lowered.h"
#include "placement/node_times.h"

namespace graphopt {
namespace {

// What the passes write of lowered nodes may be refused again, for dims that became known. So many times the
// model is lowered.
constexpr int kMostLowerings = 4;
// So many times it is tried which lowered nodes go back to the host.
constexpr int kMostTrials = 4;

bool is_accelerator(const Profile& d) { return !d.host; }

// Returns whether a partition may give nodes that a device supports to another one.
bool gives_back(std::span<const Profile> devices) {
  return std::ranges::any_of(devices, [](const Profile& d) {
    return is_accelerator(d) && (d.min_nodes > 1 || d.max_subgraphs || d.memory_bytes || knows_costs(d));
  });
}

bool is_worse(const PlanFigures& a, const PlanFigures& b) {
  return std::tie(a.host_nodes, a.subgraphs) > std::tie(b.host_nodes, b.subgraphs);
}

PassOptions pass_options(const Options& options) {
  return {.fold_limit = options.clean_up.fold_limit,
          .strictness = strictness_of(options.clean_up.level, options.clean_up.exact)};
}

class Lowerer {
 public:
  Lowerer(const Options& options, Work& work, const std::function<bool()>& should_stop, bool bound)
      : options_(options), work_(work), should_stop_(should_stop), bound_(bound) {}

  // Lowers, unless the partition becomes worse by it: after the passes have run, so few nodes may be left of
  // what was written that a device gives all of a subgraph back, and what it took before with it.
  Status run() {
    if (!gives_back(work_.devices)) return lower_rounds();
    const auto before = plan_figures(options_, work_.model, *work_.inference, work_.devices);
    if (!before) return before.errors();
    Model unlowered = work_.model.clone();
    const PipelineReport pipeline = work_.pipeline;
    if (Status done = lower_rounds(); !done) return done;
    if (work_.pipeline.stopped == StopReason::Stopped || (counts_.empty() && narrowed_.empty()))
      return Done{};
    const auto after = plan_figures(options_, work_.model, *work_.inference, work_.devices);
    if (!after) return after.errors();
    if (!is_worse(*after, *before)) return Done{};
    const InferOptions infer = work_.inference->options();
    work_.inference.reset();  // which listens to the model
    work_.model = std::move(unlowered);
    work_.inference.emplace(work_.model, infer).run();
    work_.pipeline = pipeline;
    work_.lowered.clear();
    work_.narrowed.clear();
    counts_.clear();
    narrowed_.clear();
    return Done{};
  }

  LowerStage::Report report() const {
    LowerStage::Report out;
    for (const auto& [key, counts] : counts_) {
      const auto& [device, op, expansion] = key;
      out.lowered.push_back({device, op, expansion, counts.first, counts.second});
      out.nodes += counts.first;
    }
    std::ranges::stable_sort(out.lowered, std::ranges::greater{}, &LowerStage::Lowered::nodes);
    for (const auto& [device, counts] : narrowed_) out.narrowed.push_back(counts);
    return out;
  }

 private:
  Status lower_rounds() {
    for (int round = 0; round < kMostLowerings; ++round) {
      std::unordered_set<NodeId> kept;
      if (gives_back(work_.devices))
        if (Status tried = try_partitions(kept); !tried) return tried;
      Journal journal(left());
      journal.begin_pass(kLowerPass);
      const PassOptions pass = pass_options(options_);
      PassContext context{
          .model = work_.model, .infer = *work_.inference, .journal = journal, .options = pass};
      const std::vector<LoweredNode> done = lower_in(context, kept);
      const auto narrowed = narrow_in(context);
      if (!narrowed) return narrowed.errors();
      if (done.empty() && narrowed->empty()) return Done{};
      if (auto broken = verify(work_.model)) {
        broken->what = std::string(kLowerPass) + ": " + broken->what;
        return *broken;
      }
      count(done);
      if (!options_.clean_up.explain.empty())
        work_.lowered.insert(work_.lowered.end(), done.begin(), done.end());
      count(*narrowed);
      if (!options_.clean_up.explain.empty())
        work_.narrowed.insert(work_.narrowed.end(), narrowed->begin(), narrowed->end());
      if (Status cleaned = clean(journal); !cleaned) return cleaned;
      if (work_.pipeline.stopped == StopReason::Stopped || left() == 0) return Done{};
    }
    return Done{};
  }

  std::uint64_t left() const {
    if (work_.rewrite_budget == Journal::kNoLimit) return Journal::kNoLimit;
    return work_.rewrite_budget - std::min(work_.rewrite_budget, work_.pipeline.rewrites);
  }

  std::vector<LoweredNode> lower_in(PassContext& c, const std::unordered_set<NodeId>& kept) const {
    return lower(c, {.devices = work_.devices, .kept = &kept, .should_stop = should_stop_});
  }

  // Makes integers int32 where the partition becomes better by it.
  Result<std::vector<NarrowedSet>> narrow_in(PassContext& c) const {
    std::unordered_set<NodeId> kept;
    const auto any = find_narrowed(options_, work_, should_stop_, kept);
    if (!any) return any.errors();
    if (!*any) return std::vector<NarrowedSet>{};
    return narrow(c, {.devices = work_.devices, .kept = &kept, .should_stop = should_stop_});
  }

  // Finds the nodes whose lowering does not pay: in the partition of the lowered model, what stands in their
  // place is on the host.
  Status try_partitions(std::unordered_set<NodeId>& kept) const {
    const PassOptions pass = pass_options(options_);
    for (int trial = 0; trial < kMostTrials; ++trial) {
      TriedModel tried(work_);
      PassContext context = tried.context(pass);
      const std::vector<LoweredNode> done = lower_in(context, kept);
      const auto plan = plan_figures(options_, tried.model, tried.inference, work_.devices);
      if (!plan) return plan.errors();
      const auto is_on_host = [&](NodeId n) { return tried.model.alive(n) && plan->on_host[n.index()]; };
      const std::size_t before = kept.size();
      for (const LoweredNode& l : done)
        if (std::ranges::any_of(l.made, is_on_host)) kept.insert(l.node);
      if (kept.size() == before) break;
    }
    return Done{};
  }

  void count(const std::vector<LoweredNode>& done) {
    const Model& m = work_.model;
    for (const LoweredNode& l : done) {
      const Op& op = m.op(l.op);
      std::string name(m.text(op.type));
      if (op.domain != kEmptyName) name = std::string(m.text(op.domain)) + "::" + name;
      auto& [nodes, written] = counts_[{work_.devices[l.device].id, std::move(name), std::string(l.first)}];
      ++nodes;
      written += l.made.size();
    }
  }

  void count(const std::vector<NarrowedSet>& done) {
    for (const NarrowedSet& s : done) {
      LowerStage::Narrowed& to = narrowed_[s.device];
      to.device = work_.devices[s.device].id;
      to.nodes += s.nodes.size();
      to.values += s.results.size();
      to.casts += s.casts;
    }
  }

  // Lets the passes run again, and adds their rewrites, and the lowering's before them, to the pipeline's.
  Status clean(const Journal& journal) {
    PipelineReport before = std::exchange(work_.pipeline, {});
    const std::uint64_t done = before.rewrites + journal.count();
    before.last_rewrite = journal.last();
    before.last_rewrite.number = done;
    const std::uint64_t budget = work_.rewrite_budget;
    if (budget != Journal::kNoLimit) work_.rewrite_budget = budget - std::min(budget, done);
    CleanUpHooks hooks;
    hooks.should_stop = should_stop_;
    hooks.bound = bound_;
    Status cleaned = clean_up(options_, work_, hooks);
    work_.rewrite_budget = budget;
    if (!cleaned) return cleaned;
    if (work_.pipeline.rewrites == 0) work_.pipeline.last_rewrite = before.last_rewrite;
    else work_.pipeline.last_rewrite.number += done;
    work_.pipeline.rewrites += done;
    return Done{};
  }

  const Options& options_;
  Work& work_;
  const std::function<bool()>& should_stop_;
  const bool bound_;
  // By device, operator and expansion: nodes, and nodes in their place.
  std::map<std::tuple<std::string, std::string, std::string>, std::pair<std::uint64_t, std::uint64_t>>
      counts_;
  std::map<std::size_t, LowerStage::Narrowed> narrowed_;  // by device
};

}  // namespace

bool lowers(const Options& options) {
  return options.lower.lower == Lowering::Auto && !options.partition.devices.empty() &&
         !options.partition.given && options.clean_up.level > 0 && is_wanted(Stage::CleanUp, options);
}

Status lower_model(const Options& options, Work& work, const std::function<bool()>& should_stop, bool bound,
                   LowerStage::Report& report) {
  if (!lowers(options) || work.left_alone || std::ranges::none_of(work.devices, is_accelerator))
    return Done{};
  Lowerer lowerer(options, work, should_stop, bound);
  if (Status done = lowerer.run(); !done) return done;
  report = lowerer.report();
  return Done{};
}

std::vector<CleanUpStage::Refused> explain_lowering(const Options& options, const Work& work) {
  const std::vector<std::string>& asked = options.clean_up.explain;
  const auto is_about = [](const std::string& item) {
    return explained_pass(item) == kLowerPass || explained_pass(item) == "all";
  };
  if (work.left_alone || std::ranges::none_of(asked, is_about)) return {};
  TriedModel tried(work);
  Model& m = tried.model;
  const PassOptions pass = pass_options(options);
  PassContext context = tried.context(pass);
  LoweringReasons reasons(context, work.devices);
  const ExplainWishes wishes(options.clean_up, m);
  // Of all nodes only those that something can be said of.
  const bool by_name = std::ranges::any_of(asked, [](const std::string& item) { return item != "all"; });
  std::vector<NodeId> nodes;
  for (NodeId n = m.first_node(m.main()); n; n = m.next_node(n)) nodes.push_back(n);
  RefusalLog log;
  for (const NodeId n : nodes) {
    if (m.kind(n) == OpKind::Constant || reasons.is_supported(n)) continue;
    const ValueId first = m.output(n, 0);
    RefusedCandidate r{std::string(kLowerPass), {}, {}, place_of(m, n), {}, {}, n};
    if (first) r.value = m.text(m.value(first).name);
    if (!wishes.about(r)) continue;
    if (m.ir_version < kFirstLoweredIrVersion) {
      r.reason = "nothing is lowered before IR version 4";
      log.refused.push_back(r);
      continue;
    }
    for (NotLowered& no : reasons.of(n)) {
      if (no.expansion.empty() && !by_name) continue;
      r.kind = no.expansion.empty() ? "expansion" : no.expansion;
      r.reason = std::move(no.reason);
      log.refused.push_back(r);
    }
  }
  return asked_refusals(log, m, {}, options.clean_up);
}

}  // namespace graphopt
