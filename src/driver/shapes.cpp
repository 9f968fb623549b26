#include "driver/shapes.h"

namespace graphopt {

Bindings bindings_of(const Options& options) {
  Bindings out;
  for (const ShapeOption& s : options.shapes) out.shapes.push_back({s.input, s.dims});
  for (const DimOption& d : options.dims) out.symbols.push_back({d.symbol, d.low, d.high});
  return out;
}

}  // namespace graphopt
