#include "ir/type_text.h"

namespace graphopt {
namespace {

std::string shape_text(const Model& m, const Type& t) {
  if (!t.has_rank) return "";
  std::string out = "[";
  for (std::size_t i = 0; i < t.dims.size(); ++i) {
    if (i > 0) out += ',';
    out += t.dims[i] ? m.dims.print(t.dims[i]) : "?";
  }
  return out + ']';
}

}  // namespace

// Types nest as deep as the file says; a loop from the outside inwards needs no stack.
std::string type_text(const Model& m, TypeId id) {
  std::string head, tail;
  for (;;) {
    const Type& t = m.types[id];
    switch (t.kind) {
      case TypeKind::Tensor: return head + std::string(dtype_name(t.elem)) + shape_text(m, t) + tail;
      case TypeKind::SparseTensor:
        return head + "sparse_tensor(" + std::string(dtype_name(t.elem)) + shape_text(m, t) + ')' + tail;
      case TypeKind::Sequence: head += "seq("; break;
      case TypeKind::Optional: head += "optional("; break;
      case TypeKind::Map: head += "map(" + std::string(dtype_name(t.elem)) + ", "; break;
      case TypeKind::Opaque: return head + "opaque" + tail;
      case TypeKind::Unknown: return head + '?' + tail;
    }
    tail += ')';
    id = t.inner;
  }
}

std::string operator_name(const Model& model, OpId id) {
  const Op& op = model.op(id);
  const std::string type(model.text(op.type));
  const std::string_view domain = model.text(op.domain);
  return domain.empty() || domain == "ai.onnx" ? type : std::string(domain) + "::" + type;
}

}  // namespace graphopt
