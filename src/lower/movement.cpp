// Expansions of operators that only choose or repeat elements.
//
// split-slices    a Split into parts of known lengths as one Slice for each part that is read
// gather-slice    a Gather of one constant position, or of positions in a row, as a Slice (and a Squeeze)
// gather-slices   a Gather of a few other constant positions: the Slices joined by a Concat
// expand-tile     an Expand along axes of extent 1 by known numbers as a Tile
// tile-concat     a Tile as a Concat of copies, axis after axis
// Exact: the same elements at the same places. A position outside the axis, with which Gather fails, makes an
// empty Slice, on which the Squeeze or the Concat's reader fails or which no accepted run has; that a Gather
// fails is no effect that is kept (rewrite/dead.h).
// Left alone: positions and lengths that are not known; more than kMostParts parts.
//
//   a, b = Split <axis = 1> (x, {2, 3})    =>    a = Slice (x, {0}, {2}, {1})    b = Slice (x, {2}, {5}, {1})
#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "lower/expansion.h"
#include "ops/attributes.h"
#include "ops/constants.h"
#include "ops/node_facts.h"

namespace graphopt {
namespace {

// Returns the axis of the operand, counted from the start.
std::optional<std::int64_t> axis_of(const MatchContext& c, NodeId n, std::int64_t absent) {
  const ValueId x = c.model.input(n, 0);
  if (!c.infer.has_rank(x)) return std::nullopt;
  return normalize_axis(int_attr(c.model, n, names::axis).value_or(absent), c.infer.dims(x).size());
}

ValueId slice(Emitter& e, ValueId x, std::int64_t axis, std::int64_t start, std::int64_t end) {
  const std::int64_t starts[] = {start}, ends[] = {end}, axes[] = {axis};
  return e.built("slice", [&](const Site& at) {
    return add_slice(at, x, {.starts = starts, .ends = ends, .axes = axes});
  });
}

class SplitSlices final : public ExpansionRule {
 public:
  std::string_view name() const override { return "split-slices"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::Split>; }
  bool match(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    const auto axis = axis_of(c, n, 0);
    if (!axis || m.output_count(n) > std::size_t{kMostParts}) return false;
    ends_.clear();
    std::int64_t end = 0;
    for (const ValueId y : m.outputs(n)) {
      if (!y || !c.infer.has_rank(y)) return false;
      const auto length = number_of(m, c.infer.dims(y)[static_cast<std::size_t>(*axis)]);
      if (!length) return false;
      ends_.push_back(end += *length);
    }
    axis_ = *axis;
    return true;
  }
  void apply(PassContext& c, NodeId n) override {
    Emitter e = emit(c.model, n);
    for (std::size_t i = 0; i < ends_.size(); ++i) {
      if (c.model.use_count(c.model.output(n, i)) == 0) continue;
      const ValueId part = slice(e, c.model.input(n, 0), axis_, i == 0 ? 0 : ends_[i - 1], ends_[i]);
      give_result(c.model, n, part, i);
    }
  }

 private:
  std::int64_t axis_ = 0;
  std::vector<std::int64_t> ends_;
};

class GatherSlices final : public ExpansionRule {
 public:
  std::string_view name() const override { return "gather-slices"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::Gather>; }
  bool match(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    const auto axis = axis_of(c, n, 0);
    const TensorId positions = m.constant_of(m.input(n, 1));
    if (!axis || !positions || m.tensor(positions).dims.size() > 1) return false;
    const auto numbers = int_list(m, positions, kMostParts);
    if (!numbers || numbers->empty()) return false;
    const auto extent = number_of(m, c.infer.dims(m.input(n, 0))[static_cast<std::size_t>(*axis)]);
    positions_ = *numbers;
    for (std::int64_t& p : positions_) {
      if (p < 0 && extent) p += *extent;
      if (extent && (p < 0 || p >= *extent)) return false;
    }
    // Negative positions of an axis of unknown length do not follow each other in a way that is known.
    if (positions_.size() > 1 && std::ranges::any_of(positions_, [](std::int64_t p) { return p < 0; }))
      return false;
    axis_ = *axis;
    scalar_ = m.tensor(positions).dims.empty();
    return true;
  }
  void apply(PassContext& c, NodeId n) override {
    Emitter e = emit(c.model, n);
    const ValueId x = c.model.input(n, 0);
    std::vector<ValueId> parts;
    for (std::size_t i = 0, k = 1; i < positions_.size(); i = k++) {
      while (k < positions_.size() && positions_[k] == positions_[k - 1] + 1) ++k;
      const std::int64_t last = positions_[k - 1];
      parts.push_back(slice(e, x, axis_, positions_[i],
                            last == -1 ? std::numeric_limits<std::int64_t>::max() : last + 1));
    }
    ValueId result = parts.size() == 1 ? parts[0] : e.concat(parts, axis_, "joined");
    const std::int64_t axes[] = {axis_};
    if (scalar_) result = e.built("one", [&](const Site& at) { return add_squeeze(at, result, axes); });
    give_result(c.model, n, result);
  }

