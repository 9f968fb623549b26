#include "lower/lower.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "ir/bodies.h"
#include "lower/expansion.h"
#include "ops/node_facts.h"
#include "placement/device_policy.h"
#include "rewrite/dead.h"

namespace graphopt {
namespace {

constexpr std::size_t kMostTries = 48;       // combinations of expansions for one node and device
constexpr std::size_t kMostExpansions = 24;  // of one combination

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
    for (NodeId n = m_.first_node(m_.main()); n; n = m_.next_node(n))
      if (!expansions_of(n).empty() && (input_.kept == nullptr || !input_.kept->contains(n)))
        nodes.push_back(n);
    const std::vector<std::uint64_t> called = count_calls();
    for (const NodeId n : nodes) {
      if (input_.should_stop && input_.should_stop()) break;
      if (c_.journal.exhausted()) break;
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
    DeviceSet bit = 1;
    for (std::size_t d = 0; d < input_.devices.size() && bit <= policy_.all(); ++d) {
      if (input_.devices[d].host) continue;
      if (try_device(n, bit, d, before)) return;
      bit <<= 1;
    }
  }

  // Tries combinations of expansions, in the order of the choices: of the last node that was expanded first.
  bool try_device(NodeId n, DeviceSet bit, std::size_t device, const LoweredNode& before) {
    std::vector<std::size_t> choices;
    for (std::size_t tries = 0; tries < kMostTries; ++tries) {
      m_.begin_trial();
      std::size_t made_from = m_.node_count();
      bool open = false;  // another combination may be left
      first_ = {};
      if (expand(n, bit, choices, open)) {
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
      m_.undo_trial();
      if (!open) return false;
    }
    return false;
  }

  // Carries one combination out: choices[k] is the expansion that the k-th node gets. Returns whether the
  // device supports all that was written. Otherwise `choices` is the next combination, if one is left.
  bool expand(NodeId root, DeviceSet bit, std::vector<std::size_t>& choices, bool& open) {
    std::vector<NodeId> todo{root};
    std::size_t k = 0;
    bool done = true;
    while (!todo.empty()) {
      const NodeId n = todo.back();
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
      std::vector<NodeId> written;
      for (std::size_t i = made_from; i < m_.node_count(); ++i)
        if (m_.alive(NodeId{i})) written.push_back(NodeId{i});
      if (m_.alive(n)) written.push_back(n);
      std::ranges::sort(written, {}, [this](NodeId w) { return m_.node(w).order; });
      c_.infer.infer_in_trial(written);
      for (const NodeId w : written) {
        if ((policy_.supporting(w) & bit) != 0) continue;
        if (w == n) done = false;  // it was changed, and is refused still
        todo.push_back(w);
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
  std::vector<LoweredNode> lowered_;
};

}  // namespace

std::vector<LoweredNode> lower(PassContext& c, const LoweringInput& input) { return Search(c, input).run(); }

}  // namespace graphopt
