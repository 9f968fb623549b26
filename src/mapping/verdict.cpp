#include "mapping/verdict.h"

#include <algorithm>
#include <unordered_map>

#include "mapping/weight_sketch.h"

namespace graphopt::mapping {
namespace {

constexpr double kLeastMapped = 0.3;  // of the operators of both sides
// Of the elements or numbers of the smaller side: unlike models of tests/models share 0.03 at most, a model
// and its optimized form, in which most weights are folded, 0.07 and more.
constexpr double kLeastWeights = 0.05;
constexpr double kMostWeights = 0.5;  // from here on one side may be mapped alone: many branches became one
// Of the operators of the smaller side. Unlike models reach 0.7, but for those that share a part; other
// checkpoints have all of them. Where weights are not looked at, forms of one model count that are far apart.
constexpr double kLeastStructure = 0.75, kLeastStructureAlone = 0.55;
// Of a few operators, one that was rewritten is a large share.
constexpr std::size_t kFewOperators = 16;
constexpr double kLeastStructureOfFew = 0.3;
constexpr std::size_t kMostOfOne = 128;  // operators that one becomes
constexpr std::size_t kMostOfBoth = 32;  // operators of the smaller side of a group
constexpr std::int64_t kFewElements = 8;

const Side& side_of(const Scope& scope, std::size_t s) { return s == 0 ? *scope.a : *scope.b; }

std::array<double, 2> mapped_shares(const Mapping& mapping) {
  std::array<std::size_t, 2> all{}, mapped{};
  for (const Scope& scope : mapping.scopes)
    for (const std::size_t s : kSides) {
      const Side& side = side_of(scope, s);
      std::vector<bool> is_mapped(side.size());
      for (const Pair& p : scope.pairs) is_mapped[s == 0 ? p.a : p.b] = true;
      for (const Group& g : scope.groups) {
        const std::vector<Index>&mine = s == 0 ? g.a : g.b, &other = s == 0 ? g.b : g.a;
        if (std::min(mine.size(), other.size()) > kMostOfBoth) continue;
        const std::size_t most = std::min(mine.size(), kMostOfOne * other.size());
        for (std::size_t i = 0; i < most; ++i) is_mapped[mine[i]] = true;
      }
      all[s] += side.size();
      mapped[s] += static_cast<std::size_t>(std::ranges::count(is_mapped, true));
    }
  std::array<double, 2> out{};
  for (const std::size_t s : kSides)
    out[s] = all[s] == 0 ? 1 : static_cast<double>(mapped[s]) / static_cast<double>(all[s]);
  return out;
}

// Results and weights have as many elements; dims that are open may be anything.
bool agrees(const Side& a, Index i, const Side& b, Index j) {
  const Operator &x = a.op(i), &y = b.op(j);
  if (x.main != kNone && y.main != kNone && x.main_elements != y.main_elements) return false;
  if (!a.has_rank(i) || !b.has_rank(j)) return true;
  const auto dims_a = a.dims(i), dims_b = b.dims(j);
  if (x.has_shape && y.has_shape) return a.elements(i) == b.elements(j);
  if (dims_a.size() != dims_b.size()) return false;
  for (std::size_t k = 0; k < dims_a.size(); ++k)
    if (dims_a[k] != dims_b[k] && dims_a[k] >= 0 && dims_b[k] >= 0) return false;
  return true;
}

bool has_structure(const Mapping& mapping, bool weights) {
  std::size_t good = 0;
  std::array<std::size_t, 2> all{};
  for (const Scope& scope : mapping.scopes) {
    for (const std::size_t s : kSides) all[s] += side_of(scope, s).size();
    for (const Pair& p : scope.pairs) good += agrees(*scope.a, p.a, *scope.b, p.b);
  }
  const std::size_t least = std::min(all[0], all[1]);
  if (least == 0) return false;
  const double wanted = least <= kFewOperators ? kLeastStructureOfFew
                        : weights              ? kLeastStructure
                                               : kLeastStructureAlone;
  return static_cast<double>(good) >= wanted * static_cast<double>(least);
}

// The share of the elements of constants of the smaller side that the other one has.
double equal_constants(const Mapping& mapping) {
  std::array<std::unordered_map<Index, std::int64_t>, 2> contents;  // elements
  for (const Scope& scope : mapping.scopes)
    for (const std::size_t s : kSides)
      for (const Constant& c : side_of(scope, s).constants())
        if (c.elements >= kFewElements) contents[s].emplace(c.content, c.elements);
  std::array<double, 2> all{};
  double both = 0;
  for (const std::size_t s : kSides)
    for (const auto& [content, elements] : contents[s]) {
      all[s] += static_cast<double>(elements);
      if (s == 0 && contents[1].contains(content)) both += static_cast<double>(elements);
    }
  const double least = std::min(all[0], all[1]);
  return least == 0 ? 0 : both / least;
}

double equal_numbers(const Mapping& mapping) {
  std::array<WeightSketch, 2> sketches;
  for (const Scope& scope : mapping.scopes)
    for (const std::size_t s : kSides) sketches[s].add(side_of(scope, s));
  return WeightSketch::resemblance(sketches[0], sketches[1]);
}

}  // namespace

Verdict judge_mapping(const Mapping& mapping, bool weights) {
  Verdict out;
  out.mapped = mapped_shares(mapping);
  const Scope& main = mapping.scopes.front();
  const bool is_empty = main.a->size() == 0 && main.b->size() == 0;
  const double most = std::ranges::max(out.mapped), least = std::ranges::min(out.mapped);
  if (most < kLeastMapped) return out;
  const double shared = weights ? equal_constants(mapping) : 0;
  out.is_one_model =
      shared >= kMostWeights ||
      (least >= kLeastMapped && (is_empty || shared >= kLeastWeights || has_structure(mapping, weights)));
  // To look at each number costs a pass over the weights: last.
  if (!out.is_one_model && weights)
    out.is_one_model = equal_numbers(mapping) >= (least >= kLeastMapped ? kLeastWeights : kMostWeights);
  return out;
}

}  // namespace graphopt::mapping
