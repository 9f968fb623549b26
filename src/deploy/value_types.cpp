#include "deploy/value_types.h"

#include <utility>

namespace graphopt {
namespace {

using nlohmann::json;

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

json json_of(const Model& m, DimId bytes) {
  if (!bytes) return {{"bytes", nullptr}};
  if (const auto number = m.dims.value(bytes)) return {{"bytes", *number}};
  return {{"bytes", nullptr}, {"formula", m.dims.print(bytes)}};
}

}  // namespace

std::string enumerator(DType t) {
  std::string out(dtype_name(t));
  for (char& c : out)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return out;
}

// Types nest as deep as the reader allows, a hundred levels.
json type_json(const StatedType& type) {
  const auto inner = [&type] { return type.inner.empty() ? json(nullptr) : type_json(type.inner[0]); };
  switch (type.kind) {
    case TypeKind::Sequence: return {{"kind", "sequence"}, {"elem", inner()}};
    case TypeKind::Optional: return {{"kind", "optional"}, {"elem", inner()}};
    case TypeKind::Map: return {{"kind", "map"}, {"key", enumerator(type.elem)}, {"elem", inner()}};
    default: break;
  }
  json shape = nullptr;
  if (type.has_rank) {
    shape = json::array();
    for (const StatedDim& d : type.dims) {
      if (const auto* number = std::get_if<std::int64_t>(&d)) shape.push_back(*number);
      else if (const auto* name = std::get_if<std::string>(&d)) shape.push_back(*name);
      else shape.push_back(nullptr);
    }
  }
  return {{"kind", type.kind == TypeKind::SparseTensor ? "sparse_tensor" : "tensor"},
          {"dtype", enumerator(type.elem)},
          {"shape", std::move(shape)}};
}

json size_json(Model& m, const Inference& inference, ValueId v) {
  return json_of(m, bytes_expression(m, inference, v));
}

void SizeSum::add(const Inference& inference, ValueId v) {
  if (sum_) sum_ = m_.dims.add(sum_, bytes_expression(m_, inference, v));
}

json SizeSum::json() const { return json_of(m_, sum_); }

}  // namespace graphopt
