// See types_wire.h. Types are nested (a sequence of optionals of ...), and functions here recurse once per
// level: the reader allows at most wire::kMaxDepth levels.
#include "onnx/types_wire.h"

#include <algorithm>
#include <string>
#include <utility>

#include "onnx/fields.h"

namespace graphopt {
namespace {

namespace ty = field::type;
using wire::Field;
using wire::Fields;
using wire::Kind;

const char* const kTooDeep = "messages are nested deeper than 100 levels, which no ONNX reader accepts";

class TypeReader {
 public:
  TypeReader(Model& m, const InputDimNames* names) : m_(m), names_(names) {}

  const char* broken = nullptr;

  TypeId read(Bytes proto, int depth) {
    if (depth <= 0) return fail(kTooDeep);
    TypeId out = m_.types.unknown();
    Fields fields(proto);
    for (Field f; fields.next(f);) {
      if (f.kind != Kind::Length) continue;
      switch (f.number) {
        case ty::kTensor: out = tensor(f.bytes, depth - 1, false); break;
        case ty::kSparse: out = tensor(f.bytes, depth - 1, true); break;
        case ty::kSequence: out = wrapped(f.bytes, depth - 1, false); break;
        case ty::kOptional: out = wrapped(f.bytes, depth - 1, true); break;
        case ty::kMap: out = map(f.bytes, depth - 1); break;
        case ty::kOpaque: out = m_.types.opaque(); break;
        default: break;
      }
    }
    if (fields.broken()) return fail(fields.what());
    return out;
  }

 private:
  TypeId fail(const char* what) {
    if (broken == nullptr) broken = what;
    return m_.types.unknown();
  }

  TypeId wrapped(Bytes proto, int depth, bool optional) {
    if (depth <= 0) return fail(kTooDeep);
    TypeId inner = m_.types.unknown();
    // Elements of a sequence may differ in their dims, so a name there binds nothing.
    const InputDimNames* names = std::exchange(names_, optional ? names_ : nullptr);
    Fields fields(proto);
    for (Field f; fields.next(f);)
      if (f.number == 1 && f.kind == Kind::Length) inner = read(f.bytes, depth - 1);
    names_ = names;
    if (fields.broken()) return fail(fields.what());
    return optional ? m_.types.optional(inner) : m_.types.sequence(inner);
  }

  TypeId map(Bytes proto, int depth) {
    if (depth <= 0) return fail(kTooDeep);
    DType key = DType::Undefined;
    TypeId value = m_.types.unknown();
    const InputDimNames* names = std::exchange(names_, nullptr);
    Fields fields(proto);
    for (Field f; fields.next(f);) {
      if (f.number == field::map_type::kKey && f.kind == Kind::Varint) key = element_type(f);
      if (f.number == field::map_type::kValue && f.kind == Kind::Length) value = read(f.bytes, depth - 1);
    }
    names_ = names;
    if (fields.broken()) return fail(fields.what());
    return m_.types.map(key, value);
  }

  TypeId tensor(Bytes proto, int depth, bool sparse) {
    if (depth <= 2) return fail(kTooDeep);
    DType elem = DType::Undefined;
    bool has_rank = false;
    dims_.clear();
    Fields fields(proto);
    for (Field f; fields.next(f);) {
      if (f.number == field::tensor_type::kElem && f.kind == Kind::Varint) elem = element_type(f);
      if (f.number != field::tensor_type::kShape || f.kind != Kind::Length) continue;
      has_rank = true;
      Fields shape(f.bytes);
      for (Field d; shape.next(d);)
        if (d.number == field::shape::kDim && d.kind == Kind::Length) dims_.push_back(dim(d.bytes));
      if (shape.broken()) return fail(shape.what());
    }
    if (fields.broken()) return fail(fields.what());
    if (sparse) return m_.types.sparse(elem, has_rank, dims_);
    return has_rank ? m_.types.tensor(elem, dims_) : m_.types.tensor(elem);
  }

  DimId dim(Bytes proto) {
    DimId out;
    Fields fields(proto);
    for (Field f; fields.next(f);) {
      if (f.number == field::dim::kValue && f.kind == Kind::Varint)  // some exporters write -1 for "unknown"
        out = wire::as_int64(f) >= 0 ? m_.dims.constant(wire::as_int64(f)) : DimId{};
      if (f.number == field::dim::kParam && f.kind == Kind::Length) out = named(f.bytes);
    }
    if (fields.broken()) fail(fields.what());
    return out;
  }

