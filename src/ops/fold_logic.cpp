// Kernels with bool results: comparisons, logic, IsNaN and IsInf. All are exact; a NaN equals nothing.
#include <cmath>
#include <functional>

#include "ops/fold_binary.h"

namespace graphopt::folding {
namespace {

using Bool = Elem<DType::Bool>;

FoldRefusal equal_strings(FoldRun& r) {
  const Operand& a = r.in(0);
  const Operand& b = r.in(1);
  if (b.dtype != DType::String) return kBad;
  const std::optional<Dims> dims = broadcast_dims(a.dims, b.dims);
  if (!dims) return kBad;
  Buffer out;
  if (const FoldRefusal no = r.make(DType::Bool, *dims, out); no != kDone) return no;
  if (out.elements > 0) {
    for_each_row<2>({*dims, {broadcast_strides(a.dims, *dims), broadcast_strides(b.dims, *dims)}},
                    [&](std::int64_t at, const auto& offset, const auto& step, std::int64_t count) {
                      for (std::int64_t i = 0; i < count; ++i)
                        Bool::put(out.data(), at + i,
                                  (*a.strings)[static_cast<std::size_t>(offset[0] + i * step[0])] ==
                                      (*b.strings)[static_cast<std::size_t>(offset[1] + i * step[1])]);
                      return true;
                    });
  }
  r.emit(0, std::move(out));
  return kDone;
}

template <class E, class Relation> FoldRefusal compare(FoldRun& r, Relation relation) {
  using T = typename E::Value;
  return emit_binary<E, Bool>(r, [relation](T a, T b, bool& v) {
    v = relation(a, b);
    return true;
  });
}

}  // namespace

FoldRefusal fold_compare(FoldRun& r) {
  const DType type = r.in(0).dtype;
  if (type == DType::String) return equal_strings(r);
  if (type == DType::Bool) return compare<Bool>(r, std::equal_to<bool>{});
  return with_number(type, [&](auto elem) {
    using E = decltype(elem);
    using T = typename E::Value;
    switch (r.kind) {
      case OpKind::Equal: return compare<E>(r, std::equal_to<T>{});
      case OpKind::Less: return compare<E>(r, std::less<T>{});
      case OpKind::LessOrEqual: return compare<E>(r, std::less_equal<T>{});
      case OpKind::Greater: return compare<E>(r, std::greater<T>{});
      case OpKind::GreaterOrEqual: return compare<E>(r, std::greater_equal<T>{});
      default: return kNotFoldable;
    }
  });
}

FoldRefusal fold_logic(FoldRun& r) {
  switch (r.kind) {
    case OpKind::And: return compare<Bool>(r, std::logical_and<bool>{});
    case OpKind::Or: return compare<Bool>(r, std::logical_or<bool>{});
    case OpKind::Xor: return compare<Bool>(r, std::not_equal_to<bool>{});
    case OpKind::Not: {
      const Operand& data = r.in(0);
      Buffer out;
      if (const FoldRefusal no = r.make(DType::Bool, Dims(data.dims.begin(), data.dims.end()), out);
          no != kDone)
        return no;
      for (std::int64_t i = 0; i < data.elements; ++i) Bool::put(out.data(), i, !Bool::get(data.data, i));
      r.emit(0, std::move(out));
      return kDone;
    }
    default: return kNotFoldable;
  }
}

FoldRefusal fold_is_nan_inf(FoldRun& r) {
  const Operand& data = r.in(0);
  bool negative = true, positive = true;
  if (r.kind == OpKind::IsInf) {
    const auto n = r.int_of(names::detect_negative), p = r.int_of(names::detect_positive);
    if (!n || !p) return kNotFoldable;
    negative = *n != 0;
    positive = *p != 0;
  }
  return with_float(data.dtype, [&](auto elem) {
    Buffer out;
    if (const FoldRefusal no = r.make(DType::Bool, Dims(data.dims.begin(), data.dims.end()), out);
        no != kDone)
      return no;
    for (std::int64_t i = 0; i < data.elements; ++i) {
      const auto v = elem.get(data.data, i);
      const bool inf = std::isinf(v) && (v < 0 ? negative : positive);
      Bool::put(out.data(), i, r.kind == OpKind::IsNaN ? std::isnan(v) : inf);
    }
    r.emit(0, std::move(out));
    return kDone;
  });
}

}  // namespace graphopt::folding
