// The drawing of --dot for a partitioned model: a box per subgraph in the colour of its device, and what
// crosses borders on the edges. More than kMostNodes nodes would be unreadable, so then a subgraph is one
// node. Nodes and edges are in the order of the partition, so equal models give equal texts.
#include <map>
#include <utility>
#include <vector>

#include "deploy/make_manifest.h"
#include "deploy/partitioned.h"
#include "ir/type_text.h"
#include "rewrite/cost.h"
#include "support/dot_text.h"

namespace graphopt {
namespace {

using partition::Index;

constexpr std::size_t kMostNodes = 100;
// Light enough for black text, and apart for most colour-blind readers (after Okabe and Ito, "Color Universal
// Design", 2008). The host is grey; a tenth accelerator has the first one's colour again.
constexpr const char* kColours[] = {"#a6d5f7", "#fbd28a", "#9fe0c8", "#f4b8d5", "#f7ee9d",
                                    "#b3c7e6", "#f2b799", "#cfe3a1", "#d7c2ea"};
constexpr const char* kHostColour = "#e4e4e4";

class PartitionDrawing {
 public:
  PartitionDrawing(const Model& m, const Inference& inference, const Partitioned& p)
      : m_(m), inference_(inference), p_(p), whole_(p.placement.nodes.size() > kMostNodes) {}

  std::string run() {
    out_ = "digraph \"" + escaped_for_dot(m_.text(m_.graph(m_.main()).name)) + "\" {\n";
    out_ += whole_ ? "  // A node is a subgraph; a number on an edge counts values.\n"
                   : "  // A box is a subgraph; bold edges cross its border.\n";
    out_ +=
        "  rankdir=TB;\n"
        "  node [shape=box, style=\"rounded,filled\", fontname=\"Helvetica\", fontsize=10, "
        "margin=\"0.08,0.04\"];\n"
        "  edge [arrowsize=0.6, fontname=\"Helvetica\", fontsize=8];\n";
    for (std::size_t s = 0; s < p_.parts.size(); ++s) draw_subgraph(s);
    if (whole_) draw_borders();
    else draw_edges();
    return out_ + "}\n";
  }

 private:
  std::string colour(std::size_t s) const {
    const Index device = p_.partition.devices[s];
    return p_.devices[device].host ? kHostColour : kColours[device % std::size(kColours)];
  }
  static std::string id(NodeId n) { return "n" + std::to_string(n.index()); }
  Index subgraph_of(Index node) const { return p_.partition.subgraph_of[node]; }

  void draw_subgraph(std::size_t s) {
    const std::string title =
        deploy::subgraph_name(s) + ": " + escaped_for_dot(p_.devices[p_.partition.devices[s]].id);
    const std::string fill = ", fillcolor=\"" + colour(s) + "\"];\n";
    if (whole_) {
      const std::size_t nodes = p_.parts[s].nodes.size();
      out_ += "  " + deploy::subgraph_name(s) + " [label=\"" + title + "\\n" + std::to_string(nodes) +
              (nodes == 1 ? " node\"" : " nodes\"") + fill;
      return;
    }
    out_ += "  subgraph cluster_" + std::to_string(s) + " {\n    label=\"" + title +
            "\"; fontname=\"Helvetica\"; fontsize=9; style=rounded;\n";
    for (const NodeId n : p_.parts[s].nodes)
      out_ += "    " + id(n) + " [label=\"" + escaped_for_dot(operator_name(m_, m_.node(n).op)) + "\\n" +
              escaped_for_dot(m_.text(m_.node(n).name)) + '"' + fill;
    out_ += "  }\n";
  }

  std::string bytes_text(ValueId v) const {
    const auto bytes = value_bytes(m_, inference_, v);
    return bytes ? std::to_string(*bytes) + " B" : escaped_for_dot(type_text(m_, inference_.type(v)));
  }

  void draw_edges() {
    const partition::Problem& problem = p_.placement.problem;
    for (std::size_t i = 0; i < problem.values.size(); ++i) {
      const Index from = problem.values[i].producer;
      for (const Index reader : problem.readers[i]) {
        out_ += "  " + id(p_.placement.nodes[from]) + " -> " + id(p_.placement.nodes[reader]);
        if (subgraph_of(from) != subgraph_of(reader))
          out_ += " [style=bold, label=\" " + bytes_text(p_.placement.values[i]) + "\"]";
        out_ += ";\n";
      }
    }
  }

  // One edge for all values from one subgraph to another.
  void draw_borders() {
    struct Border {
      std::size_t values = 0;
      std::uint64_t bytes = 0;
      bool known = true;
    };
    std::map<std::pair<Index, Index>, Border> borders;
    const partition::Problem& problem = p_.placement.problem;
    for (std::size_t i = 0; i < problem.values.size(); ++i) {
      const Index from = subgraph_of(problem.values[i].producer);
      std::vector<Index> to;
      for (const Index reader : problem.readers[i])
        if (subgraph_of(reader) != from) to.push_back(subgraph_of(reader));
      std::ranges::sort(to);
      const auto rest = std::ranges::unique(to);
      to.erase(rest.begin(), rest.end());
      for (const Index t : to) {
        Border& border = borders[{from, t}];
        ++border.values;
        border.bytes += problem.values[i].bytes;
        border.known &= p_.placement.known_size[i];
      }
    }
    for (const auto& [ends, border] : borders)
      out_ += "  " + deploy::subgraph_name(ends.first) + " -> " + deploy::subgraph_name(ends.second) +
              " [label=\" " + std::to_string(border.values) +
              (border.known ? ", " + std::to_string(border.bytes) + " B" : "") + "\"];\n";
  }

  const Model& m_;
  const Inference& inference_;
  const Partitioned& p_;
  const bool whole_;  // subgraphs are nodes
  std::string out_;
};

}  // namespace

std::string draw_partition(const Model& m, const Inference& inference, const Partitioned& p) {
  return PartitionDrawing(m, inference, p).run();
}

}  // namespace graphopt
