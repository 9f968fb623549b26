#include "placement/node_times.h"

#include <algorithm>
#include <cmath>

#include "devices/qdq_group.h"
#include "infer/multiply_adds.h"
#include "rewrite/cost.h"

namespace graphopt {
namespace {

constexpr double kMostNs = 1099511627776.0;  // 2^40

struct Work {
  DType type = DType::Undefined;
  DType quantized = DType::Undefined;  // of an operand, as it is before DequantizeLinear, in a QDQ group
  double operations = 0, bytes = 0;
};

double elements_of(const Model& m, const Inference& inference, ValueId v) {
  if (!inference.has_rank(v)) return 0;
  double count = 1;
  for (const DimId d : inference.dims(v)) {
    const auto extent = d ? m.dims.value(d) : std::nullopt;
    if (!extent) return 0;
    count *= static_cast<double>(*extent);
  }
  return count;
}

// Multiplications and additions; nothing for a node that multiplies no matrices, or without known sizes.
double products_of(Model& m, const Inference& inference, NodeId n) {
  const MultiplyAdds found = multiply_adds(m, inference, std::span(&n, 1));
  const auto count = found.count && found.unknown == 0 ? m.dims.value(found.count) : std::nullopt;
  return 2 * static_cast<double>(count.value_or(0));
}

// The type in which a device computes a node that is inside a QDQ group; undefined for others.
DType quantized_type(const Model& m, const Inference& inference, NodeId n) {
  if (!reads_dequantized(m, n) || outside_qdq_group(m, inference, n)) return DType::Undefined;
  for (std::size_t i = 0; i < m.input_count(n); ++i)
    if (const NodeId from = dequantizer(m, m.input(n, i))) return inference.dtype(m.input(from, 0));
  return DType::Undefined;
}

Work work_of(Model& m, const Inference& inference, NodeId n) {
  Work work;
  const auto add_bytes = [&](ValueId v) {
    if (!v) return;
    work.bytes += static_cast<double>(value_bytes(m, inference, v).value_or(0));
  };
  for (std::size_t i = 0; i < m.input_count(n); ++i) add_bytes(m.input(n, i));
  for (const ValueId v : m.outputs(n)) add_bytes(v);
  const ValueId result = m.output(n, 0);
  if (!result) return work;
  work.type = inference.dtype(result);
  work.quantized = quantized_type(m, inference, n);
  work.operations = std::max(elements_of(m, inference, result), products_of(m, inference, n));
  return work;
}

std::uint64_t time_on(const Profile& profile, std::string_view name, const Work& work) {
  if (!profile.cost) return 0;
  const DeviceCost& cost = *profile.cost;
  if (const auto measured = cost.measured.find(name); !name.empty() && measured != cost.measured.end())
    return static_cast<std::uint64_t>(std::min(static_cast<double>(measured->second), kMostNs));
  double seconds = 0;
  const auto rate = [&](DType t) {
    const auto it = std::ranges::find(cost.flops_per_s, t, [](const auto& entry) { return entry.first; });
    return it == cost.flops_per_s.end() ? 0.0 : static_cast<double>(it->second);
  };
  double flops = work.quantized == DType::Undefined ? 0 : rate(work.quantized);
  if (flops == 0) flops = rate(work.type);
  if (flops == 0) flops = rate(DType::Undefined);  // '*', the rest
  if (flops > 0) seconds = work.operations / flops;
  if (cost.memory_bytes_per_s && *cost.memory_bytes_per_s > 0)
    seconds = std::max(seconds, work.bytes / static_cast<double>(*cost.memory_bytes_per_s));
  const double ns = std::ceil(seconds * 1e9) + static_cast<double>(cost.node_ns.value_or(0));
  return static_cast<std::uint64_t>(std::min(ns, kMostNs));
}

}  // namespace

bool knows_costs(const Profile& p) {
  return p.cost && (!p.cost->flops_per_s.empty() || p.cost->memory_bytes_per_s || p.cost->node_ns ||
                    !p.cost->measured.empty());
}

std::vector<std::uint64_t> node_times(Model& m, const Inference& inference, std::span<const Profile> devices,
                                      std::span<const NodeId> nodes) {
  if (std::ranges::none_of(devices, [](const Profile& p) { return p.cost.has_value(); })) return {};
  std::vector<std::uint64_t> out;
  out.reserve(nodes.size() * devices.size());
  for (const NodeId n : nodes) {
    const Work work = work_of(m, inference, n);
    for (const Profile& p : devices) out.push_back(time_on(p, m.text(m.node(n).name), work));
  }
  return out;
}

}  // namespace graphopt