 private:
  std::int64_t axis_ = 0;
  bool scalar_ = false;
  std::vector<std::int64_t> positions_;
};

class ExpandTile final : public ExpansionRule {
 public:
  std::string_view name() const override { return "expand-tile"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::Expand>; }
  bool match(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    const ValueId x = m.input(n, 0), y = m.output(n, 0);
    if (!c.infer.has_rank(x) || !c.infer.has_rank(y)) return false;
    const auto from = c.infer.dims(x), to = c.infer.dims(y);
    added_ = to.size() - from.size();
    repeats_.clear();
    for (std::size_t i = 0; i < to.size(); ++i) {
      const DimId own = i < added_ ? DimId{} : from[i - added_];
      if (own && m.dims.equal(own, to[i]) == Tri::Yes) {
        repeats_.push_back(1);
        continue;
      }
      const auto times = number_of(m, to[i]);
      if (!times || *times < 1 || (own && !m.dims.is_constant(own, 1))) return false;
      repeats_.push_back(*times);
    }
    return !repeats_.empty();
  }
  void apply(PassContext& c, NodeId n) override {
    Emitter e = emit(c.model, n);
    ValueId x = c.model.input(n, 0);
    if (added_ > 0) {
      std::vector<std::int64_t> axes;
      for (std::size_t i = 0; i < added_; ++i) axes.push_back(static_cast<std::int64_t>(i));
      x = e.built("unsqueezed", [&](const Site& at) { return add_unsqueeze(at, x, axes); });
    }
    give_result(c.model, n, e.node(OpKind::Tile, {x, e.numbers(repeats_)}, "tiled"));
  }

 private:
  std::size_t added_ = 0;
  std::vector<std::int64_t> repeats_;
};

class TileConcat final : public ExpansionRule {
 public:
  std::string_view name() const override { return "tile-concat"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::Tile>; }
  bool match(const MatchContext& c, NodeId n) override {
    if (c.model.opset(n) < 6 || !c.infer.has_rank(c.model.input(n, 0))) return false;
    const auto repeats = int_operand(c.model, n, 1);
    if (!repeats || repeats->size() != c.infer.dims(c.model.input(n, 0)).size()) return false;
    std::int64_t parts = 0, repeated = 0;
    for (const std::int64_t r : *repeats) {
      if (r < 1 || r > kMostParts) return false;
      parts += r;
      repeated += r > 1 ? 1 : 0;
    }
    repeats_ = *repeats;
    return repeated > 0 && parts <= kMostParts;
  }
  void apply(PassContext& c, NodeId n) override {
    Emitter e = emit(c.model, n);
    ValueId x = c.model.input(n, 0);
    for (std::size_t axis = 0; axis < repeats_.size(); ++axis)
      if (repeats_[axis] > 1)
        x = e.concat(std::vector<ValueId>(static_cast<std::size_t>(repeats_[axis]), x),
                     static_cast<std::int64_t>(axis), "copies");
    give_result(c.model, n, x);
  }

 private:
  std::vector<std::int64_t> repeats_;
};

constexpr Expansion kMovementExpansions[] = {
    expansion<SplitSlices, Exact::Yes>(),
    expansion<GatherSlices, Exact::Yes>(),
    expansion<ExpandTile, Exact::Yes>(),
    expansion<TileConcat, Exact::Yes>(),
};

}  // namespace

std::span<const Expansion> movement_expansions() { return kMovementExpansions; }

}  // namespace graphopt
