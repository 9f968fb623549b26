// Element types and value types. Types are interned: equal types have equal ids, so 10^6 values of one type
// cost one record.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "ir/dim.h"
#include "support/ids.h"

namespace graphopt {

// Numbers are those of onnx::TensorProto::DataType; a file may contain others, which are kept.
enum class DType : std::uint8_t {
  // clang-format off
  Undefined = 0, Float = 1, UInt8 = 2, Int8 = 3, UInt16 = 4, Int16 = 5, Int32 = 6, Int64 = 7, String = 8,
  Bool = 9, Float16 = 10, Double = 11, UInt32 = 12, UInt64 = 13, Complex64 = 14, Complex128 = 15,
  BFloat16 = 16, Float8E4M3FN = 17, Float8E4M3FNUZ = 18, Float8E5M2 = 19, Float8E5M2FNUZ = 20, UInt4 = 21,
  Int4 = 22, Float4E2M1 = 23, Float8E8M0 = 24, UInt2 = 25, Int2 = 26, Float6E2M3 = 27, Float6E3M2 = 28,
  // clang-format on
};

// Bits of one element in raw form (4 for Int4, 1 byte for Bool); 0 for String, Undefined and unknown numbers.
int bits_of(DType t);
// Bytes of n elements in raw form, sub-byte types packed; nothing on overflow or for String.
std::optional<std::uint64_t> raw_size(DType t, std::uint64_t elements);
std::string_view dtype_name(DType t);  // "float", "int64", as in ONNX text
std::optional<DType> dtype_from_name(std::string_view name);
bool is_float(DType t);  // all floating types, the 4-, 6- and 8-bit ones included; not complex
bool is_signed_int(DType t);
bool is_unsigned_int(DType t);
inline bool is_int(DType t) { return is_signed_int(t) || is_unsigned_int(t); }

enum class TypeKind : std::uint8_t { Unknown, Tensor, SparseTensor, Sequence, Map, Optional, Opaque };

// The fields by kind. Tensor and SparseTensor: `elem`, and when has_rank the dims (a dim that is none is
// unknown). Sequence and Optional: `inner`. Map: `elem` is the key type, `inner` the value type. Opaque: only
// the raw bytes describe it.
struct Type {
  TypeKind kind = TypeKind::Unknown;
  DType elem = DType::Undefined;
  bool has_rank = false;
  TypeId inner = {};
  std::span<const DimId> dims = {};
};

class TypePool {
 public:
  TypePool();
  ~TypePool();
  TypePool(TypePool&&) noexcept;
  TypePool& operator=(TypePool&&) noexcept;
  // Returns a pool with the same types and ids. Both may grow; they share the memory of what they have.
  TypePool clone() const;

  TypeId unknown() const;     // TypeKind::Unknown
  TypeId tensor(DType elem);  // rank unknown
  TypeId tensor(DType elem, std::span<const DimId> dims);
  TypeId sparse(DType elem, bool has_rank, std::span<const DimId> dims);
  TypeId sequence(TypeId inner);
  TypeId optional(TypeId inner);
  TypeId map(DType key, TypeId value);
  TypeId opaque();
  const Type& operator[](TypeId id) const;  // Unknown for none
  std::size_t size() const;

 private:
  struct State;
  explicit TypePool(std::unique_ptr<State> s);
  std::unique_ptr<State> s_;
};

}  // namespace graphopt
