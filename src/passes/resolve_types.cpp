// resolve-types: writes a CastLike to a known type as a Cast, and fills tensors in the type to which they are
// cast.
//
// Problem: exporters write CastLike, whose second operand only names a type but has to be computed, and they
// fill a tensor with a number of one type and then cast it to another type.
// Method: peephole, two rules.
//   like   CastLike to a type that inference knows is a Cast; what computed its second operand may go
//   fill   Cast of a ConstantOfShape that nothing else reads is a ConstantOfShape of the cast number
// Exact: CastLike is defined as the Cast to the type of its second operand, saturate included. The kernel
// that folding uses casts the one number as the runtime casts each element (ops/fold.h, FoldExactness).
// Lowers: nodes; operands, where the CastLike stays as a Cast. Ends: each rewrite removes a CastLike or a
// Cast of a ConstantOfShape, and none makes any.
// Left alone: types that are not known, Casts to a type of which ONNX Runtime has no
// ConstantOfShape in the opset,
// numbers whose Cast rounds where every bit is promised.
//
//   f = ConstantOfShape <value = float {1}> (s)
//   y = Cast <to = 7> (f)                         =>      y = ConstantOfShape <value = int64 {1}> (s)

#include <array>
#include <cstdint>
#include <span>
#include <utility>

#include "ops/attributes.h"
#include "ops/facts_kernels.h"
#include "ops/fold.h"
#include "ops/node_facts.h"
#include "passes/rule_pass.h"
#include "rewrite/match.h"

namespace graphopt {
namespace {

class CastLikeToCast final : public Rule {
 public:
  static constexpr Counter kCounter{"like", "CastLikes whose type is known"};
  std::string_view name() const override { return "like"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::CastLike>; }

  bool match(const MatchContext& c, NodeId n) override {
    using namespace pattern;
    ValueId x, like;
    if (!matches(c, n, op(OpKind::CastLike, any(x), any(like)))) return false;
    const Type& type = c.infer.type_of(like);
    type_ = type.kind == TypeKind::Tensor ? type.elem : DType::Undefined;
    return type_ != DType::Undefined || c.no(n, "the type of the second operand is not known");
  }

  void apply(PassContext& c, NodeId n) override {
    Model& m = c.model;
    const std::array<ValueId, 1> operands{m.input(n, 0)};
    m.set_operands(n, operands);
    m.set_op(n, standard_op(m, OpKind::Cast));
    m.set_attr_int(n, names::to, static_cast<std::int64_t>(type_));
  }

 private:
  DType type_ = DType::Undefined;
};

class CastFill final : public Rule {
 public:
  static constexpr Counter kCounter{"fills", "ConstantOfShapes that took in a Cast"};
  std::string_view name() const override { return "fill"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::Cast>; }

  bool match(const MatchContext& c, NodeId n) override {
    using namespace pattern;
    const Model& m = c.model;
    ValueId filled;
    if (!matches(c, n,
                 op(OpKind::Cast, op(OpKind::ConstantOfShape, any()).single_use().bind(filled).bind(fill_))))
      return false;
    const DType to = c.infer.dtype(m.output(n, 0));
    if (!has_kernel(OpKind::ConstantOfShape, m.opset(n), to))
      return c.no(n, "ConstantOfShape does not write the type");
    const std::int64_t one = 1;
    const Tensor shape = int64_tensor(std::span(&one, 1));
    const Folded number = evaluate(m, {OpKind::ConstantOfShape, m.opset(fill_), m.attrs(fill_)}, {&shape});
    if (!number) return c.no(fill_, "its number is not known");
    Folded cast = evaluate(m, {OpKind::Cast, m.opset(n), m.attrs(n)}, {&number.results[0]});
    if (!cast || (cast.exactness != FoldExactness::Exact && keeps_bits(c.options.strictness)))
      return c.no(n, "the Cast of the number is not known to the bit");
    cast_ = std::move(cast.results[0]);
    return true;
  }

  void apply(PassContext& c, NodeId n) override {
    Model& m = c.model;
    const ValueId result = m.detach_output(n, 0);
    const std::array<ValueId, 1> operands{m.input(fill_, 0)};
    const NodeId made = m.add_node_as(fill_, m.node(n).graph, operands, std::span(&result, 1), n);
    Attr number;
    number.name = names::value;
    number.kind = AttrKind::Tensor;
    number.tensor = m.add_tensor(std::move(cast_));
    m.set_attr(made, number);
  }

 private:
  NodeId fill_;
  Tensor cast_;
};

}  // namespace

extern constinit const PassInfo resolve_types = {
    .name = "resolve-types",
    .summary = "write CastLike as Cast, and fill tensors in the type of their cast",
    .exact = Exact::Yes,
    .level = 1,
    .make = make_pass<RulePass<CastLikeToCast, CastFill>>};

}  // namespace graphopt
