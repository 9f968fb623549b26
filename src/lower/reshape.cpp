// Expansions of Reshape, Squeeze, Unsqueeze and Flatten, which keep the elements and their order.
//
// reshape-numbers  the target of a Reshape as numbers alone, or with one -1: devices refuse targets that are
//                  computed, and copied dims (0). A -1 has a meaning if the other dims are known and not 0.
// as-reshape       Squeeze, Unsqueeze and Flatten as a Reshape with such a target
// as-squeeze, as-unsqueeze, as-flatten
//                  a Reshape that only drops or adds axes of extent 1, or that makes a matrix
// split-axis       a Reshape that divides one axis of known length in two: a Split of it into the entries of
//                  the first, each unsqueezed, joined along the new axis
// join-axes        a Reshape that makes one axis of two, of which the first has a known length: its entries,
//                  each squeezed, joined along the second
// Exact: each has the dims of the original, proven for all sizes, and moves no element. A Concat of parts
// without elements has their dims.
// Left alone: more than kMostParts parts; types that Concat or Split has no kernel for stay with the device's
// rules, as a Split moves any type that a Reshape does.
//
//   y = Reshape (x, {0, 0, 2, 32})    =>    a, b = Split <axis = 2> (x)    u = Unsqueeze (a, {2}) ...
//                                           y = Concat <axis = 2> (u, v)
#include <algorithm>
#include <optional>
#include <vector>

#include "lower/expansion.h"
#include "ops/attributes.h"
#include "ops/node_facts.h"

namespace graphopt {
namespace {

using Dims = std::span<const DimId>;

bool same(const Model& m, DimId a, DimId b) { return a == b || m.dims.equal(a, b) == Tri::Yes; }
bool same(const Model& m, Dims a, Dims b) {
  return std::ranges::equal(a, b, [&m](DimId x, DimId y) { return same(m, x, y); });
}

// Numbers, with at most one -1 for a dim that is known only at run time. Nothing where that has no meaning,
// or a dim may be 0, which would be copied.
std::optional<std::vector<std::int64_t>> plain_target(const Model& m, Dims to) {
  std::vector<std::int64_t> out;
  for (const DimId d : to) {
    const auto number = d ? m.dims.value(d) : std::nullopt;
    if (number && *number < 1) return std::nullopt;
    out.push_back(number.value_or(-1));
  }
  if (std::ranges::count(out, -1) > 1) return std::nullopt;
  return out;
}

bool knows_shapes(const MatchContext& c, NodeId n) {
  return c.infer.has_rank(c.model.input(n, 0)) && c.infer.has_rank(c.model.output(n, 0));
}

class Numbers final : public ExpansionRule {
 public:
  std::string_view name() const override { return "reshape-numbers"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::Reshape>; }
  bool match(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    if (!m.input(n, 1) || !knows_shapes(c, n)) return false;
    const auto target = plain_target(m, c.infer.dims(m.output(n, 0)));
    if (!target) return false;
    const auto written = int_operand(m, n, 1);
    if (written && m.constant_of(m.input(n, 1)) && *written == *target) return false;
    target_ = *target;
    return true;
  }
  void apply(PassContext& c, NodeId n) override {
    c.model.set_operand(n, 1, emit(c.model, n).numbers(target_));
  }

 private:
  std::vector<std::int64_t> target_;
};

class AsReshape final : public ExpansionRule {
 public:
  std::string_view name() const override { return "as-reshape"; }
  std::span<const OpKind> roots() const override {
    return kRootKinds<OpKind::Squeeze, OpKind::Unsqueeze, OpKind::Flatten>;
  }
  bool match(const MatchContext& c, NodeId n) override {
    if (!knows_shapes(c, n)) return false;
    const auto target = plain_target(c.model, c.infer.dims(c.model.output(n, 0)));
    if (target) target_ = *target;
    return target.has_value();
  }
  void apply(PassContext& c, NodeId n) override {
    Emitter e = emit(c.model, n);
    const ValueId x = c.model.input(n, 0);
    give_result(c.model, n, e.built("reshaped", [&](const Site& at) { return add_reshape(at, x, target_); }));
  }

