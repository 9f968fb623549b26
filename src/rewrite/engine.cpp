#include "rewrite/engine.h"

#include <algorithm>
#include <array>
#include <ranges>
#include <span>
#include <utility>
#include <vector>

#include "ops/node_facts.h"
#include "rewrite/dead.h"
#include "rewrite/outputs.h"
#include "rewrite/refusals.h"

namespace graphopt {
namespace {

// Every rule lowers a cost, so a call terminates; this limit only bounds the damage of a rule that matches
// its own result. The pass manager then reports that the pass does not reach a fixed point.
constexpr std::uint64_t kMostRewritesPerNode = 64;

// The worklist: nodes of this round, and nodes that changed during it. Facts about values stay true during a
// round (rewrites keep meanings), though they may not be the strongest; so inference is updated once per
// round. Updating after each rewrite would visit a Concat of 10^5 operands 10^5 times.
class Worklist final : public Listener {
 public:
  explicit Worklist(Model& m) : m_(m), queued_(m.node_count()) { m_.add_listener(this); }
  ~Worklist() override { m_.remove_listener(this); }
  Worklist(const Worklist&) = delete;
  Worklist& operator=(const Worklist&) = delete;

  // Takes nodes that are all different, and no return nodes, before the first round.
  void start(std::vector<NodeId> nodes) { next_ = std::move(nodes); }
  void push(NodeId n) {
    if (m_.is_return(n)) return;
    if (n.index() >= queued_.size()) queued_.resize(n.index() + 1);
    if (queued_[n.index()]) return;
    queued_[n.index()] = true;
    next_.push_back(n);
  }
  // Starts the next round; returns false when the worklist is empty.
  bool begin_round() {
    now_.swap(next_);
    next_.clear();
    for (const NodeId n : now_) queued_[n.index()] = false;
    return !now_.empty();
  }
  const std::vector<NodeId>& now() const { return now_; }

  void node_added(NodeId n) override { node_changed(n); }
  void node_changed(NodeId n) override {
    push(n);
    if (m_.is_return(n)) return;
    for (const ValueId v : m_.outputs(n))
      if (v) push_users_of(v);
  }
  void uses_changed(ValueId v) override {
    // A pattern that requires a single use may match now; it starts at the definition or at the remaining
    // user.
    const Value& value = m_.value(v);
    if (value.def && m_.alive(value.def)) push(value.def);
    if (value.use_count == 1) push(m_.user(value.first_use));
  }
  void value_became_constant(ValueId v) override { push_users_of(v); }
  void trial_begun() override { before_trial_ = next_.size(); }
  void trial_undone() override {
    for (; next_.size() > before_trial_; next_.pop_back()) queued_[next_.back().index()] = false;
  }

 private:
  void push_users_of(ValueId v) {
    for (UseId u = m_.first_use(v); u; u = m_.next_use(u)) push(m_.user(u));
  }

  Model& m_;
  std::vector<bool> queued_;
  std::vector<NodeId> now_, next_;
  std::size_t before_trial_ = 0;  // length of next_
};

// Says why no rule may start at a node. Most of that depends on the operator and the graph alone and is found
// out once for nodes in a row that have both in common.
class Obstacles {
 public:
  explicit Obstacles(const Model& m) : m_(m) {}

  // Returns the reason, or nothing. Of several results each rule knows itself which it needs.
  std::string_view at(NodeId n) {
    const Node& node = m_.node(n);
    Last& last = by_op_[node.op.index() % by_op_.size()];
    if (last.op != node.op || last.graph != node.graph) last = look(n);
    if (!last.why.empty() || !last.single_result) return last.why;
    const ValueId y = m_.output(n, 0);
    return !y || m_.use_count(y) == 0 ? "nothing reads it" : "";
  }

 private:
  struct Last {
    OpId op;
    GraphId graph;
    std::string_view why;
    bool single_result = false;
  };

  // Returns whether the graph is in a function that imports another version of the standard operators than
  // the model. ONNX Runtime runs its nodes as operators of the model's version: what a rule writes would have
  // to mean the same in both.
  bool in_another_opset(GraphId g) const {
    return m_.graph(g).opsets != m_.graph(m_.main()).opsets &&
           m_.opset(g, kEmptyName) != m_.opset(m_.main(), kEmptyName);
  }

  Last look(NodeId n) const {
    Last out{m_.node(n).op, m_.node(n).graph, "", false};
    const OpFacts& f = facts_of(m_, n);
    out.single_result = f.max_outputs == 1;
    if (in_another_opset(out.graph)) out.why = "the function imports another opset than the model";
    else if (f.kind != m_.kind(n)) out.why = "the operator is not known at its opset";
    return out;
  }

