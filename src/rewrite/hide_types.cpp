#include "rewrite/hide_types.h"

#include <memory>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ops/hidden_operators.h"
#include "ops/node_facts.h"
#include "rewrite/build.h"

namespace graphopt {
namespace {

constexpr std::int64_t kSequences = 11;  // the opset that brought them

std::int64_t standard_opset(const Model& m, GraphId g) { return m.opset(g, NameId{std::uint32_t{0}}); }

// In an opset that is newer than the fact table nobody asks what a runtime refuses.
bool has_sequences(const Model& m, GraphId g) {
  const std::int64_t opset = standard_opset(m, g);
  return opset >= kSequences && opset <= kNewestOpset;
}

// Returns whether sequences hold the type, and there are sequences.
bool fits_a_sequence(const Model& m, GraphId g, DType type) {
  if (is_hidden(m, OpKind::SequenceConstruct) || is_hidden(m, OpKind::SequenceAt)) return false;
  switch (type) {
    case DType::Float:
    case DType::Double:
    case DType::Float16:
    case DType::Bool:
    case DType::Int8:
    case DType::Int16:
    case DType::Int32:
    case DType::Int64:
    case DType::UInt8:
    case DType::UInt16:
    case DType::UInt32:
    case DType::UInt64:
    case DType::String: return has_sequences(m, g) && m.can_hold_constant(g, type);
    default: return false;
  }
}

class Hider {
 public:
  Hider(Model& m, const Inference& infer) : m_(m), infer_(infer) {}

  void hide(NodeId n, ValueId v) {
    const GraphId g = m_.node(n).graph;
    ValueId hidden;
    for (const Hidden& h : done_)
      if (h.graph == g && h.value == v) hidden = h.hidden;
    if (!hidden) {
      hidden = through_sequence(n, v);
      done_.push_back({g, v, hidden});
    }
    for (std::uint32_t slot = 0; slot < m_.input_count(n); ++slot)
      if (m_.input(n, slot) == v) m_.set_operand(n, slot, hidden);
  }

 private:
  struct Hidden {
    GraphId graph;
    ValueId value, hidden;
  };

  std::string base_of(ValueId v) const { return std::string(m_.text(m_.value(v).name)) + "_hidden"; }

  // Gives a new value the first name that no value has which is there. A pass may see through what hid an
  // operand, in the file, too, and what hides it again is to have the names that it had.
  ValueId named(ValueId v, const std::string& base) {
    if (taken_.empty())
      for (std::size_t i = 0; i < m_.value_count(); ++i)
        if (const ValueId other{i}; m_.alive(other)) taken_.insert(m_.value(other).name);
    NameId name = m_.names.intern(base);
    for (std::size_t i = 1; !taken_.insert(name).second; ++i)
      name = m_.names.intern(base + '_' + std::to_string(i));
    m_.retype(v, name);
    return v;
  }

  ValueId add(NodeId before, OpKind kind, std::span<const ValueId> operands, const std::string& base) {
    const NodeId made = add_operator({m_, m_.node(before).graph, before}, kind, operands);
    return named(m_.output(made, 0), base);
  }

  ValueId through_sequence(NodeId n, ValueId v) {
    const GraphId g = m_.node(n).graph;
    const std::string base = base_of(v);
    // Any rank but that of v.
    std::vector<std::int64_t> dims{0};
    const Type& declared = m_.types[m_.value(v).declared];
    if ((infer_.has_rank(v) ? infer_.dims(v).size() : declared.dims.size()) == 1) dims = {0, 0};
    const DType type = infer_.dtype(v);
    const TensorId empty = type == DType::String ? no_strings(dims) : m_.make_tensor(type, dims, {});
    const ValueId other = named(m_.add_initializer(g, {}, empty), base + "_other");
    const ValueId position = named(m_.add_initializer(g, {}, m_.make_int64(0)), base + "_position");
    const ValueId elements[] = {v, other};
    const ValueId at[] = {add(n, OpKind::SequenceConstruct, elements, base + "_sequence"), position};
    return add(n, OpKind::SequenceAt, at, base);
  }

  TensorId no_strings(const std::vector<std::int64_t>& dims) {
    Tensor t;
    t.dtype = DType::String;
    t.dims = dims;
    t.elements = 0;
    t.owned = std::make_shared<const Unpacked>();
    t.ready = true;
    return m_.add_tensor(std::move(t));
  }

  Model& m_;
  const Inference& infer_;
  std::vector<Hidden> done_;          // few
  std::unordered_set<NameId> taken_;  // names of values that are there; filled when one is needed
};

}  // namespace

bool can_hide(const Model& m, const Inference& infer, NodeId reader, ValueId operand) {
  return !m.is_fixed(operand) && fits_a_sequence(m, m.node(reader).graph, infer.dtype(operand));
}

bool hide_types(Model& m, const Inference& infer, std::span<const RefusedNode> nodes) {
  Hider hider(m, infer);
  bool any = false;
  for (const RefusedNode& n : nodes) {
    if (n.fails) continue;
    for (const ValueId v : n.hide) hider.hide(n.node, v);
    any = any || !n.hide.empty();
  }
  return any;
}

}  // namespace graphopt
