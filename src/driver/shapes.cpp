#include "driver/shapes.h"

#include "driver/stages/stage.h"
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

}  // namespace graphopt
