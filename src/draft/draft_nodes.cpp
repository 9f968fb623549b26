#include "draft/draft_nodes.h"

#include <utility>

#include "draft/axis_work.h"
#include "ops/attributes.h"
#include "support/known_names.h"

namespace graphopt {

DraftNodes::DraftNodes(const Draft& d, Model& m, Int64s int64s)
    : d_(d), m_(m), shapes_(d.shapes()), int64s_(std::move(int64s)) {}

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

NodeId DraftNodes::make(DNode n, std::span<const ValueId> in, std::span<const ValueId> out, NodeId before) {
  const DraftNode& node = d_[n];
  const Site at{.model = m_, .graph = d_.graph(), .before = before, .results = out};
  NodeId made;
  switch (node.node_class) {
    case NodeClass::Elementwise: {
      made = m_.add_node_as(node.origin, d_.graph(), in, out, before);
      if (node.per_axis) m_.set_attr_int(made, names::axis, node.axis);
      break;
    }
    case NodeClass::Deformation: made = make_deform(n, in, at); break;
    case NodeClass::Transpose:
      made = add_operator(at, OpKind::Transpose, in);
      m_.set_attr_ints(made, names::perm, d_.list(node.list));
      break;
    case NodeClass::Concat: {
      const IntAttr along{names::axis, node.axis};
      made = add_operator(at, OpKind::Concat, in, {&along, 1});
      break;
    }
    default: {  // Split
      Site with_lengths = at;
      with_lengths.list = lengths_operand(n, in[0]);
      made = add_split(with_lengths, in[0], node.axis, d_.list(node.list));
      break;
    }
  }
  return made;
}

NodeId DraftNodes::make_deform(DNode n, std::span<const ValueId> in, Site at) {
  if (in.size() > 1) {
    const NodeId made = add_operator(at, OpKind::Reshape, in);
    const NodeId like = d_[n].origin;
    if (like && int_attr(m_, like, names::allowzero).value_or(0) != 0)
      m_.set_attr_int(made, names::allowzero, 1);
    return made;
  }
  const DeformForm form = deform_form(shapes_, d_.shape(d_.in(n, 0)), d_.shape(d_.out(n)));
  const bool target = form.kind == DeformForm::Kind::Target;
  const bool squeezes = form.kind == DeformForm::Kind::Squeeze;
  const OpKind kind = target ? OpKind::Reshape : squeezes ? OpKind::Squeeze : OpKind::Unsqueeze;
  if (is_operand(m_, at.graph, kind, target ? names::shape : names::axes))
    at.list = int64s_(form.numbers, text_of(at.results[0]) + (target ? "_shape" : "_axes"));
  if (target) return add_reshape(at, in[0], form.numbers);
  return squeezes ? add_squeeze(at, in[0], form.numbers) : add_unsqueeze(at, in[0], form.numbers);
}

// Returns the lengths of a Split of x as its operand; none where they are an attribute.
ValueId DraftNodes::lengths_operand(DNode n, ValueId x) {
  if (!is_operand(m_, d_.graph(), OpKind::Split, names::split)) return {};
  return int64s_(d_.list(d_[n].list), text_of(x) + "_split");
}

// Writes axis and lengths of a Split that is there in the form of the opset.
void DraftNodes::write_lengths(DNode n, NodeId node) {
  m_.set_attr_int(node, names::axis, d_[n].axis);
  m_.remove_attr(node, names::num_outputs);
  const ValueId x = m_.input(node, 0), lengths = lengths_operand(n, x);
  if (!lengths) return m_.set_attr_ints(node, names::split, d_.list(d_[n].list));
  const ValueId in[] = {x, lengths};
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
