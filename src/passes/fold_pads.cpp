// fold-pads: makes the pads of a Pad those of the convolution or pooling that reads it, and one Pad of two.
//
// Problem: exporters write the padding of a window as a Pad of its own, a copy of the whole operand, although
// Conv and pooling have an attribute for it. Nested modules leave two Pads in a row.
// Method: peephole, two rules.
//   pad-into-window  all readers of a Pad are windows over its result that fill their own pads with the same
//                    value: theirs grow, and they read what the Pad read.
//   pad-of-pad       no pad is negative, the values are equal: the pads add up, axis by axis. (A negative pad
//                    cuts off what a pad before it added, or an element: the sum is wrong in between.)
// A Conv fills with +0, ConvInteger and QLinearConv with the zero point of x, MaxPool with what is below
// every element, AveragePool with 0 if it counts pads. So a Pad of -0 stays: products with it have the other
// sign.
// Exact at -O1 and with --exact: then only integer windows, and a float Conv for which ONNX Runtime takes the
// same kernel with pads as without. That one copies windows, zeros of pads included, and adds up the same
// terms in the same order (measured on x86-64 by tests/property/pads.py). At -O2 also these:
//   Conv         a Conv of strides 1 without pads of its own that is pointwise, or has one channel per group
//                and a kernel as wide as the operand, is one product without such a copy; with pads it is
//                not, and sums may be rounded in another order: at most 2 (n + 1) u times the sum of the
//                magnitudes
//   AveragePool  pads that are skipped and not added keep the sign of a window of -0; one without pads whose
//                window is all of its operand is a mean that ONNX Runtime sums in another order: at most
//                2 (n + 1) u times the mean of the magnitudes
//   MaxPool      of floats: the sign of a zero, and whether a window that holds a NaN gives it, depend on the
//                order of comparisons. Only for pads of -inf; the lowest float is above -inf
// Lowers: launches. Ends: each rewrite removes a Pad.
// Left alone: other modes; values that are not constant; pads of batch and channels; negative pads;
// auto_pad SAME whose pads depend on an extent that is not known; ceil_mode, whose last window counts other
// elements than it would in a padded operand; a pooling pad that is not below the kernel, which ONNX Runtime
// refuses; pooling of an axis that may be empty, which it refuses, too (a padded one is not empty); Pads that
// something else reads.
//
//   p = Pad (x, {0, 0, 1, 1, 0, 0, 1, 1})
//   y = Conv <pads = [0, 0, 1, 1]> (p, w)       =>      y = Conv <pads = [1, 1, 2, 2]> (x, w)

#include <algorithm>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "ops/attributes.h"
#include "ops/constants.h"
#include "ops/pads.h"
#include "passes/rule_pass.h"
#include "rewrite/match.h"
#include "support/checked.h"

namespace graphopt {
namespace {

using List = std::vector<std::int64_t>;

bool all_are(std::span<const std::int64_t> list, std::int64_t number) {
  return std::ranges::all_of(list, [number](std::int64_t x) { return x == number; });
}
bool none_negative(std::span<const std::int64_t> list) {
  return std::ranges::all_of(list, [](std::int64_t x) { return x >= 0; });
}

// Returns the list of an attribute, or as many of the number that its absence means.
std::optional<List> list_attr(const Model& m, NodeId n, NameId name, std::size_t count, std::int64_t absent) {
  if (!has_attr(m, n, name)) return List(count, absent);
  const auto given = ints_attr(m, n, name);
  return given && given->size() == count ? std::optional(List(given->begin(), given->end())) : std::nullopt;
}

std::optional<List> sums(std::span<const std::int64_t> a, std::span<const std::int64_t> b) {
  List out;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto sum = checked_add(a[i], b[i]);
    if (!sum) return std::nullopt;
    out.push_back(*sum);
  }
  return out;
}

// A Pad with numbers for all axes and no negative one.
struct PadNode {
  ValueId x, y;
  DType type = DType::Undefined;
  List pads;  // begins, then ends
  PadValue value;
  std::size_t rank() const { return pads.size() / 2; }
};

bool read_pad(const MatchContext& c, NodeId n, PadNode& out) {
  using namespace pattern;
  const Model& m = c.model;
  if (!matches(c, n, op(OpKind::Pad, any(out.x)).and_more())) return false;
  out.y = m.output(n, 0);
  if (string_attr(m, n, names::mode) != "constant") return c.no(n, "its mode is another one");
  out.type = c.infer.dtype(out.x);
  const auto value = pad_value_of(m, n, out.type);
  if (!value) return c.no(n, "the value of the Pad is not known");
  out.value = *value;
  const auto written = pads_of(m, n);
  if (!written) return c.no(n, "the pads are no constants");
  // Without a list of axes they are those of all.
  const bool known = c.infer.has_rank(out.x);
  const std::size_t rank = known ? c.infer.dims(out.x).size() : written->size() / 2;
  if (!known && m.input(n, 3)) return c.no(n, "the rank of the operand is not known");
  auto pads = pads_of_all_axes(m, n, rank);
  if (!pads) return c.no(n, "the pads do not fit the operand");
  if (!none_negative(*pads)) return c.no(n, "a pad is negative");
  out.pads = std::move(*pads);
  return true;
}

class PadIntoWindow final : public Rule {
 public:
  static constexpr Counter kCounter{"windows", "Pads that convolutions or pooling took in"};
  std::string_view name() const override { return "pad-into-window"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::Pad>; }

