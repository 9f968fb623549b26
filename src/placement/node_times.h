// How long a node takes on a device, as far as the device's profile says.
//
// An estimate, for the question whether a subgraph is worth its launch and its borders: the larger of the
// arithmetic and the bytes that are read and written, over what the device does in a second, plus a fixed
// part (the roofline of Williams, Waterman and Patterson, CACM 52(4), 2009). A node that multiplies matrices
// (Conv, MatMul, Gemm ...) counts two operations per multiply-add, as infer/multiply_adds.h counts them; any
// other node counts one per element of its first result. A time that was measured, in the profile's table,
// takes its place.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "devices/profile.h"
#include "infer/infer.h"
#include "ir/model.h"

namespace graphopt {

// Returns true if the profile says how long nodes take. Without that for a device and the host, no time of
// the two is compared.
bool knows_costs(const Profile& profile);

// Returns the times in nanoseconds, by node, then by device; empty when the profile of no device has a
// `cost`. A node without known sizes takes the fixed part. Times above 2^40 ns count as that. Products of
// dims are interned in the model's pool; nothing else changes.
std::vector<std::uint64_t> node_times(Model& m, const Inference& inference, std::span<const Profile> devices,
                                      std::span<const NodeId> nodes);

}  // namespace graphopt
