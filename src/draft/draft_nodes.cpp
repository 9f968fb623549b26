#include "draft/draft_nodes.h"

#include <utility>

#include "draft/axis_work.h"
#include "ops/attributes.h"
#include "ops/node_facts.h"
#include "support/known_names.h"

namespace graphopt {

DraftNodes::DraftNodes(const Draft& d, Model& m, Int64s int64s)
    : d_(d),
      m_(m),
      shapes_(d.shapes()),
      opset_(m.opset(d.graph(), NameId{std::uint32_t{0}})),
      int64s_(std::move(int64s)) {}

TensorId DraftNodes::tensor_of(DValue v) {
  const Tensor& t = m_.tensor(d_[v].tensor);
  std::vector<std::int64_t> dims = *shapes_.numbers(d_.shape(v));
  if (t.dims == dims) return d_[v].tensor;
  const auto raw = m_.raw(d_[v].tensor);
  Tensor other;
  other.dtype = t.dtype;
  other.dims = std::move(dims);
  other.elements = t.elements;
  other.raw = raw ? *raw : Bytes{};
  other.owned = t.owned;
  other.ready = true;
  return m_.add_tensor(std::move(other));
}

NodeId DraftNodes::make(DNode n, std::vector<ValueId> in, std::span<const ValueId> out, NodeId before) {
  const DraftNode& node = d_[n];
  const GraphId g = d_.graph();
  NodeId made;
  switch (node.node_class) {
    case NodeClass::Elementwise: {
      made = m_.add_node_as(node.origin, g, in, out, before);
      if (node.per_axis) m_.set_attr_int(made, names::axis, node.axis);
      break;
    }
    case NodeClass::Deformation: made = make_deform(n, in, out, before); break;
    case NodeClass::Transpose:
      made = m_.add_node(g, standard_op(m_, OpKind::Transpose), in, out, before);
      m_.set_attr_ints(made, names::perm, d_.list(node.list));
      break;
    case NodeClass::Concat:
      made = m_.add_node(g, standard_op(m_, OpKind::Concat), in, out, before);
      m_.set_attr_int(made, names::axis, node.axis);
      break;
    default: {  // Split
      if (in.size() > 1) in.resize(1);
      made = m_.add_node(g, standard_op(m_, OpKind::Split), in, out, before);
      write_lengths(n, made);
      break;
    }
  }
  return made;
}

NodeId DraftNodes::make_deform(DNode n, std::vector<ValueId>& in, std::span<const ValueId> out,
                               NodeId before) {
  const GraphId g = d_.graph();
  if (in.size() > 1) {
    const NodeId made = m_.add_node(g, standard_op(m_, OpKind::Reshape), in, out, before);
    const NodeId like = d_[n].origin;
    if (like && int_attr(m_, like, names::allowzero).value_or(0) != 0)
      m_.set_attr_int(made, names::allowzero, 1);
    return made;
  }
  const DeformForm form = deform_form(shapes_, d_.shape(d_.in(n, 0)), d_.shape(d_.out(n)));
  const bool target = form.kind == DeformForm::Kind::Target;
  const OpKind kind = target                                   ? OpKind::Reshape
                      : form.kind == DeformForm::Kind::Squeeze ? OpKind::Squeeze
                                                               : OpKind::Unsqueeze;
  const bool as_operand = opset_ >= (target ? 5 : 13);
  if (as_operand) in.push_back(int64s_(form.numbers, text_of(out[0]) + (target ? "_shape" : "_axes")));
  const NodeId made = m_.add_node(g, standard_op(m_, kind), in, out, before);
  if (!as_operand) m_.set_attr_ints(made, target ? names::shape : names::axes, form.numbers);
  return made;
}

// Writes axis and lengths of a Split in the form of the opset.
void DraftNodes::write_lengths(DNode n, NodeId node) {
  m_.set_attr_int(node, names::axis, d_[n].axis);
  const auto lengths = d_.list(d_[n].list);
  m_.remove_attr(node, names::num_outputs);
  if (opset_ < 13) {
    m_.set_attr_ints(node, names::split, lengths);
    return;
  }
  const ValueId in[] = {m_.input(node, 0), int64s_(lengths, text_of(m_.input(node, 0)) + "_split")};
  m_.set_operands(node, in);
}

void DraftNodes::write_attributes(DNode n, NodeId node, const std::string& base) {
  const DraftNode& now = d_[n];
  if (now.axes_rewritten)
    write_axis_work(d_, n, m_, node, [&](std::span<const std::int64_t> numbers, std::string_view what) {
      return int64s_(numbers, base + std::string(what));
    });
  if (now.node_class == NodeClass::Split && now.list) write_lengths(n, node);
  if (now.per_axis && int_attr(m_, node, names::axis).value_or(1) != now.axis)
    m_.set_attr_int(node, names::axis, now.axis);
  if (now.node_class == NodeClass::Concat) m_.set_attr_int(node, names::axis, now.axis);
  if (now.node_class == NodeClass::Transpose) m_.set_attr_ints(node, names::perm, d_.list(now.list));
}

}  // namespace graphopt
