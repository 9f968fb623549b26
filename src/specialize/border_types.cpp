#include "specialize/border_types.h"

#include "specialize/map_dims.h"

namespace graphopt {

std::vector<TypeOverride> border_types(Model& m, const Inference& inference, const ModelPart& part) {
  std::vector<TypeOverride> out;
  const auto add = [&](ValueId v) {
    const Value& value = m.value(v);
    if (value.is_input || m.types[inference.type(v)].kind == TypeKind::Unknown) return;
    out.push_back({v, without_made_names(m, inference.type(v)), true});
  };
  for (const ValueId v : part.inputs) add(v);
  for (const ValueId v : part.outputs)
    if (!m.is_graph_output(v)) add(v);
  return out;
}

}  // namespace graphopt
