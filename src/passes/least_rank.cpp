// least-rank: gives the Transpose of Reshape, Transpose, Reshape the fewest axes that it needs.
//
// Problem: exporters write windows, patches and heads with an axis for each factor, also for those that the
// Transpose leaves side by side, and with axes of extent 1. Devices and runtimes refuse ranks above 4 or 5,
// and move elements along few axes faster than along many. Method: peephole from the last Reshape. Axes that
// follow each other in operand and result of the Transpose are joined, and axes of extent 1 are dropped; both
// Reshapes, of which either may be a Squeeze, Unsqueeze or Flatten, get the dims of that. Where not all of
// that can be written, each part of it is tried, and axes of extent 1 are kept where that makes a Reshape
// superfluous. What has the fewest nodes is taken, and of that the lowest rank. Other readers of the
// Transpose have to be Reshapes, too: each of them gets its new form. Exact: elements are only copied. Joined
// axes are a range of axes in both values, with the same row-major order within, and axes of extent 1 hold no
// order; so each element goes to the same place. A target holds for all values of all symbols (deform_form):
// none has a dim that is 0, or a -1 next to a copy that may be 0. Lowers: nodes, then the rank of the
// Transpose. Ends: each rewrite lowers that pair, and leaves launches and what both ends of the chain have
// for dims. Rules that raise a rank (compose-layouts) remove a node by it. Left alone: a Transpose that
// something else than Reshapes reads; a first Reshape that others read, unless it becomes superfluous for the
// Transpose; a constant, which is folded; a dim that is unknown or not written by a constant target.
//
//   a = Reshape (x, {2, 2, 4, 3, 4, 4})                           r = Reshape (x, {4, 4, 3, 16})
//   b = Transpose <perm = [0, 1, 3, 2, 4, 5]> (a)                 t = Transpose <perm = [0, 2, 1, 3]> (r)
//   y = Reshape (b, {12, 16, 4})                          =>      y = Reshape (t, {12, 16, 4})

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ops/attributes.h"
#include "ops/axis_order.h"
#include "ops/deformation.h"
#include "ops/facts_kernels.h"
#include "ops/node_facts.h"
#include "passes/rule_pass.h"
#include "rewrite/build.h"

namespace graphopt {
namespace {

using AxisDims = std::vector<DimId>;

constexpr std::uint32_t kMostBranches = 64;  // readers of a Transpose that are visited
constexpr std::size_t kMostChoices = 6;      // joints that may stay apart; there are 2^6 ways to choose

// A deformation downstream of the Transpose.
struct Branch {
  NodeId node;
  AxisDims dims;
};

class FewestAxes final : public ReplaceRule {
 public:
  static constexpr Counter kCounter{"orders", "Transposes between Reshapes that got fewer axes or nodes"};
  std::string_view name() const override { return "axes"; }
  std::span<const OpKind> roots() const override { return kDeformations; }

  bool match(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    const ValueId b = m.input(n, 0);
    transpose_ = producer(m, n, b);
    if (!transpose_ || m.kind(transpose_) != OpKind::Transpose) return c.no(n, "its operand is no Transpose");
    const ValueId a = m.input(transpose_, 0);
    const NodeId first = producer(m, n, a);
    if (!first || !is_deformation(m.kind(first))) return c.no(n, "no Reshape is in front of the Transpose");
    if (!attributes_known(m, transpose_) || !attributes_known(m, first))
      return c.no(n, "a node in front of it has unknown attributes");
    x_ = m.input(first, 0);
    if (!x_ || m.constant_of(x_)) return c.no(n, "the first Reshape is one of a constant");
    if (m.is_fixed(x_) || m.is_fixed(a) || m.is_fixed(b))
      return c.no(n, "an annotation names the value, or a kernel writes to it");
    auto x = dims_of(c, x_), middle = dims_of(c, a);
    auto perm = middle ? perm_of(c, middle->size()) : std::nullopt;
    if (!x || !perm) return c.no(n, "a perm or a dim is not known");
    if (!find_branches(c, n, b)) return false;
    given_ = {*std::move(middle), *std::move(perm)};
    operand_ = *std::move(x);
    reshapes_first_ = m.kind(first) == OpKind::Reshape;
    const std::vector<std::size_t> joined = joints(c.dims, given_);
    const bool ones = std::ranges::any_of(given_.dims, [&](DimId d) { return c.dims.is_constant(d, 1); });
    if (joined.empty() && !ones) return c.no(n, "no axes stay together, and none has extent 1");
    if (const auto least = join_axes(c.dims, given_, joined, Ones::Dropped);
        least && std::ranges::is_sorted(least->perm))
      return straightens(c, n);
    nodes_ = (m.single_user(a) == transpose_ ? 1 : 0) + 1 + branches_.size();
    rank_ = given_.perm.size();
    try_all(c, joined, ones);
    return best_ || c.no(n, "no form with fewer nodes or a lower rank holds for all sizes");
  }

