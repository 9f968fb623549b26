#include "deploy/value_types.h"

#include "devices/profile.h"

namespace graphopt::deploy {
namespace {

constexpr int kBitsPerByte = 8;

// The bytes of a tensor as an expression; none where it is not known.
DimId bytes_expression(Model& m, const Inference& inference, ValueId v) {
  const Type type = inference.type_of(v);
  const int bits = bits_of(type.elem);
  if (type.kind != TypeKind::Tensor || !type.has_rank || bits == 0) return {};
  for (const DimId d : type.dims)
    if (!d || !m.dims.linked(d)) return {};
  DimId count = m.dims.product(type.dims);
  if (bits % kBitsPerByte != 0) {  // packed; a symbolic number of elements may leave a byte partly filled
    const DimId all = m.dims.mul(count, m.dims.constant(bits));
    return m.dims.ceil_div(all, m.dims.constant(kBitsPerByte));
  }
  return m.dims.mul(count, m.dims.constant(bits / kBitsPerByte));
}

Size size_of(const Model& m, DimId bytes) {
  if (!bytes) return {};
  if (const auto number = m.dims.value(bytes)) return {static_cast<std::uint64_t>(*number), {}};
  return {std::nullopt, m.dims.print(bytes)};
}

ValueKind kind_of(TypeKind kind) {
  switch (kind) {
    case TypeKind::SparseTensor: return ValueKind::SparseTensor;
    case TypeKind::Sequence: return ValueKind::Sequence;
    case TypeKind::Optional: return ValueKind::Optional;
    case TypeKind::Map: return ValueKind::Map;
    default: break;
  }
  return ValueKind::Tensor;
}

}  // namespace

std::string enumerator(DType t) {
  const auto i = static_cast<std::size_t>(t);
  if (i == 0) return kUndefined;
  return i > kDTypeNames.size() ? std::string() : std::string(kDTypeNames[i - 1]);
}

// Types nest as deep as the reader allows, a hundred levels.
ValueType value_type(const StatedType& type) {
  ValueType out;
  out.kind = kind_of(type.kind);
  if (out.kind != ValueKind::Sequence && out.kind != ValueKind::Optional) out.dtype = type.elem;
  if (out.kind == ValueKind::Tensor || out.kind == ValueKind::SparseTensor) {
    if (type.has_rank) out.shape = type.dims;
  } else if (!type.inner.empty()) {
    out.elem.push_back(value_type(type.inner[0]));
  }
  return out;
}

Size size_of(Model& m, const Inference& inference, ValueId v) {
  return size_of(m, bytes_expression(m, inference, v));
}

void SizeSum::add(const Inference& inference, ValueId v) {
  if (sum_) sum_ = m_.dims.add(sum_, bytes_expression(m_, inference, v));
}

Size SizeSum::size() const { return size_of(m_, sum_); }

}  // namespace graphopt::deploy
