#include "mapping/scores.h"

#include <algorithm>
#include <cmath>

namespace graphopt::mapping {
namespace {

// Returns how many entries two sorted lists share, each as often as it is in both.
template <class T> std::size_t shared(const std::vector<T>& a, const std::vector<T>& b) {
  std::size_t out = 0;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (a[i] == b[j]) ++out, ++i, ++j;
    else if (a[i] < b[j]) ++i;
    else ++j;
  }
  return out;
}

double share(std::size_t part, std::size_t of) { return static_cast<double>(part) / static_cast<double>(of); }

// What is looked at of an operator with very many operands: it is scored again with each pair next to it.
std::span<const Index> first_operands(std::span<const Index> all) {
  constexpr std::size_t kMost = 64;
  return all.first(std::min(kMost, all.size()));
}

struct ConstantLabels {
  std::vector<Index> strong, weak, shapes;  // sorted
  Index index = kNone;  // content of the only integer that is read; kNone: none or several
};

ConstantLabels constants_of(const Side& side, Index op) {
  ConstantLabels out;
  std::size_t indices = 0;
  for (const Index v : first_operands(side.flat_inputs(op))) {
    const Constant* c = v == kNone ? nullptr : side.constant(v);
    if (c == nullptr) continue;
    (c->is_strong ? out.strong : out.weak).push_back(c->content);
    out.shapes.push_back(c->shape);
    if (c->is_index) out.index = indices++ == 0 ? c->content : kNone;
  }
  for (auto* list : {&out.strong, &out.weak, &out.shapes}) std::ranges::sort(*list);
  return out;
}

}  // namespace

Score Scores::of(Index a, Index b) const {
  const Operator& x = m_.side(0).op(a);
  const Operator& y = m_.side(1).op(b);
  if (x.family != y.family) return {kMisfit, 0};
  double evidence = constants(a, b) + producers(a, b) + readers(a, b) + names(a, b);
  if (!hint_.empty() && hint_[a] == b) evidence += 0.3;
  for (const Colours& c : colours_)
    if (c[0][a] == c[1][b]) evidence += 0.25;
  return {labels(a, b) + evidence - 0.5 * std::abs(x.place - y.place), evidence};
}

double Scores::names(Index a, Index b) const {
  const Operator& x = m_.side(0).op(a);
  if (!names_ || x.name == kNone || x.name != m_.side(1).op(b).name) return 0;
  return x.has_number_for_name ? 0.2 : 0.8;
}

double Scores::labels(Index a, Index b) const {
  const Side &side_a = m_.side(0), &side_b = m_.side(1);
  const Operator& x = side_a.op(a);
  const Operator& y = side_b.op(b);
  double out = x.type == y.type ? 2.0 : 1.0;
  const auto of_a = side_a.attributes(a), of_b = side_b.attributes(b);
  const std::size_t most = std::max(of_a.size(), of_b.size());
  out += most == 0 ? 0.5
                   : 0.5 * share(shared(std::vector<Index>(of_a.begin(), of_a.end()),
                                        std::vector<Index>(of_b.begin(), of_b.end())),
                                 most);
  if (x.values != y.values && x.values != ValueClass::Unknown && y.values != ValueClass::Unknown) out -= 2;
  // A bias against a residual.
  if ((x.main == kNone) != (y.main == kNone) && x.type == y.type && x.combines) out -= 1.5;
  if (x.main != kNone && y.main != kNone)
    out += x.main == y.main ? 0.7 : x.main_elements == y.main_elements ? -0.3 : -2.0;
  if (!side_a.has_rank(a) || !side_b.has_rank(b)) return out;
  const auto dims_a = side_a.dims(a), dims_b = side_b.dims(b);
  if (std::ranges::equal(dims_a, dims_b)) return out + 1.0;
  const auto count_a = side_a.elements(a), count_b = side_b.elements(b);
  if (x.has_shape && y.has_shape) return out + (count_a && count_a == count_b ? 0.1 : -1.5);
  if (dims_a.size() != dims_b.size()) return out;
  for (std::size_t i = 0; i < dims_a.size(); ++i)
    if (dims_a[i] != dims_b[i] && dims_a[i] >= 0 && dims_b[i] >= 0) return out - 0.7;
  return out + 0.4;
}

