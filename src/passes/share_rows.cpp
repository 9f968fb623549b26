// share-rows: writes projections of one value, whose results are reshaped, as Gemms on its rows.
//
// Problem: attention multiplies one value of three axes by several matrices, adds a vector to each product,
// and cuts each sum into heads by a Reshape: MatMul, Add, Reshape for each. A Gemm adds by itself, but takes
// matrices only.
// Method: peephole, from such a Reshape. The value is flattened to rows once, for all its projections; each
// MatMul and Add becomes a Gemm on the rows, and the Reshape cuts the result of that.
// Rounds: a Gemm may add the vector before the products, and a kernel may choose by the number of rows. Each
// of two such sums is within (K + 1) * eps * (sum |a||b| + |c|) of the true one. NaN and infinities stay
// where they are as long as no partial sum overflows. Lowers: nodes: k projections of one value become 2 k +
// 1 nodes, of 3 k. So there must be two, or rows that another node made already. Ends: each rewrite removes
// an Add. batch-products does not undo it: the Reshape gives other dims than those of the value. Left alone:
// values of fewer than three axes or with a symbol as last extent; products and sums that something else
// reads; what is added is no vector along the last axis; Reshapes whose dims no constant says, counted from
// two axes; element types for which ONNX Runtime has no Gemm.
//
//   p = MatMul (x, w)              # x: [n, 7, 8], w: [8, 6]            r = Reshape (x, {-1, 8})
//   s = Add (p, c)                                                      g = Gemm (r, w, c)
//   y = Reshape (s, {-1, 7, 2, 3})                              =>      y = Reshape (g, {-1, 7, 2, 3})

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "ops/attributes.h"
#include "ops/deformation.h"
#include "ops/facts_kernels.h"
#include "passes/rule_pass.h"
#include "rewrite/build.h"
#include "rewrite/match.h"

namespace graphopt {
namespace {

// Readers of one value that are looked at for further projections.
constexpr std::uint32_t kMostProjections = 64;

class ShareRows final : public Rule {
 public:
  static constexpr Counter kCounter{"projections", "projections that became Gemms on shared rows"};
  std::string_view name() const override { return "rows"; }
  std::span<const OpKind> roots() const override { return kDeformations; }

  bool match(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    auto found = projection(c, n);
    if (!found) return false;
    found_ = std::move(*found);
    if (m.use_count(found_.x) > kMostProjections) return c.no(n, "the value has too many readers");
    rows_ = {};
    int projections = 0;
    const MatchContext quiet = c.without_reasons();
    for (UseId u = m.first_use(found_.x); u; u = m.next_use(u)) {
      const NodeId reader = m.user(u);
      if (m.slot(u) != 0 || m.node(reader).graph != m.node(n).graph) continue;
      if (is_deformation(m.kind(reader)) && are_rows(c, m.output(reader, 0)) && can_be_read(m, reader))
        rows_ = reader;
      const NodeId sum = m.kind(reader) == OpKind::MatMul ? only_reader(m, reader) : NodeId{};
      const NodeId end = sum ? only_reader(m, sum) : NodeId{};
      const auto other = end ? projection(quiet, end) : std::nullopt;
      projections += other && other->product == reader ? 1 : 0;
    }
    return rows_ || projections > 1 || c.no(n, "it is the only projection of the value");
  }

  void apply(PassContext& c, NodeId n) override {
    Model& m = c.model;
    const GraphId g = m.node(n).graph;
    const std::string base(m.text(m.value(m.output(found_.product, 0)).name));
    if (!rows_) {
      const std::int64_t target[] = {-1, found_.width};
      rows_ = add_reshape({m, g, found_.product, base + "_rows"}, found_.x, target);
    } else if (!m.before(rows_, found_.product)) {
      m.move_before(rows_, found_.product);
    }
    const std::array<ValueId, 3> operands{m.output(rows_, 0), found_.matrix, found_.term};
    const NodeId gemm = add_operator({m, g, n, base}, OpKind::Gemm, operands);
    const ValueId results[] = {m.detach_output(n, 0)};
    add_reshape({m, g, n, base, results}, m.output(gemm, 0), found_.target);
  }

