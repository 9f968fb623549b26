#include "mapping/uncross.h"

#include <algorithm>

namespace graphopt::mapping {
namespace {

bool reads(const Side& side, Index reader, Index producer) {
  return std::ranges::any_of(side.inputs(reader), [&](Index v) {
    return v != kNone && side.is_computed(v) && side.producer(v).op == producer;
  });
}

bool are_alike(const Side& side, Index x, Index y) {
  const Operator &a = side.op(x), &b = side.op(y);
  return a.type == b.type && a.attributes == b.attributes && a.shape == b.shape;
}

}  // namespace

void uncross(Matching& m) {
  constexpr int kRounds = 8;
  const Side &a = m.side(0), &b = m.side(1);
  bool changed = true;
  for (int round = 0; changed && round < kRounds; ++round) {
    changed = false;
    for (Index i = 0; i < a.size(); ++i)
      for (const Index v : a.inputs(i)) {
        if (v == kNone || !a.is_computed(v) || !m.is_matched(0, i)) continue;
        const Index before = a.producer(v).op;
        if (!m.is_matched(0, before) || !are_alike(a, before, i)) continue;
        const Index x = m.mate(0, before), y = m.mate(0, i);
        if (are_alike(b, x, y) && reads(b, x, y) && !reads(b, y, x)) changed |= m.exchange(before, i);
      }
  }
}

}  // namespace graphopt::mapping
