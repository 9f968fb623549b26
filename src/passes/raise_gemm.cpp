// raise-gemm: writes a matrix product as one Gemm, with what is added to it or with a transposed operand.
//
// Problem: frameworks write a linear layer as MatMul and Add, or as Transpose and MatMul, and each runtime
// has to find out again that one kernel computes both. Method: two rules on products of matrices, which both
// operands provably are.
//   add        Add (MatMul (a, b), c), in either order, where c broadcasts to the product and not the other
//   way transpose  a Transpose of a matrix that feeds a Gemm or MatMul alone becomes the Gemm's flag
// Rounds: a Gemm may add c before the products, and a kernel for a transposed operand may add the products in
// another order. Each of two such sums is within (K + 1) * eps * (sum |a||b| + |c|) of the true one. NaN and
// infinities stay where they are as long as no partial sum overflows.
// Lowers: nodes. Ends: each rewrite removes a node and makes none.
// Left alone: products of more dims (a Gemm would need Reshapes around it), element types for which ONNX
// Runtime has no Gemm, a product that something else reads, MatMuls without a third operand before opset 11,
// where a Gemm must have one.
//
//   p = MatMul (a, b)
//   y = Add (p, c)             =>      y = Gemm (a, b, c)

#include <array>
#include <vector>

#include "ops/attributes.h"
#include "ops/facts_kernels.h"
#include "ops/node_facts.h"
#include "passes/rule_pass.h"
#include "rewrite/match.h"

namespace graphopt {
namespace {

bool is_matrix(const MatchContext& c, ValueId v) {
  return c.infer.has_rank(v) && c.infer.dims(v).size() == 2;
}

// Returns whether ONNX Runtime has a Gemm for the type of v, a result of n.
bool has_gemm(const MatchContext& c, NodeId n, ValueId v) {
  return runs_as_one_node(OpKind::Gemm, c.model.opset(n), c.infer.dtype(v)) ||
         c.no(n, "Gemm has no kernel for the element type");
}

class AddToGemm final : public Rule {
 public:
  static constexpr Counter kCounter{"adds", "products that took in an Add"};
  std::string_view name() const override { return "add"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::Add>; }

  bool match(const MatchContext& c, NodeId n) override {
    using namespace pattern;
    const Model& m = c.model;
    ValueId product;
    const auto made_by = [&](OpKind kind) { return op(kind, any(a_), any(b_)).single_use().bind(product); };
    const auto either = one_of(made_by(OpKind::MatMul).bind(product_), made_by(OpKind::Gemm).bind(product_));
    if (!matches(c, n, op(OpKind::Add, either, any(c_)).opset(7))) return false;
    if (!is_matrix(c, a_) || !is_matrix(c, b_)) return c.no(n, "Gemm needs operands of rank 2");
    if (!has_gemm(c, n, product)) return false;
    if (!c.infer.has_rank(c_)) return c.no(n, "the rank of what is added is not known");
    // It counted for nothing without a third operand.
    if (has_attr(m, product_, names::beta)) return c.no(product_, "beta is written");
    return c.infer.same_shape(product, m.output(n, 0)) || c.no(n, "the product may be broadcast");
  }

  void apply(PassContext& c, NodeId n) override {
    Model& m = c.model;
    const std::array<ValueId, 3> operands{a_, b_, c_};
    const ValueId result = m.detach_output(n, 0);
    const NodeId gemm = m.add_node_as(product_, m.node(n).graph, operands, std::span(&result, 1), n);
    m.set_op(gemm, standard_op(m, OpKind::Gemm));
  }

 private:
  ValueId a_, b_, c_;
  NodeId product_;
};

class TransposeToGemm final : public Rule {
 public:
  static constexpr Counter kCounter{"transposes", "Transposes that became flags of a Gemm"};
  std::string_view name() const override { return "transpose"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::MatMul, OpKind::Gemm>; }

  bool match(const MatchContext& c, NodeId n) override {
    using namespace pattern;
    const Model& m = c.model;
    const bool matmul = m.kind(n) == OpKind::MatMul;
    if (!matches(c, n, op(m.kind(n), any(), any()).and_more().opset(matmul ? 11 : 7))) return false;
    if (!has_gemm(c, n, m.output(n, 0))) return false;
    for (slot_ = 0; slot_ < 2; ++slot_) {
      const ValueId x = m.input(n, slot_);
      // A capture of an outer graph stays: it may be computed once there, and often here.
      if (!is_matrix(c, m.input(n, 0)) || !is_matrix(c, m.input(n, 1)))
        return c.no(n, "Gemm needs operands of rank 2");
      if (m.single_user(x) != n || !matches(c, x, op(OpKind::Transpose, any(from_)).single_use())) continue;
      const NodeId transpose = m.value(x).def;
      const auto perm = ints_attr(m, transpose, names::perm);
      if (!has_attr(m, transpose, names::perm) || (perm && perm->size() == 2 && (*perm)[0] == 1)) return true;
    }
    return c.no(n, "no operand comes from a Transpose of a matrix that nothing else reads");
  }

  void apply(PassContext& c, NodeId n) override {
    Model& m = c.model;
    const NameId flag = slot_ == 0 ? names::transA : names::transB;
    const bool was = m.kind(n) == OpKind::Gemm && int_attr(m, n, flag).value_or(0) != 0;
    if (m.kind(n) == OpKind::MatMul) m.set_op(n, standard_op(m, OpKind::Gemm));
    m.set_operand(n, slot_, from_);
    m.set_attr_int(n, flag, was ? 0 : 1);
  }

 private:
  std::size_t slot_ = 0;
  ValueId from_;
};

}  // namespace

extern constinit const PassInfo raise_gemm = {
    .name = "raise-gemm",
    .summary = "write MatMul with Add, and products of a Transpose, as Gemm",
    .exact = Exact::No,
    .level = 2,
    .make = make_pass<RulePass<AddToGemm, TransposeToGemm>>};

}  // namespace graphopt
