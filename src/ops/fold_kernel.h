// The shared functions of fold kernels, private to src/ops/fold*.cpp: operands, results whose size is checked
// before they are allocated, and walks over strided tensors.
//
// A kernel reads the operands, checks everything it relies on, calls make for each result (which refuses what
// is too big before anything is allocated) and emits it. Payloads may be unaligned (they lie in a mapped
// file), so elements are read and written by memcpy. Index arithmetic cannot overflow once the sizes are
// checked: an index never exceeds the number of elements of a tensor that exists.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "ops/attributes.h"
#include "ops/fold.h"
#include "support/checked.h"
#include "support/half.h"

namespace graphopt::folding {

using Dims = std::vector<std::int64_t>;
using DimView = std::span<const std::int64_t>;

inline constexpr FoldRefusal kDone = FoldRefusal::None;
inline constexpr FoldRefusal kBad = FoldRefusal::BadOperands;
inline constexpr FoldRefusal kNaN = FoldRefusal::NaN;
inline constexpr FoldRefusal kNotFoldable = FoldRefusal::NotFoldable;
inline constexpr FoldRefusal kTooBig = FoldRefusal::TooBig;

// Higher ranks are refused: no operator needs them, and coordinates fit in arrays of fixed size.
inline constexpr std::size_t kMaxRank = 64;

struct Operand {
  const Tensor* tensor = nullptr;  // null: absent
  DType dtype = DType::Undefined;
  DimView dims;
  std::int64_t elements = 0;
  const char* data = nullptr;  // raw form; null for strings
  const std::vector<std::string>* strings = nullptr;

  explicit operator bool() const { return tensor != nullptr; }
  std::size_t rank() const { return dims.size(); }
};

// A result under construction. Raw bytes start as zeros, strings empty.
struct Buffer {
  DType dtype = DType::Undefined;
  Dims dims;
  std::int64_t elements = 0;
  std::string raw;
  std::vector<std::string> strings;

  char* data() { return raw.data(); }
};

struct FoldRun {
  Attributes attributes;
  OpKind kind;
  int opset;
  std::span<const Operand> operands;
  std::uint64_t bytes_left;
  std::uint64_t work_left;
  std::uint64_t longest_string = 0;  // among the operands: an upper bound for a copied string
  std::vector<Tensor> results;
  std::vector<bool> unwanted;  // by slot, as far as it goes: results that nothing reads

  bool wants(std::size_t slot) const { return slot >= unwanted.size() || !unwanted[slot]; }
  // Returns an empty operand for slots beyond the last one.
  const Operand& in(std::size_t i) const;
  std::size_t inputs() const { return operands.size(); }

  std::optional<std::int64_t> int_of(NameId name) const { return int_attr(attributes, name); }
  bool has(NameId name) const { return has_attr(attributes, name); }