  DimId named(std::string_view name) {
    if (!names_ || name.empty()) return {};
    if (names_->expressions) {
      // An extent is not negative. Believing "N - 1" would state something about N.
      const DimId d = m_.dims.expression(name, names_->alone);
      if (d && m_.dims.range(d).low >= 0) return d;
    }
    return m_.dims.symbol(name);
  }

  Model& m_;
  const InputDimNames* names_;
  std::vector<DimId> dims_;
};

// Returns the first field of that number; a view with null data when there is none. (Protobuf keeps the last
// one of a scalar and merges messages, but no known exporter repeats these fields.)
Bytes find(Bytes proto, std::uint32_t number) {
  Bytes out;
  Fields fields(proto);
  for (Field f; fields.next(f);)
    if (f.number == number && f.kind == Kind::Length) out = f.bytes;
  return out;
}

// --- writing -----------------------------------------------------------------------------------------------

std::vector<Field> fields_of(Bytes proto) {
  std::vector<Field> out;
  Fields fields(proto);
  for (Field f; fields.next(f);) out.push_back(f);
  std::ranges::stable_sort(out, {}, wire::rank_of);
  return out;
}

class TypeWriter {
 public:
  TypeWriter(wire::BackwardWriter& w, const Model& m, bool keeps_dims)
      : w_(w), m_(m), keeps_dims_(keeps_dims) {}

  // Writes the content of a TypeProto: `old` with the facts of `type`.
  void write(Bytes old, TypeId id) {
    const Type& type = m_.types[id];
    const std::uint32_t number = field_of(type.kind);
    const std::vector<Field> fields = fields_of(old);
    bool done = number == 0;
    for (auto it = fields.rbegin(); it != fields.rend(); ++it) {
      const bool is_value = it->number <= 9 && it->number != ty::kDenotation;
      if (!is_value || number == 0) {
        if (!done && it->number < number) done = member(number, type, {});
        w_.raw(it->whole);
      } else if (it->number == number && !done) {
        done = member(number, type, it->bytes);
      }
    }
    if (!done) member(number, type, {});
  }

 private:
  static std::uint32_t field_of(TypeKind kind) {
    switch (kind) {
      case TypeKind::Tensor: return ty::kTensor;
      case TypeKind::SparseTensor: return ty::kSparse;
      case TypeKind::Sequence: return ty::kSequence;
      case TypeKind::Map: return ty::kMap;
      case TypeKind::Optional: return ty::kOptional;
      default: return 0;  // Opaque and Unknown: the old bytes have more information
    }
  }

  bool member(std::uint32_t number, const Type& type, Bytes old) {
    const std::uint64_t end = w_.size();
    switch (type.kind) {
      case TypeKind::Tensor:
      case TypeKind::SparseTensor: tensor(type, old); break;
      case TypeKind::Map: {
        const std::uint64_t value_end = w_.size();
        write(find(old, field::map_type::kValue), type.inner);
        w_.close(field::map_type::kValue, value_end);
        w_.field_varint(field::map_type::kKey, static_cast<std::uint64_t>(type.elem));
        break;
      }
      default: {
        const std::uint64_t inner_end = w_.size();
        write(find(old, 1), type.inner);
        w_.close(1, inner_end);
      }
    }
    w_.close(number, end);
    return true;
  }

  void tensor(const Type& type, Bytes old) {
    const std::vector<Field> fields = fields_of(old);
    Bytes old_shape;
    bool has_shape = type.has_rank;
    for (const Field& f : fields)
      if (f.number == field::tensor_type::kShape && f.kind == Kind::Length)
        old_shape = f.bytes, has_shape |= keeps_dims_;
    for (auto it = fields.rbegin(); it != fields.rend(); ++it)
      if (it->number > field::tensor_type::kShape) w_.raw(it->whole);
    if (has_shape) {
      const std::uint64_t end = w_.size();
      if (type.has_rank) shape(type, old_shape);
      else w_.raw(old_shape);
      w_.close(field::tensor_type::kShape, end);
    }
    if (type.elem != DType::Undefined)
      return w_.field_varint(field::tensor_type::kElem, static_cast<std::uint64_t>(type.elem));
    for (const Field& f : fields)
      if (f.number == field::tensor_type::kElem) w_.raw(f.whole);
  }

