#include "infer/multiply_adds.h"

#include <optional>
#include <vector>

#include "ops/attributes.h"
#include "ops/facts.h"
#include "ops/node_facts.h"

namespace graphopt {
namespace {

class Counter {
 public:
  Counter(Model& m, const Inference& inference) : m_(m), inference_(inference), dims_(m.dims) {}

  // None: the extents have no formula. Zero for a node that contracts nothing.
  DimId of(NodeId n) {
    const OpFacts& row = facts_of(m_, n);
    switch (row.pad) {
      case PadRule::MatMul: return times(elements(m_.output(n, 0)), last_dim(m_.input(n, 0)));
      case PadRule::Gemm: return times(elements(m_.output(n, 0)), summed_by_gemm(n));
      case PadRule::Convolution: return times(elements(m_.output(n, 0)), filter(n, row));
      case PadRule::TransposedConvolution: return times(elements(m_.input(n, 0)), filter(n, row));
      case PadRule::Recurrent: return recurrence(n);
      case PadRule::Attention: return row.domain.empty() ? attention(n) : DimId{};
      case PadRule::Einsum: return {};
      default: return dims_.constant(0);
    }
  }

 private:
  DimId times(DimId a, DimId b) { return a && b ? dims_.mul(a, b) : DimId{}; }
  DimId plus(DimId a, DimId b) { return a && b ? dims_.add(a, b) : DimId{}; }

  DimId product(std::span<const DimId> extents) {
    for (const DimId d : extents)
      if (!d) return {};
    return dims_.product(extents);
  }
  DimId elements(ValueId v) { return v && inference_.has_rank(v) ? product(inference_.dims(v)) : DimId{}; }
  DimId dim(ValueId v, std::size_t axis) const {
    return v && inference_.dims(v).size() > axis ? inference_.dims(v)[axis] : DimId{};
  }
  DimId last_dim(ValueId v) const {
    return v && !inference_.dims(v).empty() ? inference_.dims(v).back() : DimId{};
  }

  DimId summed_by_gemm(NodeId n) const {
    const std::optional<std::int64_t> turned = int_attr(m_, n, known_name("transA"));
    return turned ? dim(m_.input(n, 0), *turned == 0 ? 1 : 0) : DimId{};
  }

  // The elements of one filter: the weight without its first axis.
  DimId filter(NodeId n, const OpFacts& row) {
    for (std::size_t slot = 0; slot < m_.input_count(n); ++slot)
      if (role_of(row, slot) == Role::Weight) {
        const ValueId weight = m_.input(n, slot);
        if (!weight || inference_.dims(weight).empty()) return {};
        return product(inference_.dims(weight).subspan(1));
      }
    return {};
  }

  // X (length, batch, input) is multiplied with W and, step by step, the state with R, for each entry. The
  // two leading axes of X may have changed places.
  DimId recurrence(NodeId n) {
    const DimId entries = times(dim(m_.input(n, 0), 0), dim(m_.input(n, 0), 1));
    return times(entries, plus(elements(m_.input(n, 1)), elements(m_.input(n, 2))));
  }

  // Each query is multiplied with each key, and the weights with each value. Heads lie in an axis of their
  // own, or within the last one.
  DimId attention(NodeId n) {
    const ValueId query = m_.input(n, 0), key = m_.input(n, 1);
    if (!query || !key) return {};
    const std::size_t length = inference_.dims(key).size() == 4 ? 2 : 1;
    constexpr std::size_t kPastKey = 4;
    DimId keys = dim(key, length);
    if (m_.input_count(n) > kPastKey && m_.input(n, kPastKey))
      keys = plus(keys, dim(m_.input(n, kPastKey), 2));
    return times(plus(elements(query), elements(m_.output(n, 0))), keys);
  }

  Model& m_;
  const Inference& inference_;
  DimPool& dims_;
};

}  // namespace

MultiplyAdds multiply_adds(Model& m, const Inference& inference, std::span<const NodeId> nodes) {
  Counter counter(m, inference);
  MultiplyAdds out{.count = m.dims.constant(0)};
  for (const NodeId n : nodes) {
    const DimId one = counter.of(n);
    if (!one) ++out.unknown;
    else if (out.count) out.count = m.dims.add(out.count, one);
  }
  return out;
}

MultiplyAdds multiply_adds(Model& m, const Inference& inference) {
  std::vector<NodeId> nodes;
  for (NodeId n = m.first_node(m.main()); n; n = m.next_node(n)) nodes.push_back(n);
  return multiply_adds(m, inference, nodes);
}

}  // namespace graphopt
