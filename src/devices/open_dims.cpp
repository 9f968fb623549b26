// See open_dims.h.
#include "devices/open_dims.h"

#include <algorithm>
#include <set>

#include "devices/support.h"

namespace graphopt {

OpenDims open_dims(const Model& m, const Inference& inference) {
  OpenDims out;
  std::set<DimId> named;  // those that --dim gives
  for (const ValueId v : m.graph_inputs(m.main())) {
    if (!inference.has_rank(v)) continue;
    const Type& declared = m.types[m.value(v).declared];
    const std::span<const DimId> dims = inference.dims(v);
    std::string shape;
    bool by_shape = false;
    for (std::size_t i = 0; i < dims.size(); ++i) {
      if (i > 0) shape += ',';
      if (const auto value = dims[i] ? m.dims.value(dims[i]) : std::nullopt) {
        shape += std::to_string(*value);
        continue;
      }
      if (dims[i])
        for (const DimId s : m.dims.symbols_of(m.dims.canonical(dims[i]))) out.symbols.push_back(s);
      const DimId said = declared.has_rank && i < declared.dims.size() ? declared.dims[i] : DimId{};
      if (said && m.dims.is_symbol(said)) {
        if (named.insert(said).second)
          out.remedies.push_back("--dim '" + std::string(m.dims.symbol_name(said)) + "=SIZE'");
        shape += "-1";
      } else {
        by_shape = true;
        shape += "SIZE";
      }
    }
    if (by_shape)
      out.remedies.push_back("--shape '" + std::string(m.text(m.value(v).name)) + '=' + shape + '\'');
  }
  std::ranges::sort(out.symbols);
  const auto rest = std::ranges::unique(out.symbols);
  out.symbols.erase(rest.begin(), rest.end());
  return out;
}

std::uint64_t nodes_for_fixed_shapes(const Profile& profile, Model& m, const Inference& inference,
                                     const OpenDims& open, const std::vector<bool>& taken) {
  if (profile.host || open.symbols.empty()) return 0;
  Support fixed(profile, m, inference, open.symbols);
  const std::vector<Verdict> then = fixed.check_all();
  std::uint64_t out = 0;
  for (NodeId n = m.first_node(m.main()); n; n = m.next_node(n))
    if (m.kind(n) != OpKind::Constant && !taken[n.index()] && then[n.index()].supported()) ++out;
  return out;
}

}  // namespace graphopt
