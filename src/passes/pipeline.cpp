#include "passes/pipeline.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <vector>

#include "hoist/search_memory.h"
#include "infer/refused_constants.h"
#include "infer/refused_nodes.h"
#include "infer/verify.h"
#include "ir/verify.h"
#include "ops/hidden_operators.h"
#include "rewrite/constancy.h"
#include "support/hash_chains.h"
#include "support/nearest.h"

namespace graphopt {
namespace {

// Every pass lowers a cost, so rounds terminate; this limit only bounds the damage of a defect, and is
// reported.
constexpr std::uint64_t kMaxRounds = 100;

Error unknown_pass(const std::string& name) {
  std::vector<std::string_view> known;
  for (const PassInfo* p : all_passes()) known.push_back(p->name);
  return Error{ErrorKind::Usage, {}, "there is no pass '" + name + "'", suggest(name, known, "passes")};
}

Result<std::vector<const PassInfo*>> choose(const PipelineOptions& o) {
  for (const std::string& name : o.disabled)
    if (!find_pass(name)) return unknown_pass(name);
  std::vector<const PassInfo*> chosen;
  for (const std::string& name : o.passes) {
    const PassInfo* p = find_pass(name);
    if (p == nullptr) return unknown_pass(name);
    chosen.push_back(p);
  }
  if (o.passes.empty())
    for (const PassInfo* p : all_passes())
      if (strictness_of(p->level, false) <= o.pass.strictness) chosen.push_back(p);
  if (o.added.info) chosen.insert(std::ranges::find_if(chosen, &PassInfo::search), o.added.info);
  std::erase_if(chosen, [&](const PassInfo* p) {
    return std::ranges::count(o.disabled, p->name) > 0 ||
           (keeps_bits(o.pass.strictness) && p->exact == Exact::No);
  });
  return chosen;
}

// Leaves out the passes whose nodes the next reader might take for calls of functions. Returns the function
// for which that was done, or none. A constant may be written as a node by any pass; and where devices are
// assigned to nodes, copies are.
FunctionId leave_hidden_operators(const Model& m, const PipelineOptions& o,
                                  std::vector<const PassInfo*>& chosen) {
  const FunctionId hidden = hidden_operator(m);
  if (!hidden) return {};
  const bool none = is_hidden(m, OpKind::Constant) || (o.policy != nullptr && is_hidden(m, OpKind::Identity));
  const std::size_t left_out = std::erase_if(
      chosen, [none](const PassInfo* p) { return none || p->new_operators == NewOperators::Maybe; });
  return left_out > 0 ? hidden : FunctionId{};
}

// Returns the error of a node that a pass has made of an operator of which a function has the name.
std::optional<Error> find_hidden(const Model& m) {
  for (std::size_t i = 0; i < m.node_count(); ++i) {
    const NodeId n{i};
    if (!m.alive(n) || m.is_return(n) || m.op(n).function || !is_hidden(m, m.kind(n))) continue;
    return Error{ErrorKind::Internal, place_of(m, n), "a function of the model has the operator's name", {}};
  }
  return std::nullopt;
}

// Returns a hash of all facts of inference: passes that had nothing to do have nothing to do while it stays.
// That of a type is made once, as many values have the same.
std::uint64_t facts_hash(const Model& model, const Inference& infer) {
  const auto of_ranges = [&model](const Type& t) {
    std::uint64_t hash = 0;
    for (const DimId d : t.dims) {
      // That an extent is never 0, say, is a fact of its own.
      if (!model.dims.is_symbol(d)) continue;
      const Range range = model.dims.range(d);
      hash = mix_hash(mix_hash(hash, static_cast<std::uint64_t>(range.low)),
                      static_cast<std::uint64_t>(range.high));
    }
    return hash;
  };
  std::vector<std::optional<std::uint64_t>> by_type;
  std::uint64_t hash = 0;
  for (std::size_t i = 0; i < model.value_count(); ++i) {
    const ValueId v{i};
    if (!model.alive(v)) continue;
    TypeId type = infer.type(v);
    if (!type) type = model.types.unknown();
    if (type.index() >= by_type.size()) by_type.resize(model.types.size());
    std::optional<std::uint64_t>& ranges = by_type[type.index()];
    if (!ranges) ranges = of_ranges(model.types[type]);
    hash = mix_hash(mix_hash(hash, type.index()), *ranges);
    if (const SymbolicTensor* t = infer.symbolic(v))
      for (const DimId d : t->elements) hash = mix_hash(hash, d ? model.dims.canonical(d).index() : 0);
  }
  return hash;
}

struct Both final : UsePolicy {
  Both(const UsePolicy* first_policy, const UsePolicy* second_policy)
      : first(first_policy), second(second_policy) {}
  bool may_read(const Model& m, UseId u, ValueId v) const override {
    return first->may_read(m, u, v) && second->may_read(m, u, v);
  }
  bool may_become_constant(const Model& m, ValueId v) const override {
    return first->may_become_constant(m, v) && second->may_become_constant(m, v);
  }
  const UsePolicy* first;
  const UsePolicy* second;
};

// Keeps bodies as a runtime loads them and, where every bit is promised, packed operands what they are,
// constants or not.
class ConstancyPolicy {
 public:
  ConstancyPolicy(Model& model, const Inference& infer, const PipelineOptions& options)
      : model_(model),
        infer_(infer),
        refused_(model, infer),
        constancy_(infer),
        given_{&refused_, options.policy},
        both_{&constancy_, options.policy != nullptr ? static_cast<const UsePolicy*>(&given_) : &refused_} {
    model_.set_use_policy(both_.second);
    if (!keeps_bits(options.pass.strictness)) return;
    model_.set_use_policy(&both_);
    if (options.verify_each) record_.emplace(model_, infer_);
  }
  ~ConstancyPolicy() { model_.set_use_policy(nullptr); }
  ConstancyPolicy(const ConstancyPolicy&) = delete;
  ConstancyPolicy& operator=(const ConstancyPolicy&) = delete;

