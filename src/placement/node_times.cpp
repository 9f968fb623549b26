#include "placement/node_times.h"

#include <algorithm>
#include <cmath>

#include "infer/multiply_adds.h"
#include "rewrite/cost.h"

namespace graphopt {
namespace {

constexpr double kMostNs = 1099511627776.0;  // 2^40

struct Work {
  DType type = DType::Undefined;
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
  const double of_type = rate(work.type), of_rest = rate(DType::Undefined);
  if (const double flops = of_type > 0 ? of_type : of_rest; flops > 0) seconds = work.operations / flops;
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
