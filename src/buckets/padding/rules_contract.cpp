// Products that are summed over an axis: MatMul, Gemm, Einsum.
//
// A padded axis that is summed over adds nothing if in each region of its padding the product is 0: one
// factor is 0 and the others are finite. For integers, a factor counts from its zero point.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "buckets/padding/rules.h"

namespace graphopt::padding {
namespace {

// One character per axis of each operand and of the result.
struct Contraction {
  std::vector<const PaddedValue*> operands;
  std::vector<std::size_t> slots;  // of the node
  std::vector<std::string> labels;
  std::vector<double> zeros;  // neutral elements; NaN where none is known
  std::string result;
  double scale = 1;  // of the sums
};

class Contractor {
 public:
  Contractor(PaddingContext& c, const Contraction& k) : c_(c), k_(k) {}

  std::optional<PaddedValue> value(DType type) {
    if (!join_layouts()) return std::nullopt;
    for (std::size_t i = 0; i < 256; ++i)
      if (layouts_[i] && c_.layouts.padded(layouts_[i]) &&
          k_.result.find(static_cast<char>(i)) == std::string::npos)
        summed_.push_back(static_cast<char>(i));
    if (summed_.size() > kMaxPaddedAxes) {
      c_.refuse("it sums over more padded axes than are followed");
      return std::nullopt;
    }
    const auto sets = AxisMask{1} << summed_.size();
    for (AxisMask s = 1; s < sets; ++s)
      if (!c_.math.is_zero(product(chosen(s)))) return refuse_sum(chosen(s));
    std::vector<LayoutId> l;
    for (const char label : k_.result) {
      const bool is_either = either_.find(label) != std::string::npos;
      l.push_back(is_either ? c_.stable_extent(0, l.size()) : layouts_[static_cast<unsigned char>(label)]);
    }
    return c_.make(type, std::move(l), [&](AxisMask region) {
      std::string in;
      for (std::size_t i = 0; i < k_.result.size(); ++i)
        if ((region >> i & 1u) != 0) in += k_.result[i];
      bool zero = true;
      Content out = ContentMath::number(0);
      for (AxisMask s = 0; s < sets; ++s) {
        const Content p = product(in + chosen(s));
        zero = zero && c_.math.is_zero(p);
        if (region != 0 && overflows(type, in + chosen(s))) return ContentMath::anything();
        out = ContentMath::combined({out, p});
      }
      if (zero) return ContentMath::number(0);
      out.rounding = kRounding;
      return out;
    });
  }

 private:
  bool join_layouts() {
    for (std::size_t o = 0; o < k_.operands.size(); ++o) {
      const PaddedValue& v = *k_.operands[o];
      if (k_.labels[o].size() != v.rank()) return c_.refuse("its operands have other ranks than it says");
      for (std::size_t i = 0; i < v.rank(); ++i) {
        LayoutId& now = layouts_[static_cast<unsigned char>(k_.labels[o][i])];
        const LayoutId l = v.layouts[i];
        if (!now || now == l || c_.is_one(c_.layouts.extent(now))) now = l;
        else if (c_.is_one(c_.layouts.extent(l))) continue;
        else if (!c_.layouts.padded(l) && !c_.layouts.padded(now))
          either_ += k_.labels[o][i];  // one of them may be 1 in a run
        else
          return c_.refuse("it joins axes with different layouts of padding, " + c_.layouts.text(now) +
                           " and " + c_.layouts.text(l));
      }
    }
    return true;
  }

  std::string chosen(AxisMask s) const {
    std::string out;
    for (std::size_t i = 0; i < summed_.size(); ++i)
      if ((s >> i & 1u) != 0) out += summed_[i];
    return out;
  }

  AxisMask region(std::size_t operand, std::string_view labels) const {
    AxisMask mask = 0;
    const std::string& own = k_.labels[operand];
    for (std::size_t i = 0; i < own.size(); ++i)
      if (labels.find(own[i]) != std::string_view::npos) mask |= bit(i);
    return mask;
  }

  Content product(std::string_view labels) const {
    bool zero = false;
    Content all = ContentMath::number(0);
    for (std::size_t o = 0; o < k_.operands.size(); ++o) {
      const Content& content = k_.operands[o]->at(region(o, labels));
      zero = zero || c_.math.is(content, k_.zeros[o]);
      all = ContentMath::combined({all, content});
    }
    return zero && all.finite() ? ContentMath::number(0) : all;
  }

