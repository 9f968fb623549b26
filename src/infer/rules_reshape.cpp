// Reshape.
//
// Problem: an element of the target is the extent of the result, unless it is 0. Then the operand's dim at
// that place is copied (allowzero = 0). An element that is computed from extents may be 0 in some runs only:
// for an operand [B*S, 4] and the target (B, S, 4) the result is [0, 4, 4] where B and S are 0.
//
// Method: what is stated covers both, e where e is not 0 and the dim where it is (NodeContext::unless_zero).
// It is e alone in three cases, of which one holds nearly always: e is never 0; the dim is 0 whenever e is;
// or no other extent of the result can be 0, and the operand is empty whenever e is 0, so that a run in which
// a dim other than 0 is copied fails since the numbers of elements differ. A node downstream that would fail
// for the copied dim, such as the Add of a residual connection, shows that e is not 0 (broadcast() and
// same()).
#include <algorithm>
#include <optional>

#include "infer/rules.h"
#include "infer/values.h"

namespace graphopt::rules {
namespace {

// The target of one Reshape, and the extents that it gives.
class Target {
 public:
  Target(NodeContext& context, Dims wanted, bool allow_zero)
      : c_(context), wanted_(std::move(wanted)), allow_zero_(allow_zero) {}

  // Returns the extents of the result; unknown ones are none.
  Dims extents() {
    Dims d(wanted_.size());
    std::size_t unknowns = 0, unknown = 0;
    for (std::size_t i = 0; i < d.size(); ++i) {
      d[i] = extent(i);
      if (d[i]) continue;
      ++unknowns;
      unknown = i;
    }
    if (unknowns == 1 && c_.ranked(0)) d[unknown] = remaining(d, unknown);
    return d;
  }

 private:
  // Returns the operand's dim at place i; none where there is none, or it is unknown.
  DimId copied(std::size_t i) const {
    return c_.ranked(0) && i < c_.shape(0).size() ? c_.shape(0)[i] : DimId{};
  }

  // Returns the extent at place i; none where it is unknown, or is -1 in the target.
  DimId extent(std::size_t i) {
    const DimId d = wanted_[i];
    if (!d) return {};
    if (const auto v = c_.value(d)) {
      if (*v == 0 && !allow_zero_) return copied(i);
      return *v >= 0 ? c_.constant(*v) : DimId{};
    }
    if (!c_.never_negative(d)) return {};  // -1 may be meant
    if (allow_zero_) return d;
    if (!c_.ranked(0)) return {};
    if (i >= c_.shape(0).size() || d == copied(i) || refused_if_zero(i)) return d;
    return c_.unless_zero(d, copied(i));
  }

  // Returns the number of elements.
  DimId count() {
    if (!count_) count_ = c_.dims.product(c_.shape(0));
    return *count_;
  }

  // Returns true if a run fails in which element i is 0 and the operand's dim there is not: the operand is
  // empty then, and the result is not.
  bool refused_if_zero(std::size_t i) {
    for (std::size_t k = 0; k < wanted_.size(); ++k) {
      if (k == i) continue;
      const DimId d = wanted_[k];
      if (!d || c_.dims.is_constant(d, -1)) return false;
      if (!c_.never_negative(d) || (!c_.never_zero(d) && !c_.never_zero(copied(k)))) return false;
    }
    return c_.zero_with(wanted_[i], count());
  }

  // Returns the extent that follows from the number of elements and all other extents. Where the other dims'
  // product is 0 in a run, a -1 makes the run fail (ONNX Runtime and the specification refuse to choose), so
  // the product may be divided by. An unknown element that is no -1 may be anything then.
  DimId remaining(const Dims& d, std::size_t unknown) {
    const bool minus_one = wanted_[unknown] && c_.dims.is_constant(wanted_[unknown], -1);
    if (const DimId q = quotient(d, unknown, minus_one)) return q;
    if (!minus_one) return {};
    // Divided by the elements themselves. In a run in which one of them is 0 and another dim is copied, the
    // operand is empty, and -1 becomes 0.
    Dims elements = d;
    DimId factor = c_.constant(1);
    for (std::size_t i = 0; i < d.size(); ++i) {
      if (i == unknown || !wanted_[i] || c_.value(wanted_[i]) || d[i] == wanted_[i]) continue;
      if (!c_.zero_with(wanted_[i], count())) return floor_quotient(d, unknown);
      elements[i] = wanted_[i];
      factor = c_.dims.mul(factor, c_.dims.min(c_.constant(1), wanted_[i]));
    }
    if (const DimId q = quotient(elements, unknown, true)) return c_.dims.mul(q, factor);
    return floor_quotient(d, unknown);
  }

