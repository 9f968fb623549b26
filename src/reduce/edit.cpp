#include "reduce/edit.h"

#include <algorithm>
#include <unordered_map>

#include "ops/constants.h"
#include "shapes/map_dims.h"

namespace graphopt {
namespace {

bool is_read(const Model& m, NodeId n) {
  return std::ranges::any_of(m.outputs(n), [&](ValueId v) { return v && m.use_count(v) > 0; });
}

class Settler {
 public:
  Settler(Edit& e, const Inference& known) : e_(e), m_(e.model), known_(known) {
    e.cut.resize(m_.node_count(), false);
    e.idle.resize(m_.node_count(), false);
    kept_.resize(m_.node_count(), false);
    needed_.resize(m_.node_count(), false);
    for (NodeId n = m_.first_node(m_.main()); n; n = m_.next_node(n)) kept_[n.index()] = !e.cut[n.index()];
    for (const TypeOverride& o : e.known) types_.insert_or_assign(o.value, o.type);
    for (const TypeOverride& o : e.types) types_.insert_or_assign(o.value, o.type);
  }

  Candidate run() {
    if (!e_.leaves_are_outputs) drop_dead();
    ModelPart part;
    for (;;) {
      find_outputs();
      part = part_of(m_, nodes());
      if (!repair(part)) break;
    }
    part.outputs = outputs_;
    Candidate out{std::move(part), e_.types};
    add_types(out);
    return out;
  }

 private:
  TypeId type(ValueId v) const {
    const auto it = types_.find(v);
    if (it != types_.end()) return it->second;
    return v.index() < known_values_ ? known_.type(v) : m_.types.unknown();
  }

  bool is_output(ValueId v) const {
    for (UseId u = m_.first_use(v); u; u = m_.next_use(u))
      if (m_.user(u) == m_.graph(m_.main()).ret) return true;
    return std::ranges::find(e_.outputs, v) != e_.outputs.end();
  }

  bool is_read_by_kept(ValueId v) const {
    for (UseId u = m_.first_use(v); u; u = m_.next_use(u)) {
      const NodeId user = m_.ancestor_in(m_.main(), m_.user(u));
      if (user && !m_.is_return(user) && kept_[user.index()]) return true;
    }
    return false;
  }

  void drop_dead() {
    for (NodeId n = m_.graph(m_.main()).last; n; n = m_.prev_node(n)) {
      if (e_.idle[n.index()]) continue;
      const bool live = std::ranges::any_of(
          m_.outputs(n), [&](ValueId v) { return v && (is_output(v) || is_read_by_kept(v)); });
      if (!live) kept_[n.index()] = false;
    }
  }

  // Collects the outputs: those of the model, those that the edit asks for, results of leaves.
  void find_outputs() {
    outputs_.clear();
    const auto add = [this](ValueId v) {
      if (!v || !m_.value(v).def || m_.value(v).graph != m_.main() || !kept_[m_.value(v).def.index()]) return;
      if (std::ranges::find(outputs_, v) == outputs_.end()) outputs_.push_back(v);
    };
    for (std::size_t i = 0; i < m_.graph_output_count(m_.main()); ++i) add(m_.graph_output(m_.main(), i));
    for (const ValueId v : e_.outputs) add(v);
    if (e_.leaves_are_outputs) add_leaves(add);
    for (NodeId n = m_.graph(m_.main()).last; n && outputs_.empty(); n = m_.prev_node(n))
      if (kept_[n.index()] && e_.idle[n.index()]) add(declarable_result(n));
  }

  // Returns a result that can be an output; none where there is none.
  ValueId declarable_result(NodeId n) const {
    for (const ValueId v : m_.outputs(n))
      if (v && can_declare(m_.types[type(v)])) return v;
    return {};
  }

  template <class Add> void add_leaves(Add add) {
    for (NodeId n = m_.graph(m_.main()).last; n; n = m_.prev_node(n)) {
      if (!kept_[n.index()] || e_.idle[n.index()]) continue;
      const bool read = std::ranges::any_of(
          m_.outputs(n), [&](ValueId v) { return v && (is_output(v) || is_read_by_kept(v)); });
      if (read) continue;
      if (const ValueId result = declarable_result(n)) add(result);
      else if (!needed_[n.index()]) kept_[n.index()] = false;
    }
  }

