// What a file says beside the computation: value_info, doc strings, metadata, annotations.
//
// Lowers: bytes. Each kind goes alone if not all of them can go. Left alone: names, by which messages and
// tests know their places.

#include "ir/restate.h"
#include "reduce/strategies.h"

namespace graphopt {
namespace {

void drop_node_texts(Model& m) {
  for (std::size_t i = 0; i < m.node_count(); ++i)
    if (m.alive(NodeId{i}) && !m.is_return(NodeId{i})) m.set_bytes(NodeId{i}, {});
}

}  // namespace

void drop_texts(Session& s) {
  constexpr unsigned kInfos = 1, kGraphs = 2, kNodes = 4, kAll = 7;
  for (const unsigned what : {kAll, kInfos, kGraphs, kNodes}) {
    if (s.ended()) return;
    Edit e = s.edit();
    if ((what & kInfos) != 0) drop_infos(e.model);
    if ((what & kGraphs) != 0) drop_annotations(e.model);
    if ((what & kNodes) != 0) drop_node_texts(e.model);
    if (s.attempt(std::move(e)) && what == kAll) return;
  }
}

}  // namespace graphopt