  bool overflows(DType type, std::string_view labels) const {
    std::vector<Content> factors;
    for (std::size_t o = 0; o < k_.operands.size(); ++o)
      factors.push_back(k_.operands[o]->at(region(o, labels)));
    double count = 1;  // at least
    for (std::size_t i = 0; i < layouts_.size(); ++i) {
      if (!layouts_[i] || k_.result.find(static_cast<char>(i)) != std::string::npos) continue;
      count *= static_cast<double>(c_.dims.value(c_.layouts.extent(layouts_[i])).value_or(1));
    }
    return c_.math.sum_overflows(type, factors, count, k_.scale);
  }

  // The repair masks factors that are not finite, or else the first one that is padded and whose zero is
  // known.
  std::nullopt_t refuse_sum(std::string_view labels) {
    std::vector<std::size_t> not_finite, padded;
    std::string contents;
    for (std::size_t o = 0; o < k_.operands.size(); ++o) {
      const AxisMask mask = region(o, labels) & k_.operands[o]->padded;
      contents += (contents.empty() ? "" : " and ") + c_.math.text(k_.operands[o]->at(mask));
      if (mask == 0) continue;
      padded.push_back(o);
      if (!k_.operands[o]->at(mask).finite()) not_finite.push_back(o);
    }
    if (not_finite.empty()) {
      const auto known =
          std::ranges::find_if(padded, [&](std::size_t o) { return !std::isnan(k_.zeros[o]); });
      if (known != padded.end()) not_finite.push_back(*known);
      else if (!padded.empty()) not_finite.push_back(padded.front());
    }
    PaddingContext::Blame blame{.content = contents, .needs = "0", .repair = BucketRepair::MaskProduct};
    for (const std::size_t o : not_finite) {
      Contamination::Place place{k_.slots[o], {}, k_.zeros[o]};
      const AxisMask mask = region(o, labels) & k_.operands[o]->padded;
      for (std::size_t i = 0; i < k_.operands[o]->rank(); ++i)
        if ((mask >> i & 1u) != 0) place.axes.push_back(static_cast<int>(i));
      if (!place.axes.empty() && blame.axis < 0) blame.axis = place.axes.front();
      blame.places.push_back(std::move(place));
    }
    std::string extents;
    for (const char label : labels)
      extents += (extents.empty() ? "" : ", ") + c_.layouts.text(layouts_[static_cast<unsigned char>(label)]);
    std::string reason = "it sums over the padded extent " + extents + ", where the factors hold " +
                         contents + ": their product is not 0";
    c_.refuse(std::move(reason), std::move(blame));
    return std::nullopt;
  }

