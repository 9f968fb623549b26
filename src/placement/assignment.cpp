#include "placement/assignment.h"

#include <algorithm>
#include <map>
#include <string>

#include "ops/node_facts.h"

namespace graphopt {
namespace {

// No file has this operator: names of files do not lead to its kind (ops/facts.h).
constexpr std::string_view kDomain = "graphopt", kName = "Border";
constexpr std::string_view kFrom = "from", kTo = "to";  // attributes of a border: assignments
constexpr int kSweeps = 8;

Assignment stated(const Model& m, NodeId border, std::string_view name) {
  for (const Attr& a : m.attrs(border))
    if (m.text(a.name) == name) return static_cast<Assignment>(a.i);
  return kNotKnown;
}

// Returns the node of the main graph that is n or holds it; none for a node of a function.
NodeId in_main(const Model& m, NodeId n) {
  return m.node(n).graph == m.main() ? n : m.ancestor_in(m.main(), n);
}

Assignment known(const Assignments& assignments, NodeId n) {
  return n.index() < assignments.size() ? assignments[n.index()] : kNotKnown;
}

// What is known of a model's nodes and inputs.
struct Known {
  const Model& m;
  const InputReaders& inputs;
  const Assignments& assignments;
};

// Returns what readers of v read from: the assignment of the node that makes it, what a border says, or whose
// nodes read an input.
template <class OfNode> Assignment source(const Known& k, ValueId v, OfNode of_node) {
  if (!v) return kNotKnown;
  const NodeId def = k.m.value(v).def;
  if (!def) {
    const auto input = k.inputs.find(v);
    return input == k.inputs.end() ? kNotKnown : input->second;
  }
  if (k.m.kind(def) == OpKind::Constant) return kNotKnown;
  if (k.m.kind(def) == OpKind::Border) return stated(k.m, def, kTo);
  const NodeId top = in_main(k.m, def);
  return top ? of_node(top) : kNotKnown;
}

Assignment from_operands(const Known& k, NodeId n) {
  const auto of_node = [&](NodeId p) { return known(k.assignments, p); };
  for (std::size_t i = 0; i < k.m.input_count(n); ++i)
    if (const Assignment a = source(k, k.m.input(n, i), of_node); a != kNotKnown) return a;
  return kNotKnown;
}

Assignment from_readers(const Known& k, NodeId n) {
  const Model& m = k.m;
  for (const ValueId v : m.outputs(n))
    for (UseId u = v ? m.first_use(v) : UseId{}; u; u = m.next_use(u)) {
      const NodeId reader = in_main(m, m.user(u));
      if (!reader || m.is_return(reader)) continue;
      const Assignment a =
          m.kind(reader) == OpKind::Border ? stated(m, reader, kFrom) : known(k.assignments, reader);
      if (a != kNotKnown) return a;
    }
  return kNotKnown;
}

// Returns what is known of a node of the main graph, or follows from what it is connected to.
Assignment assignment_of(const Known& k, NodeId n) {
  Assignment a = known(k.assignments, n);
  if (a == kNotKnown) a = from_operands(k, n);
  if (a == kNotKnown) a = from_readers(k, n);
  return a;
}

Assignment source_of(const Known& k, ValueId v) {
  return source(k, v, [&](NodeId n) { return assignment_of(k, n); });
}

// Returns the assignment whose values the node reads.
Assignment reads_for(const Known& k, NodeId n) {
  return k.m.kind(n) == OpKind::Border ? stated(k.m, n, kFrom) : assignment_of(k, n);
}

}  // namespace

void inherit_assignments(const Model& m, const InputReaders& inputs, Assignments& assignments) {
  assignments.resize(m.node_count(), kNotKnown);
  const Known k{m, inputs, assignments};
  std::vector<NodeId> open;  // in the order of the graph
  for (NodeId n = m.first_node(m.main()); n; n = m.next_node(n))
    if (assignments[n.index()] == kNotKnown && m.kind(n) != OpKind::Border && m.kind(n) != OpKind::Constant)
      open.push_back(n);
  for (int sweep = 0; sweep < kSweeps && !open.empty(); ++sweep) {
    const std::size_t before = open.size();
    for (const NodeId n : open) assignments[n.index()] = from_operands(k, n);
    for (auto n = open.rbegin(); n != open.rend(); ++n)
      if (assignments[n->index()] == kNotKnown) assignments[n->index()] = from_readers(k, *n);
    std::erase_if(open, [&](NodeId n) { return assignments[n.index()] != kNotKnown; });
    if (open.size() == before) break;
  }
  for (const NodeId n : open) assignments[n.index()] = kNotAssigned;
}

AssignmentBorders::AssignmentBorders(Model& m, Assignments& assignments) : m_(m), assignments_(assignments) {
  inherit_assignments(m, {}, assignments);
  for (std::size_t i = 0; i < m.node_count(); ++i)  // a pass may move a node out of a body
    if (const NodeId n{i}; m.alive(n) && m.node(n).graph != m.main())
      if (const NodeId top = in_main(m, n)) assignments[i] = known(assignments, top);
  const std::size_t values = m.value_count();
  for (std::size_t i = 0; i < values; ++i) insert(ValueId{i});
  m.add_listener(this);
}

AssignmentBorders::~AssignmentBorders() { m_.remove_listener(this); }

// A fixed value's readers stay, and passes leave it alone.
void AssignmentBorders::insert(ValueId v) {
  if (!m_.alive(v) || m_.value(v).graph != m_.main() || m_.constant_of(v) || m_.is_fixed(v)) return;
  const NodeId def = m_.value(v).def;
  if (def && m_.kind(def) == OpKind::Constant) return;
  struct Readers {
    NodeId first;
    std::vector<UseId> uses;
  };
  std::map<Assignment, Readers> readers;
  for (UseId u = m_.first_use(v); u; u = m_.next_use(u)) {
    const NodeId reader = in_main(m_, m_.user(u));
    if (!reader || m_.is_return(reader) || m_.is_return(m_.user(u))) continue;
    Readers& r = readers[known(assignments_, reader)];
    if (!r.first || m_.before(reader, r.first)) r.first = reader;
    r.uses.push_back(u);
  }
  const Assignment from = def ? known(assignments_, def) : kNotKnown;
  if (!def && readers.size() < 2) {
    if (!readers.empty()) inputs_.emplace(v, readers.begin()->first);
    return;
  }
  readers.erase(from);
  const OpId op = m_.intern_op(OpKind::Border, kDomain, kName);
  const std::string name(m_.text(m_.value(v).name));
  for (const auto& [to, r] : readers) {
    const NodeId border = m_.add_node_like(m_.main(), op, {&v, 1}, 1, name, r.first);
    m_.set_attr_int(border, m_.names.intern(kFrom), from);
    m_.set_attr_int(border, m_.names.intern(kTo), to);
    for (const UseId u : r.uses) m_.set_operand(m_.user(u), m_.slot(u), m_.output(border, 0));
  }
}

// What the use reads now and the reader itself are of one assignment, so either tells; a return node has
// none.
bool AssignmentBorders::may_read(const Model& m, UseId use, ValueId v) const {
  const Known k{m, inputs_, assignments_};
  const Assignment to = source_of(k, v);
  if (to == kNotKnown) return true;
  const NodeId reader = in_main(m, m.user(use));
  const Assignment now = source_of(k, m.input(m.user(use), m.slot(use)));
  if (now != kNotKnown && now != to) return false;
  if (!reader || m.is_return(reader)) return true;
  const Assignment of_reader = reads_for(k, reader);
  return of_reader == kNotKnown || of_reader == to;
}

void AssignmentBorders::node_added(NodeId n) {
  assignments_.resize(std::max(assignments_.size(), n.index() + std::size_t{1}), kNotKnown);
  const NodeId top = in_main(m_, n);
  assignments_[n.index()] =
      top && top != n ? known(assignments_, top) : from_operands({m_, inputs_, assignments_}, n);
}

// The readers of an output that stays read what it is a copy of.
void AssignmentBorders::read_operand(ValueId result, ValueId from) {
  std::vector<UseId> uses;
  for (UseId u = m_.first_use(result); u; u = m_.next_use(u))
    if (!m_.is_return(m_.user(u)) && m_.may_read(u, from)) uses.push_back(u);
  for (const UseId u : uses) m_.set_operand(m_.user(u), m_.slot(u), from);
}

void AssignmentBorders::remove() {
  inherit_assignments(m_, inputs_, assignments_);
  const OpId identity = standard_op(m_, OpKind::Identity);
  for (std::size_t i = 0; i < m_.node_count(); ++i) {
    const NodeId n{i};
    if (!m_.alive(n) || m_.kind(n) != OpKind::Border) continue;
    const Assignment to = stated(m_, n, kTo);
    const ValueId from = m_.input(n, 0), result = m_.output(n, 0);
    if (m_.use_count(result) > 0 && m_.can_replace(result, from)) m_.replace_all_uses(result, from);
    else read_operand(result, from);
    if (m_.use_count(result) == 0) {
      m_.erase(n);
      continue;
    }
    m_.set_op(n, identity);
    m_.remove_attr(n, m_.names.intern(kFrom));
    m_.remove_attr(n, m_.names.intern(kTo));
    assignments_[i] = to;
  }
}

}  // namespace graphopt
