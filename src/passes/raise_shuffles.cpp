// raise-shuffles: writes Reshape, Transpose, Reshape as DepthToSpace or SpaceToDepth.
//
// Problem: frameworks spell a pixel shuffle by splitting axes, moving the parts, and joining them. A runtime
// then moves single elements along six axes (measured in ONNX Runtime on floats: 1.8 to 10 times slower).
// Method: peephole from the last Reshape. Dims of both ends have to be [N, C * b * b, H, W] and
// [N, C, H * b, W * b], proven for all sizes, and the Transpose has to move what that of the definition
// moves:
//   DepthToSpace, DCR  [N, b, b, C, H, W], perm 0 3 4 1 5 2
//   DepthToSpace, CRD  [N, C, b, b, H, W], perm 0 1 4 2 5 3, from opset 11 on
//   SpaceToDepth       [N, C, H, b, W, b], perm 0 3 5 1 2 4
// Both are compared as least orders (ops/axis_order.h): axes that stay together may be one axis, as
// least-rank writes them. Exact: elements are moved, to the same places. Sizes of 0 give the same empty
// results in ONNX Runtime. Lowers: launches and nodes. Ends: each rewrite removes a Transpose and two
// Reshapes. Left alone: values inside that something else reads; blocks that are not square, or of one
// element; element types without a kernel (has_raised_kernel).
//
//   a = Reshape (x, s)              with <int64[6] s = {0, 2, 2, 3, 8, 8}>
//   b = Transpose <perm = [0, 3, 4, 1, 5, 2]> (a)
//   y = Reshape (b, t)              with <int64[4] t = {0, 3, 16, 16}>
// =>
//   y = DepthToSpace <blocksize = 2> (x)

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "ops/attributes.h"
#include "ops/axis_order.h"
#include "passes/raise_rule.h"
#include "rewrite/match.h"

namespace graphopt {
namespace {

// Where the parts stand between the Reshapes.
struct Form {
  OpKind kind;
  bool crd;
  std::array<std::int64_t, 6> perm;
  std::size_t channels, rows, columns;  // the other axes are the images and the blocks
};
constexpr Form kForms[] = {
    {OpKind::DepthToSpace, false, {0, 3, 4, 1, 5, 2}, 3, 4, 5},
    {OpKind::DepthToSpace, true, {0, 1, 4, 2, 5, 3}, 1, 4, 5},
    {OpKind::SpaceToDepth, false, {0, 3, 5, 1, 2, 4}, 1, 2, 4},
};
constexpr std::int64_t kOpsetOfMode = 11;

class RaiseShuffle final : public RaiseRule {
 public:
  static constexpr Counter kCounter{"shuffles", "DepthToSpace and SpaceToDepth that were three nodes"};
  std::string_view name() const override { return "shuffle"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::Reshape>; }

  bool match(const MatchContext& c, NodeId n) override {
    using namespace pattern;
    ValueId split;
    NodeId transpose;
    const auto first = op(OpKind::Reshape, any(x_)).and_more().single_use().bind(split);
    const auto middle = op(OpKind::Transpose, first).single_use().bind(transpose);
    if (!matches(c, n, op(OpKind::Reshape, middle).and_more())) return false;
    const auto given = order_of(c, transpose, split);
    if (!given) return c.no(n, "the dims between, or the perm, are not known");
    Miss furthest = Miss::Blocks;
    for (const Form& form : kForms) {
      const Miss miss = try_form(c, n, form, *given);
      if (miss == Miss::None) return true;
      furthest = std::max(furthest, miss);
    }
    return c.no(n, kReasons[static_cast<std::size_t>(furthest)]);
  }

  void apply(PassContext& c, NodeId n) override {
    Attr blocksize, mode;
    blocksize.name = names::blocksize;
    blocksize.kind = AttrKind::Int;
    blocksize.i = block_;
    mode.name = names::mode;
    mode.kind = AttrKind::String;
    mode.s = "CRD";
    const std::array attributes{blocksize, mode};
    raise(c.model, n, form_->kind, std::span(&x_, 1), std::span(attributes).first(form_->crd ? 2 : 1));
  }

 private:
  static constexpr std::int64_t kMostBlock = 1 << 15;  // its square is a number of 31 bits

