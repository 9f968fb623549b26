#include "mapping/names.h"

namespace graphopt::mapping {

std::string name_of(const Side& side, Index op) {
  for (const Index v : side.outputs(op))
    if (v != kNone && !side.name(v).empty()) return std::string(side.name(v));
  return "#" + std::to_string(op);
}

std::string body_name(std::string_view attribute, std::size_t k) {
  return k == 0 ? std::string(attribute) : std::string(attribute) + "[" + std::to_string(k) + "]";
}

std::array<std::vector<std::string>, 2> prefixes_of(const Mapping& mapping) {
  std::array<std::vector<std::string>, 2> out;
  for (const Scope& scope : mapping.scopes)
    for (const std::size_t s : kSides) {
      if (!scope.outer) {
        out[s].emplace_back();
        continue;
      }
      const Scope& outer = mapping.scopes[*scope.outer];
      const std::string owner =
          s == 0 ? name_of(*outer.a, scope.owners.a) : name_of(*outer.b, scope.owners.b);
      out[s].push_back(out[s][*scope.outer] + owner + "/" + scope.attributes[s] + "/");
    }
  return out;
}

NodeId find_operator(const Model& m, std::string_view name) {
  struct Place {
    GraphId graph;
    std::string_view rest;  // of the name
  };
  std::vector<Place> open{{m.main(), name}};
  // Names may have '/': several ways to read one are tried, the graph itself before its bodies.
  while (!open.empty()) {
    const auto [graph, rest] = open.back();
    open.pop_back();
    for (NodeId n = m.first_node(graph); n; n = m.next_node(n))
      for (const ValueId v : m.outputs(n))
        if (v && m.text(m.value(v).name) == rest) return n;
    for (NodeId n = m.first_node(graph); n; n = m.next_node(n)) {
      const FunctionId called = m.op(n).function;
      const auto enter = [&](std::string_view owner, std::string_view attribute, GraphId body) {
        if (body && rest.size() > owner.size() + attribute.size() + 2 && rest.starts_with(owner) &&
            rest[owner.size()] == '/' && rest.substr(owner.size() + 1).starts_with(attribute) &&
            rest[owner.size() + attribute.size() + 1] == '/')
          open.push_back({body, rest.substr(owner.size() + attribute.size() + 2)});
      };
      for (const ValueId v : m.outputs(n)) {
        const std::string_view owner = v ? m.text(m.value(v).name) : std::string_view();
        if (owner.empty() || !rest.starts_with(owner)) continue;
        for (const Attr& a : m.attrs(n))
          for (std::size_t k = 0; k < a.graphs.size(); ++k)
            enter(owner, body_name(m.text(a.name), k), a.graphs[k]);
        if (called) enter(owner, m.text(m.op(n).type), m.function(called).body);
      }
    }
  }
  return {};
}

std::optional<GivenPair> find_pair(const Model& a, const Model& b, std::string_view text) {
  for (std::size_t at = text.find('='); at != text.npos; at = text.find('=', at + 1)) {
    const NodeId x = find_operator(a, text.substr(0, at)), y = find_operator(b, text.substr(at + 1));
    if (x && y) return GivenPair{x, y};
  }
  return std::nullopt;
}

}  // namespace graphopt::mapping
