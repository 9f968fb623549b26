// Expansions of operators that move elements by a fixed pattern.
//
// blocks    DepthToSpace and SpaceToDepth as Reshape, Transpose and Reshape, as the standard says
// pad-parts Pad by edge or reflection as Slices of the operand next to it, joined by a Concat, axis after
// axis einsum    Einsum of two matrices, or of two stacks with the same first letters, as a MatMul, with a
//           Transpose of what the MatMul wants the other way
// Exact: blocks and pad-parts move elements alone. Rounds: einsum, whose sums a kernel may add in another
// order, by at most 2 k u times the sum of the products' sizes, for sums of k terms. Left alone: a pad that
// is negative or longer than its axis (which a reflection cannot be), of more than kMostParts parts, or of an
// axis of unknown length; more than one dim that is not known, or one that may be 0; Einsum with "...",
// repeated letters in one operand, other orders of letters, and types other than float.
//
//   y = DepthToSpace <blocksize = 2> (x)    =>    r = Reshape (x, {-1, 2, 2, 3, 4, 5})
//                                                 t = Transpose <perm = [0, 3, 4, 1, 5, 2]> (r)
//                                                 y = Reshape (t, {-1, 3, 8, 10})
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "lower/expansion.h"
#include "ops/attributes.h"
#include "ops/node_facts.h"
#include "ops/pads.h"

namespace graphopt {
namespace {

ValueId transposed(Emitter& e, ValueId x, std::span<const std::int64_t> order) {
  const ValueId y = e.node(OpKind::Transpose, {x}, "transposed");
  e.model().set_attr_ints(e.model().value(y).def, names::perm, order);
  return y;
}

class Blocks final : public ExpansionRule {
 public:
  std::string_view name() const override { return "blocks"; }
  std::span<const OpKind> roots() const override {
    return kRootKinds<OpKind::DepthToSpace, OpKind::SpaceToDepth>;
  }
  bool match(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    const ValueId x = m.input(n, 0);
    const std::int64_t b = int_attr(m, n, names::blocksize).value_or(0);
    if (!attributes_known(m, n) || b < 1 || !c.infer.has_rank(x) || c.infer.dims(x).size() != 4) return false;
    std::int64_t d[4];
    std::size_t open = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      const auto number = number_of(m, c.infer.dims(x)[i]);
      if (number && *number < 1) return false;
      if (!number && (++open > 1 || i > 0)) return false;  // it would be divided, or multiplied
      d[i] = number.value_or(-1);
    }
    if (m.kind(n) == OpKind::SpaceToDepth) {
      if (d[2] % b != 0 || d[3] % b != 0) return false;
      inner_ = {d[0], d[1], d[2] / b, b, d[3] / b, b};
      order_ = {0, 3, 5, 1, 2, 4};
      target_ = {d[0], d[1] * b * b, d[2] / b, d[3] / b};
      return true;
    }
    if (d[1] % (b * b) != 0) return false;
    const std::int64_t depth = d[1] / (b * b);
    const bool crd = string_attr(m, n, names::mode).value_or("DCR") == "CRD";
    inner_ = crd ? List{d[0], depth, b, b, d[2], d[3]} : List{d[0], b, b, depth, d[2], d[3]};
    order_ = crd ? List{0, 1, 4, 2, 5, 3} : List{0, 3, 4, 1, 5, 2};
    target_ = {d[0], depth, d[2] * b, d[3] * b};
    return true;
  }
  void apply(PassContext& c, NodeId n) override {
    Emitter e = emit(c.model, n);
    const ValueId x = c.model.input(n, 0);
    const ValueId blocks = e.built("blocks", [&](const Site& at) { return add_reshape(at, x, inner_); });
    const ValueId y = transposed(e, blocks, order_);
    give_result(c.model, n, e.built("shaped", [&](const Site& at) { return add_reshape(at, y, target_); }));
  }