  bool match(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    const ValueId y = m.output(n, 0);
    readers_.clear();
    // Before numbers are read: most Pads are next to no window, or to several readers.
    for (UseId u = m.first_use(y); u; u = m.next_use(u)) {
      const NodeId reader = m.user(u);
      if (m.is_return(reader)) return c.no(n, "its result is an output of a graph");
      if (!is_window(m.kind(reader)) || m.slot(u) != 0) return c.no(n, "something else reads its result");
      if (m.node(reader).graph != m.node(n).graph) return c.no(n, "a body reads its result");
    }
    if (!read_pad(c, n, pad_)) return false;
    if (m.is_fixed(y) || m.is_fixed(pad_.x))
      return c.no(n, "an annotation names the value, or a kernel writes to it");
    const std::size_t rank = pad_.rank();
    if (rank < 3) return c.no(n, "the operand has no spatial axes");
    for (const std::size_t axis : {std::size_t{0}, std::size_t{1}, rank, rank + 1})
      if (pad_.pads[axis] != 0) return c.no(n, "it pads the batch or the channels");
    spatial_.assign(pad_.pads.begin() + 2, pad_.pads.begin() + static_cast<std::ptrdiff_t>(rank));
    spatial_.insert(spatial_.end(), pad_.pads.begin() + static_cast<std::ptrdiff_t>(rank) + 2,
                    pad_.pads.end());
    for (UseId u = m.first_use(y); u; u = m.next_use(u)) {
      const NodeId reader = m.user(u);
      if (!takes(c, reader)) return false;
    }
    return true;
  }

  void apply(PassContext& c, NodeId) override {
    Model& m = c.model;
    for (const auto& [node, pads] : readers_) {
      m.set_operand(node, 0, pad_.x);
      m.set_attr_ints(node, names::pads, pads);
      if (has_attr(m, node, names::auto_pad)) m.remove_attr(node, names::auto_pad);
      if (m.kind(node) == OpKind::AveragePool) m.set_attr_int(node, names::count_include_pad, 1);
    }
  }

 private:
  struct Reader {
    NodeId node;
    List pads;
  };

  static bool is_window(OpKind kind) {
    return kind == OpKind::Conv || kind == OpKind::ConvInteger || kind == OpKind::QLinearConv ||
           kind == OpKind::AveragePool || kind == OpKind::MaxPool;
  }

  // Adds the reader with its new pads, or refuses.
  bool takes(const MatchContext& c, NodeId reader) {
    using namespace pattern;
    const Model& m = c.model;
    const OpKind kind = m.kind(reader);
    if (!matches(c, reader, op(kind, any()).and_more())) return false;
    const auto own = own_pads(c, reader);
    if (!own) return false;
    if (!none_negative(*own)) return c.no(reader, "its own pads are not known");
    auto pads = sums(*own, spatial_);
    if (!pads) return c.no(reader, "the pads are too large");
    const bool pooling = kind == OpKind::AveragePool || kind == OpKind::MaxPool;
    if (pooling && !fits_pooling(c, reader, *pads)) return false;
    if (!fills_alike(c, reader, *own)) return c.no(reader, "it fills its pads with another value");
    if (keeps_bits(c.options.strictness) && !same_kernel(c, reader, *own))
      return c.no(reader, "bits may change, which -O1 and --exact do not allow");
    readers_.push_back({reader, std::move(*pads)});
    return true;
  }

