// fold-affine: takes a per-channel affine map with constants into the weight and bias of a product next to
// it.
//
// Problem: networks normalize next to convolutions. In inference a BatchNormalization is s * x + o with two
// constants per channel, and exporters write it, or a scale or bias, as a node of its own.
// Method: two rules from the node of the map (BatchNormalization, Mul, Div, Add, Sub with constants).
//   downstream  s * (W x + b) + o = (s W) x + (s b + o), per channel of the result.
//   upstream    W (s x + o) + b = (W s) x + (W o + b), per channel of the operand. An offset needs a product
//               that reads o wherever it would read x: no pads, no ConvTranspose.
// A Conv, ConvTranspose or Gemm without bias gets one. A MatMul has none: with an offset it becomes a Gemm,
// if its rank is 2; but an Add downstream stays what it is. Rounds: s W, W s and the new bias are computed in
// double and rounded once. With u the rounding unit of the type and n the number of terms in the sum, the
// result and the original both lie within
//     (n + 8) u (sum |s w x| + |s| |b| + |offsets|) + t sum |x|
// of the true number, so they differ by twice that at most. |offsets| has the terms of the offset by
// magnitude (|s mean| + |bias|; W o term by term); t is half of the smallest denormal, where s w is denormal.
// An infinity or NaN may appear or vanish only where a sum of the original or of the result overflows, or an
// infinity meets a factor 0. New weights that are not finite are refused.
// Lowers: nodes. Ends: each rewrite removes the node of a map, and makes none.
// Left alone: maps that may change dims; products whose result something else reads; constants that a caller
// may override; a new weight that adds more than --fold-limit to the file (other nodes read the old one);
// a Mul or Add upstream that ends a normalization or Gelu written in primitives, which runtimes fuse as a
// whole; integers; bfloat16, for which ONNX Runtime has no kernels of these operators on a CPU to compare
// with.
//
//   c = Conv (x, W)
//   y = BatchNormalization (c, s, b, mean, var)      =>      y = Conv (x, W_1, y_bias)

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ops/attributes.h"
#include "ops/constants.h"
#include "ops/facts_kernels.h"
#include "ops/node_facts.h"
#include "passes/affine_map.h"
#include "passes/joined_constants.h"
#include "passes/rule_pass.h"
#include "rewrite/freed.h"
#include "rewrite/match.h"
#include "support/mapped_pages.h"

