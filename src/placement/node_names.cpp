#include "placement/node_names.h"

#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/bodies.h"
#include "support/utf8.h"

namespace graphopt {
namespace {

bool is_constant_of_body(const Model& m, NodeId n) {
  return m.kind(n) == OpKind::Constant && m.graph(m.node(n).graph).parent;
}

std::string made_name(const Model& m, NodeId n) {
  std::string out(m.text(m.op(n).type));
  for (const ValueId v : m.outputs(n))
    if (v && is_utf8(m.text(m.value(v).name))) return out + '_' + std::string(m.text(m.value(v).name));
  return out;
}

bool is_unnamed(const Model& m, NodeId n) {
  const NameId name = m.node(n).name;
  return !name || name == kEmptyName || !is_utf8(m.text(name));
}

}  // namespace

void name_nodes(Model& m) {
  std::unordered_set<NameId> taken;
  std::vector<NodeId> open;
  for (std::size_t i = 0; i < m.node_count(); ++i) {
    const NodeId n{static_cast<std::uint32_t>(i)};
    if (!m.alive(n) || m.is_return(n) || is_in_function(m, m.node(n).graph) || is_constant_of_body(m, n))
      continue;
    const NameId name = m.node(n).name;
    if (is_unnamed(m, n) || !taken.insert(name).second) open.push_back(n);
  }
  std::unordered_map<NameId, std::uint32_t> next;  // by base: the number to try
  for (const NodeId n : open) {
    const std::string base = is_unnamed(m, n) ? made_name(m, n) : std::string(m.text(m.node(n).name));
    NameId name = m.names.intern(base);
    std::uint32_t& number = next[name];
    while (!taken.insert(name).second) name = m.names.intern(base + '_' + std::to_string(++number));
    m.rename(n, name);
  }
}

}  // namespace graphopt