  void record_anew() {
    if (record_) record_.emplace(model_, infer_);
  }
  std::optional<Error> verify() { return record_ ? record_->compare(model_, infer_) : std::nullopt; }

 private:
  Model& model_;
  const Inference& infer_;
  const RefusedConstants refused_;
  const KeepConstancy constancy_;
  const Both given_, both_;
  std::optional<ConstancyRecord> record_;
};

// What --verify-each compares after every pass.
struct Checks {
  Model& model;
  Inference& infer;
  ConstancyPolicy& policy;
  SelfCheck& of_pass;
  std::optional<FactRecord> facts;  // none: facts are not compared
  bool any_hidden = false;

  std::optional<Error> broken() {
    if (std::optional<Error> e = verify(model)) return e;
    if (of_pass.broken) return of_pass.broken;
    if (facts)
      if (std::optional<Error> e = infer.verify()) return e;
    if (facts)
      if (std::optional<Error> e = facts->compare(model, infer)) return e;
    if (std::optional<Error> e = policy.verify()) return e;
    return any_hidden ? find_hidden(model) : std::nullopt;
  }
};

}  // namespace

Result<PipelineReport> run_pipeline(Model& model, Inference& infer, const PipelineOptions& options) {
  auto chosen = choose(options);
  if (!chosen) return chosen.errors();
  PipelineReport report;
  report.hidden_operator = leave_hidden_operators(model, options, *chosen);
  Journal journal(options.rewrite_budget);
  SearchMemory memory(model, infer, options.moves);
  SelfCheck check;
  PassContext context{.model = model,
                      .infer = infer,
                      .journal = journal,
                      .options = options.pass,
                      .refusals = options.refusals,
                      .memory = &memory,
                      .check = options.verify_each ? &check : nullptr,
                      .support = options.support};
  ConstancyPolicy policy(model, infer, options);
  Checks checks{model, infer, policy, check, std::nullopt, hidden_operator(model).valid()};
  // What follows from a node of the main graph that no run accepts may contradict itself in ways that dims do
  // not show, and which of it is derived depends on what was folded. This is asked before any pass, so a pass
  // that makes such a node is still found.
  if (options.verify_each && !certainly_fails(model, infer, model.main())) checks.facts.emplace(model, infer);
  std::vector<std::unique_ptr<Pass>> made;
  std::vector<Pass*> passes;
  for (const PassInfo* p : *chosen) {
    passes.push_back(p == options.added.info ? options.added.pass : made.emplace_back(p->make()).get());
    report.passes.push_back({std::string(p->name), 0, 0, 0, {}});
  }

  // Incremental inference keeps facts about values whose definition did not change, and what removed nodes
  // asserted; inferring from scratch gives what the next run on the result would start from. So a fixed point
  // counts only if it also is one after inferring from scratch.
  report.stopped = StopReason::Rounds;
  std::size_t unchanged = 0;  // passes in a row that changed nothing
  bool interrupted = false;
  std::uint64_t rewrites_at_fresh_run = 0;
  while (report.rounds < kMaxRounds && unchanged < passes.size() && !interrupted) {
    ++report.rounds;
    bool cleaned = false;  // a pass before the searches changed something in this round
    for (std::size_t i = 0; i < passes.size() && unchanged < passes.size(); ++i) {
      if (cleaned && (*chosen)[i]->search) {
        unchanged = 0;
        break;
      }
      if (options.should_stop && options.should_stop()) {
        report.stopped = StopReason::Stopped;
        interrupted = true;
        break;
      }
      PassReport& r = report.passes[i];
      journal.begin_pass(r.name);
      const std::uint64_t rewrites = journal.count();
      const auto start = std::chrono::steady_clock::now();
      const bool changed = passes[i]->run(context);
      if (changed) infer.update();
      r.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      ++r.runs;
      r.changes += journal.count() - rewrites;
      unchanged = changed ? 0 : unchanged + 1;
      cleaned |= changed && !(*chosen)[i]->search;
      if (std::optional<Error> broken = options.verify_each ? checks.broken() : std::nullopt) {
        broken->what = "pass '" + r.name + "': " + broken->what;
        return *broken;
      }
      if (options.after_pass) options.after_pass(r.name, model, changed);
    }
    const bool fixed_point = unchanged == passes.size() && !interrupted;
    if (fixed_point && journal.count() > rewrites_at_fresh_run && !journal.exhausted()) {
      rewrites_at_fresh_run = journal.count();
      const std::uint64_t known = facts_hash(model, infer);
      infer.run();
      if (facts_hash(model, infer) != known) unchanged = 0;
    }
    if (unchanged == passes.size() && !interrupted && options.at_rest) {
      const Result<bool> changed = options.at_rest();
      if (!changed) return changed.errors();
      if (*changed) {
        unchanged = 0;
        if (checks.facts) checks.facts.emplace(model, infer);
        policy.record_anew();
      }
    }
  }
  // What is written about the result must not follow from nodes that it does not have.
  if (journal.count() > rewrites_at_fresh_run && !interrupted) infer.run();
  if (unchanged == passes.size() && !interrupted)
    report.stopped = journal.exhausted() ? StopReason::Budget : StopReason::FixedPoint;
  for (std::size_t i = 0; i < passes.size(); ++i)
    for (const Counter& c : passes[i]->counters()) report.passes[i].counters.emplace_back(c.name, c.value);
  report.rewrites = journal.count();
  report.last_rewrite = journal.last();
  return report;
}

}  // namespace graphopt