  std::optional<List> own_pads(const MatchContext& c, NodeId reader) const {
    const Model& m = c.model;
    const std::size_t spatial = pad_.rank() - 2;
    const auto automatic = string_attr(m, reader, names::auto_pad);
    std::optional<List> own;
    if (automatic == "NOTSET") own = list_attr(m, reader, names::pads, 2 * spatial, 0);
    if (automatic == "VALID") own = List(2 * spatial, 0);  // whatever `pads` says
    const bool same = automatic == "SAME_UPPER" || automatic == "SAME_LOWER";
    if (same) own = same_pads(c, reader, automatic == "SAME_LOWER");
    if (!own) c.no(reader, same ? "its pads depend on the extent" : "its own pads are not known");
    return own;
  }

  // As many as the windows of ceil(extent / stride) results need; the odd one is the last, or the first. A
  // stride of 1 needs the same number for all extents but 0, which ONNX Runtime refuses.
  std::optional<List> same_pads(const MatchContext& c, NodeId reader, bool lower) const {
    const Model& m = c.model;
    const std::size_t spatial = pad_.rank() - 2;
    const auto strides = list_attr(m, reader, names::strides, spatial, 1);
    const auto dilations = list_attr(m, reader, names::dilations, spatial, 1);
    if (!strides || !dilations || !all_are(*dilations, 1)) return std::nullopt;
    const ValueId w = m.input(reader, m.kind(reader) == OpKind::QLinearConv ? 3 : 1);  // pooling has none
    const auto dims = c.infer.dims(pad_.y), weight = c.infer.dims(w);  // none where the rank is not known
    if (dims.size() != spatial + 2 || weight.size() != spatial + 2) return std::nullopt;
    List pads(2 * spatial, 0);
    for (std::size_t i = 0; i < spatial; ++i) {
      const auto kernel = c.dims.value(weight[i + 2]);
      const auto extent = (*strides)[i] == 1 ? std::int64_t{1} : c.dims.value(dims[i + 2]);
      const auto fits = [](std::int64_t x) { return x >= 1 && x < std::int64_t{1} << 31; };
      if (!kernel || !extent || !fits(*kernel) || !fits(*extent) || !fits((*strides)[i])) return std::nullopt;
      const std::int64_t last =
          (*extent - 1) / (*strides)[i] * (*strides)[i];  // where the last window begins
      const std::int64_t needed = std::max<std::int64_t>(0, last + *kernel - *extent);
      pads[i] = (needed + (lower ? 1 : 0)) / 2;
      pads[spatial + i] = needed - pads[i];
    }
    return pads;
  }

  bool fits_pooling(const MatchContext& c, NodeId reader, const List& pads) const {
    const Model& m = c.model;
    const std::size_t spatial = pads.size() / 2;
    const auto kernel = ints_attr(m, reader, names::kernel_shape);
    if (!kernel || kernel->size() != spatial) return c.no(reader, "its kernel is not known");
    for (std::size_t i = 0; i < pads.size(); ++i)
      if (pads[i] >= (*kernel)[i % spatial]) return c.no(reader, "a pad would not be below the kernel");
    if (int_attr(m, reader, names::ceil_mode).value_or(0) != 0)
      return c.no(reader, "its last window may reach beyond the pads");
    if (m.output(reader, 1) && m.use_count(m.output(reader, 1)) > 0)
      return c.no(reader, "its indices count padded elements");
    if (!c.infer.has_rank(pad_.x)) return c.no(reader, "the rank of the operand is not known");
    const auto dims = c.infer.dims(pad_.x);
    for (std::size_t i = 0; i < spatial; ++i)
      if (spatial_[i] + spatial_[spatial + i] > 0 && c.dims.range(dims[i + 2]).low < 1)
        return c.no(reader, "the operand may be empty");
    return true;
  }