namespace graphopt {
namespace {

constexpr OpKind kMaps[] = {OpKind::BatchNormalization, OpKind::Mul, OpKind::Div, OpKind::Add, OpKind::Sub};

// A node that computes an affine map of x.
struct MapNode {
  ValueId x;
  AffineMap map;
  bool normalizes = false;         // a BatchNormalization: its channels are those of axis 1
  std::vector<std::int64_t> dims;  // else those of its constant
};

bool read_normalization(const MatchContext& c, NodeId n, MapNode& out) {
  using namespace pattern;
  const Model& m = c.model;
  // A kernel writes to the mean and variance then, so they are no constants; this is the better reason.
  if (int_attr(m, n, names::training_mode).value_or(0) != 0) return c.no(n, "it is in training mode");
  TensorId t[4];
  const auto pattern = op(OpKind::BatchNormalization, any(out.x), constant(t[0]), constant(t[1]),
                          constant(t[2]), constant(t[3]));
  if (!matches(c, n, pattern.opset(7))) return false;
  if (m.opset(n) < 9 && int_attr(m, n, names::spatial) != 1) return c.no(n, "it is not per channel");
  for (std::size_t i = 1; i < m.output_count(n); ++i)
    if (m.output(n, i)) return c.no(n, "it has results of training");
  std::vector<double> lists[4];
  for (std::size_t i = 0; i < 4; ++i) {
    auto list = real_list(m, t[i]);
    if (!list || m.tensor(t[i]).dims.size() != 1 || m.tensor(t[i]).elements != m.tensor(t[0]).elements)
      return c.no(n, "its parameters are no lists of equal length");
    lists[i] = std::move(*list);
  }
  const auto epsilon = float_attr(m, n, names::epsilon);
  if (!epsilon || lists[0].empty()) return c.no(n, "its parameters are not known");
  out.map = normalization(lists[0], lists[1], lists[2], lists[3], *epsilon);
  out.normalizes = true;
  return true;
}

bool read_arithmetic(const MatchContext& c, NodeId n, MapNode& out) {
  using namespace pattern;
  const Model& m = c.model;
  const OpKind kind = m.kind(n);
  if (!matches(c, n, op(kind, any(), any()).opset(7))) return false;
  const std::size_t slot = m.constant_of(m.input(n, 1)) ? 1 : 0;
  const TensorId t = m.constant_of(m.input(n, slot));
  if (!t || m.tensor(t).elements < 1) return c.no(n, "no operand is a constant");
  if (kind == OpKind::Div && slot == 0) return c.no(n, "it divides by what is computed");
  auto list = real_list(m, t);
  if (!list) return c.no(n, "the constant has no floating type, or too many elements");
  out.x = m.input(n, 1 - slot);
  out.dims = m.tensor(t).dims;
  std::vector<double>& numbers = *list;
  if (kind == OpKind::Div)
    for (double& number : numbers) number = 1 / number;
  if (kind == OpKind::Sub && slot == 1)
    for (double& number : numbers) number = -number;
  if (kind == OpKind::Sub && slot == 0) out.map.scale = {-1};
  (kind == OpKind::Mul || kind == OpKind::Div ? out.map.scale : out.map.offset) = std::move(numbers);
  return true;
}

bool read_map(const MatchContext& c, NodeId n, MapNode& out) {
  const bool read = c.model.kind(n) == OpKind::BatchNormalization ? read_normalization(c, n, out)
                                                                  : read_arithmetic(c, n, out);
  return read && (simplify(out.map) || c.no(n, "a factor or summand is not finite"));
}

// Returns whether the map keeps the dims of its operand, which has this rank and `channels` entries along
// `axis`, and its numbers belong to these entries.
bool is_along(const MapNode& a, std::size_t rank, std::size_t axis, std::int64_t channels) {
  const auto fits = [&](const std::vector<double>& list) {
    return list.size() <= 1 || static_cast<std::int64_t>(list.size()) == channels;
  };
  if (!fits(a.map.scale) || !fits(a.map.offset)) return false;
  if (a.normalizes) return axis == 1;
  if (a.dims.size() > rank) return false;
  for (std::size_t i = 0; i < a.dims.size(); ++i)
    if (a.dims[i] != 1 && (rank - a.dims.size() + i != axis || a.dims[i] != channels)) return false;
  return true;
}

// A node that multiplies its first operand by a constant weight.
struct Product {
  NodeId node;
  OpKind kind = OpKind::Opaque;
  ProductWeight weight;
  ValueId bias;  // none: absent, or multiplied by 0
  double alpha = 1, beta = 1;

  bool is_convolution() const { return kind == OpKind::Conv || kind == OpKind::ConvTranspose; }
};

bool is_product(OpKind kind) {
  return kind == OpKind::Conv || kind == OpKind::ConvTranspose || kind == OpKind::Gemm ||
         kind == OpKind::MatMul;
}

NodeId product_of(const Model& m, ValueId v) {
  const NodeId def = v ? m.value(v).def : NodeId{};
  return def && is_product(m.kind(def)) ? def : NodeId{};
}

bool read_product(const MatchContext& c, NodeId n, NodeId product, Product& p) {
  using namespace pattern;
  const Model& m = c.model;
  p.node = product;
  p.kind = m.kind(product);
  ProductWeight& w = p.weight;
  if (!matches(c, product, op(p.kind, any(), constant(w.tensor), maybe(p.bias)).opset(7))) return false;
  const Tensor& t = m.tensor(w.tensor);
  const std::vector<std::int64_t>& d = t.dims;
  if (t.elements < 1 || d.size() < (p.is_convolution() ? 3 : 2))
    return c.no(n, "the weight has too few dims");
  if (!can_scale(t.dtype)) return c.no(n, "the element type is not one that is folded");
  if (p.is_convolution()) {
    w.outer_is_result = p.kind == OpKind::Conv;
    w.group = int_attr(m, product, names::group).value_or(0);
    w.outer = d[0];
    w.inner = d[1];
    w.window = t.elements / (d[0] * d[1]);
    return (w.group >= 1 && w.outer % w.group == 0) || c.no(n, "the groups do not divide the channels");
  }
  w.outer = d[d.size() - 2];
  w.inner = d.back();
  w.batch = t.elements / (w.outer * w.inner);
  if (p.kind == OpKind::MatMul) return true;
  w.outer_is_result = int_attr(m, product, names::transB).value_or(0) != 0;
  p.alpha = float_attr(m, product, names::alpha).value_or(1);
  p.beta = float_attr(m, product, names::beta).value_or(1);
  if (p.beta == 0) p.bias = {};
  return d.size() == 2 || c.no(n, "the weight does not have rank 2");
}

class FoldAffine : public Rule {
 public:
  std::span<const OpKind> roots() const override { return kMaps; }

