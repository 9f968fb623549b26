#include "mapping/colours.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace graphopt::mapping {
namespace {

double unknown_shapes(const Side& side) {
  if (side.size() == 0) return 0;
  std::size_t unknown = 0;
  for (Index i = 0; i < side.size(); ++i) unknown += side.op(i).has_shape ? 0U : 1U;
  return static_cast<double>(unknown) / static_cast<double>(side.size());
}

class Colouring {
 public:
  Colouring(const Matching& m, const View& view, const Ends& ends, Labels& labels)
      : m_(m), view_(view), ends_(ends), labels_(labels) {}

  Colours first(bool shapes) const {
    Colours out;
    for (const std::size_t s : kSides) {
      const Side& side = m_.side(s);
      for (Index i = 0; i < side.size(); ++i) {
        Key key(KeyKind::First);
        key.add(side.op(i).family).add(shapes ? side.op(i).shape : 0);
        for (const Index v : side.flat_inputs(i))
          if (const Constant* c = v == kNone ? nullptr : side.constant(v)) key.add(c->shape);
        out[s].push_back(labels_.of(key));
      }
    }
    return out;
  }

  Colours next(const Colours& before) const {
    Colours out = before;
    for (const std::size_t s : kSides)
      for (Index i = 0; i < m_.side(s).size(); ++i)
        if (!m_.is_matched(s, i)) out[s][i] = next(before, s, i);
    return out;
  }

 private:
  // An operator that has its counterpart looks like nothing else.
  Hash128 colour(const Colours& before, std::size_t s, Index op) const {
    return m_.is_matched(s, op) ? Key(KeyKind::Pair).add(m_.pair(s, op)).hash()
                                : Key(KeyKind::Colour).add(before[s][op]).hash();
  }

  Hash128 operand(const Colours& before, std::size_t s, Index value) const {
    if (value == kNone) return Key(KeyKind::Absent).hash();
    const Side& side = m_.side(s);
    const Index v = view_.source(s, value, true);
    if (side.constant(v)) return Key(KeyKind::ConstantOperand).hash();
    if (!side.is_computed(v)) return Key(KeyKind::InputOperand).add(ends_.input[s][v]).hash();
    const Use by = side.producer(v);
    return Key(KeyKind::Round).add(colour(before, s, by.op)).add(by.slot).hash();
  }

  Index next(const Colours& before, std::size_t s, Index op) const {
    const Side& side = m_.side(s);
    Key key(KeyKind::Round);
    key.add(before[s][op]);
    std::vector<Hash128> operands;
    for (const Index v : side.flat_inputs(op)) operands.push_back(operand(before, s, v));
    if (side.op(op).commutes) std::ranges::sort(operands);
    for (const Hash128& x : operands) key.add(x);
    std::vector<std::pair<Hash128, Index>> readers;
    for (const Index v : side.outputs(op)) {
      if (v == kNone) continue;
      key.add(ends_.output[s][v]);
      for (const Use& use : view_.uses(s, v))
        if ((!side.is_nested(use.op) || side.is_nested(op)) &&
            (m_.is_matched(s, use.op) || !(view_.is_porous(s, use.op) || side.op(use.op).is_transparent)))
          readers.emplace_back(colour(before, s, use.op), side.op(use.op).commutes ? 0 : use.slot);
    }
    std::ranges::sort(readers);
    for (const auto& [reader, slot] : readers) key.add(reader).add(slot);
    return labels_.of(key);
  }

  const Matching& m_;
  const View& view_;
  const Ends& ends_;
  Labels& labels_;
};

}  // namespace

Colours colours_of(const Matching& m, const View& view, const Ends& ends, bool shapes, unsigned radius,
                   Labels& labels) {
  const Colouring colouring(m, view, ends, labels);
  Colours out = colouring.first(shapes);
  for (unsigned i = 0; i < radius; ++i) out = colouring.next(out);
  return out;
}

bool have_shapes(const Side& a, const Side& b) {
  constexpr double kMostUnknown = 0.2, kAlike = 0.02;  // shares of the operators
  const double of_a = unknown_shapes(a), of_b = unknown_shapes(b);
  return std::max(of_a, of_b) < kMostUnknown || std::abs(of_a - of_b) < kAlike;
}

}  // namespace graphopt::mapping
