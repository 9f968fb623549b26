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
  Buffer out;
  std::optional<RowWalk<2>> rows;
  if (const FoldRefusal no = begin_binary(r, DType::Bool, a, b, out, rows); no != kDone) return no;
  while (rows && rows->next())
    for (std::int64_t i = 0; i < rows->count; ++i)
      Bool::put(out.data(), rows->out + i,
                (*a.strings)[static_cast<std::size_t>(rows->offsets[0] + i * rows->steps[0])] ==
                    (*b.strings)[static_cast<std::size_t>(rows->offsets[1] + i * rows->steps[1])]);
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