  const Model& m_;
  std::array<Last, 16> by_op_;  // the last node that was looked at of each operator, as far as they fit
};

// Asks the rule, for its reason only where somebody wants it.
bool fits(const PassContext& c, Rule& rule, NodeId n, Refusals& refusals) {
  if (!refusals.wanted()) return rule.match(c.matching(), n);
  Why why;
  const bool fitting = rule.match(c.matching(&why), n);
  if (!fitting && why) refusals.note(rule.name(), n, why.text(c.model, n));
  else refusals.drop(rule.name(), n);
  return fitting;
}

// Applies a rule that matched, unless the journal forbids it or no device would support what it writes.
enum class Applied : std::uint8_t { Yes, NotAllowed, NoDevice };

Applied apply_in_trial(PassContext& c, Rule& rule, NodeId n, DeadSweeper& dead) {
  Model& m = c.model;
  m.begin_trial();
  rule.apply(c, n);
  dead.sweep();
  const TrialChanges made = m.trial_changes();
  SupportChange change(*c.support);
  const auto each = [&c](std::span<const NodeId> nodes) {
    std::vector<DeviceSet> out(nodes.size());
    std::ranges::transform(nodes, out.begin(), [&c](NodeId k) { return c.support->supporting(k); });
    return out;
  };
  m.swap_trial();
  for (const NodeId k : made.erased) change.removed(c.support->supporting(k));
  const std::vector<DeviceSet> changed = each(made.changed), rewired = each(made.rewired);
  std::vector<OpId> operators;
  for (const NodeId k : made.changed) operators.push_back(m.node(k).op);
  m.swap_trial();
  const auto any = [](std::span<const DeviceSet> sets) {
    return std::ranges::any_of(sets, [](DeviceSet set) { return set != 0; });
  };
  if (!change.nothing_to_lose() || any(changed) || any(rewired)) {
    std::vector<NodeId> written = made.added;
    written.insert(written.end(), made.changed.begin(), made.changed.end());
    std::ranges::sort(written, {}, [&m](NodeId k) { return std::pair(m.node(k).graph, m.node(k).order); });
    c.infer.infer_in_trial(written);
    for (const NodeId k : made.added) change.written(c.support->supporting(k));
    for (std::size_t i = 0; i < changed.size(); ++i) {
      const NodeId k = made.changed[i];
      if (m.node(k).op == operators[i]) {
        change.stays(changed[i], c.support->supporting(k));
      } else {
        change.removed(changed[i]);
        change.written(c.support->supporting(k));
      }
    }
    for (std::size_t i = 0; i < rewired.size(); ++i)
      change.stays(rewired[i], c.support->supporting(made.rewired[i]));
  }
  m.swap_trial();  // the journal names nodes as they were
  const Applied result = !change.suits()                       ? Applied::NoDevice
                         : !c.journal.allow(m, n, rule.name()) ? Applied::NotAllowed
                                                               : Applied::Yes;
  if (result != Applied::Yes) {
    m.undo_trial();
    return result;
  }
  m.swap_trial();
  m.keep_trial();
  return result;
}

Applied apply(PassContext& c, Rule& rule, NodeId n, DeadSweeper& dead) {
  if (c.support != nullptr && rule.may_be_undone()) return apply_in_trial(c, rule, n, dead);
  if (!c.journal.allow(c.model, n, rule.name())) return Applied::NotAllowed;
  rule.apply(c, n);
  dead.sweep();
  return Applied::Yes;
}

}  // namespace

std::uint64_t apply_rules(PassContext& c, std::span<Rule* const> rules) {
  Model& m = c.model;
  Refusals refusals(c);
  // The rules by the operator from which they start, in the given order.
  std::vector<std::vector<Rule*>> by_kind(static_cast<std::size_t>(OpKind::Count));
  for (Rule* r : rules) {
    if (r->roots().empty())
      for (auto& list : by_kind) list.push_back(r);
    for (const OpKind k : r->roots()) by_kind[static_cast<std::size_t>(k)].push_back(r);
  }

  Worklist work(m);
  DeadSweeper dead(m);
  std::size_t wanted = 0;
  for (std::size_t k = 0; k < by_kind.size(); ++k)
    if (!by_kind[k].empty()) wanted += m.live_node_count(static_cast<OpKind>(k));
  std::vector<NodeId> roots;
  roots.reserve(wanted);
  for (std::uint32_t g = 0; wanted > 0 && g < m.graph_count(); ++g) {
    if (!m.graph(GraphId{g}).alive) continue;
    for (NodeId n = m.first_node(GraphId{g}); n; n = m.next_node(n))
      if (!by_kind[static_cast<std::size_t>(m.kind(n))].empty()) roots.push_back(n);
  }
  work.start(std::move(roots));

  std::uint64_t count = 0;
  const std::uint64_t most = kMostRewritesPerNode * (m.live_node_count() + 1);
  Obstacles obstacles(m);
  std::vector<NodeId> waiting;  // matches that would hand an output over
  // Applies the first rule that matches, and again while one does.
  const auto offer = [&](NodeId n, bool may_hand_over) {
    while (count < most && m.alive(n)) {
      const auto& fitting = by_kind[static_cast<std::size_t>(m.kind(n))];
      if (const std::string_view why = obstacles.at(n); !why.empty()) {
        for (const Rule* r : fitting)
          if (refusals.wanted()) refusals.note(r->name(), n, std::string(why));
        return;
      }
      bool again = false;
      for (Rule* rule : fitting) {
        if (!fits(c, *rule, n, refusals)) continue;
        if (!may_hand_over && rule->hands_output_over(m, n)) {
          waiting.push_back(n);
          return;
        }
        const Applied done = apply(c, *rule, n, dead);
        if (done == Applied::NotAllowed) return;
        if (done == Applied::NoDevice) {
          if (refusals.wanted()) refusals.note(rule->name(), n, kNoDevice);
          continue;
        }
        ++rule->applied;
        ++count;
        again = true;
        break;
      }
      if (!again) return;
    }
  };
  while (count < most && !c.journal.exhausted()) {
    if (work.begin_round()) {
      for (const NodeId n : work.now()) offer(n, false);
    } else if (!waiting.empty()) {
      std::erase_if(waiting, [&m](NodeId n) { return !m.alive(n); });
      std::ranges::stable_sort(
          waiting, {}, [&m](NodeId n) { return std::pair(m.node(n).graph, output_slot(m, m.output(n, 0))); });
      for (const NodeId n : std::exchange(waiting, {})) offer(n, true);
    } else {
      break;
    }
    c.infer.update();
  }
  return count;
}

}  // namespace graphopt
