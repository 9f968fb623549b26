// Patterns over producers, written like the formula that they look for.
//
// Problem: a rule that walks pointers checks absent operands, kinds, attributes, operand orders and uses at
// every step. Half of its lines are navigation, and the order that someone forgot is a missed match.
//
// Method: a pattern is a value, an expression of small structs on the stack. It is asked whether it fits at a
// value, and is handed the rest of the search: op() fits its operands one after the other and calls the rest
// after the last one. Where the fact table says that an operator is commutative, both orders of its first two
// operands are tried *with the rest*. So an order that fits here and makes a later part fail is undone; the
// search is complete. What was bound by an order that failed is bound again by the next one: bound variables
// mean something only after matches() returned true.
//
// Ends: the depth is that of the pattern; k commutative operators have at most 2^k orders, and an order is
// left at its first misfit. A search allocates nothing; a node of another kind costs one comparison.
//
// Most nodes that a rule starts from are not what it looks for. So before anything is looked up, each part
// says whether its value may fit (may_fit): by the kinds of nodes as deep as the pattern goes at that place,
// by being a constant, and by the number of uses. That needs no table, binds nothing and takes each operand
// once in each order. Where reasons are wanted it is left out, since the nearest miss lies behind it. What a
// rule asks at every node is a KeptPattern if it is large: it knows of which kinds a producer of an operand
// has to be, whatever the alternative, and looks at these before anything else.
//
//   y = Mul (x, Sigmoid (x)), in any order, with nothing else that reads the Sigmoid:
//
//     ValueId x;
//     if (!matches(c, n, op(OpKind::Mul, any(x), op(OpKind::Sigmoid, same(x)).single_use()))) return false;
//
// Where c has a Why, that knows the nearest miss: "'s' (Sigmoid): is read a different number of times".
//
// What op() refuses by itself: an opset in which the operator does not exist, is removed or broadcasts by its
// attribute `axis` (before opset 7); attributes that the fact table does not know, or that a function takes
// from its caller; more operands than the pattern has (and_more() admits them); a node of an outer graph,
// whose result a body reads (outer() admits it).
//
// Left to the rule: whether the result may be replaced (Model::can_replace), element types and shapes. A
// scalar constant may have rank 3 and raise the rank of a result.
#pragma once

#include <algorithm>
#include <bitset>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "ops/attributes.h"
#include "ops/constants.h"
#include "ops/node_facts.h"
#include "rewrite/context.h"

namespace graphopt {

namespace pattern {

struct Spot {
  ValueId value;  // none: an absent operand
  NodeId node;    // its producer
  NodeId reader;  // none for the root
};

struct Search : MatchContext {
  std::size_t matched = 0;  // nodes that fit, on the way to here

  explicit Search(const MatchContext& c) : MatchContext(c) {}
  Spot at(ValueId v, NodeId reader) const { return {v, v ? model.value(v).def : NodeId{}, reader}; }
  bool no(const Spot& at, std::string_view reason, OpKind wanted = OpKind::Opaque, NameId attribute = {}) {
    if (why != nullptr)
      why->note({at.node ? at.node : at.reader, at.value, reason, wanted, attribute, matched, !at.node});
    return false;
  }
};

// The rest of a search. Returns true if all of it fits.
class Next {
 public:
  template <class F>
  explicit Next(const F& f)
      : object_(&f), call_([](const void* o) { return (*static_cast<const F*>(o))(); }) {}
  bool operator()() const { return call_(object_); }

