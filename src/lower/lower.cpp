#include "lower/lower.h"

#include <algorithm>
#include <bit>
#include <memory>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "ir/bodies.h"
#include "lower/expansion.h"
#include "ops/node_facts.h"
#include "placement/device_policy.h"
#include "rewrite/dead.h"
#include "support/hash_chains.h"

namespace graphopt {
namespace {

constexpr std::size_t kMostTries = 48;       // combinations of expansions for one node and device
constexpr std::size_t kMostExpansions = 24;  // of one combination
// What is undone leaves dead ids in the model. So many nodes, and so many for each node of the model, are
// written in vain before the search ends.
constexpr std::int64_t kFewElements = 64;
constexpr std::size_t kMostAround = 32;  // nodes around a lowered one that must keep their devices
constexpr std::size_t kMostInVain = 1'000'000, kMostInVainPerNode = 16;

class Search {
 public:
  Search(PassContext& c, const LoweringInput& input)
      : c_(c), m_(c.model), input_(input), policy_(input.devices, c.model, c.infer), dead_(c.model) {
    by_kind_.resize(static_cast<std::size_t>(OpKind::Count));
    for (const Expansion& e : all_expansions()) {
      if (e.exact == Exact::No && keeps_bits(c.options.strictness)) continue;
      rules_.push_back(e.make());
      for (const OpKind k : rules_.back()->roots())
        by_kind_[static_cast<std::size_t>(k)].push_back(rules_.back().get());
    }
  }

  std::vector<LoweredNode> run() {
    std::vector<NodeId> nodes;
    if (m_.ir_version < kFirstLoweredIrVersion)
      return {};  // new constants would be nodes, which hold floats only before opset 9
    for (NodeId n = m_.first_node(m_.main()); n; n = m_.next_node(n))
      if (!expansions_of(n).empty() && (input_.kept == nullptr || !input_.kept->contains(n)))
        nodes.push_back(n);
    const std::vector<std::uint64_t> called = count_calls();
    const std::size_t most_in_vain = kMostInVain + kMostInVainPerNode * m_.live_node_count();
    for (const NodeId n : nodes) {
      if (input_.should_stop && input_.should_stop()) break;
      if (c_.journal.exhausted() || in_vain_ > most_in_vain) break;
      if (m_.alive(n) && policy_.supporting(n) == 0) offer(n);
    }
    erase_uncalled(called);
    c_.infer.update();
    return std::move(lowered_);
  }

 private:
  // Returns how many nodes call each function, those in bodies and functions too.
  std::vector<std::uint64_t> count_calls() const {
    std::vector<std::uint64_t> calls(m_.function_count());
    for (std::size_t i = 0; !calls.empty() && i < m_.node_count(); ++i)
      if (m_.alive(NodeId{i}) && m_.kind(NodeId{i}) == OpKind::FunctionCall)
        ++calls[m_.op(NodeId{i}).function.index()];
    return calls;
  }

  // Erases functions whose last call was replaced, and what these alone called.
  void erase_uncalled(const std::vector<std::uint64_t>& called) {
    if (lowered_.empty() || called.empty()) return;
    std::vector<std::uint64_t> calls = count_calls();
    std::vector<FunctionId> todo;
    for (std::size_t f = 0; f < called.size(); ++f)
      if (called[f] > 0 && calls[f] == 0) todo.push_back(FunctionId{f});
    while (!todo.empty()) {
      const FunctionId f = todo.back();
      todo.pop_back();
      const GraphId body = m_.function(f).body;
      if (!body || !m_.graph(body).alive) continue;
      for_each_node(m_, body, [&](NodeId n) {
        if (m_.kind(n) == OpKind::FunctionCall && --calls[m_.op(n).function.index()] == 0)
          todo.push_back(m_.op(n).function);
      });
      m_.erase_function(f);
    }
  }

  std::span<Rule* const> expansions_of(NodeId n) const {
    // As for passes: the operator must be known at its opset.
    if (facts_of(m_, n).kind != m_.kind(n)) return {};
    return by_kind_[static_cast<std::size_t>(m_.kind(n))];
  }

  void offer(NodeId n) {
    const LoweredNode before{.node = n, .op = m_.node(n).op, .first = {}, .made = {}};
    const DeviceSet denying = policy_.denying(n);
    DeviceSet bit = 1;
    for (std::size_t d = 0; d < input_.devices.size() && bit <= policy_.all(); ++d) {
      if (input_.devices[d].host) continue;
      if ((denying & bit) == 0 && try_device(n, bit, d, before)) return;
      bit <<= 1;
    }
  }