  PaddingContext& c_;
  const Contraction& k_;
  std::array<LayoutId, 256> layouts_{};
  std::string summed_, either_;
};

// The labels of a matrix product of these ranks: k is summed over, capitals are batch axes.
Contraction product_of(PaddingContext& c, std::size_t first, std::size_t second, bool left_turned = false,
                       bool right_turned = false) {
  Contraction k;
  k.operands = {&c.in(first), &c.in(second)};
  k.slots = {first, second};
  k.zeros = {0, 0};
  const std::size_t ra = k.operands[0]->rank(), rb = k.operands[1]->rank();
  const std::size_t batches = std::max({ra, rb, std::size_t{2}}) - 2;
  std::string batch;
  for (std::size_t i = 0; i < batches; ++i) batch += static_cast<char>('A' + static_cast<int>(i));
  const auto labels = [&](std::size_t r, const char* matrix, const char* vector) {
    return r > 2 ? batch.substr(batches - (r - 2)) + matrix : std::string(r == 2 ? matrix : vector);
  };
  k.labels = {labels(ra, left_turned ? "km" : "mk", "k"), labels(rb, right_turned ? "nk" : "kn", "k")};
  k.result = batch + (ra > 1 ? "m" : "") + (rb > 1 ? "n" : "");
  return k;
}

// Returns true, after refuse(), if scales or zero points are by rows or columns of a padded operand: kernels
// want as many of them.
bool are_by_row(PaddingContext& c, std::size_t operand, std::initializer_list<std::size_t> parameters) {
  for (const std::size_t i : parameters)
    if (c.in(operand).padded != 0 && has_several(c, i))
      return !c.refuse("its scales or zero points are along " +
                       c.axis_text(c.in(operand), c.in(operand).padded));
  return false;
}

}  // namespace

bool matmul(PaddingContext& c) {
  if (c.kind == OpKind::MsMatMulNBits || c.kind == OpKind::MsMatMulBnb4) return packed_product(c);
  const bool quantized = c.kind == OpKind::QLinearMatMul;
  Contraction k = product_of(c, 0, quantized ? 3 : 1);
  if (k.operands[0]->rank() == 0 || k.operands[1]->rank() == 0) return c.refuse("an operand is a scalar");
  if (quantized) {
    for (const std::size_t i : {std::size_t{1}, std::size_t{2}, std::size_t{4}, std::size_t{5}})
      if (c.in(i).padded != 0) return c.refuse("a scale is padded");
    if (are_by_row(c, 0, {1, 2}) || are_by_row(c, 3, {4, 5})) return false;
    k.zeros = {c.zero_point(2), c.zero_point(5)};
  } else if (c.kind == OpKind::MatMulInteger) {
    for (const std::size_t i : {std::size_t{2}, std::size_t{3}})
      if (c.has(i) && c.in(i).padded != 0) return c.refuse("a zero point is padded");
    if (are_by_row(c, 0, {2}) || are_by_row(c, 1, {3})) return false;
    k.zeros = {c.zero_point(2), c.zero_point(3)};
  }
  auto out = Contractor(c, k).value(c.output_type(0));
  if (!out) return false;
  if (quantized)  // 0 of the product is the result's zero point
    for (Content& content : out->contents) {
      const bool finite = content.finite() && !is_float(out->type);
      content = finite ? ContentMath::combined({content}) : ContentMath::anything();
    }
  return c.set(0, *std::move(out));
}

bool gemm(PaddingContext& c) {
  if (!std::isfinite(c.attr_real(names::alpha, 1)) || !std::isfinite(c.attr_real(names::beta, 1)))
    return c.refuse("its factors are not finite");
  Contraction k = product_of(c, 0, 1, c.attr(names::transA, 0) != 0, c.attr(names::transB, 0) != 0);
  k.scale = std::fabs(c.attr_real(names::alpha, 1));
  auto out = Contractor(c, k).value(c.output_type(0));
  if (!out) return false;
  if (!c.has(2)) return c.set(0, *std::move(out));
  const PaddedValue& bias = c.in(2);
  const std::vector<const PaddedValue*> operands{&*out, &bias};
  auto l = broadcast(c, operands);
  if (!l) return false;
  const std::size_t r = l->size();
  return c.set_result(std::move(*l), [&](AxisMask region) {
    return ContentMath::combined({out->at(region), bias.at(operand_region(bias, r, region))});
  });
}

bool einsum(PaddingContext& c) {
  std::string equation;
  for (const char ch : c.attr_text(names::equation, ""))
    if (ch != ' ') equation += ch;
  if (equation.find('.') != std::string::npos) return c.refuse("an ellipsis is not analysed");
  const std::size_t arrow = equation.find("->");
  Contraction k;
  std::string left = equation.substr(0, arrow);
  for (std::size_t begin = 0; begin <= left.size();) {
    const std::size_t end = std::min(left.find(',', begin), left.size());
    k.labels.push_back(left.substr(begin, end - begin));
    begin = end + 1;
  }
  if (arrow != std::string::npos) {
    k.result = equation.substr(arrow + 2);
  } else {
    for (const char ch : left)
      if (ch != ',' && std::ranges::count(left, ch) == 1) k.result += ch;
    std::ranges::sort(k.result);
  }
  if (k.labels.size() != c.input_count()) return c.refuse("its equation names other operands");
  for (std::size_t i = 0; i < c.input_count(); ++i) {
    k.operands.push_back(&c.in(i));
    k.slots.push_back(i);
    k.zeros.push_back(0);
    for (const char ch : k.labels[i])
      if (std::ranges::count(k.labels[i], ch) > 1) return c.refuse("a diagonal is not analysed");
  }
  auto out = Contractor(c, k).value(c.output_type(0));
  if (!out) return false;
  for (const char ch : k.result)
    if (left.find(ch) == std::string::npos) return c.refuse("its equation names an unknown axis");
  return c.set(0, *std::move(out));
}

}  // namespace graphopt::padding
