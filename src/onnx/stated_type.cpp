#include "onnx/stated_type.h"

#include "onnx/fields.h"
#include "onnx/types_wire.h"
#include "onnx/wire.h"

namespace graphopt {
namespace {

namespace ty = field::type;
using wire::Field;
using wire::Fields;
using wire::Kind;

StatedDim dim_of(Bytes bytes) {
  StatedDim out;
  Fields fields(bytes);
  for (Field f; fields.next(f);) {
    if (f.number == field::dim::kValue && f.kind == Kind::Varint) out = static_cast<std::int64_t>(f.value);
    if (f.number == field::dim::kParam && f.kind == Kind::Length && !f.bytes.empty())
      out = std::string(f.bytes);
  }
  return out;
}

void read_shape(Bytes bytes, StatedType& out) {
  out.has_rank = true;
  out.dims.clear();
  Fields fields(bytes);
  for (Field f; fields.next(f);)
    if (f.number == field::shape::kDim && f.kind == Kind::Length) out.dims.push_back(dim_of(f.bytes));
}

StatedType type_of(Bytes bytes);  // types nest as deep as the reader allows, a hundred levels

void read_member(std::uint32_t number, Bytes bytes, StatedType& out) {
  const bool tensor = number == ty::kTensor || number == ty::kSparse;
  const std::uint32_t inner = number == ty::kMap ? std::uint32_t{field::map_type::kValue} : 1;
  Fields fields(bytes);
  for (Field f; fields.next(f);) {
    if (tensor && f.number == field::tensor_type::kElem && f.kind == Kind::Varint) out.elem = element_type(f);
    if (tensor && f.number == field::tensor_type::kShape && f.kind == Kind::Length) read_shape(f.bytes, out);
    if (number == ty::kMap && f.number == field::map_type::kKey && f.kind == Kind::Varint)
      out.elem = element_type(f);
    if (!tensor && f.number == inner && f.kind == Kind::Length) out.inner = {type_of(f.bytes)};
  }
}

StatedType type_of(Bytes bytes) {
  StatedType out;
  Fields fields(bytes);
  for (Field f; fields.next(f);) {
    if (f.kind != Kind::Length) continue;
    switch (f.number) {
      case ty::kTensor: out.kind = TypeKind::Tensor; break;
      case ty::kSparse: out.kind = TypeKind::SparseTensor; break;
      case ty::kSequence: out.kind = TypeKind::Sequence; break;
      case ty::kOptional: out.kind = TypeKind::Optional; break;
      case ty::kMap: out.kind = TypeKind::Map; break;
      default: continue;
    }
    read_member(f.number, f.bytes, out);
  }
  return out;
}

}  // namespace

StatedTypes::StatedTypes(const Model& m, std::span<const TypeOverride> written)
    : m_(m), written_(m.value_count()) {
  for (const TypeOverride& o : written)
    if (TypeOverride& entry = written_[o.value.index()]; !entry.value) entry = o;
}

StatedType StatedTypes::of(ValueId v) const {
  const Value& value = m_.value(v);
  const TypeOverride& entry = written_[v.index()];
  const bool stale = value.info_stale && !value.is_input;
  wire::BackwardWriter writer({});
  write_value_info(writer, m_, stale ? Bytes{} : value.info, {}, entry.value ? entry.type : TypeId{},
                   !entry.value || entry.keeps_dims);
  std::string info;
  for (const wire::ByteRange& range : writer.take()) info.append(range.data, range.size);
  StatedType out;
  Fields fields(info);
  for (Field f; fields.next(f);)
    if (f.number == field::value_info::kType && f.kind == Kind::Length) out = type_of(f.bytes);
  return out;
}

}  // namespace graphopt