 protected:
  // Computes the new constants: the weight scaled along its results or operands, and a bias that is the old
  // one times `scale` plus `offset`. An empty list changes nothing.
  bool compute(const MatchContext& c, NodeId n, const MapNode& a, bool downstream) {
    const Model& m = c.model;
    weight_.reset();
    bias_.reset();
    const TensorId bias = m.constant_of(p_.bias);
    const bool keeps_bias = a.map.offset.empty() && (!downstream || a.map.scale.empty() || !p_.bias);
    if (!keeps_bias && p_.bias && !bias) return c.no(n, "the bias of the product is no constant");
    becomes_gemm_ = p_.kind == OpKind::MatMul && !keeps_bias;
    if (becomes_gemm_ && ((downstream && !a.normalizes) || !may_become_gemm(c)))
      return c.no(n, "a MatMul has no bias, and does not become a Gemm here");
    type_ = m.tensor(p_.weight.tensor).dtype;
    if (!m.can_hold_constant(home(m), type_)) return c.no(n, "a constant cannot be written here");

    const std::int64_t columns = p_.weight.results();
    std::int64_t rows = 1;
    bias_dims_ = {columns};
    if (!keeps_bias && bias) {
      const std::vector<std::int64_t>& d = m.tensor(bias).dims;
      const bool legal = p_.is_convolution()
                             ? d.size() == 1 && d[0] == columns
                             : d.size() <= 2 && (d.empty() || d.back() == 1 || d.back() == columns);
      if (!legal || m.tensor(bias).elements < 1) return c.no(n, "the bias of the product has other dims");
      if (d.size() == 2) {
        rows = d[0];
        bias_dims_ = {rows, columns};
      }
    }
    if (!grows_little(c, n, a, keeps_bias ? 0 : rows * columns))
      return c.no(n, "the file would grow too much");

    if (!a.map.scale.empty()) {
      weight_ = scaled_payload(m, p_.weight, a.map.scale, downstream);
      if (!weight_) return c.no(n, "the new weight is not finite, or the old one cannot be read");
    }
    if (keeps_bias) return true;
    std::vector<double> old{0};
    if (bias) {
      auto list = real_list(m, bias);
      if (!list) return c.no(n, "the bias of the product cannot be read");
      old = std::move(*list);
    }
    std::vector<double> offset = a.map.offset;
    if (!downstream) {
      auto sums = summed_offset(m, p_.weight, offset);
      if (!sums) return c.no(n, "the weight cannot be read");
      for (double& sum : *sums) sum *= p_.alpha;
      offset = std::move(*sums);
    }
    const bool wide = static_cast<std::int64_t>(old.size()) == rows * columns;
    std::vector<double> made;
    for (std::int64_t i = 0; i < rows * columns; ++i) {
      const std::int64_t row = i / columns, column = i % columns;
      const double b = p_.beta * (old.size() == 1 ? old[0] : old[static_cast<std::size_t>(wide ? i : row)]);
      made.push_back(b * (downstream ? channel(a.map.scale, column, 1) : 1) + channel(offset, column, 0));
    }
    bias_ = real_payload(type_, made);
    return bias_ || c.no(n, "the new bias is not finite");
  }

  // Gives the product its new constants and this first operand.
  void rewrite(Model& m, ValueId x) {
    const NodeId node = p_.node;
    std::vector<ValueId> operands;
    for (std::size_t i = 0; i < m.input_count(node); ++i) operands.push_back(m.input(node, i));
    operands[0] = x;
    const GraphId g = home(m);
    if (weight_) {
      const std::vector<std::int64_t> dims = m.tensor(p_.weight.tensor).dims;
      if (const auto old = m.raw(p_.weight.tensor)) release_mapped(*old);  // mostly nobody reads it again
      const TensorId t = m.make_tensor(type_, dims, std::move(*weight_));
      operands[1] = m.add_initializer(g, std::string(m.text(m.value(operands[1]).name)), t);
    }
    if (bias_) {
      operands.resize(3);
      const std::string base = operands[2] ? std::string(m.text(m.value(operands[2]).name))
                                           : std::string(m.text(m.value(m.output(node, 0)).name)) + "_bias";
      operands[2] = m.add_initializer(g, base, m.make_tensor(type_, bias_dims_, std::move(*bias_)));
      if (has_attr(m, node, names::beta)) m.remove_attr(node, names::beta);
    }
    if (becomes_gemm_) m.set_op(node, standard_op(m, OpKind::Gemm));
    m.set_operands(node, operands);
  }

