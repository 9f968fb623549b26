// Walks along dims: see fold_kernel.h, fold_binary.h.
#include <algorithm>

#include "ops/fold_binary.h"

namespace graphopt::folding {
namespace {

// Drops dims of extent 1 and merges neighbours that every operand traverses with one stride.
template <std::size_t N> void simplify(Strided<N>& s) {
  std::size_t w = 0;
  for (std::size_t d = 0; d < s.dims.size(); ++d) {
    if (s.dims[d] == 1) continue;
    bool merge = w > 0;
    for (std::size_t k = 0; merge && k < N; ++k) merge = s.strides[k][w - 1] == s.strides[k][d] * s.dims[d];
    if (merge) {
      s.dims[w - 1] *= s.dims[d];
      for (std::size_t k = 0; k < N; ++k) s.strides[k][w - 1] = s.strides[k][d];
    } else {
      s.dims[w] = s.dims[d];
      for (std::size_t k = 0; k < N; ++k) s.strides[k][w] = s.strides[k][d];
      ++w;
    }
  }
  s.dims.resize(w);
  for (Dims& strides : s.strides) strides.resize(w);
}

}  // namespace

template <std::size_t N> RowWalk<N>::RowWalk(Strided<N> walked) : walked_(std::move(walked)) {
  if (std::ranges::find(walked_.dims, 0) != walked_.dims.end()) {
    count = 0;
    return;
  }
  simplify(walked_);
  offsets = walked_.start;
  if (walked_.dims.empty()) return;
  index_.assign(walked_.dims.size() - 1, 0);
  count = walked_.dims.back();
  for (std::size_t k = 0; k < N; ++k) steps[k] = walked_.strides[k].back();
}

template <std::size_t N> bool RowWalk<N>::next() {
  if (!begun_) {
    begun_ = true;
    return count > 0;
  }
  out += count;
  for (std::size_t d = index_.size(); d-- > 0;) {
    for (std::size_t k = 0; k < N; ++k) offsets[k] += walked_.strides[k][d];
    if (++index_[d] < walked_.dims[d]) return true;
    index_[d] = 0;
    for (std::size_t k = 0; k < N; ++k) offsets[k] -= walked_.strides[k][d] * walked_.dims[d];
  }
  return false;
}

template class RowWalk<1>;
template class RowWalk<2>;
template class RowWalk<3>;

FoldRefusal begin_binary(FoldRun& r, DType type, const Operand& a, const Operand& b, Buffer& out,
                         std::optional<RowWalk<2>>& rows) {
  if (a.dtype != b.dtype) return kBad;
  const std::optional<Dims> dims = broadcast_dims(a.dims, b.dims);
  if (!dims) return kBad;
  if (const FoldRefusal no = r.make(type, *dims, out); no != kDone) return no;
  if (out.elements > 0)
    rows.emplace(Strided<2>{*dims, {broadcast_strides(a.dims, *dims), broadcast_strides(b.dims, *dims)}});
  return kDone;
}

}  // namespace graphopt::folding
