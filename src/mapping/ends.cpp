#include "mapping/ends.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>

namespace graphopt::mapping {
namespace {

struct Subject {
  const Side& side;
  const Inference& inference;

  std::string_view name(Index v) const { return side.model().text(side.model().value(ValueId{v}).name); }
  // Open dims are alike, whatever their names.
  bool is_like(Index v, const Subject& other, Index w) const {
    const ValueId x{v}, y{w};
    if (inference.dtype(x) != other.inference.dtype(y)) return false;
    if (inference.has_rank(x) != other.inference.has_rank(y)) return false;
    if (!inference.has_rank(x)) return true;
    const auto dims = [](const Subject& s, ValueId id) {
      std::vector<std::optional<std::int64_t>> out;
      for (const DimId d : s.inference.dims(id)) out.push_back(s.side.model().dims.value(d));
      return out;
    };
    return dims(*this, x) == dims(other, y);
  }
};

void pair_up(const Subject& a, std::span<const Index> of_a, const Subject& b, std::span<const Index> of_b,
             std::array<std::vector<Index>, 2>& numbers, std::vector<std::pair<Index, Index>>& pairs) {
  numbers[0].assign(a.side.value_count(), kNone);
  numbers[1].assign(b.side.value_count(), kNone);
  std::vector<Index> left_a(of_a.begin(), of_a.end()), left_b(of_b.begin(), of_b.end());
  Index next = 0;
  // Pairs each value of A that is left with the first of B that fits.
  const auto pair_by = [&](auto fits) {
    std::vector<Index> rest;
    for (const Index v : left_a) {
      const auto w = std::ranges::find_if(left_b, [&](Index x) { return fits(v, x); });
      if (numbers[0][v] != kNone) continue;  // an output that is there twice
      if (w == left_b.end()) {
        rest.push_back(v);
        continue;
      }
      numbers[0][v] = numbers[1][*w] = next++;
      pairs.emplace_back(v, *w);
      left_b.erase(w);
    }
    left_a = std::move(rest);
  };
  pair_by([&](Index v, Index w) { return a.name(v) == b.name(w); });
  pair_by([&](Index v, Index w) { return a.is_like(v, b, w); });
  if (left_a.size() == left_b.size()) pair_by([](Index, Index) { return true; });
  for (const Index v : left_a) numbers[0][v] = next++;
  for (const Index w : left_b)
    if (numbers[1][w] == kNone) numbers[1][w] = next++;
}

}  // namespace

Ends find_ends(const Side& a, const Inference& of_a, const Side& b, const Inference& of_b) {
  Ends out;
  const Subject first{a, of_a}, second{b, of_b};
  pair_up(first, a.graph_inputs(), second, b.graph_inputs(), out.input, out.inputs);
  pair_up(first, a.graph_outputs(), second, b.graph_outputs(), out.output, out.outputs);
  return out;
}

}  // namespace graphopt::mapping
