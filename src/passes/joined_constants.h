// Constants that a rewrite joins into one: weights of products, rows of tables.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ir/model.h"
#include "ops/facts.h"
#include "ops/fold.h"

namespace graphopt {

// More than this is not joined: the result is a copy in memory.
inline constexpr std::uint64_t kMostJoinedBytes = std::uint64_t{1} << 30;

// Returns whether all of them together are small enough, by what they state about themselves.
bool may_be_copied(const Model& m, std::span<const TensorId> parts);
// Returns whether all of them have the bytes that their types and dims ask for. May read them from disk.
bool have_payloads(const Model& m, std::span<const TensorId> parts);

// Returns the constant that has them one after the other along `axis`. Precondition: they have payloads, and
// the same element type of whole bytes and the same dims but for that axis.
TensorId join_constants(Model& m, std::span<const TensorId> parts, std::size_t axis);
// The same for tensors that the model does not have, ready to be read.
TensorId join_tensors(Model& m, std::span<const Tensor> parts, std::size_t axis);

}  // namespace graphopt