  // What expansions look at: a node like one that could not be lowered is not tried again. The producers are
  // those that a rule may look at.
  std::uint64_t likeness(NodeId n, DeviceSet bit) const {
    const auto text = [](std::uint64_t h, auto elements) {
      for (const auto& e : elements) h = mix_hash(h, std::bit_cast<std::uint64_t>(std::int64_t{e}));
      return mix_hash(h, elements.size());
    };
    std::uint64_t h = mix_hash(bit, m_.node(n).op.index());
    for (std::size_t i = 0; i < m_.input_count(n); ++i) {
      const ValueId v = m_.input(n, i);
      h = mix_hash(h, v ? c_.infer.type(v).index() + 1 : 0);
      if (!v) continue;
      // Of a constant with many elements, that it is one.
      if (const TensorId t = m_.constant_of(v))
        h = mix_hash(h, m_.tensor(t).elements <= kFewElements ? m_.content_hash(t).low : 1);
      const NodeId by = m_.value(v).def;
      if (!by) continue;
      h = mix_hash(h, m_.node(by).op.index());
      if (const ValueId first = m_.input(by, 0); first && m_.value(first).def)
        h = mix_hash(h, m_.node(m_.value(first).def).op.index());
    }
    for (const ValueId v : m_.outputs(n)) h = mix_hash(h, v ? c_.infer.type(v).index() + 1 : 0);
    for (const Attr& a : m_.attrs(n)) {
      h = mix_hash(mix_hash(h, a.name.index()), static_cast<std::uint64_t>(a.kind));
      h = mix_hash(mix_hash(h, std::bit_cast<std::uint64_t>(a.i)), std::bit_cast<std::uint32_t>(a.f));
      h = text(text(h, std::string_view(a.s.data(), a.s.size())), a.ints);
      if (a.tensor) h = mix_hash(h, m_.content_hash(a.tensor).low);
    }
    return h;
  }

  // Tries combinations of expansions, in the order of the choices: of the last node that was expanded first.
  bool try_device(NodeId n, DeviceSet bit, std::size_t device, const LoweredNode& before) {
    const std::uint64_t like = likeness(n, bit);
    if (failed_.contains(like)) return false;
    if (try_choices(n, bit, device, before)) return true;
    failed_.insert(like);
    return false;
  }

  // Returns the producers and readers of a node, and theirs: what a device supports of a node may depend on
  // those around it (QDQ groups).
  std::vector<NodeId> around(NodeId n) const {
    std::vector<NodeId> out;
    const auto add = [&](NodeId other) {
      if (other && other != n && !m_.is_return(other) && m_.node(other).graph == m_.main() &&
          out.size() < kMostAround && std::ranges::find(out, other) == out.end())
        out.push_back(other);
    };
    const auto neighbours = [&](NodeId of) {
      for (std::size_t i = 0; i < m_.input_count(of); ++i)
        if (const ValueId v = m_.input(of, i)) add(m_.value(v).def);
      for (const ValueId v : m_.outputs(of))
        for (UseId u = v ? m_.first_use(v) : UseId{}; u && out.size() < kMostAround; u = m_.next_use(u))
          add(m_.user(u));
    };
    neighbours(n);
    for (std::size_t i = 0, near = out.size(); i < near; ++i) neighbours(out[i]);
    return out;
  }

  std::vector<DeviceSet> supporting(std::span<const NodeId> nodes) {
    std::vector<DeviceSet> out(nodes.size());
    std::ranges::transform(nodes, out.begin(), [this](NodeId k) { return policy_.supporting(k); });
    return out;
  }

  bool keep_their_devices(std::span<const NodeId> nodes, std::span<const DeviceSet> before) {
    for (std::size_t i = 0; i < nodes.size(); ++i)
      if (m_.alive(nodes[i]) && (before[i] & ~policy_.supporting(nodes[i])) != 0) return false;
    return true;
  }

