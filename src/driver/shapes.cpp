#include "driver/shapes.h"

#include <algorithm>

#include "driver/stages/stage.h"
#include "specialize/border_types.h"
#include "specialize/written_types.h"

namespace graphopt {

Bindings bindings_of(const InferStage::Options& options) {
  Bindings out;
  for (const ShapeOption& s : options.shapes) out.shapes.push_back({s.input, s.dims});
  for (const DimOption& d : options.dims) out.symbols.push_back({d.symbol, d.low, d.high});
  return out;
}

std::vector<TypeOverride> saved_types(const Options& options, Work& work) {
  if (!work.inference) return {};
  return written_types(work.model, *work.inference,
                       {.specialized = specializes(bindings_of(options.infer)),
                        .all = options.infer.write_types,
                        .passes_ran = is_wanted(Stage::CleanUp, options),
                        .file_values = work.file_values});
}

std::vector<TypeOverride> part_types(Work& work, const ModelPart& part, std::span<const TypeOverride> saved) {
  std::vector<TypeOverride> types = border_types(work.model, *work.inference, part);
  std::vector<ValueId> borders;
  for (const TypeOverride& t : types) borders.push_back(t.value);
  std::ranges::sort(borders);
  std::ranges::copy_if(saved, std::back_inserter(types),
                       [&](const TypeOverride& t) { return !std::ranges::binary_search(borders, t.value); });
  return types;
}

}  // namespace graphopt