 private:
  using List = std::vector<std::int64_t>;
  List inner_, order_, target_;
};

class PadParts final : public ExpansionRule {
 public:
  std::string_view name() const override { return "pad-parts"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::Pad>; }
  bool match(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    const ValueId x = m.input(n, 0);
    if (!attributes_known(m, n) || !c.infer.has_rank(x) || m.opset(n) < 11) return false;
    const std::string_view mode = string_attr(m, n, names::mode).value_or("constant");
    if (mode != "edge" && mode != "reflect") return false;
    reflects_ = mode == "reflect";
    const std::span<const DimId> dims = c.infer.dims(x);
    const auto pads = pads_of_all_axes(m, n, dims.size());
    if (!pads) return false;
    pads_ = *pads;
    extents_.assign(dims.size(), 0);
    std::int64_t padded = 0;
    for (std::size_t i = 0; i < dims.size(); ++i) {
      const std::int64_t before = pads_[i], behind = pads_[dims.size() + i];
      if (before == 0 && behind == 0) continue;
      const auto extent = number_of(m, dims[i]);
      if (!extent || *extent < 1 || before < 0 || behind < 0 || before + behind + 1 > kMostParts)
        return false;
      if (reflects_ && (before >= *extent || behind >= *extent)) return false;
      extents_[i] = *extent;
      padded += before + behind;
    }
    return padded > 0;
  }
  void apply(PassContext& c, NodeId n) override {
    Emitter e = emit(c.model, n);
    ValueId x = c.model.input(n, 0);
    for (std::size_t i = 0; i < extents_.size(); ++i) {
      const std::int64_t extent = extents_[i];
      if (extent == 0) continue;
      const auto entry = [&](std::int64_t at) {
        const std::int64_t starts[] = {at}, ends[] = {at + 1}, axes[] = {static_cast<std::int64_t>(i)};
        return e.built("entry", [&](const Site& site) {
          return add_slice(site, x, {.starts = starts, .ends = ends, .axes = axes});
        });
      };
      const std::int64_t before = pads_[i], behind = pads_[extents_.size() + i];
      std::vector<ValueId> parts;
      const ValueId first = before > 0 && !reflects_ ? entry(0) : ValueId{};
      const ValueId last = behind > 0 && !reflects_ ? entry(extent - 1) : ValueId{};
      for (std::int64_t k = before; k > 0; --k) parts.push_back(reflects_ ? entry(k) : first);
      parts.push_back(x);
      for (std::int64_t k = 0; k < behind; ++k) parts.push_back(reflects_ ? entry(extent - 2 - k) : last);
      x = e.concat(parts, static_cast<std::int64_t>(i), "padded");
    }
    give_result(c.model, n, x);
  }

 private:
  bool reflects_ = false;
  std::vector<std::int64_t> pads_, extents_;  // extent 0: not padded
};

class EinsumProduct final : public ExpansionRule {
 public:
  std::string_view name() const override { return "einsum"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::Einsum>; }
  bool match(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    if (!attributes_known(m, n) || m.input_count(n) != 2) return false;
    std::string text;
    for (const char letter : string_attr(m, n, names::equation).value_or(""))
      if (letter != ' ') text.push_back(letter);
    const std::size_t comma = text.find(','), arrow = text.find("->");
    if (comma == std::string::npos || arrow == std::string::npos || comma > arrow) return false;
    const std::string a = text.substr(0, comma), b = text.substr(comma + 1, arrow - comma - 1);
    const std::string y = text.substr(arrow + 2);
    if (a.size() < 2 || a.size() != b.size() || a.size() != y.size()) return false;
    for (const std::string& s : {a, b, y})
      for (std::size_t i = 0; i < s.size(); ++i)
        if (s[i] < 'A' || s.find(s[i], i + 1) != std::string::npos) return false;
    const std::size_t stack = a.size() - 2;
    if (a.substr(0, stack) != y.substr(0, stack) || b.substr(0, stack) != y.substr(0, stack)) return false;
    for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
      const ValueId x = m.input(n, i);
      if (c.infer.dtype(x) != DType::Float || !c.infer.has_rank(x) || c.infer.dims(x).size() != a.size())
        return false;
    }
    // A dim of 1 would be broadcast in both operators; equal ones of the stacks are sure to mean the same.
    for (std::size_t i = 0; i < stack; ++i)
      if (m.dims.equal(c.infer.dims(m.input(n, 0))[i], c.infer.dims(m.input(n, 1))[i]) != Tri::Yes)
        return false;
    const char row = y[stack], column = y[stack + 1];
    // The letter that is summed is in both operands, and the others each in one.
    const auto inner_of = [&](const std::string& s, char outer) {
      if (s[stack] == outer) return s[stack + 1];
      return s[stack + 1] == outer ? s[stack] : '\0';
    };
    const char inner = inner_of(a, row);
    if (inner == '\0' || inner == column || inner_of(b, column) != inner || row == column) return false;
    // A dim of 1 is broadcast by Einsum and not by MatMul.
    const DimId ka = c.infer.dims(m.input(n, 0))[a.find(inner)],
                kb = c.infer.dims(m.input(n, 1))[b.find(inner)];
    if (m.dims.equal(ka, kb) != Tri::Yes) return false;
    swap_a_ = a[stack] != row;
    swap_b_ = b[stack] != inner;
    rank_ = a.size();
    return true;
  }
  void apply(PassContext& c, NodeId n) override {
    Emitter e = emit(c.model, n);
    std::vector<std::int64_t> order;
    for (std::size_t i = 0; i < rank_; ++i) order.push_back(static_cast<std::int64_t>(i));
    std::swap(order[rank_ - 1], order[rank_ - 2]);
    ValueId a = c.model.input(n, 0), b = c.model.input(n, 1);
    if (swap_a_) a = transposed(e, a, order);
    if (swap_b_) b = transposed(e, b, order);
    give_result(c.model, n, e.node(OpKind::MatMul, {a, b}, "product"));
  }

 private:
  bool swap_a_ = false, swap_b_ = false;
  std::size_t rank_ = 0;
};

constexpr Expansion kLayoutExpansions[] = {
    expansion<Blocks, Exact::Yes>(),
    expansion<PadParts, Exact::Yes>(),
    expansion<EinsumProduct, Exact::No>(),
};

}  // namespace

std::span<const Expansion> layout_expansions() { return kLayoutExpansions; }

}  // namespace graphopt