 private:
  struct Projection {
    ValueId x, matrix, term;
    NodeId product;
    std::int64_t width = 0;  // of a row of x
    std::vector<std::int64_t> target;
  };

  // Returns the only user of the node's first result.
  static NodeId only_reader(const Model& m, NodeId n) {
    const ValueId y = m.output(n, 0);
    return y ? m.single_user(y) : NodeId{};
  }

  // Reads n as the end of a projection.
  static std::optional<Projection> projection(const MatchContext& c, NodeId n) {
    using namespace pattern;
    const Model& m = c.model;
    const ValueId s = m.input(n, 0), y = m.output(n, 0);
    if (!s || !y || !is_deformation(m.kind(n)) || m.use_count(y) == 0 || m.single_user(s) != n ||
        !attributes_known(m, n))
      return std::nullopt;
    Projection p;
    const auto product = op(OpKind::MatMul, any(p.x), any(p.matrix)).single_use().bind(p.product);
    if (!matches(c, s, op(OpKind::Add, product, any(p.term)).single_use().opset(11))) return std::nullopt;
    const auto refuse = [&](std::string_view reason) {
      c.no(n, reason);
      return std::nullopt;
    };
    for (const ValueId v : {p.x, p.matrix, p.term, s, y})
      if (!c.infer.has_rank(v)) return refuse("a rank is not known");
    const DType type = c.infer.dtype(s);
    if (!runs_as_one_node(OpKind::Gemm, m.opset(n), type))
      return refuse("Gemm has no kernel for the element type");
    const auto x = c.infer.dims(p.x), matrix = c.infer.dims(p.matrix), to = c.infer.dims(y);
    if (x.size() < 3 || matrix.size() != 2 || m.is_fixed(p.x) || m.is_fixed(y) || m.constant_of(p.x))
      return refuse("the product is not one of rows of a value with more axes");
    const auto width = x.back() ? m.dims.value(x.back()) : std::nullopt;
    if (!width || *width < 1) return refuse("the extent of the last axis is no number, or 0");
    p.width = *width;
    const auto term = c.infer.dims(p.term);
    if (term.size() > 2 || (term.size() == 2 && !m.dims.is_constant(term[0], 1)) ||
        !c.infer.same_shape(s, m.output(p.product, 0)))
      return refuse("what is added is no vector along the last axis");
    // The rows have a dim that only -1 says; the last axis is that of the matrix.
    const std::array<DimId, 2> from{DimId{}, matrix[1]};
    const auto same = [&m](DimId a, DimId b) { return m.dims.equal(a, b) == Tri::Yes; };
    const auto target = reshape_target(m.dims, from, to, same);
    if (!target || !target->defined()) return refuse("no constant target says the dims for all sizes");
    p.target = target->numbers;
    return p;
  }

  // Returns whether v has the rows of the value, in two axes.
  bool are_rows(const MatchContext& c, ValueId v) const {
    if (c.infer.dims(v).size() != 2 || c.model.is_fixed(v)) return false;
    return c.model.dims.is_constant(c.infer.dims(v)[1], found_.width);
  }

  // Returns whether the node stands in front of the product, or may: its other operands are there already.
  bool can_be_read(const Model& m, NodeId reader) const {
    if (m.before(reader, found_.product)) return true;
    for (std::size_t i = 1; i < m.input_count(reader); ++i) {
      const NodeId def = m.input(reader, i) ? m.value(m.input(reader, i)).def : NodeId{};
      if (def && m.node(def).graph == m.node(reader).graph && !m.before(def, found_.product)) return false;
    }
    return true;
  }

  Projection found_;
  NodeId rows_;
};

}  // namespace

extern constinit const PassInfo share_rows = {
    .name = "share-rows",
    .summary = "write projections of one value as Gemms on its rows",
    .exact = Exact::No,
    .level = 2,
    .make = make_pass<RulePass<ShareRows>>};

}  // namespace graphopt