  Product p_;

 private:
  // New constants stand where the old weight stands: what sees one sees the others.
  GraphId home(const Model& m) const { return m.value(m.input(p_.node, 1)).graph; }

  // ONNX Runtime may add up a Gemm of float16 in float16; it adds up a MatMul in float.
  bool may_become_gemm(const MatchContext& c) const {
    const Tensor& w = c.model.tensor(p_.weight.tensor);
    const ValueId x = c.model.input(p_.node, 0);
    return w.dims.size() == 2 && w.dtype != DType::Float16 && c.infer.dims(x).size() == 2 &&
           runs_as_one_node(OpKind::Gemm, c.model.opset(p_.node), w.dtype);
  }

  bool grows_little(const MatchContext& c, NodeId n, const MapNode& a, std::int64_t bias_elements) const {
    const Model& m = c.model;
    const TensorId weight[] = {p_.weight.tensor};
    if (!may_be_copied(m, weight)) return false;
    const std::uint64_t width = static_cast<std::uint64_t>(bits_of(type_)) / 8;
    std::uint64_t more = static_cast<std::uint64_t>(bias_elements) * width;
    std::vector<ValueId> reads;  // that go: of the map's constants, and of those that get a new one
    for (std::size_t i = 0; i < m.input_count(n); ++i)
      if (m.constant_of(m.input(n, i))) reads.push_back(m.input(n, i));
    if (bias_elements > 0 && p_.bias) reads.push_back(p_.bias);
    if (!a.map.scale.empty()) {
      more += bytes_of(m, p_.weight.tensor);
      reads.push_back(m.input(p_.node, 1));
    }
    const std::uint64_t freed = bytes_freed(m, m.node(n).graph, reads);
    return more <= freed || more - freed <= c.options.fold_limit;
  }

  DType type_ = DType::Undefined;
  std::optional<std::string> weight_, bias_;  // payloads; none: the old one stays
  std::vector<std::int64_t> bias_dims_;
  bool becomes_gemm_ = false;
};

class FoldDownstream final : public FoldAffine {
 public:
  static constexpr Counter kCounter{"downstream", "maps that a product upstream took in"};
  std::string_view name() const override { return "affine-downstream"; }

  bool match(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    MapNode a;
    p_ = {};
    if (!m.output(n, 0)) return false;
    // Before numbers are read: most maps are next to no product.
    if (!product_of(m, m.input(n, 0)) && !product_of(m, m.input(n, 1)))
      return c.no(n, "no product makes its operand");
    if (!read_map(c, n, a)) return false;
    const NodeId product = product_of(m, a.x);  // of the two, since constants have no such producer
    if (m.single_user(a.x) != n) return c.no(n, "something else reads the result of the product");
    if (!read_product(c, n, product, p_)) return false;
    // The rank of a MatMul follows from its operand. It is 1 or more, as that of its weight is 2 or more.
    const std::size_t weight_rank = m.tensor(p_.weight.tensor).dims.size();
    std::size_t rank = weight_rank, axis = 1;
    if (p_.kind == OpKind::MatMul) {
      rank = c.infer.has_rank(a.x) ? c.infer.dims(a.x).size() : 1;
      axis = rank - 1;
    } else if (c.infer.has_rank(a.x) && c.infer.dims(a.x).size() != rank) {
      return c.no(n, "the result of the product has another rank than the weight");
    }
    if (!is_along(a, rank, axis, p_.weight.results()))
      return c.no(n, "its constant is not one number per channel of the product");
    return compute(c, n, a, true);
  }