  // Adds elements that a kernel visits, besides those of its results, to the count of work.
  FoldRefusal charge(std::int64_t elements);
  // Allocates the buffer of a result. Refuses invalid ranks, sizes and types.
  FoldRefusal make(DType dtype, Dims dims, Buffer& out);
  // Sets the result of an output slot; does nothing for a slot that the node does not have.
  void emit(std::size_t slot, Buffer&& buffer);
  // Emits the operand's payload with other dims (or another type of the same width), shared and not copied.
  FoldRefusal emit_view(std::size_t slot, const Operand& from, DType dtype, Dims dims);
};

using Kernel = FoldRefusal (*)(FoldRun&);

// --- dims --------------------------------------------------------------------------------------------------
// Returns the product; nothing for a negative dim or on overflow. 0 when a dim is 0.
std::optional<std::int64_t> element_count(DimView dims);
// Returns the distance in elements between neighbours along each dim. Precondition: the tensor is not empty.
inline Dims copy_of(DimView dims) { return Dims(dims.begin(), dims.end()); }
Dims row_major_strides(DimView dims);
// Broadcasts two shapes by NumPy's rule; nothing when they do not fit.
std::optional<Dims> broadcast_dims(DimView a, DimView b);
// Returns the strides of an operand read with broadcast dims: 0 where it repeats. Same precondition.
Dims broadcast_strides(DimView dims, DimView out);
// Returns int32 and int64 operands as a list; nothing for other types and for absent operands.
std::optional<Dims> int_list(const Operand& o);
std::optional<std::int64_t> int_scalar(const Operand& o);  // the only element, at any rank

// --- walking -----------------------------------------------------------------------------------------------
// Reads N operands along common dims, in row-major order of these.
template <std::size_t N> struct Strided {
  Dims dims;
  std::array<Dims, N> strides;
  std::array<std::int64_t, N> start = {};
};

// The innermost rows, one after another: `count` elements from index `out` on, operand k's at offsets[k],
// offsets[k] + steps[k], ... Compiled for up to three operands, once for all kernels.
template <std::size_t N> class RowWalk {
 public:
  explicit RowWalk(Strided<N> walked);
  // Goes to the first row, then to the next; returns false after the last.
  bool next();

  std::int64_t out = 0, count = 1;
  std::array<std::int64_t, N> offsets = {}, steps = {};

 private:
  Strided<N> walked_;
  Dims index_;  // of the dims around the row
  bool begun_ = false;
};
extern template class RowWalk<1>;
extern template class RowWalk<2>;
extern template class RowWalk<3>;

// Calls f(out, offsets, steps, count) for each row. f returns false to stop; so does for_each_row then.
template <std::size_t N, class F> bool for_each_row(Strided<N> s, F f) {
  RowWalk<N> rows(std::move(s));
  while (rows.next())
    if (!f(rows.out, rows.offsets, rows.steps, rows.count)) return false;
  return true;
}

// --- elements ----------------------------------------------------------------------------------------------
template <class T> T load(const char* data, std::int64_t i) {
  T v;
  std::memcpy(&v, data + i * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
  return v;
}
template <class T> void store(char* data, std::int64_t i, T v) {
  std::memcpy(data + i * static_cast<std::int64_t>(sizeof(T)), &v, sizeof(T));
}

// Returns false for every integer.
template <class T> bool is_nan(T x) {
  if constexpr (std::is_floating_point_v<T>) return std::isnan(x);
  else return false;
}

// How elements of a type are stored, and the type in which they are computed.
template <DType D> struct Elem;
template <class T, DType D> struct PlainElem {
  using Value = T;
  static constexpr DType kType = D;
  static T get(const char* data, std::int64_t i) { return load<T>(data, i); }
  static void put(char* data, std::int64_t i, T v) { store<T>(data, i, v); }
};
template <> struct Elem<DType::Float> : PlainElem<float, DType::Float> {};
template <> struct Elem<DType::Double> : PlainElem<double, DType::Double> {};
template <> struct Elem<DType::Int8> : PlainElem<std::int8_t, DType::Int8> {};
template <> struct Elem<DType::Int16> : PlainElem<std::int16_t, DType::Int16> {};
template <> struct Elem<DType::Int32> : PlainElem<std::int32_t, DType::Int32> {};
template <> struct Elem<DType::Int64> : PlainElem<std::int64_t, DType::Int64> {};
template <> struct Elem<DType::UInt8> : PlainElem<std::uint8_t, DType::UInt8> {};
template <> struct Elem<DType::UInt16> : PlainElem<std::uint16_t, DType::UInt16> {};
template <> struct Elem<DType::UInt32> : PlainElem<std::uint32_t, DType::UInt32> {};
template <> struct Elem<DType::UInt64> : PlainElem<std::uint64_t, DType::UInt64> {};
template <> struct Elem<DType::Bool> {  // any byte but 0 is true; written as 0 and 1
  using Value = bool;
  static constexpr DType kType = DType::Bool;
  static bool get(const char* data, std::int64_t i) { return data[i] != 0; }
  static void put(char* data, std::int64_t i, bool v) { data[i] = v ? 1 : 0; }
};
template <> struct Elem<DType::Float16> {
  using Value = float;
  static constexpr DType kType = DType::Float16;
  static float get(const char* data, std::int64_t i) { return half_to_float(load<std::uint16_t>(data, i)); }
  static void put(char* data, std::int64_t i, float v) { store(data, i, float_to_half(v)); }
};
template <> struct Elem<DType::BFloat16> {
  using Value = float;
  static constexpr DType kType = DType::BFloat16;
  static float get(const char* data, std::int64_t i) {
    return bfloat16_to_float(load<std::uint16_t>(data, i));
  }
  static void put(char* data, std::int64_t i, float v) { store(data, i, float_to_bfloat16(v)); }
};

// Calls f(Elem<...>{}) for the type; returns kNotFoldable for a type outside the group.
template <class F> FoldRefusal with_int(DType t, F f) {
  switch (t) {
    case DType::Int8: return f(Elem<DType::Int8>{});
    case DType::Int16: return f(Elem<DType::Int16>{});
    case DType::Int32: return f(Elem<DType::Int32>{});
    case DType::Int64: return f(Elem<DType::Int64>{});
    case DType::UInt8: return f(Elem<DType::UInt8>{});
    case DType::UInt16: return f(Elem<DType::UInt16>{});
    case DType::UInt32: return f(Elem<DType::UInt32>{});
    case DType::UInt64: return f(Elem<DType::UInt64>{});
    default: return kNotFoldable;
  }
}
template <class F> FoldRefusal with_float(DType t, F f) {
  switch (t) {
    case DType::Float: return f(Elem<DType::Float>{});
    case DType::Double: return f(Elem<DType::Double>{});
    case DType::Float16: return f(Elem<DType::Float16>{});
    case DType::BFloat16: return f(Elem<DType::BFloat16>{});
    default: return kNotFoldable;
  }
}
template <class F> FoldRefusal with_number(DType t, F f) {
  return is_int(t) ? with_int(t, f) : with_float(t, f);
}

// Copies elements of one type from an operand into a result, by index.
class Mover {
 public:
  // Precondition: same type, of whole bytes or String.
  Mover(const Operand& from, Buffer& to);
  void copy(std::int64_t to, std::int64_t from, std::int64_t count) const;
  // Copies count elements that are `step` apart.
  void copy_strided(std::int64_t to, std::int64_t from, std::int64_t step, std::int64_t count) const;

 private:
  const char* from_;
  char* to_;
  const std::vector<std::string>* from_strings_;
  std::vector<std::string>* to_strings_;
  std::size_t width_;
};

// Makes a result of `dims`, read from `from` with strides and a start, and emits it.
FoldRefusal emit_strided(FoldRun& r, std::size_t slot, const Operand& from, Dims dims, Dims strides,
                         std::int64_t start);

// Returns true for types whose elements are whole bytes, and for String: those that Mover can copy.
bool movable(DType t);

// --- kernels, by file --------------------------------------------------------------------------------------
// fold_shape.cpp: kernels that read shapes, or make tensors from few numbers
FoldRefusal fold_identity(FoldRun& r);
FoldRefusal fold_reshape(FoldRun& r);
FoldRefusal fold_flatten(FoldRun& r);
FoldRefusal fold_squeeze(FoldRun& r);
FoldRefusal fold_unsqueeze(FoldRun& r);
FoldRefusal fold_bit_cast(FoldRun& r);
FoldRefusal fold_shape(FoldRun& r);
FoldRefusal fold_size(FoldRun& r);
FoldRefusal fold_constant(FoldRun& r);
FoldRefusal fold_constant_of_shape(FoldRun& r);
FoldRefusal fold_eye_like(FoldRun& r);
FoldRefusal fold_range(FoldRun& r);
// fold_movement.cpp: elements are permuted or repeated by a rule
FoldRefusal fold_transpose(FoldRun& r);
FoldRefusal fold_slice(FoldRun& r);
FoldRefusal fold_concat(FoldRun& r);
FoldRefusal fold_split(FoldRun& r);
FoldRefusal fold_expand(FoldRun& r);
FoldRefusal fold_tile(FoldRun& r);
FoldRefusal fold_pad(FoldRun& r);
FoldRefusal fold_where(FoldRun& r);
FoldRefusal fold_trilu(FoldRun& r);
FoldRefusal fold_depth_to_space(FoldRun& r);
FoldRefusal fold_space_to_depth(FoldRun& r);
FoldRefusal fold_reverse_sequence(FoldRun& r);
// fold_gather.cpp: elements chosen by integers
FoldRefusal fold_gather(FoldRun& r);
FoldRefusal fold_gather_elements(FoldRun& r);
FoldRefusal fold_gather_nd(FoldRun& r);
FoldRefusal fold_scatter_elements(FoldRun& r);
FoldRefusal fold_scatter_nd(FoldRun& r);
FoldRefusal fold_compress(FoldRun& r);
FoldRefusal fold_non_zero(FoldRun& r);
FoldRefusal fold_one_hot(FoldRun& r);
// fold_cast.cpp
FoldRefusal fold_cast(FoldRun& r);
FoldRefusal fold_cast_like(FoldRun& r);
// fold_quantize.cpp
FoldRefusal fold_quantize(FoldRun& r);
FoldRefusal fold_dequantize(FoldRun& r);
// fold_arithmetic.cpp: + - * / and related operators, of two or more operands
FoldRefusal fold_arithmetic(FoldRun& r);
FoldRefusal fold_pow(FoldRun& r);
FoldRefusal fold_min_max(FoldRun& r);
FoldRefusal fold_bits(FoldRun& r);
// fold_logic.cpp: results are bools
FoldRefusal fold_compare(FoldRun& r);
FoldRefusal fold_logic(FoldRun& r);
FoldRefusal fold_is_nan_inf(FoldRun& r);
// fold_unary.cpp
FoldRefusal fold_unary(FoldRun& r);
FoldRefusal fold_clip(FoldRun& r);
// fold_activation.cpp: activation functions of several steps, or with parameters
FoldRefusal fold_by_comparison(FoldRun& r);
FoldRefusal fold_p_relu(FoldRun& r);
FoldRefusal fold_activation(FoldRun& r);
// fold_reduce.cpp
FoldRefusal fold_reduce(FoldRun& r);
FoldRefusal fold_arg_reduce(FoldRun& r);
FoldRefusal fold_cum_sum(FoldRun& r);
FoldRefusal fold_top_k(FoldRun& r);
// fold_softmax.cpp
FoldRefusal fold_softmax(FoldRun& r);
// fold_pool.cpp
FoldRefusal fold_max_pool(FoldRun& r);
FoldRefusal fold_average_pool(FoldRun& r);
// fold_conv.cpp
FoldRefusal fold_conv(FoldRun& r);
// fold_resize.cpp
bool sums_in_resize(const Attributes& a);  // the attributes ask for sums of elements
FoldRefusal fold_resize(FoldRun& r);
// fold_products.cpp
FoldRefusal fold_mat_mul(FoldRun& r);
FoldRefusal fold_batch_normalization(FoldRun& r);

}  // namespace graphopt::folding