  void apply(PassContext& c, NodeId n) override {
    if (source_) return ReplaceRule::apply(c, n);
    Model& m = c.model;
    if (!best_) return deform_branch(m, n, x_, forms_.front());
    const GraphId g = m.node(n).graph;
    const std::string before(m.text(m.value(m.input(transpose_, 0)).name));
    const ValueId a = best_->kind == DeformForm::Kind::Same
                          ? x_
                          : m.output(add_deformation({m, g, transpose_, before}, x_, *best_), 0);
    const auto same = std::ranges::find(forms_, DeformForm::Kind::Same, &DeformForm::kind);
    const ValueId b =
        same != forms_.end()
            ? m.detach_output(branches_[static_cast<std::size_t>(same - forms_.begin())].node, 0)
            : m.add_value(g, m.fresh_name(m.text(m.value(m.output(transpose_, 0)).name)));
    const NodeId made = m.add_node_as(transpose_, g, std::span(&a, 1), std::span(&b, 1), transpose_);
    m.set_attr_ints(made, names::perm, order_.perm);
    for (std::size_t i = 0; i < branches_.size(); ++i)
      if (forms_[i].kind != DeformForm::Kind::Same) deform_branch(m, branches_[i].node, b, forms_[i]);
  }

 private:
  // Returns the producer of v, in n's graph.
  static NodeId producer(const Model& m, NodeId n, ValueId v) {
    const NodeId q = v ? m.value(v).def : NodeId{};
    return q && m.node(q).graph == m.node(n).graph ? q : NodeId{};
  }
  // Returns the dims; nothing if one is not known.
  static std::optional<AxisDims> dims_of(const MatchContext& c, ValueId v) {
    if (!c.infer.has_rank(v)) return std::nullopt;
    const auto dims = c.infer.dims(v);
    if (!std::ranges::all_of(dims, [](DimId d) { return d.valid(); })) return std::nullopt;
    return AxisDims(dims.begin(), dims.end());
  }
  static bool same(const MatchContext& c, DimId a, DimId b) { return c.dims.equal(a, b) == Tri::Yes; }

  // Returns the perm of the Transpose, which is the reverse order where it is not written; nothing if it is
  // no permutation.
  std::optional<std::vector<std::int64_t>> perm_of(const MatchContext& c, std::size_t rank) const {
    const Model& m = c.model;
    std::vector<std::int64_t> perm(rank);
    if (!has_attr(m, transpose_, names::perm)) {
      for (std::size_t i = 0; i < rank; ++i) perm[i] = static_cast<std::int64_t>(rank - 1 - i);
      return perm;
    }
    const auto given = ints_attr(m, transpose_, names::perm);
    if (!given || given->size() != rank) return std::nullopt;
    perm.assign(given->begin(), given->end());
    const auto axes = normalize_axes(perm, rank);
    return axes && *axes == perm ? axes : std::nullopt;
  }

