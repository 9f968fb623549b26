// See joined_constants.h.
#include "passes/joined_constants.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "ops/constants.h"

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
  std::vector<std::int64_t> dims = m.tensor(parts[0]).dims;
  std::int64_t outer = 1;
  for (std::size_t i = 0; i < axis; ++i) outer *= dims[i];
  dims[axis] = 0;
  std::size_t bytes = 0;
  std::vector<std::pair<Bytes, std::size_t>> payloads;  // each with its share of one outer index
  for (const TensorId t : parts) {
    const Bytes payload = *payload_of(m, t);
    payloads.emplace_back(payload, payload.size() / static_cast<std::size_t>(outer));
    bytes += payload.size();
    dims[axis] += m.tensor(t).dims[axis];
  }
  std::string joined;
  joined.reserve(bytes);
  for (std::int64_t i = 0; i < outer; ++i)
    for (const auto& [payload, share] : payloads)
      joined += payload.substr(static_cast<std::size_t>(i) * share, share);
  return m.make_tensor(m.tensor(parts[0]).dtype, dims, std::move(joined));
}

}  // namespace graphopt
