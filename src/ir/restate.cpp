#include "ir/restate.h"

#include <cassert>

#include "ir/reader_access.h"

namespace graphopt {

void set_tensor(Model& m, ValueId v, TensorId t) {
  assert(m.value(v).is_initializer && !m.value(v).is_sparse);
  ReaderAccess::value(m, v).tensor = t;
  m.mark_dirty(m.value(v).graph);
}

void declare(Model& m, ValueId v, TypeId type) {
  assert(m.value(v).is_input && m.value(v).graph == m.main());
  ReaderAccess::value(m, v).declared = type;
  ReaderAccess::value(m, v).info = {};
  m.mark_dirty(m.main());
}

void rename(Model& m, GraphId g, NameId name) {
  ReaderAccess::graph(m, g).name = name;
  m.mark_dirty(g);
}

void drop_infos(Model& m) {
  for (std::size_t i = 0; i < m.value_count(); ++i) {
    const ValueId v{i};
    if (!m.alive(v) || m.value(v).is_input || m.is_graph_output(v) || m.value(v).info.data() == nullptr)
      continue;
    ReaderAccess::value(m, v).info_stale = true;
    m.mark_dirty(m.value(v).graph);
  }
}

void drop_annotations(Model& m) {
  for (std::size_t g = 0; g < m.graph_count(); ++g) {
    if (!m.graph(GraphId{g}).alive || m.graph(GraphId{g}).function) continue;
    ReaderAccess::graph(m, GraphId{g}).rest.clear();
    m.mark_dirty(GraphId{g});
  }
  m.rest.clear();
}

}  // namespace graphopt
