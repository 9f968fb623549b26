// Contractions: MatMul, Gemm, Einsum. Contracted dims are equal in every run, and stated so.
#include <algorithm>
#include <array>

#include "infer/rules.h"

namespace graphopt::rules {
namespace {}  // namespace

void matmul(NodeContext& c) {
  const DType elem = c.kind == OpKind::MatMulInteger ? DType::Int32
                     : c.elem(0) != DType::Undefined ? c.elem(0)
                                                     : c.elem(1);
  if (c.rank(0) < 1 || c.rank(1) < 1) return elem_only(c, elem);
  const auto a = c.shape(0), b = c.shape(1);
  c.same(a.back(), b.size() == 1 ? b[0] : b[b.size() - 2]);
  Dims d = c.broadcast(a.first(a.size() > 2 ? a.size() - 2 : 0), b.first(b.size() > 2 ? b.size() - 2 : 0));
  if (a.size() > 1) d.push_back(a[a.size() - 2]);
  if (b.size() > 1) d.push_back(b.back());
  c.tensor(0, elem, d);
}

void gemm(NodeContext& c) {
  const bool ta = c.attr_int(names::transA, 0) != 0, tb = c.attr_int(names::transB, 0) != 0;
  const bool fits_a = c.rank(0) == 2, fits_b = c.rank(1) == 2;
  const DimId d[] = {fits_a ? c.shape(0)[ta ? 1 : 0] : DimId{}, fits_b ? c.shape(1)[tb ? 0 : 1] : DimId{}};
  if (fits_a && fits_b) c.same(c.shape(0)[ta ? 0 : 1], c.shape(1)[tb ? 1 : 0]);
  const DType elem = c.elem(0) != DType::Undefined ? c.elem(0) : c.elem(1);
  if (elem != DType::Undefined) c.tensor(0, elem, d);
}

// Assigns dims to letters. An ellipsis stands for leading dims that broadcast.
void einsum(NodeContext& c) {
  const DType elem = c.elem(0);
  std::string text;
  for (const char ch : c.attr_string(names::equation, ""))
    if (ch != ' ') text += ch;
  const std::size_t arrow = text.find("->");
  const std::string left = text.substr(0, arrow);
  if (static_cast<std::size_t>(std::ranges::count(left, ',')) + 1 != c.input_count())
    return elem_only(c, elem);
  std::array<DimId, 256> dim{};
  std::array<int, 256> count{};
  Dims ellipsis;
  bool has_ellipsis = false, ok = true;
  std::size_t at = 0;
  for (std::size_t i = 0; i < c.input_count() && ok; ++i) {
    const std::size_t comma = std::min(left.find(',', at), left.size());
    const std::string term = left.substr(at, comma - at);
    at = comma + 1;
    const std::size_t dots = term.find("...");
    const std::size_t letters = term.size() - (dots == std::string::npos ? 0 : 3);
    if (!c.ranked(i) || c.shape(i).size() < letters ||
        (dots == std::string::npos && c.shape(i).size() != letters)) {
      ok = false;
      break;
    }
    const auto x = c.shape(i);
    std::size_t k = 0;
    for (std::size_t p = 0; p < term.size(); ++p) {
      if (p == dots) {
        has_ellipsis = true;
        const std::size_t more = x.size() - letters;
        ellipsis = c.broadcast(ellipsis, x.subspan(k, more));
        k += more;
        p += 2;
        continue;
      }
      const auto letter = static_cast<unsigned char>(term[p]);
      ++count[letter];
      // ONNX Runtime lets a dim of 1 broadcast with the others of its letter.
      dim[letter] = count[letter] == 1 ? x[k] : c.broadcast(dim[letter], x[k]);
      ++k;
    }
  }
  if (!ok) return elem_only(c, elem);
  Dims d;
  if (arrow == std::string::npos) {
    if (has_ellipsis) d = ellipsis;
    for (std::size_t letter = 0; letter < 256; ++letter)
      if (count[letter] == 1) d.push_back(dim[letter]);
  } else {
    const std::string right = text.substr(arrow + 2);
    for (std::size_t p = 0; p < right.size(); ++p) {
      if (right.compare(p, 3, "...") == 0) {
        d.insert(d.end(), ellipsis.begin(), ellipsis.end());
        p += 2;
      } else {
        d.push_back(dim[static_cast<unsigned char>(right[p])]);
      }
    }
  }
  c.tensor(0, elem, d);
}

}  // namespace graphopt::rules