 private:
  const void* object_;
  bool (*call_)(const void*);
};

template <class Self, class Condition> struct With;

using KindSet = std::bitset<static_cast<std::size_t>(OpKind::Count)>;

// What a pattern needs around its root: one of the first `operands` operands is produced by a node of one of
// these kinds.
struct Neighbours {
  KindSet kinds;
  std::size_t operands = 0;
};

// A condition of its own, since it can be asked before the operands are searched.
struct Uses {
  std::uint32_t count;
  bool may_hold(const Model& m, ValueId v) const { return m.use_count(v) == count; }
  bool operator()(Search& s, const Spot& at) const {
    const Model& m = s.model;
    if (!at.value) return s.no(at, "is absent");
    if (!may_hold(m, at.value)) return s.no(at, "is read a different number of times");
    if (m.is_fixed(at.value)) return s.no(at, "is named from outside of the graph, or overwritten");
    for (UseId u = m.first_use(at.value); u; u = m.next_use(u)) {
      if (m.is_return(m.user(u))) return s.no(at, "is a graph output");
      if (m.node(m.user(u)).graph != m.value(at.value).graph) return s.no(at, "is read in a body");
    }
    return true;
  }
};

// Conditions on what fits, in the order in which they are written, after the operands.
template <class Self> struct Conditions {
  // `holds` takes nothing, or a const MatchContext& and the ValueId or NodeId.
  template <class F> auto where(std::string_view reason, F holds) const {
    return also([reason, holds](Search& s, const Spot& at) {
      if constexpr (std::is_invocable_v<F>) return holds() || s.no(at, reason);
      else if constexpr (std::is_invocable_v<F, const MatchContext&, ValueId>)
        return holds(s, at.value) || s.no(at, reason);
      else return (at.node && holds(s, at.node)) || s.no(at, reason);
    });
  }
  // Exactly `count` operands read the value, all of nodes of its graph, and it may go: it is no graph output,
  // not pinned, and no kernel writes to it.
  auto uses(std::uint32_t count) const { return also(Uses{count}); }
  auto single_use() const { return uses(1); }
  // No other result of the node is read.
  auto only_result() const {
    return also([](Search& s, const Spot& at) {
      for (const ValueId v : at.node ? s.model.outputs(at.node) : std::span<const ValueId>{})
        if (v && v != at.value && s.model.use_count(v) > 0)
          return s.no(at, "has another result that is read");
      return true;
    });
  }
  auto bind(NodeId& n) const {
    return also([&n](Search&, const Spot& at) { return n = at.node, true; });
  }
  auto bind(ValueId& v) const {
    return also([&v](Search&, const Spot& at) { return v = at.value, true; });
  }
  // The attribute, written or by default, has this value.
  auto attr(NameId name, std::int64_t value) const {
    return also([name, value](Search& s, const Spot& at) {
      return (at.node && int_attr(s.model, at.node, name) == value) ||
             s.no(at, "has another value of", OpKind::Opaque, name);
    });
  }
  auto attr(NameId name, std::string_view value) const {
    return also([name, value](Search& s, const Spot& at) {
      return (at.node && string_attr(s.model, at.node, name) == value) ||
             s.no(at, "has another value of", OpKind::Opaque, name);
    });
  }
  auto bind_attr(NameId name, std::int64_t& value) const {
    return also([name, &value](Search& s, const Spot& at) {
      const auto given = at.node ? int_attr(s.model, at.node, name) : std::nullopt;
      if (given) value = *given;
      return given || s.no(at, "has no integer", OpKind::Opaque, name);
    });
  }
  auto opset(std::int64_t low, std::int64_t high = std::numeric_limits<std::int64_t>::max()) const {
    return also([low, high](Search& s, const Spot& at) {
      const std::int64_t opset = at.node ? s.model.opset(at.node) : 0;
      return (opset >= low && opset <= high) || s.no(at, "is of another opset");
    });
  }

 private:
  template <class C> With<Self, C> also(C condition) const {
    return {{}, static_cast<const Self&>(*this), condition};
  }
};

template <class P, class Condition> struct With : Conditions<With<P, Condition>> {
  P inner;
  Condition condition;
  bool at(Search& s, const Spot& spot, Next next) const {
    return inner.at(s, spot, Next([&] { return condition(s, spot) && next(); }));
  }
  bool may_fit(const Model& m, ValueId v) const {
    if constexpr (std::is_same_v<Condition, Uses>)
      if (v && !condition.may_hold(m, v)) return false;
    return inner.may_fit(m, v);
  }
  bool add_producers(KindSet& kinds) const { return inner.add_producers(kinds); }
  bool add_neighbours(Neighbours& around) const { return inner.add_neighbours(around); }
};

template <class F> struct Leaf : Conditions<Leaf<F>> {
  F fits;
  bool constant;  // fits nothing but constants
  bool at(Search& s, const Spot& spot, Next next) const { return fits(s, spot) && next(); }
  bool may_fit(const Model& m, ValueId v) const { return !constant || m.constant_of(v); }
  bool add_producers(KindSet&) const { return false; }
  bool add_neighbours(Neighbours&) const { return false; }
};
template <class F> Leaf<F> leaf(F fits) { return {{}, fits, false}; }
template <class F> Leaf<F> constant_leaf(F fits) { return {{}, fits, true}; }

// --- operands ----------------------------------------------------------------------------------------------
inline auto any() {
  return leaf([](Search& s, const Spot& at) { return at.value || s.no(at, "is absent"); });
}
inline auto any(ValueId& x) {
  return leaf([&x](Search& s, const Spot& at) { return (x = at.value) || s.no(at, "is absent"); });
}
// Also an absent operand, which binds none.
inline auto maybe(ValueId& x) {
  return leaf([&x](Search&, const Spot& at) { return x = at.value, true; });
}
inline auto absent() {
  return leaf([](Search& s, const Spot& at) { return !at.value || s.no(at, "is given"); });
}
// The value bound to x further to the left, or a constant with its bits.
inline auto same(const ValueId& x) {
  return leaf([&x](Search& s, const Spot& at) {
    const Model& m = s.model;
    return (at.value && (at.value == x || equal_constants(m, m.constant_of(at.value), m.constant_of(x)))) ||
           s.no(at, "is another value");
  });
}
void same(ValueId&& x) = delete;  // it would be read after its end
// All elements are this number, as the type writes it (`holds` in ops/constants.h).
inline auto splat(double number) {
  return constant_leaf([number](Search& s, const Spot& at) {
    return holds(s.model, s.model.constant_of(at.value), number) || s.no(at, "is another number");
  });
}
inline auto scalar(double number) {
  return constant_leaf([number](Search& s, const Spot& at) {
    return holds(s.model, s.model.constant_of(at.value), number, 1) || s.no(at, "is another number");
  });
}
// A scalar of a floating type whose distance to the number is at most `relative` of it: for numbers that
// exporters write with few digits.
inline auto scalar_near(double number, double relative) {
  return constant_leaf([number, relative](Search& s, const Spot& at) {
    const auto x = real_scalar(s.model, at.value);
    return (x && std::fabs(*x - number) <= relative * std::fabs(number)) || s.no(at, "is another number");
  });
}
// Any number of a floating type (double&) or of an integer type (std::int64_t&).
template <class T> auto any_splat(T& number, std::int64_t most = kMostElements) {
  static_assert(std::is_same_v<T, double> || std::is_same_v<T, std::int64_t>);
  return constant_leaf([&number, most](Search& s, const Spot& at) {
    const TensorId t = s.model.constant_of(at.value);
    std::optional<T> given;
    if constexpr (std::is_same_v<T, double>) given = real_splat(s.model, t, most);
    else given = int_splat(s.model, t, most);
    if (given) number = *given;
    return given || s.no(at, most == 1 ? "is no constant number" : "is no constant of equal numbers");
  });
}
template <class T> auto any_scalar(T& number) { return any_splat(number, 1); }
inline auto constant(TensorId& t) {
  return constant_leaf([&t](Search& s, const Spot& at) {
    return (t = s.model.constant_of(at.value)) || s.no(at, "is no constant");
  });
}

// --- nodes -------------------------------------------------------------------------------------------------
template <class... P> struct Operator : Conditions<Operator<P...>> {
  OpKind kind = OpKind::Opaque;
  std::tuple<P...> operands;
  std::uint32_t slot = 0;
  bool open = false, from_outside = false;

  // The pattern is about another result than the first one.
  Operator result(std::uint32_t k) const {
    return changed([k](Operator& o) { o.slot = k; });
  }
  // The node may have more operands.
  Operator and_more() const {
    return changed([](Operator& o) { o.open = true; });
  }
  // The node may be in a graph around that of its reader.
  Operator outer() const {
    return changed([](Operator& o) { o.from_outside = true; });
  }

  bool at(Search& s, const Spot& spot, Next next) const {
    const Model& m = s.model;
    const NodeId n = spot.node;
    if (!n || m.kind(n) != kind) return s.no(spot, "is no", kind);
    if (m.value(spot.value).def_slot != slot) return s.no(spot, "is another result");
    if (spot.reader && !from_outside && m.node(n).graph != m.node(spot.reader).graph)
      return s.no(spot, "is in an outer graph");
    if (s.why == nullptr && !operands_may_fit(m, n)) return false;
    const OpFacts& row = facts_of(m, n);
    if (row.kind != kind || row.deprecated || row.broadcast == Broadcast::LegacyAxis)
      return s.no(spot, "means something else in this opset");
    if (!attributes_known(m, n)) return s.no(spot, "has attributes that are not known");
    for (std::size_t i = sizeof...(P); i < m.input_count(n) && !open; ++i)
      if (m.input(n, i)) return s.no(spot, "has more operands");
    ++s.matched;
    bool fits = from<0>(s, n, false, next);
    if constexpr (sizeof...(P) >= 2)
      fits = fits || (row.commutative && m.input(n, 0) != m.input(n, 1) && from<0>(s, n, true, next));
    --s.matched;
    return fits;
  }

  bool may_fit(const Model& m, ValueId v) const {
    const NodeId n = v ? m.value(v).def : NodeId{};
    return n && m.kind(n) == kind && operands_may_fit(m, n);
  }

  // Adds the kinds of which the producer of a value has to be for the pattern to fit there. Returns false if
  // it may fit at a value without producer; what was added means nothing then.
  bool add_producers(KindSet& kinds) const {
    kinds.set(static_cast<std::size_t>(kind));
    return true;
  }
  // Adds what the pattern needs around a root. Returns false if it needs no producer of any operand.
  bool add_neighbours(Neighbours& around) const {
    around.operands = std::max(around.operands, sizeof...(P));
    const auto add = [&around](const auto& operand) {
      KindSet kinds;
      if (!operand.add_producers(kinds)) return false;
      around.kinds |= kinds;
      return true;
    };
    return std::apply([&](const P&... p) { return (add(p) || ...); }, operands);  // one is enough
  }

 private:
  // In either order of the first two, whether or not the operator has it.
  bool operands_may_fit(const Model& m, NodeId n) const {
    if (operands_may_fit<0>(m, n, false)) return true;
    if constexpr (sizeof...(P) >= 2) return operands_may_fit<0>(m, n, true);
    else return false;
  }
  template <std::size_t I> bool operands_may_fit(const Model& m, NodeId n, bool swapped) const {
    if constexpr (I == sizeof...(P)) return true;
    else
      return std::get<I>(operands).may_fit(m, m.input(n, swapped && I < 2 ? 1 - I : I)) &&
             operands_may_fit<I + 1>(m, n, swapped);
  }
  template <class F> Operator changed(F change) const {
    Operator o = *this;
    change(o);
    return o;
  }
  template <std::size_t I> bool from(Search& s, NodeId n, bool swapped, Next next) const {
    if constexpr (I == sizeof...(P)) return next();
    else {
      const std::size_t from_slot = swapped && I < 2 ? 1 - I : I;
      return std::get<I>(operands).at(s, s.at(s.model.input(n, from_slot), n),
                                      Next([&] { return from<I + 1>(s, n, swapped, next); }));
    }
  }
};
template <class... P> Operator<P...> op(OpKind kind, P... operands) { return {{}, kind, {operands...}}; }

// The first alternative with which the rest fits.
template <class... P> struct OneOf : Conditions<OneOf<P...>> {
  std::tuple<P...> alternatives;
  bool at(Search& s, const Spot& spot, Next next) const {
    return std::apply([&](const P&... p) { return (p.at(s, spot, next) || ...); }, alternatives);
  }
  bool may_fit(const Model& m, ValueId v) const {
    return std::apply([&](const P&... p) { return (p.may_fit(m, v) || ...); }, alternatives);
  }
  bool add_producers(KindSet& kinds) const {
    return std::apply([&](const P&... p) { return (p.add_producers(kinds) && ...); }, alternatives);
  }
  bool add_neighbours(Neighbours& around) const {
    return std::apply([&](const P&... p) { return (p.add_neighbours(around) && ...); }, alternatives);
  }
};
template <class... P> OneOf<P...> one_of(P... alternatives) { return {{}, {alternatives...}}; }

// An absent operand, or what the pattern says. Where it is absent, what the pattern would bind stays as it
// was.
template <class P> struct Optional : Conditions<Optional<P>> {
  P given;
  bool at(Search& s, const Spot& spot, Next next) const {
    return spot.value ? given.at(s, spot, next) : next();
  }
  bool may_fit(const Model& m, ValueId v) const { return !v || given.may_fit(m, v); }
  bool add_producers(KindSet&) const { return false; }
  bool add_neighbours(Neighbours&) const { return false; }
};
template <class P> Optional<P> optional(P p) { return {{}, p}; }

}  // namespace pattern

// Returns whether the pattern fits at the value, and binds what it binds.
template <class P> bool matches(const MatchContext& c, ValueId v, const P& p) {
  pattern::Search s(c);
  return p.at(s, s.at(v, {}), pattern::Next([] { return true; }));
}
// The same at the first result of a node, which it must have.
template <class P> bool matches(const MatchContext& c, NodeId root, const P& p) {
  const ValueId v = c.model.output(root, 0);
  if (!v && c.why != nullptr) c.why->note({.node = root, .reason = "has no result"});
  return v && matches(c, v, p);
}

// A pattern that is made once and asked at many nodes, a member of its rule behind the variables that it
// binds. A pattern holds a copy of each part for each place that names it: a large one takes longer to make
// than to search for, since most searches end at the first node. Not copied, nor is its rule: it binds the
// variables of the rule that made it.
class KeptPattern {
 public:
  template <class P>
  explicit KeptPattern(const P& p)
      : matches_([p](const MatchContext& c, NodeId root) { return matches(c, root, p); }),
        by_neighbours_(p.add_neighbours(around_)) {}
  KeptPattern(const KeptPattern&) = delete;
  KeptPattern& operator=(const KeptPattern&) = delete;

  bool matches_at(const MatchContext& c, NodeId root) const {
    return (c.why != nullptr || !by_neighbours_ || has_neighbour(c.model, root)) && matches_(c, root);
  }

 private:
  bool has_neighbour(const Model& m, NodeId root) const {
    const std::size_t count = std::min(around_.operands, m.input_count(root));
    for (std::size_t i = 0; i < count; ++i) {
      const ValueId v = m.input(root, i);
      const NodeId producer = v ? m.value(v).def : NodeId{};
      if (producer && around_.kinds[static_cast<std::size_t>(m.kind(producer))]) return true;
    }
    return false;
  }

  std::function<bool(const MatchContext&, NodeId)> matches_;
  pattern::Neighbours around_;
  bool by_neighbours_;  // the pattern needs some: around_ says which
};

}  // namespace graphopt
