#include "passes/counting.h"

#include <algorithm>
#include <vector>

#include "ops/attributes.h"
#include "ops/constants.h"
#include "ops/node_facts.h"

namespace graphopt {
namespace {

constexpr std::size_t kLongestCounting = 16;

std::optional<Counting> of_constant(const Model& m, TensorId t) {
  const auto elements = int_list(m, t);
  if (!elements || elements->empty()) return std::nullopt;
  const std::vector<std::int64_t>& dims = m.tensor(t).dims;
  const std::int64_t start = elements->front();
  if (std::ranges::all_of(*elements, [&](std::int64_t x) { return x == start; })) return Counting{start, {}};
  std::int64_t inner = 1;  // elements of an axis that follow each other with one index
  for (std::size_t axis = dims.size(); axis-- > 0; inner *= dims[axis]) {
    bool counts = true;
    for (std::size_t i = 0; counts && i < elements->size(); ++i) {
      std::int64_t expected = 0;
      const std::int64_t index = static_cast<std::int64_t>(i) / inner % dims[axis];
      counts = !__builtin_add_overflow(start, index, &expected) && (*elements)[i] == expected;
    }
    if (counts) return Counting{start, axis};
  }
  return std::nullopt;
}

// Returns the only axis that is not known to have extent 1; nothing where there are several.
std::optional<std::size_t> only_axis(const MatchContext& c, ValueId v) {
  std::optional<std::size_t> out;
  const auto dims = c.infer.dims(v);
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] && c.dims.is_constant(dims[i], 1)) continue;
    if (out) return std::nullopt;
    out = i;
  }
  return out;
}

class CountingWalk {
 public:
  explicit CountingWalk(const MatchContext& c) : c_(c), m_(c.model) {}

  std::optional<Counting> from(ValueId v) {
    std::vector<NodeId> way;  // downstream last
    for (; way.size() < kLongestCounting; v = m_.input(way.back(), operand(way.back()))) {
      if (!v) return std::nullopt;
      const TensorId t = m_.constant_of(v);
      const NodeId n = m_.value(v).def;
      if (!t && (!n || !attributes_known(m_, n))) return std::nullopt;
      if (auto found = t ? of_constant(m_, t) : source(n)) {
        while (found && !way.empty()) {
          found = through(way.back(), *found);
          way.pop_back();
        }
        return found;
      }
      if (t || m_.output_count(n) != 1 || m_.input_count(n) == 0) return std::nullopt;
      way.push_back(n);
    }
    return std::nullopt;
  }

 private:
  // The operand along which the walk goes on.
  std::size_t operand(NodeId n) const {
    return m_.kind(n) == OpKind::Add && m_.constant_of(m_.input(n, 0)) ? 1 : 0;
  }

  std::optional<Counting> source(NodeId n) const {
    if (m_.kind(n) == OpKind::Range) {
      const auto start = int_scalar(m_, m_.input(n, 0)), delta = int_scalar(m_, m_.input(n, 2));
      if (start && delta == 1) return Counting{*start, 0};
    }
    if (m_.kind(n) == OpKind::ConstantOfShape && has_attr(m_, n, names::value))
      if (const auto value = int_splat(m_, tensor_attr(m_, n, names::value))) return Counting{*value, {}};
    return std::nullopt;
  }

  std::optional<Counting> through(NodeId n, Counting counting) const {
    const ValueId x = m_.input(n, operand(n)), y = m_.output(n, 0);
    if (!c_.infer.has_rank(x) || !c_.infer.has_rank(y)) return std::nullopt;
    const OpKind kind = m_.kind(n);
    if (kind == OpKind::Identity) return counting;
    if (kind == OpKind::Cast) {
      const DType from = c_.infer.dtype(x), to = c_.infer.dtype(y);
      const bool widens = to == DType::Int64 && (from == DType::Int64 || from == DType::Int32);
      return widens ? std::optional(counting) : std::nullopt;
    }
    if (kind == OpKind::Add) {
      const auto more = int_scalar(m_, m_.input(n, 1 - operand(n)));
      if (!more || c_.infer.dims(x).size() != c_.infer.dims(y).size() ||
          __builtin_add_overflow(counting.start, *more, &counting.start))
        return std::nullopt;
      return counting;
    }
    if (kind == OpKind::Expand) return expanded(x, y, counting);
    if (facts_of(m_, n).cls != OpClass::Deformation) return std::nullopt;
    if (!counting.axis) return counting;
    // All elements are along one axis before and after.
    const auto from = only_axis(c_, x), to = only_axis(c_, y);
    if (from != counting.axis || !to) return std::nullopt;
    return Counting{counting.start, to};
  }

  std::optional<Counting> expanded(ValueId x, ValueId y, Counting counting) const {
    if (!counting.axis) return counting;
    const auto from = c_.infer.dims(x), to = c_.infer.dims(y);
    if (from.size() > to.size()) return std::nullopt;
    const DimId own = from[*counting.axis];
    *counting.axis += to.size() - from.size();
    const DimId now = to[*counting.axis];
    // An extent that was 1 and became another would repeat the start.
    return own && now && c_.dims.equal(own, now) == Tri::Yes ? std::optional(counting) : std::nullopt;
  }

  const MatchContext& c_;
  const Model& m_;
};

}  // namespace

std::optional<Counting> counting_of(const MatchContext& c, ValueId v) { return CountingWalk(c).from(v); }

}  // namespace graphopt