  // Does the node fill its own pads with what the Pad fills in? One without pads of its own may be told to.
  bool fills_alike(const MatchContext& c, NodeId reader, const List& own) const {
    const Model& m = c.model;
    switch (m.kind(reader)) {
      case OpKind::Conv: return pad_.value == PadValue::of(0.0);
      case OpKind::ConvInteger:
      case OpKind::QLinearConv: {
        const ValueId zero = m.input(reader, 2);  // that of x, for both
        const auto point = zero ? int_scalar(m, zero) : std::int64_t{0};
        return point && pad_.value == PadValue::of(*point);
      }
      case OpKind::AveragePool:
        return m.opset(reader) >= 7 && pad_.value == PadValue::of(0.0) &&
               (all_are(own, 0) || int_attr(m, reader, names::count_include_pad).value_or(0) != 0);
      default:  // MaxPool
        if (pad_.type == DType::Int8) return pad_.value == PadValue::of(std::int64_t{-128});
        if (pad_.type == DType::UInt8) return pad_.value == PadValue::of(std::int64_t{0});
        // A dilated window may lie in pads alone. What comes of it is the lowest float then, and not -inf.
        return pad_.value == PadValue::of(-std::numeric_limits<double>::infinity()) &&
               all_are(list_attr(m, reader, names::dilations, own.size() / 2, 1).value_or(List{0}), 1);
    }
  }

  bool same_kernel(const MatchContext& c, NodeId reader, const List& own) const {
    const Model& m = c.model;
    if (m.kind(reader) == OpKind::AveragePool) return false;
    if (m.kind(reader) != OpKind::Conv) return !is_float(pad_.type);
    const std::size_t spatial = own.size() / 2;
    const auto strides = list_attr(m, reader, names::strides, spatial, 1);
    if (!strides) return false;
    if (!all_are(own, 0) || !all_are(*strides, 1)) return true;
    const ValueId w = m.input(reader, 1);
    if (c.infer.dims(w).size() != spatial + 2) return false;  // also where the rank is not known
    const auto kernel = c.infer.dims(w).subspan(2);
    const auto not_one = [&](DimId d) { return c.dims.range(d).low > 1; };
    if (std::ranges::none_of(kernel, not_one)) return false;
    if (spatial != 2 || not_one(c.infer.dims(w)[1])) return true;
    const auto dilations = list_attr(m, reader, names::dilations, spatial, 1);
    if (!dilations) return false;
    const DimId width = c.infer.has_rank(pad_.y) ? c.infer.dims(pad_.y).back() : DimId{};
    return !all_are(*dilations, 1) || c.dims.equal(width, kernel[1]) == Tri::No;
  }

  PadNode pad_;
  List spatial_;  // its pads of the spatial axes: begins, then ends
  std::vector<Reader> readers_;
};

class PadOfPad final : public Rule {
 public:
  static constexpr Counter kCounter{"pads", "Pads of a Pad"};
  std::string_view name() const override { return "pad-of-pad"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::Pad>; }

  bool match(const MatchContext& c, NodeId n) override {
    using namespace pattern;
    const Model& m = c.model;
    NodeId inner;
    const auto pad = op(OpKind::Pad, any()).and_more();
    if (!matches(c, n, op(OpKind::Pad, pad.single_use().bind(inner)).and_more())) return false;
    PadNode outer;
    if (!read_pad(c, inner, pad_) || !read_pad(c, n, outer)) return false;
    if (m.is_fixed(pad_.x)) return c.no(n, "an annotation names the value, or a kernel writes to it");
    if (pad_.value != outer.value) return c.no(n, "the values of both Pads differ");
    if (pad_.rank() != outer.rank()) return c.no(n, "the pads do not fit the operand");
    const auto pads = sums(pad_.pads, outer.pads);
    if (!pads) return c.no(n, "the pads are too large");
    pad_.pads = *pads;
    return true;
  }

  void apply(PassContext& c, NodeId n) override {
    Model& m = c.model;
    m.set_operand(n, 0, pad_.x);
    if (m.input_count(n) == 1) {
      m.set_attr_ints(n, m.opset(n) >= 2 ? names::pads : names::paddings, pad_.pads);
      return;
    }
    const std::string base = std::string(m.text(m.value(m.output(n, 0)).name)) + "_pads";
    const ValueId value = m.input(n, 2);
    std::vector<ValueId> operands{pad_.x, m.add_initializer(m.node(n).graph, base, m.make_int64s(pad_.pads))};
    if (value) operands.push_back(value);
    m.set_operands(n, operands);
  }

 private:
  PadNode pad_;
};

}  // namespace

extern constinit const PassInfo fold_pads = {
    .name = "fold-pads",
    .summary = "make a Pad the padding of the Conv or pooling that reads it",
    .exact = Exact::Yes,
    .level = 1,
    .make = make_pass<RulePass<PadOfPad, PadIntoWindow>>,
    .rounds_from = 2};

}  // namespace graphopt