double Scores::constants(Index a, Index b) const {
  const ConstantLabels x = constants_of(m_.side(0), a), y = constants_of(m_.side(1), b);
  double out = 0;
  if (weights_) {
    const std::size_t equal = shared(x.strong, y.strong);
    out += 3.0 * static_cast<double>(equal);
    if (equal == 0 && !x.strong.empty() && !y.strong.empty()) out -= 0.5;
  }
  // Another checkpoint has other weights, but the same axes, indices and factors.
  if (const std::size_t most = std::max(x.weak.size(), y.weak.size()); most > 0)
    out += 0.6 * share(shared(x.weak, y.weak), most);
  if (x.index != kNone && y.index != kNone && x.index != y.index) out -= 1.2;
  if (const std::size_t most = std::max(x.shapes.size(), y.shapes.size()); most > 0)
    out += 0.6 * share(shared(x.shapes, y.shapes), most) - 0.3;
  return out;
}

Scores::Source Scores::source(std::size_t s, Index value) const {
  const Side& side = m_.side(s);
  const Index v = view_.source(s, value, true);
  if (side.constant(v)) return {Source::Kind::Constant, 0};
  if (!side.is_computed(v)) {
    const Index number = ends_.input[s][v];
    return number == kNone ? Source{} : Source{Source::Kind::Known, 1 | std::uint64_t{number} << 1};
  }
  const Use by = side.producer(v);
  if (!m_.is_matched(s, by.op)) return {};
  return {Source::Kind::Known, (std::uint64_t{m_.pair(s, by.op)} << 32 | by.slot) << 1};
}

double Scores::producers(Index a, Index b) const {
  std::array<std::vector<Source>, 2> sources;
  for (const std::size_t s : kSides)
    for (const Index v : first_operands(m_.side(s).flat_inputs(s == 0 ? a : b)))
      if (v != kNone) sources[s].push_back(source(s, v));
  double out = 0;
  if (!m_.side(0).op(a).commutes) {
    for (std::size_t i = 0; i < std::min(sources[0].size(), sources[1].size()); ++i)
      if (sources[0][i].kind == Source::Kind::Known && sources[1][i].kind == Source::Kind::Known)
        out += sources[0][i] == sources[1][i] ? 2.0 : -1.5;
    return out;
  }
  for (auto& list : sources) {
    std::erase_if(list, [](const Source& x) { return x.kind != Source::Kind::Known; });
    std::ranges::sort(list);
  }
  const std::size_t equal = shared(sources[0], sources[1]);
  const std::size_t other = std::min(sources[0].size(), sources[1].size()) - equal;
  return 2.0 * static_cast<double>(equal) - 1.2 * static_cast<double>(other);
}

Scores::Words Scores::known_readers(std::size_t s, Index op) const {
  const Side& side = m_.side(s);
  Words out;
  for (Index k = 0; k < side.outputs(op).size(); ++k) {
    const Index v = side.outputs(op)[k];
    if (v == kNone) continue;
    const auto add = [&](KeyKind kind, std::uint64_t what, std::uint64_t slot) {
      out.push_back(Key(kind).add(k).add(what).add(slot).hash().low);
    };
    if (ends_.output[s][v] != kNone) add(KeyKind::OutputReader, ends_.output[s][v], 0);
    for (const Use& use : view_.uses(s, v))
      if (m_.is_matched(s, use.op))
        add(KeyKind::PairReader, m_.pair(s, use.op), side.op(use.op).commutes ? 0 : use.slot);
  }
  std::ranges::sort(out);
  return out;
}

double Scores::readers(Index a, Index b) const {
  const Words x = known_readers(0, a), y = known_readers(1, b);
  if (x.empty() && y.empty()) return 0;
  const std::size_t equal = shared(x, y), least = std::min(x.size(), y.size());
  const std::size_t most = std::min<std::size_t>(4, std::max(x.size(), y.size()));
  return 2.7 * share(equal, std::max<std::size_t>(1, most)) -
         share(least - equal, std::max<std::size_t>(1, least));
}

}  // namespace graphopt::mapping
