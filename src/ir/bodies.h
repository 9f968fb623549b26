// The graphs that belong to a node (bodies of If, Loop and Scan, at any depth) or to a function.
#pragma once

#include <algorithm>
#include <vector>

#include "ir/model.h"

namespace graphopt {

// Calls f for each graph in the attributes of n and of the nodes in these, a graph before those inside of it.
// What f calls may read the model, not change it.
template <class F> void for_each_body(const Model& m, NodeId n, F f) {
  std::vector<GraphId> bodies;
  const auto add = [&](NodeId owner) {
    for (const Attr& a : m.attrs(owner)) bodies.insert(bodies.end(), a.graphs.begin(), a.graphs.end());
  };
  add(n);
  while (!bodies.empty()) {
    const GraphId g = bodies.back();
    bodies.pop_back();
    f(g);
    for (NodeId inner = m.first_node(g); inner; inner = m.next_node(inner)) add(inner);
  }
}

// Calls f for each node of graph `root` and of the graphs inside of it. What f calls may read the model.
template <class F> void for_each_node(const Model& m, GraphId root, F f) {
  std::vector<GraphId> graphs{root};
  while (!graphs.empty()) {
    const GraphId g = graphs.back();
    graphs.pop_back();
    for (NodeId n = m.first_node(g); n; n = m.next_node(n)) {
      f(n);
      for (const Attr& a : m.attrs(n)) graphs.insert(graphs.end(), a.graphs.begin(), a.graphs.end());
    }
  }
}

// Returns whether n has bodies of its own.
inline bool has_bodies(const Model& m, NodeId n) {
  return std::ranges::any_of(m.attrs(n), [](const Attr& a) { return !a.graphs.empty(); });
}

// Returns whether g is the body of a function, or inside of one.
inline bool is_in_function(const Model& m, GraphId g) {
  while (m.graph(g).parent) g = m.graph(g).parent;
  return m.graph(g).function.valid();
}

}  // namespace graphopt
