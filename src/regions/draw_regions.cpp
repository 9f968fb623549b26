// The drawing of --dot. It is for people and graphs of up to some hundred nodes, so constants are left out
// and texts are cut. Nodes and edges are in the order of the list of regions, so equal models give equal
// texts.
#include "regions/draw_regions.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "ir/type_text.h"
#include "support/dot_text.h"

namespace graphopt {
namespace {

class RegionDrawing {
 public:
  RegionDrawing(const Model& m, const Inference& inference, const RegionList& list, std::size_t file_nodes)
      : m_(m), inference_(inference), list_(list), file_nodes_(file_nodes), drawn_(m.value_count()) {}

  std::string run() {
    out_ =
        "digraph \"" + escaped_for_dot(m_.text(m_.graph(m_.main()).name)) + "\" {\n" +
        "  // A box is a region; filled nodes were made by passes; values in ovals are inputs and outputs.\n"
        "  rankdir=TB;\n"
        "  node [shape=box, style=rounded, fontname=\"Helvetica\", fontsize=10, margin=\"0.08,0.04\"];\n"
        "  edge [arrowsize=0.6];\n";
    for (const ValueId v : m_.graph_inputs(m_.main()))
      if (m_.use_count(v) > 0 && !m_.value(v).is_initializer) draw_terminal("in", v, inference_.type(v));
    std::vector<std::size_t> region(m_.node_count(), 0);
    for (std::size_t r = 0; r < list_.regions.size(); ++r)
      for (const NodeId n : list_.regions[r].members) region[n.index()] = r + 1;
    std::size_t open = 0;
    for (const NodeId n : list_.order) {
      const std::size_t r = region[n.index()];
      if (r != open && open > 0) out_ += "  }\n";
      if (r != open && r > 0) open_box(r - 1);
      open = r;
      draw_node(n, r > 0);
    }
    if (open > 0) out_ += "  }\n";
    for (const NodeId n : list_.order) draw_operands(n);
    for (std::size_t i = 0; i < m_.graph_output_count(m_.main()); ++i) {
      const ValueId v = m_.graph_output(m_.main(), i);
      if (!v) continue;
      draw_terminal("out", v, inference_.type(v));
      if (drawn_[v.index()]) out_ += "  " + source(v) + " -> out" + std::to_string(v.index()) + ";\n";
    }
    return out_ + "}\n";
  }

 private:
  static std::string id(NodeId n) { return "n" + std::to_string(n.index()); }
  std::string source(ValueId v) const {
    const NodeId def = m_.value(v).def;
    return def ? id(def) : "in" + std::to_string(v.index());
  }

  // An oval for an input or output of the graph.
  void draw_terminal(const char* kind, ValueId v, TypeId type) {
    if (!m_.value(v).def) drawn_[v.index()] = true;
    out_ += "  " + std::string(kind) + std::to_string(v.index()) + " [shape=oval, style=dashed, label=\"" +
            escaped_for_dot(m_.text(m_.value(v).name)) + "\\n" + escaped_for_dot(type_text(m_, type)) +
            "\"];\n";
  }

  void open_box(std::size_t r) {
    const NodeId anchor = list_.regions[r].anchor;
    const std::string label = anchor ? operator_name(m_, m_.node(anchor).op) : std::string("elementwise");
    out_ += "  subgraph cluster_" + std::to_string(r) + " {\n    label=\"" + std::to_string(r) + ": " +
            escaped_for_dot(label) +
            "\"; fontname=\"Helvetica\"; fontsize=9; color=\"#4060a0\"; style=rounded;\n";
  }

  void draw_node(NodeId n, bool boxed) {
    std::string types;
    std::size_t results = 0;
    for (const ValueId v : m_.outputs(n)) {
      if (!v) continue;
      drawn_[v.index()] = m_.kind(n) != OpKind::Constant;
      if (results++ == 0) types = escaped_for_dot(type_text(m_, inference_.type(v)));
    }
    if (m_.kind(n) == OpKind::Constant) return;
    if (results > 1) types += ", ... (" + std::to_string(results) + ")";
    out_ += std::string(boxed ? "    " : "  ") + id(n) + " [label=\"" +
            escaped_for_dot(operator_name(m_, m_.node(n).op)) + "\\n" + types + '"';
    if (n.index() >= file_nodes_) out_ += ", style=\"rounded,filled\", fillcolor=\"#ffe0a0\"";
    out_ += "];\n";
  }

  // Draws the edges from the producers of the operands of n, one for all operands of one producer with their
  // number, and dashed ones to nodes whose bodies read results of n.
  void draw_operands(NodeId n) {
    if (m_.kind(n) == OpKind::Constant) return;
    std::vector<std::pair<std::string, std::size_t>> from;
    for (std::size_t i = 0; i < m_.input_count(n); ++i) {
      const ValueId v = m_.input(n, i);
      if (!v || !drawn_[v.index()]) continue;
      const std::string at = source(v);
      const auto known = std::ranges::find(from, at, &std::pair<std::string, std::size_t>::first);
      if (known == from.end()) from.emplace_back(at, 1);
      else ++known->second;
    }
    for (const auto& [at, count] : from)
      out_ += "  " + at + " -> " + id(n) +
              (count > 1 ? " [label=\" " + std::to_string(count) + "\", fontsize=8]" : "") + ";\n";
    for (const ValueId v : m_.outputs(n)) {
      std::vector<NodeId> holders;
      for (UseId u = v ? m_.first_use(v) : UseId{}; u; u = m_.next_use(u))
        if (m_.node(m_.user(u)).graph != m_.main())
          if (const NodeId holder = m_.ancestor_in(m_.main(), m_.user(u))) holders.push_back(holder);
      std::ranges::sort(holders);
      const auto rest = std::ranges::unique(holders);
      holders.erase(rest.begin(), rest.end());
      for (const NodeId holder : holders) out_ += "  " + id(n) + " -> " + id(holder) + " [style=dashed];\n";
    }
  }

  const Model& m_;
  const Inference& inference_;
  const RegionList& list_;
  std::size_t file_nodes_;
  std::vector<bool> drawn_;  // by value: its producer is in the drawing
  std::string out_;
};

}  // namespace

std::string draw_regions(const Model& m, const Inference& inference, const RegionList& list,
                         std::size_t file_nodes) {
  return RegionDrawing(m, inference, list, file_nodes).run();
}

}  // namespace graphopt