  bool try_choices(NodeId n, DeviceSet bit, std::size_t device, const LoweredNode& before) {
    std::vector<std::size_t> choices;
    const std::vector<NodeId> near = around(n);
    const std::vector<DeviceSet> near_by = supporting(near);
    for (std::size_t tries = 0; tries < kMostTries; ++tries) {
      m_.begin_trial();
      std::size_t made_from = m_.node_count();
      bool open = false;  // another combination may be left
      first_ = {};
      const bool written = expand(n, bit, choices, open);
      if (written && !keep_their_devices(near, near_by)) {
        m_.undo_trial();
        return false;
      }
      if (written) {
        LoweredNode out = before;
        out.device = device;
        out.first = first_;
        for (; made_from < m_.node_count(); ++made_from)
          if (m_.alive(NodeId{made_from})) out.made.push_back(NodeId{made_from});
        if (m_.alive(n)) out.made.push_back(n);
        m_.swap_trial();
        if (!c_.journal.allow(m_, n, first_)) {
          m_.undo_trial();
          return true;
        }
        m_.swap_trial();
        m_.keep_trial();
        lowered_.push_back(std::move(out));
        return true;
      }
      in_vain_ += m_.node_count() - made_from;
      m_.undo_trial();
      if (!open) return false;
    }
    return false;
  }

  // A node that is to be expanded, and what it was written for.
  struct Step {
    NodeId node;
    std::size_t parent = 0;  // into the steps; the first one is its own
    OpId op;
    TypeId operand, result;
    bool same(const Step& o) const { return op == o.op && operand == o.operand && result == o.result; }
  };
  Step step_of(NodeId n, std::size_t parent) const {
    return {n, parent, m_.node(n).op, c_.infer.type(m_.input(n, 0)), c_.infer.type(m_.output(n, 0))};
  }

  // Carries one combination out: choices[k] is the expansion that the k-th node gets. Returns whether the
  // device supports all that was written. Otherwise `choices` is the next combination, if one is left.
  bool expand(NodeId root, DeviceSet bit, std::vector<std::size_t>& choices, bool& open) {
    std::vector<Step> steps{step_of(root, 0)};
    std::vector<std::size_t> todo{0};
    std::size_t k = 0;
    bool done = true;
    while (!todo.empty()) {
      const std::size_t at = todo.back();
      const NodeId n = steps[at].node;
      todo.pop_back();
      if (!m_.alive(n) || (n != root && (policy_.supporting(n) & bit) != 0)) continue;
      if (k == choices.size()) choices.push_back(0);
      const std::span<Rule* const> rules = expansions_of(n);
      std::size_t& choice = choices[k];
      while (choice < rules.size() && !rules[choice]->match(c_.matching(), n)) ++choice;
      if (choice == rules.size() || ++k > kMostExpansions) {
        done = false;
        break;
      }
      if (k == 1) first_ = rules[choice]->name();
      const std::size_t made_from = m_.node_count();
      rules[choice]->apply(c_, n);
      dead_.sweep();
      const std::vector<NodeId> written = written_nodes(m_, made_from, n);
      c_.infer.infer_in_trial(written);
      for (const NodeId w : written) {
        if ((policy_.supporting(w) & bit) != 0) continue;
        // It was changed and is refused still, or nothing writes it otherwise, or it is what it was made for.
        done = done && w != n && !expansions_of(w).empty();
        const Step step = step_of(w, at);
        for (std::size_t up = at; done; up = steps[up].parent) {
          done = !step.same(steps[up]);
          if (up == 0) break;
        }
        todo.push_back(steps.size());
        steps.push_back(step);
      }
      if (!done) break;
    }
    if (done) return true;
    // The next choice of the last node that has one.
    choices.resize(std::min(choices.size(), k + 1));
    while (!choices.empty() && choices.size() > k) choices.pop_back();  // the node that nothing fits
    if (!choices.empty()) {
      ++choices.back();
      open = true;
    }
    return false;
  }

  PassContext& c_;
  Model& m_;
  const LoweringInput& input_;
  DevicePolicy policy_;
  DeadSweeper dead_;
  std::vector<std::unique_ptr<Rule>> rules_;
  std::vector<std::vector<Rule*>> by_kind_;
  std::string_view first_;
  std::unordered_set<std::uint64_t> failed_;  // likenesses of nodes that no device has a way for
  std::size_t in_vain_ = 0;
  std::vector<LoweredNode> lowered_;
};

}  // namespace

std::vector<LoweredNode> lower(PassContext& c, const LoweringInput& input) { return Search(c, input).run(); }

}  // namespace graphopt