  void apply(PassContext& c, NodeId n) override {
    Model& m = c.model;
    rewrite(m, m.input(p_.node, 0));
    // The product makes the result of the map, which keeps its name and what the file states about it.
    const ValueId y = m.detach_output(n, 0);
    m.erase(n);
    m.drop_output(p_.node, 0);
    m.attach_output(p_.node, 0, y);
  }
};

class FoldUpstream final : public FoldAffine {
 public:
  static constexpr Counter kCounter{"upstream", "maps that a product downstream took in"};
  std::string_view name() const override { return "affine-upstream"; }

  bool match(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    MapNode a;
    p_ = {};
    if (!m.output(n, 0)) return false;
    const ValueId y = m.output(n, 0);
    const NodeId product = m.single_user(y);
    if (!product || !is_product(m.kind(product)) || m.input(product, 0) != y) return false;
    if (!read_map(c, n, a) || !read_product(c, n, product, p_)) return false;
    if (!m.can_replace(y, a.x)) return c.no(n, "the operand cannot take the place of the result");
    if (!a.normalizes && ends_idiom(m, a.x))
      return c.no(n, "it may be the end of a normalization or an activation that runtimes fuse");
    if (!c.infer.has_rank(a.x)) return c.no(n, "the rank of the operand is not known");
    const auto dims = c.infer.dims(a.x);
    std::size_t axis = 1;
    if (p_.kind == OpKind::MatMul) axis = dims.size() - 1;
    if (p_.kind == OpKind::Gemm) axis = int_attr(m, product, names::transA).value_or(0) != 0 ? 0 : 1;
    if (axis >= dims.size() || c.dims.value(dims[axis]) != p_.weight.operands())
      return c.no(n, "the channels of the operand are not known to be those of the weight");
    if (!is_along(a, dims.size(), axis, p_.weight.operands()))
      return c.no(n, "its constant is not one number per channel of the operand");
    if (!a.map.offset.empty() && p_.is_convolution() && !reads_no_padding(m, product))
      return c.no(n, "the product also reads zeros of its pads, which get no offset");
    return compute(c, n, a, false);
  }

  void apply(PassContext& c, NodeId n) override {
    Model& m = c.model;
    // Of a BatchNormalization operand 1 is a constant, and the data comes first.
    rewrite(m, m.input(n, m.constant_of(m.input(n, 1)) ? 0 : 1));
  }

 private:
  // Upstream of a few maps with constants: does a Mul or Div of two computed values make x? Normalizations
  // end in x * (1 / deviation) * gamma + beta, Gelu in x * (1 + erf) * 0.5. A product with a Sigmoid is the
  // end itself: runtimes fuse x * sigmoid(x), and no factor behind it.
  static bool ends_idiom(const Model& m, ValueId x) {
    for (int step = 0; step < kMostSteps; ++step) {
      const NodeId def = m.value(x).def;
      if (!def) return false;
      const OpKind kind = m.kind(def);
      const bool scales = kind == OpKind::Mul || kind == OpKind::Div;
      if (kind == OpKind::Cast) {
        x = m.input(def, 0);
      } else if (scales || kind == OpKind::Add || kind == OpKind::Sub) {
        const bool first = m.constant_of(m.input(def, 0)).valid();
        if (!first && !m.constant_of(m.input(def, 1))) return scales && !is_gated(m, def);
        x = m.input(def, first);
      } else {
        return false;
      }
      if (!x) return false;
    }
    return true;
  }
  static constexpr int kMostSteps = 8;

  static bool is_gated(const Model& m, NodeId product) {
    for (std::size_t i = 0; i < m.input_count(product); ++i) {
      const ValueId v = m.input(product, i);
      const NodeId gate = v ? m.value(v).def : NodeId{};
      if (gate && m.kind(gate) == OpKind::Sigmoid) return true;
    }
    return false;
  }

  static bool reads_no_padding(const Model& m, NodeId product) {
    if (m.kind(product) != OpKind::Conv) return false;
    const auto mode = string_attr(m, product, names::auto_pad);
    if (mode == "VALID") return true;
    const auto pads = ints_attr(m, product, names::pads);
    for (const std::int64_t pad : pads ? *pads : std::span<const std::int64_t>{})
      if (pad != 0) return false;
    return mode == "NOTSET" && (pads || !has_attr(m, product, names::pads));
  }
};

}  // namespace

extern constinit const PassInfo fold_affine = {
    .name = "fold-affine",
    .summary = "fold normalizations, scales and offsets into weights",
    .exact = Exact::No,
    .level = 2,
    .make = make_pass<RulePass<FoldDownstream, FoldUpstream>>};

}  // namespace graphopt