  // Why a form does not fit, the farther the later.
  enum class Miss : std::uint8_t { Blocks, Ends, Perm, Opset, Type, None };
  static constexpr std::string_view kReasons[] = {
      "the blocks have no known size", "the dims are not proven to be those of the operator",
      "the axes are moved to other places", "the opset has no such mode",
      "the operator has no kernel for the element type"};

  using Dims = std::array<DimId, 4>;
  static std::optional<Dims> dims_of(const MatchContext& c, ValueId v) {
    if (!c.infer.has_rank(v) || c.infer.dims(v).size() != 4) return std::nullopt;
    Dims out;
    std::ranges::copy(c.infer.dims(v), out.begin());
    return std::ranges::all_of(out, [](DimId d) { return d.valid(); }) ? std::optional(out) : std::nullopt;
  }
  // Returns what the Transpose moves; nothing if a dim or the perm is not known.
  static std::optional<AxisOrder> order_of(const MatchContext& c, NodeId transpose, ValueId split) {
    const auto perm = ints_attr(c.model, transpose, names::perm);
    if (!perm || !c.infer.has_rank(split)) return std::nullopt;
    const auto dims = c.infer.dims(split);
    const auto axes = normalize_axes(*perm, dims.size());
    if (!axes || axes->size() != dims.size() || !std::ranges::equal(*axes, *perm) ||
        !std::ranges::all_of(dims, [](DimId d) { return d.valid(); }))
      return std::nullopt;
    return least_order(c.dims, {{dims.begin(), dims.end()}, *axes});
  }
  static bool equal(const MatchContext& c, std::span<const DimId> a, std::span<const DimId> b) {
    return std::ranges::equal(a, b, [&](DimId p, DimId q) { return c.dims.equal(p, q) == Tri::Yes; });
  }
  // Returns how often b has a's extent, if that is a number.
  static std::optional<std::int64_t> times(const MatchContext& c, DimId a, DimId b) {
    const DimId quotient = c.dims.is_constant(a, 0) ? DimId{} : c.dims.exact_div(b, a, true);
    return quotient ? c.dims.value(quotient) : std::nullopt;
  }

  Miss try_form(const MatchContext& c, NodeId n, const Form& form, const AxisOrder& given) {
    const auto from = dims_of(c, x_), to = dims_of(c, c.model.output(n, 0));
    if (!from || !to) return Miss::Ends;
    const bool to_space = form.kind == OpKind::DepthToSpace;
    const Dims &deep = to_space ? *from : *to, &flat = to_space ? *to : *from;
    const auto rows = times(c, deep[2], flat[2]), block = rows ? rows : times(c, deep[3], flat[3]);
    if (!block || *block < 2 || *block > kMostBlock) return Miss::Blocks;
    const DimId b = c.dims.constant(*block), images = deep[0], channels = flat[1];
    const Dims whole{images, c.dims.mul(channels, c.dims.constant(*block * *block)), deep[2], deep[3]};
    const Dims spread{images, channels, c.dims.mul(deep[2], b), c.dims.mul(deep[3], b)};
    if (!equal(c, deep, whole) || !equal(c, flat, spread)) return Miss::Ends;
    AxisOrder parts{std::vector<DimId>(form.perm.size(), b), {form.perm.begin(), form.perm.end()}};
    parts.dims[0] = images;
    parts.dims[form.channels] = channels;
    parts.dims[form.rows] = deep[2];
    parts.dims[form.columns] = deep[3];
    const auto wanted = least_order(c.dims, parts);
    if (!wanted || wanted->perm != given.perm || !equal(c, wanted->dims, given.dims)) return Miss::Perm;
    if (form.crd && c.model.opset(n) < kOpsetOfMode) return Miss::Opset;
    if (!has_raised_kernel(form.kind, c.model.opset(n), c.infer.dtype(x_))) return Miss::Type;
    form_ = &form;
    block_ = *block;
    return Miss::None;
  }

  ValueId x_;
  const Form* form_ = nullptr;
  std::int64_t block_ = 0;
};

}  // namespace

extern constinit const PassInfo raise_shuffles = {
    .name = "raise-shuffles",
    .summary = "write Reshape, Transpose, Reshape as DepthToSpace or SpaceToDepth",
    .exact = Exact::Yes,
    .level = 2,
    .make = make_pass<RulePass<RaiseShuffle>>};

}  // namespace graphopt