  void shape(const Type& type, Bytes old) {
    std::vector<Bytes> old_dims;
    for (const Field& f : fields_of(old)) {
      if (f.number == field::shape::kDim && f.kind == Kind::Length) old_dims.push_back(f.bytes);
      else w_.raw(f.whole);
    }
    const bool same_rank = old_dims.size() == type.dims.size();
    for (std::size_t i = type.dims.size(); i-- > 0;) {
      const std::uint64_t end = w_.size();
      dim(type.dims[i], same_rank ? old_dims[i] : Bytes{});
      w_.close(field::shape::kDim, end);
    }
  }

  void dim(DimId id, Bytes old) {
    if (!id && keeps_dims_) return w_.raw(old);
    const std::vector<Field> fields = fields_of(old);
    for (auto it = fields.rbegin(); it != fields.rend(); ++it)
      if (it->number > field::dim::kParam) w_.raw(it->whole);
    if (!id) return;
    if (const std::optional<std::int64_t> v = m_.dims.value(id)) w_.field_int(field::dim::kValue, *v);
    else w_.field_copy(field::dim::kParam, m_.dims.file_text(id));
  }

  wire::BackwardWriter& w_;
  const Model& m_;
  const bool keeps_dims_;
};

}  // namespace

std::string_view value_info_name(Bytes info) { return find(info, field::value_info::kName); }

std::optional<Fault> read_value_info(Model& m, Bytes info, const InputDimNames* names, int depth,
                                     TypeId& type) {
  type = m.types.unknown();
  TypeReader reader(m, names);
  Fields fields(info);
  for (Field f; fields.next(f);)
    if (f.number == field::value_info::kType && f.kind == Kind::Length)
      type = reader.read(f.bytes, depth - 1);
  if (reader.broken == kTooDeep) return Fault{kTooDeep, "flatten the type, or export the model again"};
  const char* broken = fields.broken() ? fields.what() : reader.broken;
  if (broken != nullptr) return Fault{std::string("its type is broken: ") + broken, kDamaged};
  return std::nullopt;
}

void for_each_dim_name(Bytes info, const SeeDimName& see) {
  struct Nested {
    Bytes type;
    bool inside;
  };
  std::vector<Nested> todo = {{find(info, field::value_info::kType), false}};
  while (!todo.empty()) {
    const Nested at = todo.back();
    todo.pop_back();
    Fields kinds(at.type);
    for (Field kind; kinds.next(kind);) {
      if (kind.kind != Kind::Length) continue;
      if (kind.number == ty::kSequence || kind.number == ty::kOptional)
        todo.push_back({find(kind.bytes, 1), true});
      if (kind.number == ty::kMap) todo.push_back({find(kind.bytes, field::map_type::kValue), true});
      if (kind.number != ty::kTensor && kind.number != ty::kSparse) continue;
      Fields dims(find(kind.bytes, field::tensor_type::kShape));
      std::size_t axis = 0;
      for (Field d; dims.next(d);) {
        if (d.number != field::shape::kDim || d.kind != Kind::Length) continue;
        Bytes name;  // of several the last one counts, as for every reader
        Fields entries(d.bytes);
        for (Field f; entries.next(f);)
          if (f.number == field::dim::kParam && f.kind == Kind::Length) name = f.bytes;
        if (!name.empty()) see(name, axis, at.inside || kind.number == ty::kSparse);
        ++axis;
      }
    }
  }
}

void InputDimNames::collect(Bytes info) {
  for_each_dim_name(info, [this](std::string_view name, std::size_t, bool nested) {
    if (!nested) alone.insert(name);
  });
}

DType element_type(const Field& f) {
  const std::int32_t number = wire::as_int32(f);
  return number > 0 && number < 256 ? static_cast<DType>(number) : DType::Undefined;
}

void write_value_info(wire::BackwardWriter& w, const Model& m, Bytes old, std::string_view name, TypeId type,
                      bool keeps_dims) {
  const std::vector<Field> fields = fields_of(old);
  for (auto it = fields.rbegin(); it != fields.rend(); ++it)
    if (it->number > field::value_info::kType) w.raw(it->whole);
  const Bytes old_type = find(old, field::value_info::kType);
  if (type && m.types[type].kind != TypeKind::Unknown) {
    const std::uint64_t end = w.size();
    TypeWriter(w, m, keeps_dims).write(old_type, type);
    w.close(field::value_info::kType, end);
  } else if (old_type.data() != nullptr) {
    w.field_bytes(field::value_info::kType, old_type);
  }
  w.field_copy(field::value_info::kName, name);
}

}  // namespace graphopt