 private:
  std::vector<std::int64_t> target_;
};

// Of a Reshape: the axes of extent 1 that one of the shapes has more than the other.
std::optional<std::vector<std::int64_t>> ones_of(const Model& m, Dims longer, Dims shorter) {
  std::vector<std::int64_t> axes;
  std::size_t k = 0;
  for (std::size_t i = 0; i < longer.size(); ++i) {
    if (k < shorter.size() && same(m, longer[i], shorter[k])) {
      ++k;
      continue;
    }
    if (!m.dims.is_constant(longer[i], 1)) return std::nullopt;
    axes.push_back(static_cast<std::int64_t>(i));
  }
  if (k < shorter.size() || axes.empty()) return std::nullopt;
  return axes;
}

template <bool kDrops> class Ones final : public ExpansionRule {
 public:
  std::string_view name() const override { return kDrops ? "as-squeeze" : "as-unsqueeze"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::Reshape>; }
  bool match(const MatchContext& c, NodeId n) override {
    if (!knows_shapes(c, n)) return false;
    const Dims from = c.infer.dims(c.model.input(n, 0)), to = c.infer.dims(c.model.output(n, 0));
    const auto axes = kDrops ? ones_of(c.model, from, to) : ones_of(c.model, to, from);
    if (axes) axes_ = *axes;
    return axes.has_value();
  }
  void apply(PassContext& c, NodeId n) override {
    Emitter e = emit(c.model, n);
    const ValueId x = c.model.input(n, 0);
    give_result(c.model, n, e.built(kDrops ? "squeezed" : "unsqueezed", [&](const Site& at) {
      return kDrops ? add_squeeze(at, x, axes_) : add_unsqueeze(at, x, axes_);
    }));
  }

 private:
  std::vector<std::int64_t> axes_;
};

class AsFlatten final : public ExpansionRule {
 public:
  std::string_view name() const override { return "as-flatten"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::Reshape>; }
  bool match(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    if (!knows_shapes(c, n)) return false;
    const Dims from = c.infer.dims(m.input(n, 0)), to = c.infer.dims(m.output(n, 0));
    if (to.size() != 2 || from.size() < 2) return false;
    for (std::size_t axis = 1; axis < from.size(); ++axis) {
      const DimId rows = c.dims.product(from.first(axis)), columns = c.dims.product(from.subspan(axis));
      if (!rows || !columns || !same(m, rows, to[0]) || !same(m, columns, to[1])) continue;
      axis_ = static_cast<std::int64_t>(axis);
      return true;
    }
    return false;
  }
  void apply(PassContext& c, NodeId n) override {
    give_result(
        c.model, n,
        emit(c.model, n).node(OpKind::Flatten, {c.model.input(n, 0)}, "flat", {{names::axis, axis_}}));
  }

 private:
  std::int64_t axis_ = 1;
};

// One axis of `one` is two axes of `two`, the first of known length; the others are equal. Returns the axis,
// and that length.
struct Pair {
  std::size_t axis;
  std::int64_t first;
};
std::optional<Pair> pair_of(const MatchContext& c, Dims one, Dims two) {
  const Model& m = c.model;
  if (two.size() != one.size() + 1) return std::nullopt;
  for (std::size_t axis = 0; axis < one.size(); ++axis) {
    const auto first = m.dims.value(two[axis]);
    if (!first || *first < 2 || *first > kMostParts) continue;
    const DimId product = c.dims.product(two.subspan(axis, 2));
    if (product && same(m, product, one[axis]) && same(m, one.first(axis), two.first(axis)) &&
        same(m, one.subspan(axis + 1), two.subspan(axis + 2)))
      return Pair{axis, *first};
  }
  return std::nullopt;
}

template <bool kSplits> class Parts final : public ExpansionRule {
 public:
  std::string_view name() const override { return kSplits ? "split-axis" : "join-axes"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::Reshape>; }
  bool match(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    if (!knows_shapes(c, n)) return false;
    const Dims from = c.infer.dims(m.input(n, 0)), to = c.infer.dims(m.output(n, 0));
    const auto pair = kSplits ? pair_of(c, from, to) : pair_of(c, to, from);
    if (!pair) return false;
    // The lengths of the parts are written as numbers.
    const auto length = kSplits ? m.dims.value(from[pair->axis]) : std::optional(pair->first);
    if (!length || *length < 1 || m.opset(n) < 11) return false;
    pair_ = *pair;
    lengths_.assign(static_cast<std::size_t>(pair_.first), *length / pair_.first);
    return true;
  }
  void apply(PassContext& c, NodeId n) override {
    Model& m = c.model;
    Emitter e = emit(m, n);
    const auto axis = static_cast<std::int64_t>(pair_.axis);
    const std::int64_t axes[] = {axis};
    const ValueId x = m.input(n, 0);
    const ValueId first = e.built("part", [&](const Site& at) { return add_split(at, x, axis, lengths_); });
    std::vector<ValueId> parts;
    for (const ValueId part :
         std::vector<ValueId>(m.outputs(m.value(first).def).begin(), m.outputs(m.value(first).def).end()))
      parts.push_back(e.built("entry", [&](const Site& at) {
        return kSplits ? add_unsqueeze(at, part, axes) : add_squeeze(at, part, axes);
      }));
    give_result(m, n, e.concat(parts, axis, "joined"));
  }

 private:
  Pair pair_{};
  std::vector<std::int64_t> lengths_;
};

constexpr Expansion kReshapeExpansions[] = {
    expansion<Numbers, Exact::Yes>(),      expansion<Ones<true>, Exact::Yes>(),
    expansion<Ones<false>, Exact::Yes>(),  expansion<AsFlatten, Exact::Yes>(),
    expansion<AsReshape, Exact::Yes>(),    expansion<Parts<true>, Exact::Yes>(),
    expansion<Parts<false>, Exact::Yes>(),
};

}  // namespace

std::span<const Expansion> reshape_expansions() { return kReshapeExpansions; }

}  // namespace graphopt