  // Returns the operand's number of elements divided by all extents but the unknown one.
  DimId quotient(const Dims& d, std::size_t unknown, bool minus_one) {
    Dims before(c_.shape(0).begin(), c_.shape(0).end()), rest = d;
    if (!cancel(before, rest, unknown, minus_one)) return {};
    const DimId n = c_.dims.product(before), others = c_.dims.product(rest);
    return n && others ? c_.dims.exact_div(n, others, minus_one) : DimId{};
  }

  // The same for -1 where the product does not divide as a polynomial: a run fails unless it divides as a
  // number, so floor is exact, too.
  DimId floor_quotient(const Dims& d, std::size_t unknown) {
    Dims before(c_.shape(0).begin(), c_.shape(0).end()), rest = d;
    if (!cancel(before, rest, unknown, true)) return {};
    const DimId n = c_.dims.product(before), others = c_.dims.product(rest);
    return n && others ? c_.dims.floor_div(n, others) : DimId{};
  }

  // Dims that stand on both sides cancel; what is left is smaller than the limits of the pool. Returns false
  // where one of them may be 0 and that matters.
  bool cancel(Dims& before, Dims& rest, std::size_t unknown, bool nonzero) {
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(unknown));
    for (auto it = rest.begin(); it != rest.end();) {
      const auto same = std::find(before.begin(), before.end(), *it);
      if (same == before.end()) {
        ++it;
        continue;
      }
      if (!nonzero && c_.dims.equal(*it, c_.constant(0)) != Tri::No) return false;
      before.erase(same);
      it = rest.erase(it);
    }
    return true;
  }

  NodeContext& c_;
  Dims wanted_;
  bool allow_zero_;
  std::optional<DimId> count_;
};

}  // namespace

void reshape(NodeContext& c) {
  if (c.opset() > 0 && c.opset() < 5) {
    const auto given = c.attr_ints(names::shape);
    if (!given) return;
    Dims d;
    bool infer = false;
    std::size_t at = 0;
    for (std::size_t i = 0; i < given->size(); ++i) {
      const std::int64_t v = (*given)[i];
      d.push_back(v > 0 ? c.constant(v) : v == 0 && i < c.shape(0).size() ? c.shape(0)[i] : DimId{});
      if (v == -1) {
        infer = true;
        at = i;
      }
    }
    if (infer && c.ranked(0)) {
      Dims rest = d;
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(at));
      d[at] = c.dims.exact_div(c.dims.product(c.shape(0)), c.dims.product(rest), true);
    }
    return c.tensor(0, c.elem(0), d);
  }
  const DType elem = c.elem(0);
  const auto wanted = c.shape_operand(1);
  const std::int64_t given = c.opset() >= 14 ? c.attr_int(names::allowzero, 0) : 0;
  if (!wanted || given < 0 || given > 1) {  // runtimes differ about other numbers than 0 and 1
    if (elem != DType::Undefined) c.tensor(0, elem);
    return;
  }
  const bool allow_zero = given == 1;
  const Dims d = Target(c, *wanted, allow_zero).extents();
  std::optional<SymbolicTensor> value;
  if (const SymbolicTensor* t = c.sym(0)) {
    Ints numbers;
    for (const DimId k : d)
      if (const auto v = c.value(k)) numbers.push_back(*v);
    if (numbers.size() == d.size() && count_of(numbers) == static_cast<std::int64_t>(t->elements.size()))
      value = SymbolicTensor{t->dtype, numbers, t->elements};
  }
  if (elem != DType::Undefined) c.tensor(0, elem, d, value ? &*value : nullptr);
}

}  // namespace graphopt::rules
