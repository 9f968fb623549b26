#include "mapping/frontier.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "ops/families.h"

namespace graphopt::mapping {
namespace {

enum class State : std::uint8_t { Unknown, Agrees, Differs };

std::vector<State> states_of(const Side& side, std::size_t s, const std::vector<ComparedValue>& values) {
  std::vector<State> out(side.value_count(), State::Unknown);
  for (const ComparedValue& v : values) out[s == 0 ? v.a : v.b] = v.differs ? State::Differs : State::Agrees;
  return out;
}

// By value: whether a value differs from which it is computed.
std::vector<bool> differs_above(const Side& side, const std::vector<State>& states) {
  std::vector<bool> out(side.value_count());
  for (Index i = 0; i < side.size(); ++i) {
    bool above = false;
    for (const Index v : side.inputs(i)) above |= v != kNone && (out[v] || states[v] == State::Differs);
    for (const Index v : side.outputs(i))
      if (v != kNone) out[v] = above;
  }
  return out;
}

// Marks values of A as agreeing that differ without harm: a reader all of whose other operands agree, and
// that looks at the elements, gives results that agree, and each reader whose results differ has another
// operand that does. Against the order: what is marked speaks for what is above.
void mark_harmless(const Side& side, std::vector<State>& states, const std::vector<bool>& is_output) {
  const auto agrees = [&](Index op, Index but) {
    bool some = false;
    for (const Index v : side.outputs(op)) {
      if (v == kNone) continue;
      if (states[v] != State::Agrees) return false;
      some = true;
    }
    for (const Index v : side.inputs(op)) {
      if (v == kNone || v == but || !side.is_computed(v)) continue;
      if (states[v] != State::Agrees) return false;
    }
    return some;
  };
  for (Index i = static_cast<Index>(side.size()); i-- > 0;)
    for (const Index v : side.outputs(i)) {
      if (v == kNone || states[v] != State::Differs || is_output[v]) continue;
      const auto hides = [&](const Use& use) {
        return !reads_only_dims(side.op(use.op).kind) && agrees(use.op, v);
      };
      const auto is_explained = [&](const Use& use) {
        return agrees(use.op, v) || std::ranges::any_of(side.inputs(use.op), [&](Index w) {
                 return w != kNone && w != v && states[w] == State::Differs;
               });
      };
      if (std::ranges::any_of(side.uses(v), hides) && std::ranges::all_of(side.uses(v), is_explained))
        states[v] = State::Agrees;
    }
}

struct Below {
  bool agrees = false, differs = false;  // some of the values that are compared next
};

std::vector<Below> next_below(const Side& side, const std::vector<State>& states) {
  std::vector<Below> out(side.value_count());
  for (Index i = static_cast<Index>(side.size()); i-- > 0;) {
    Below here;
    for (const Index v : side.outputs(i)) {
      if (v == kNone) continue;
      if (states[v] == State::Unknown) {
        here.agrees |= out[v].agrees;
        here.differs |= out[v].differs;
      } else {
        (states[v] == State::Agrees ? here.agrees : here.differs) = true;
      }
    }
    for (const Index v : side.inputs(i)) {
      if (v == kNone) continue;
      out[v].agrees |= here.agrees;
      out[v].differs |= here.differs;
    }
  }
  return out;
}

}  // namespace

Frontier find_frontier(const Side& a, const Side& b, const std::vector<ComparedValue>& values) {
  std::array<std::vector<bool>, 2> is_output;
  for (const std::size_t s : kSides) {
    const Side& side = s == 0 ? a : b;
    is_output[s].resize(side.value_count());
    for (const Index v : side.graph_outputs()) is_output[s][v] = true;
  }
  Frontier out;
  std::vector<ComparedValue> kept = values;
  {
    std::vector<State> states = states_of(a, 0, values);
    mark_harmless(a, states, is_output[0]);
    for (ComparedValue& v : kept) v.differs = states[v.a] == State::Differs;
    const std::vector<ComparedValue> harmful = kept;
    const auto below_a = next_below(a, states_of(a, 0, harmful));
    const auto below_b = next_below(b, states_of(b, 1, harmful));
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto& [x, y, differs] = harmful[i];
      const bool is_last = is_output[0][x] || is_output[1][y];
      const bool is_hidden = differs && !is_last && !below_a[x].differs && !below_b[y].differs &&
                             below_a[x].agrees && below_b[y].agrees;
      if (is_hidden) kept[i].differs = false;
      if (values[i].differs && !kept[i].differs) out.taken_back.push_back(i);
    }
  }
  const auto above_a = differs_above(a, states_of(a, 0, kept)),
             above_b = differs_above(b, states_of(b, 1, kept));
  for (std::size_t i = 0; i < kept.size(); ++i)
    if (kept[i].differs && !above_a[kept[i].a] && !above_b[kept[i].b]) out.first.push_back(i);
  return out;
}

std::vector<Index> region_of(const Side& side, std::size_t s, Index value,
                             const std::vector<ComparedValue>& values) {
  const std::vector<State> states = states_of(side, s, values);
  std::vector<bool> seen(side.size());
  std::vector<Index> out, open{value};
  while (!open.empty()) {
    const Index v = open.back();
    open.pop_back();
    if (v == kNone || !side.is_computed(v) || (v != value && states[v] != State::Unknown)) continue;
    const Index op = side.producer(v).op;
    if (seen[op]) continue;
    seen[op] = true;
    out.push_back(op);
    open.insert(open.end(), side.inputs(op).begin(), side.inputs(op).end());
  }
  std::ranges::sort(out);
  return out;
}

}  // namespace graphopt::mapping
