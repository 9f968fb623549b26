#include "draft/draft_write.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "draft/draft_nodes.h"

namespace graphopt {
namespace {

class Writer {
 public:
  Writer(const Draft& d, Model& m)
      : d_(d), m_(m), form_(d, m, [this](std::span<const std::int64_t> numbers, const std::string& name) {
          return int64s(numbers, name);
        }) {
    values_.resize(d.value_count());
    nodes_.resize(d.node_count());
  }

  void run() {
    for (std::uint32_t v = 0; v < d_.value_count(); ++v)
      values_[v] = d_[DValue{v}].retyped ? d_[DValue{v}].like : d_[DValue{v}].origin;
    std::vector<DNode> differ;
    std::vector<NodeId> gone;
    for (std::uint32_t i = 0; i < d_.node_count(); ++i) {
      const DNode n{i};
      const bool same_node = d_[n].alive && stays(n);
      if (same_node) nodes_[i] = d_[n].origin;
      else if (!d_[n].made) gone.push_back(d_[n].origin);
      if (d_[n].alive && (d_[n].made || d_[n].changed)) differ.push_back(n);
    }
    for (const DNode n : differ) detach(n);
    put_in_place(differ);
    // Only now does nothing read a result that vanished.
    for (const DNode n : differ)
      if (stays(n)) change_results(n);
    // Nodes that vanished are erased in reverse order, so that a node goes after the readers of its results.
    std::ranges::sort(gone, [this](NodeId a, NodeId b) { return m_.before(b, a); });
    for (const NodeId n : gone) m_.erase(n);
    // In the order of the file, as names depend on it.
    for (std::uint32_t v = 0; v < d_.value_count(); ++v)
      if (const DraftValue& value = d_[DValue{v}]; value.retyped && m_.alive(value.like))
        m_.retype(value.like, m_.fresh_name(text_of(value.like) + "_moved"));
  }

 private:
  // Returns whether n is still the model's node. A Split with another number of results is a new one.
  bool stays(DNode n) const { return !d_[n].made && d_[n].out_count == m_.output_count(d_[n].origin); }

  // Detaches results of n that another node of the model defines.
  void detach(DNode n) {
    for (std::uint32_t k = 0; k < d_[n].out_count; ++k) {
      const DValue v = d_.out(n, k);
      const ValueId value = v ? values_[v.index()] : ValueId{};
      if (!value || d_[v].def != n || d_[v].slot != k) continue;
      const NodeId old = m_.value(value).def;
      if (!old || m_.value(value).graph != d_.graph()) continue;
      const bool same = stays(n) && d_[n].origin == old && k == m_.value(value).def_slot;
      if (!same) m_.detach_output(old, m_.value(value).def_slot);
    }
  }

  // Makes or changes the nodes that differ, by id but after the producers of their operands. Then it moves
  // those nodes that are now before one of their producers, in the order of the draft.
  void put_in_place(std::span<const DNode> differ) {
    enum : std::uint8_t { kSame, kWaits, kDone };
    std::vector<std::uint8_t> state(d_.node_count(), kSame);
    for (const DNode n : differ) state[n.index()] = kWaits;
    std::vector<DNode> stack, moved;
    for (const DNode each : differ) {
      if (state[each.index()] == kWaits) stack.push_back(each);
      while (!stack.empty()) {
        const DNode n = stack.back();
        const std::size_t depth = stack.size();
        for (std::uint32_t k = 0; k < d_[n].in_count; ++k)
          if (const DNode def = d_.in(n, k) ? d_.def(d_.in(n, k)) : DNode{};
              def && state[def.index()] == kWaits)
            stack.push_back(def);
        if (stack.size() > depth) continue;
        stack.pop_back();
        if (state[n.index()] == kDone) continue;
        state[n.index()] = kDone;
        if (stays(n)) {
          change_operands(n);
          move_after_producers(n);
        } else {
          make(n);
        }
        moved.push_back(n);
      }
    }
    std::vector<std::pair<std::uint64_t, DNode>> readers;  // a heap, the first in order on top
    std::vector<bool> queued(d_.node_count());
    const auto queue_readers = [&](DNode n) {
      for (const DValue v : d_.outs(n))
        for (DUse u = v ? d_.first_use(v) : DUse{}; u; u = d_.next_use(u)) {
          const DNode m = d_.user(u);
          if (queued[m.index()] || m_.before(nodes_[n.index()], nodes_[m.index()])) continue;
          queued[m.index()] = true;
          readers.push_back({d_[m].key, m});
          std::ranges::push_heap(readers, std::greater{});
        }
    };
    for (const DNode n : moved) queue_readers(n);
    while (!readers.empty()) {
      std::ranges::pop_heap(readers, std::greater{});
      const DNode n = readers.back().second;
      readers.pop_back();
      if (move_after_producers(n)) queue_readers(n);
    }
  }

