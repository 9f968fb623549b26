#include "numeric/probe.h"

#include <algorithm>
#include <array>

#include "ir/bodies.h"

namespace graphopt {

Probe::Probe(std::shared_ptr<Runtime> runtime, const Model& model, const Inference& inference,
             std::string folder)
    : runtime_(std::move(runtime)),
      model_(model),
      inference_(inference),
      folder_(std::move(folder)),
      parts_(model) {}

std::uint64_t Probe::bytes_of(ValueId v) const {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 40;
  const auto bits = static_cast<std::uint64_t>(std::max(8, bits_of(inference_.dtype(v))));
  std::uint64_t out = bits / 8;
  if (!inference_.has_rank(v)) return out * kOpenDim * kOpenDim;
  for (const DimId d : inference_.dims(v)) {
    const std::uint64_t extent = static_cast<std::uint64_t>(
        std::max<std::int64_t>(0, model_.dims.value(d).value_or(static_cast<std::int64_t>(kOpenDim))));
    if (extent > 0 && out > kMost / extent) return kMost;
    out *= extent;
  }
  return out;
}

ModelPart Probe::part_of(std::span<const ValueId> values) const {
  std::vector<NodeId> nodes, open;
  std::vector<bool> seen(model_.node_count());
  const auto need = [&](ValueId v) {
    const NodeId producer = v ? model_.value(v).def : NodeId();
    const NodeId n = producer ? model_.ancestor_in(model_.main(), producer) : NodeId();
    if (!n || seen[n.index()]) return;
    seen[n.index()] = true;
    nodes.push_back(n);
    open.push_back(n);
  };
  for (const ValueId v : values) need(v);
  const auto need_operands = [&](NodeId n) {
    for (std::size_t i = 0; i < model_.input_count(n); ++i) need(model_.input(n, i));
  };
  while (!open.empty()) {
    const NodeId n = open.back();
    open.pop_back();
    need_operands(n);
    for_each_body(model_, n, [&](GraphId g) {
      for (NodeId inner = model_.first_node(g); inner; inner = model_.next_node(inner)) need_operands(inner);
      for (std::size_t i = 0; i < model_.graph_output_count(g); ++i) need(model_.graph_output(g, i));
    });
  }
  ModelPart out = parts_.part_of(std::move(nodes));
  out.outputs.assign(values.begin(), values.end());
  return out;
}

Result<std::vector<std::vector<HostValue>>> Probe::run(std::span<const ValueId> values,
                                                       std::span<const std::vector<NamedValue>> feeds) {
  const ModelPart part = part_of(values);
  std::vector<TypeOverride> types;
  for (const ValueId v : values)
    if (const TypeId type = inference_.type(v)) types.push_back({v, type});
  SavedForRuntime saved;
  if (Status done = saved.save(model_, types, folder_, &part); !done) return done.errors();
  auto session = RuntimeSession::load(runtime_, saved.source());
  if (!session) return session.errors();
  std::vector<std::vector<HostValue>> out;
  for (const std::vector<NamedValue>& set : feeds) {
    auto results = (*session)->run(set);
    if (!results) return results.errors();
    out.push_back(*std::move(results));
  }
  return out;
}

}  // namespace graphopt