  // Collects the readers of the Transpose, n among them. Returns false, with a reason, if one has no new
  // form.
  bool find_branches(const MatchContext& c, NodeId n, ValueId b) {
    const Model& m = c.model;
    if (m.use_count(b) > kMostBranches) return c.no(n, "too many nodes read the Transpose");
    for (UseId u = m.first_use(b); u; u = m.next_use(u)) {
      const NodeId reader = m.user(u);
      if (m.is_return(reader) || !is_deformation(m.kind(reader)) || m.slot(u) != 0 ||
          m.node(reader).graph != m.node(n).graph)
        return c.no(n, "something else than Reshapes reads the Transpose");
      const ValueId y = m.output(reader, 0);
      auto dims = y ? dims_of(c, y) : std::nullopt;
      if (!dims || !attributes_known(m, reader) || m.is_fixed(y))
        return c.no(n, "a dim of a result is not known, or an annotation names it");
      branches_.push_back({reader, *std::move(dims)});
    }
    // The root comes first, whatever the order of the uses.
    const auto root = std::ranges::find(branches_, n, &Branch::node);
    std::rotate(branches_.begin(), root, root + 1);
    return true;
  }

  // Returns how one becomes the other, by an operator that has a kernel for the element type.
  DeformForm form(const MatchContext& c, std::span<const DimId> from, std::span<const DimId> to,
                  bool is_reshape) const {
    using Kind = DeformForm::Kind;
    const auto equal = [&c](DimId a, DimId b) { return same(c, a, b); };
    DeformForm out = deform_form(c.dims, from, to, equal);
    if (out.kind == Kind::None || out.kind == Kind::Same) return out;
    // A Reshape stays one where it can: devices that take it may refuse others.
    if (is_reshape && out.kind != Kind::Target)
      if (auto target = reshape_target(c.dims, from, to, equal); target && target->defined())
        out = {Kind::Target, std::move(target->numbers)};
    const OpKind kind = out.kind == Kind::Squeeze     ? OpKind::Squeeze
                        : out.kind == Kind::Unsqueeze ? OpKind::Unsqueeze
                                                      : OpKind::Reshape;
    return has_kernel(kind, c.model.opset(transpose_), c.infer.dtype(x_)) ? out : DeformForm{};
  }
  DeformForm form_of(const MatchContext& c, std::span<const DimId> from, const Branch& to) const {
    return form(c, from, to.dims, c.model.kind(to.node) == OpKind::Reshape);
  }

  // Where the Transpose moves axes of extent 1 alone: each reader becomes a deformation of the first operand.
  bool straightens(const MatchContext& c, NodeId n) {
    for (const Branch& branch : branches_) {
      forms_.push_back(form_of(c, operand_, branch));
      if (forms_.back().kind == DeformForm::Kind::None)
        return c.no(n, "no constant target says the dims for all sizes");
    }
    return forms_.front().kind != DeformForm::Kind::Same ||
           replaces(c, n, x_, "its first operand cannot take its place");
  }

  // Tries each choice of joints, all of them first.
  void try_all(const MatchContext& c, const std::vector<std::size_t>& joined, bool ones) {
    const std::size_t free = std::min(joined.size(), kMostChoices);
    for (std::size_t apart = 0; apart < std::size_t{1} << free; ++apart) {
      std::vector<std::size_t> chosen;
      for (std::size_t i = 0; i < joined.size(); ++i)
        if (i >= free || (apart >> i & 1) == 0) chosen.push_back(joined[i]);
      if (ones)
        if (const auto kept = join_axes(c.dims, given_, chosen, Ones::Kept)) try_order(c, *kept);
      if (const auto dropped = join_axes(c.dims, given_, chosen, Ones::Dropped)) {
        try_order(c, *dropped);
        try_with_ones(c, *dropped);
      }
    }
  }

  // Takes the order if it is the best one so far.
  void try_order(const MatchContext& c, const AxisOrder& order) {
    const DeformForm front = form(c, operand_, order.dims, reshapes_first_);
    if (front.kind == DeformForm::Kind::None) return;
    std::size_t nodes = front.kind == DeformForm::Kind::Same ? 1 : 2, equal = 0;
    const AxisDims result = order.result();
    std::vector<DeformForm> forms;
    for (const Branch& branch : branches_) {
      forms.push_back(form_of(c, result, branch));
      if (forms.back().kind == DeformForm::Kind::None) return;
      ++(forms.back().kind == DeformForm::Kind::Same ? equal : nodes);
    }
    // The Transpose makes one of the results at most.
    if (equal > 1 || std::pair(nodes, order.perm.size()) >= std::pair(nodes_, rank_)) return;
    nodes_ = nodes;
    rank_ = order.perm.size();
    best_ = front;
    order_ = order;
    forms_ = std::move(forms);
  }