  std::vector<NodeId> nodes() const {
    std::vector<NodeId> out;
    for (NodeId n = m_.first_node(m_.main()); n; n = m_.next_node(n))
      if (kept_[n.index()]) out.push_back(n);
    return out;
  }

  // Makes constants of inputs whose elements are known, and takes nodes back whose results cannot be inputs.
  bool repair(const ModelPart& part) {
    bool changed = false;
    for (const ValueId v : part.inputs) {
      const Value& value = m_.value(v);
      if (value.is_input || !value.def) continue;
      if (make_constant(v)) {
        changed = true;
      } else if (!can_declare(m_.types[type(v)])) {
        kept_[value.def.index()] = needed_[value.def.index()] = true;
        changed = true;
      }
    }
    return changed;
  }

  bool make_constant(ValueId v) {
    if (v.index() >= known_values_ || is_output(v) || m_.is_fixed(v)) return false;
    if (const TensorId t = m_.constant_of(v)) {  // of a Constant node
      m_.make_constant(v, t);
      return true;
    }
    const SymbolicTensor* elements = known_.symbolic(v);
    const std::optional<std::vector<std::int64_t>> numbers = known_.integers(v);
    if (elements == nullptr || !numbers || !m_.can_hold_constant(m_.main(), elements->dtype)) return false;
    const std::optional<std::string> raw = int_payload(elements->dtype, *numbers);
    if (!raw) return false;
    m_.make_constant(v, m_.make_tensor(elements->dtype, elements->dims, *raw));
    return true;
  }

  void add_types(Candidate& c) {
    const auto add = [&](ValueId v) {
      const auto of_v = [v](const TypeOverride& o) { return o.value == v; };
      if (std::ranges::none_of(e_.types, of_v))
        c.types.push_back({v, without_made_names(m_, type(v)), false});
    };
    for (const ValueId v : c.part.inputs)
      if (!m_.value(v).is_input) add(v);
    for (const ValueId v : c.part.outputs) {
      const bool read = std::ranges::find(c.part.inputs, v) != c.part.inputs.end();
      if (!m_.is_graph_output(v) && !read) add(v);
    }
  }

  Edit& e_;
  Model& m_;
  const Inference& known_;
  std::size_t known_values_ = e_.cloned_values;
  std::vector<bool> kept_, needed_;  // by node; needed: its result cannot be an input
  std::vector<ValueId> outputs_;
  std::unordered_map<ValueId, TypeId> types_;
};

// Adds what nothing reads.
void add_unused(const Model& m, ModelPart& part) {
  const auto add = [](std::vector<ValueId>& to, ValueId v) {
    if (std::ranges::find(to, v) == to.end()) to.push_back(v);
  };
  for (const ValueId v : m.graph_inputs(m.main())) add(part.inputs, v);
  for (const ValueId v : m.graph(m.main()).initializers)
    if (m.alive(v)) add(part.initializers, v);
  part.opsets = m.opset_tables[0];
  part.functions.clear();
  for (std::size_t i = 0; i < m.function_count(); ++i)
    if (const GraphId body = m.function(FunctionId{i}).body; body && m.graph(body).alive)
      part.functions.push_back(FunctionId{i});
}

}  // namespace

Edit::Edit(const Model& m)
    : model(m.clone()),
      cut(m.node_count(), false),
      idle(m.node_count(), false),
      cloned_values(m.value_count()) {
  for (NodeId n = m.first_node(m.main()); n; n = m.next_node(n)) idle[n.index()] = !is_read(m, n);
}

Candidate settle(Edit& e, const Inference& known, bool keep_unused) {
  Candidate out = Settler(e, known).run();
  if (keep_unused) add_unused(e.model, out.part);
  return out;
}

bool can_declare(const Type& type) {
  if (type.kind == TypeKind::Tensor || type.kind == TypeKind::SparseTensor)
    return type.elem != DType::Undefined && type.has_rank;
  return type.kind != TypeKind::Unknown;
}

}  // namespace graphopt
