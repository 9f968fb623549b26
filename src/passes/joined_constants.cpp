// See joined_constants.h.
#include "passes/joined_constants.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "ops/constants.h"
#include "support/known_names.h"

namespace graphopt {

bool may_be_copied(const Model& m, std::span<const TensorId> parts) {
  std::uint64_t left = kMostJoinedBytes;
  for (const TensorId t : parts) {
    const auto size = raw_size(m.tensor(t).dtype, static_cast<std::uint64_t>(m.tensor(t).elements))
                          .value_or(std::numeric_limits<std::uint64_t>::max());
    if (size > left) return false;
    left -= size;
  }
  return true;
}

bool have_payloads(const Model& m, std::span<const TensorId> parts) {
  return std::ranges::all_of(parts, [&m](TensorId t) { return payload_of(m, t).has_value(); });
}

TensorId join_constants(Model& m, std::span<const TensorId> parts, std::size_t axis) {
  std::vector<Tensor> tensors;
  for (const TensorId t : parts) tensors.push_back(unpacked(m, t).value());
  return join_tensors(m, tensors, axis);
}

TensorId join_tensors(Model& m, std::span<const Tensor> parts, std::size_t axis) {
  std::vector<const Tensor*> operands;
  for (const Tensor& t : parts) operands.push_back(&t);
  const Attr along = int_attribute(names::axis, static_cast<std::int64_t>(axis));
  Folded joined = evaluate(m, {OpKind::Concat, kNewestOpset, std::span(&along, 1)}, operands);
  return m.add_tensor(std::move(joined.results[0]));
}

}  // namespace graphopt