  // Tries the order of these axes with the axes of extent 1 of an end of the chain, which then needs no
  // Reshape there.
  void try_with_ones(const MatchContext& c, const AxisOrder& order) {
    const std::optional<Places> front = places_of(c, operand_, order.dims);
    std::optional<Places> back;
    for (const Branch& branch : branches_)
      if (!back) back = places_of(c, branch.dims, order.result());
    if (front)
      try_order(c,
                spread(c, order, *front, back && ones_in(*back) == ones_in(*front) ? *back : ahead(*front)));
    if (back) try_order(c, spread(c, order, ahead(*back), *back));
  }

  // For each axis, whether it has extent 1.
  using Places = std::vector<std::uint8_t>;
  static std::int64_t ones_in(const Places& places) { return std::ranges::count(places, 1); }
  static Places ahead(Places places) {
    std::ranges::sort(places, std::greater());
    return places;
  }
  // Returns where `dims` has axes of extent 1 if the others are these.
  static std::optional<Places> places_of(const MatchContext& c, const AxisDims& dims,
                                         const AxisDims& others) {
    Places out;
    std::size_t next = 0;
    for (const DimId d : dims) {
      out.push_back(c.dims.is_constant(d, 1) ? 1 : 0);
      if (out.back() != 0) continue;
      if (next == others.size() || !same(c, d, others[next++])) return std::nullopt;
    }
    return next == others.size() ? std::optional(out) : std::nullopt;
  }
  // Inserts axes of extent 1 at these places of operand and result, which are equally many.
  static AxisOrder spread(const MatchContext& c, const AxisOrder& order, const Places& operand,
                          const Places& result) {
    AxisOrder out;
    std::vector<std::int64_t> ones, others;
    for (const std::uint8_t one : operand) {
      out.dims.push_back(one != 0 ? c.dims.constant(1) : order.dims[others.size()]);
      (one != 0 ? ones : others).push_back(static_cast<std::int64_t>(out.dims.size() - 1));
    }
    auto next_one = ones.begin();
    auto next = order.perm.begin();
    for (const std::uint8_t one : result)
      out.perm.push_back(one != 0 ? *next_one++ : others[static_cast<std::size_t>(*next++)]);
    return out;
  }

  static NodeId add_deformation(const Site& at, ValueId x, const DeformForm& form) {
    switch (form.kind) {
      case DeformForm::Kind::Squeeze: return add_squeeze(at, x, form.numbers);
      case DeformForm::Kind::Unsqueeze: return add_unsqueeze(at, x, form.numbers);
      default: return add_reshape(at, x, form.numbers);
    }
  }
  // Lets a deformation of `from` make the result of the node.
  static void deform_branch(Model& m, NodeId node, ValueId from, const DeformForm& form) {
    const ValueId results[] = {m.detach_output(node, 0)};
    const std::string base(m.text(m.value(results[0]).name));
    add_deformation({m, m.node(node).graph, node, base, results}, from, form);
  }

  NodeId transpose_;
  ValueId x_;
  bool reshapes_first_ = false;
  AxisOrder given_;
  AxisDims operand_;
  std::vector<Branch> branches_;
  std::size_t nodes_ = 0, rank_ = 0;  // of the best form so far
  std::optional<DeformForm> best_;    // of the first Reshape; nothing where no Transpose is needed
  AxisOrder order_;
  std::vector<DeformForm> forms_;  // of the branches
};

}  // namespace

extern constinit const PassInfo least_rank = {.name = "least-rank",
                                              .summary = "give Transposes between Reshapes the fewest axes",
                                              .exact = Exact::Yes,
                                              .level = 1,
                                              .make = make_pass<RulePass<FewestAxes>>};

}  // namespace graphopt