  // Returns the model's value of v; makes it if it is new, with a name from the results of n.
  ValueId value_of(DValue v, DNode n) {
    if (!v) return {};
    ValueId& out = values_[v.index()];
    if (out) return out;
    if (d_.constant(v))
      return out = m_.add_initializer(d_.graph(), base_of(n) + "_const", form_.tensor_of(v));
    return out = m_.add_value(d_.graph(), m_.fresh_name(base_of(n)));
  }

  // Returns the initializer of these numbers; makes it, with this name, at the first call.
  ValueId int64s(std::span<const std::int64_t> numbers, const std::string& name) {
    ValueId& v = int64s_[{numbers.begin(), numbers.end()}];
    if (!v) v = m_.add_initializer(d_.graph(), name, m_.make_int64s(numbers));
    return v;
  }

  std::string text_of(ValueId v) const { return std::string(m_.text(m_.value(v).name)); }

  // Returns the start of a name for something made at n: from the result of n, or from values downstream of
  // it.
  std::string base_of(DNode n) const {
    for (int steps = 0; n && steps < 8; ++steps) {
      const DValue y = d_.out(n);
      if (!y) break;  // a GRU of which only the state is read
      if (const ValueId like = d_[y].origin ? d_[y].origin : d_[y].like) return text_of(like) + "_moved";
      n = d_.first_use(y) ? d_.user(d_.first_use(y)) : DNode{};
    }
    return "moved";
  }

  void make(DNode n) {
    const DraftNode& node = d_[n];
    std::vector<ValueId> in, out;
    for (std::uint32_t k = 0; k < node.real_in; ++k) in.push_back(value_of(d_.in(n, k), n));
    for (const DValue v : d_.outs(n)) out.push_back(value_of(v, n));
    const NodeId before = insertion_point(n);
    nodes_[n.index()] = form_.make(n, in, out, before);
  }

  void change_operands(DNode n) {
    const DraftNode& node = d_[n];
    std::vector<ValueId> in;
    for (std::uint32_t k = 0; k < node.real_in; ++k) in.push_back(value_of(d_.in(n, k), n));
    bool differs = in.size() != m_.input_count(node.origin);
    for (std::uint32_t k = 0; k < in.size() && !differs; ++k) differs = in[k] != m_.input(node.origin, k);
    if (differs) m_.set_operands(node.origin, in);
    form_.write_attributes(n, node.origin, node.axes_rewritten ? base_of(n) : std::string{});
  }

  void change_results(DNode n) {
    const NodeId origin = d_[n].origin;
    for (std::uint32_t k = 0; k < d_[n].out_count; ++k) {
      const ValueId v = value_of(d_.out(n, k), n);
      if (m_.output(origin, k) == v) continue;
      if (m_.output(origin, k)) m_.drop_output(origin, k);
      if (v) m_.attach_output(origin, k, v);
    }
  }

  // Returns the last producer of an operand of n, in the model's order; none if no node of the graph makes
  // one.
  NodeId last_producer(DNode n) const {
    NodeId last;
    for (std::uint32_t k = 0; k < d_[n].in_count; ++k) {
      const DNode def = d_.in(n, k) ? d_.def(d_.in(n, k)) : DNode{};
      if (!def || !d_[def].alive) continue;
      const NodeId by = nodes_[def.index()];
      if (by && (!last || m_.before(last, by))) last = by;
    }
    return last;
  }

  // Returns the node before which a new node is inserted: right after the last producer of its operands or,
  // if there is none, before its first consumer.
  NodeId insertion_point(DNode n) const {
    if (const NodeId last = last_producer(n)) return m_.next_node(last);
    NodeId first;
    for (const DValue v : d_.outs(n))
      for (DUse u = v ? d_.first_use(v) : DUse{}; u; u = d_.next_use(u)) {
        const NodeId by = nodes_[d_.user(u).index()];
        if (!by) return m_.first_node(d_.graph());  // it is made later, at an unknown position
        if (!first || m_.before(by, first)) first = by;
      }
    return first ? first : m_.first_node(d_.graph());
  }

  // Moves n after the producers of its operands; returns false if it was after them already.
  bool move_after_producers(DNode n) {
    const NodeId node = nodes_[n.index()], last = last_producer(n);
    if (!last || m_.before(last, node)) return false;
    m_.move_before(node, m_.next_node(last));
    return true;
  }

  const Draft& d_;
  Model& m_;
  DraftNodes form_;
  std::vector<ValueId> values_;  // by DValue
  std::vector<NodeId> nodes_;    // by DNode
  std::map<std::vector<std::int64_t>, ValueId> int64s_;
};

}  // namespace

void write_draft(const Draft& d, Model& m) { Writer(d, m).run(); }

}  // namespace graphopt
