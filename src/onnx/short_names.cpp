#include "onnx/short_names.h"

#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "ir/node_names.h"
#include "ir/reader_access.h"
#include "onnx/fields.h"
#include "onnx/wire.h"

namespace graphopt {
namespace {

bool keeps_name(const Model& m, ValueId v) {
  return m.value(v).is_input || m.value(v).pinned || m.is_graph_output(v);
}

class Shortener {
 public:
  Shortener(Model& m, bool keep_types) : m_(m), keep_types_(keep_types) {}

  void run() {
    find_kept();
    walk(m_.main());
    for (std::size_t f = 0; f < m_.function_count(); ++f)
      if (const GraphId body = m_.function(FunctionId{f}).body; body && m_.graph(body).alive) walk(body);
    drop_infos_of_nothing();
    if (!keep_types_) forget_places();
  }

 private:
  void find_kept() {
    for (std::size_t v = 0; v < m_.value_count(); ++v)
      if (m_.alive(ValueId{v}) && keeps_name(m_, ValueId{v}))
        kept_.insert(m_.text(m_.value(ValueId{v}).name));
  }

  // Returns the next name that no value has that keeps its own.
  NameId next(char kind, std::size_t& number) {
    std::string text;
    do text = kind + std::to_string(number++);
    while (kept_.contains(text));
    return m_.names.intern(text);
  }

  void name(ValueId v) {
    if (!v || keeps_name(m_, v)) return;
    const bool loses = !keep_types_ && loses_stated_type(m_, v);
    m_.rename(v, next('v', values_));
    if (!loses) return;
    ReaderAccess::value(m_, v).info = {};
    ReaderAccess::value(m_, v).declared = {};
  }

  // Names what is in a graph, and in the bodies of its nodes where these stand.
  void walk(GraphId root) {
    struct At {
      NodeId node;                  // whose bodies are next
      std::vector<GraphId> bodies;  // last to first
    };
    std::vector<At> open;
    const auto enter = [&](GraphId g) {
      for (const ValueId v : m_.graph(g).initializers)
        if (m_.alive(v)) name(v);
      open.push_back({m_.first_node(g), {}});
      if (open.back().node) name_node(open.back().node, open.back().bodies);
    };
    enter(root);
    while (!open.empty()) {
      At& at = open.back();
      if (!at.bodies.empty()) {
        const GraphId g = at.bodies.back();
        at.bodies.pop_back();
        enter(g);
        continue;
      }
      if (at.node) at.node = m_.next_node(at.node);
      if (at.node) name_node(at.node, at.bodies);
      else open.pop_back();
    }
  }

  void name_node(NodeId n, std::vector<GraphId>& bodies) {
    if (has_name(m_, n)) m_.rename(n, next('n', nodes_));
    for (const ValueId v : m_.outputs(n)) name(v);
    for (const Attr& a : m_.attrs(n)) bodies.insert(bodies.end(), a.graphs.rbegin(), a.graphs.rend());
  }

  // What the file states of names that no value has, or states twice.
  void drop_infos_of_nothing() {
    const auto is_info = [](Bytes whole, std::uint32_t number) {
      return wire::first_field(whole).number == number;
    };
    for (std::size_t g = 0; g < m_.graph_count(); ++g)
      std::erase_if(ReaderAccess::graph(m_, GraphId{g}).rest,
                    [&](Bytes whole) { return is_info(whole, field::graph::kValueInfo); });
    for (std::size_t f = 0; f < m_.function_count(); ++f)
      std::erase_if(ReaderAccess::function(m_, FunctionId{f}).rest,
                    [&](Bytes whole) { return is_info(whole, field::function::kValueInfo); });
  }

  // A value that is made under the name of one that is gone has its place in the list of types. Short names
  // are given anew, so whose place it would be is a matter of chance.
  void forget_places() {
    for (std::size_t v = 0; v < m_.value_count(); ++v)
      if (!m_.alive(ValueId{v})) ReaderAccess::value(m_, ValueId{v}).info = {};
  }

  Model& m_;
  const bool keep_types_;
  std::unordered_set<std::string_view> kept_;
  std::size_t values_ = 0, nodes_ = 0;
};

}  // namespace

void shorten_names(Model& m, bool keep_types) { Shortener(m, keep_types).run(); }

bool loses_stated_type(const Model& m, ValueId v) {
  const NodeId n = m.value(v).def;
  return !keeps_name(m, v) && !(n && m.kind(n) == OpKind::Opaque);
}

}  // namespace graphopt
