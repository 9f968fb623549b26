#include "onnx/default_constants.h"

#include <algorithm>

#include "ir/reader_access.h"

namespace graphopt {

std::size_t count_defaults(const Model& m) {
  return static_cast<std::size_t>(
      std::ranges::count_if(m.graph_inputs(m.main()), [&m](ValueId v) { return m.value(v).is_initializer; }));
}

std::size_t take_defaults_for_constants(Model& m) {
  const std::size_t found = std::erase_if(ReaderAccess::graph(m, m.main()).inputs, [&m](ValueId v) {
    Value& value = ReaderAccess::value(m, v);
    if (!value.is_initializer) return false;
    value.is_input = false;
    value.info = {};
    value.declared = {};
    return true;
  });
  if (found == 0) return 0;
  m.ir_version = std::max(m.ir_version, kConstantsIrVersion);
  m.mark_dirty(m.main());
  return found;
}

}  // namespace graphopt
