#include "deploy/network_id.h"

#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>
#include <set>
#include <unordered_set>
#include <utility>
#include <vector>

#include "deploy/value_types.h"
#include "support/sha256.h"
#include "support/utf8.h"

namespace graphopt {
namespace {

constexpr std::uint32_t kNowhere = 0xFFFFFFFFu;
constexpr std::int64_t kFirstWithConstants = 4;        // the IR version: initializers that are no inputs
constexpr std::size_t kBuffer = std::size_t{1} << 16;  // bytes of text that are hashed at once

std::string json_string(std::string_view text, bool ascii) {
  const bool plain = std::ranges::all_of(text, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x20 && byte < 0x7F && c != '"' && c != '\\';
  });
  if (plain) return '"' + std::string(text) + '"';
  return nlohmann::json(text).dump(-1, ' ', ascii, nlohmann::json::error_handler_t::replace);
}

std::string hex_of(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  out.reserve(2 * bytes.size());
  for (const char c : bytes) {
    out += kDigits[static_cast<unsigned char>(c) >> 4];
    out += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return out;
}

std::string hex_of(float f) {
  const auto bits = std::bit_cast<std::uint32_t>(f);
  const char bytes[] = {static_cast<char>(bits), static_cast<char>(bits >> 8), static_cast<char>(bits >> 16),
                        static_cast<char>(bits >> 24)};  // as in a file: the least byte first
  return hex_of(std::string_view(bytes, sizeof bytes));
}

// Calls `item` for each of a list, with commas between.
template <class List, class Item> std::string joined(const List& list, std::string_view comma, Item item) {
  std::string out = "[";
  bool first = true;
  for (const auto& x : list) {
    if (!first) out += comma;
    first = false;
    out += item(x);
  }
  return out + ']';
}

// Types nest as deep as the reader allows, a hundred levels.
std::string type_text(const StatedType& type) {
  const auto inner = [&type] { return type.inner.empty() ? std::string("null") : type_text(type.inner[0]); };
  switch (type.kind) {
    case TypeKind::Tensor:
    case TypeKind::SparseTensor: {
      std::string out = type.kind == TypeKind::Tensor ? "[\"tensor_type\",\"" : "[\"sparse_tensor_type\",\"";
      out += deploy::enumerator(type.elem) + "\",";
      if (!type.has_rank) return out + "null]";
      return out +
             joined(type.dims, ",",
                    [](const StatedDim& d) -> std::string {
                      if (const auto* number = std::get_if<std::int64_t>(&d)) return std::to_string(*number);
                      const auto* name = std::get_if<std::string>(&d);
                      return name ? json_string(*name, false) : "null";
                    }) +
             ']';
    }
    case TypeKind::Sequence: return "[\"sequence_type\"," + inner() + ']';
    case TypeKind::Optional: return "[\"optional_type\"," + inner() + ']';
    case TypeKind::Map: return "[\"map_type\",\"" + deploy::enumerator(type.elem) + "\"," + inner() + ']';
    default: return "null";
  }
}

// What one text is about: a graph, or some nodes of the main graph.
struct View {
  GraphId graph;
  std::vector<ValueId> inputs = {}, outputs = {};
  bool is_part = false;  // only nodes that are marked belong to it
  bool is_main = false;  // the main graph: names of inputs and outputs are written
};

}  // namespace

struct NetworkIds::State {
  explicit State(const Model& model)
      : m(model),
        number(model.node_count(), kNowhere),
        position(model.value_count(), kNowhere),
        in_part(model.node_count()),
        visited(model.node_count(), 0),
        tensors(model.tensor_count()) {}

  std::string run(const View& view, const StatedTypes& stated);

  void put(std::string_view text) {
    buffer += text;
    if (buffer.size() < kBuffer) return;
    hash->add(buffer);
    buffer.clear();
  }
  // The file has such constants as nodes where it cannot have them as initializers: before IR version 4, and
  // in functions. There both forms count as initializers.
  bool is_constant_node(NodeId n) const {
    return constants_are_nodes && m.kind(n) == OpKind::Constant && m.constant_of(m.output(n, 0));
  }
  const std::string& tensor_hash(TensorId t);
  std::string reference(ValueId v, GraphId from);
  struct Frame {
    NodeId node;
    std::size_t next = 0;
  };
  void enter_bodies(NodeId n, std::vector<Frame>& stack);
  std::vector<NodeId> ordered(const View& view);
  void put_graph(const View& view);
  void put_inputs(const View& view);
  void put_node(NodeId n);
  void put_attribute(const Attr& a);
  void put_functions();
  void put_opsets(const OpsetTable& table, const std::unordered_set<NameId>* used);

  const Model& m;
  const StatedTypes* types = nullptr;
  bool constants_are_nodes = false;     // where the text is now
  std::vector<std::uint32_t> number;    // by node: in its graph's text
  std::vector<std::uint32_t> position;  // by value: among the inputs of its graph, or of the part
  std::vector<bool> in_part;            // by node
  std::vector<std::uint32_t> visited;   // by node: the last walk that met it
  std::uint32_t walk = 0;
  std::vector<std::string> tensors;    // by tensor: the hash, empty where it was not needed yet
  std::unordered_set<NameId> domains;  // of the operators that were written
  std::vector<FunctionId> functions;   // in the order of the first calls
  std::unordered_set<FunctionId> called;
  PayloadHashes* payloads = nullptr;
  Sha256* hash = nullptr;
  std::string buffer;
};

const std::string& NetworkIds::State::tensor_hash(TensorId t) {
  std::string& out = tensors[t.index()];
  if (!out.empty()) return out;
  const std::vector<std::string>* strings = m.strings(t);
  const auto raw = strings ? std::nullopt : m.raw(t);
  const Tensor& tensor = m.tensor(t);
  // Small ones are hashed sooner than found.
  constexpr std::size_t kShared = 1024;
  std::string* known = payloads && raw && raw->size() >= kShared ? &payloads->of(tensor, *raw) : nullptr;
  if (known && !known->empty()) return out = *known;
  Sha256 sha;
  sha.add("[\"" + deploy::enumerator(tensor.dtype) + "\", " +
          joined(tensor.dims, ", ", [](std::int64_t d) { return std::to_string(d); }) + "]");
  sha.add(std::string_view("\0", 1));
  if (strings)
    sha.add(joined(*strings, ", ", [](const std::string& s) {
      return is_utf8(s) ? json_string(s, true) : "[\"" + hex_of(s) + "\"]";
    }));
  else if (raw) sha.add(*raw);
  else sha.add(tensor.proto);  // a payload that nothing can read
  out = sha.hex();
  if (known) *known = out;
  return out;
}

// A value of an outer graph is wrapped once for each level between.
std::string NetworkIds::State::reference(ValueId v, GraphId from) {
  if (!v) return "null";
  const Value& value = m.value(v);
  std::string open, close;
  for (GraphId g = from; g != value.graph && m.graph(g).parent; g = m.graph(g).parent)
    open += "[\"o\",", close += ']';
  std::string inner;
  if (position[v.index()] != kNowhere) inner = "[\"i\"," + std::to_string(position[v.index()]) + ']';
  else if (value.def && !is_constant_node(value.def))
    inner =
        "[\"n\"," + std::to_string(number[value.def.index()]) + ',' + std::to_string(value.def_slot) + ']';
  else if (value.tensor) inner = "[\"w\",\"" + tensor_hash(value.tensor) + "\"]";
  else if (value.is_sparse) inner = "[\"s\",\"" + sha256_hex(value.sparse) + "\"]";
  else inner = "null";
  return open + inner + close;
}

// Puts the return nodes of a node's bodies, which stand for their outputs, on the walk's stack: by the names
// of the attributes, the first one on top.
void NetworkIds::State::enter_bodies(NodeId n, std::vector<Frame>& stack) {
  std::vector<std::pair<std::string_view, GraphId>> bodies;
  for (const Attr& a : m.attrs(n))
    for (const GraphId body : a.graphs) bodies.emplace_back(m.text(a.name), body);
  std::ranges::stable_sort(bodies, {}, &std::pair<std::string_view, GraphId>::first);
  for (std::size_t i = bodies.size(); i-- > 0;) stack.push_back({m.graph(bodies[i].second).ret});
}

// The nodes that the outputs need, in the order of a depth-first walk through operands, then through what the
// outputs of bodies need: dead nodes of a body read values in vain. Nodes in bodies are visited, not
// numbered.
std::vector<NodeId> NetworkIds::State::ordered(const View& view) {
  ++walk;
  std::vector<Frame> stack;
  std::vector<NodeId> out;
  const auto enter = [&](ValueId v) {
    const NodeId n = v ? m.value(v).def : NodeId{};
    if (!n || visited[n.index()] == walk) return;
    const GraphId g = m.node(n).graph;
    if (g == view.graph) {
      if (is_constant_node(n) || (view.is_part && !in_part[n.index()])) return;
      number[n.index()] = static_cast<std::uint32_t>(out.size());
      out.push_back(n);
    } else if (!m.inside(g, view.graph)) {
      return;
    }
    visited[n.index()] = walk;
    stack.push_back({n});
  };
  for (const ValueId v : view.outputs) {
    enter(v);
    while (!stack.empty()) {
      const NodeId n = stack.back().node;
      const std::size_t i = stack.back().next++;
      if (i < m.input_count(n)) {
        enter(m.input(n, i));
        continue;
      }
      stack.pop_back();
      if (!m.attrs(n).empty()) enter_bodies(n, stack);
    }
  }
  return out;
}

void NetworkIds::State::put_inputs(const View& view) {
  for (std::size_t i = 0; i < view.inputs.size(); ++i) {
    const ValueId v = view.inputs[i];
    std::string item = i == 0 ? "" : ",";
    item += '[';
    if (view.is_main) item += json_string(m.text(m.value(v).name), false) + ',';
    item += type_text(types->of(v));
    if (m.value(v).is_initializer && m.value(v).tensor) item += ",\"" + tensor_hash(m.value(v).tensor) + '"';
    put(item + ']');
  }
}

// Bodies nest as deep as the reader allows, a hundred levels.
void NetworkIds::State::put_graph(const View& view) {
  for (std::size_t i = 0; i < view.inputs.size(); ++i)
    position[view.inputs[i].index()] = static_cast<std::uint32_t>(i);
  const std::vector<NodeId> nodes = ordered(view);
  put("{\"inputs\":[");
  put_inputs(view);
  put("],\"nodes\":[");
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (i > 0) put(",");
    put_node(nodes[i]);
  }
  put("],\"outputs\":[");
  for (std::size_t i = 0; i < view.outputs.size(); ++i) {
    std::string item = i == 0 ? "[" : ",[";
    if (view.is_main) {
      const ValueId v = view.outputs[i];
      item += json_string(v ? m.text(m.value(v).name) : std::string_view(), false) + ',';
    }
    put(item + reference(view.outputs[i], view.graph) + ']');
  }
  put("]}");
  for (const NodeId n : nodes) number[n.index()] = kNowhere;
  for (const ValueId v : view.inputs) position[v.index()] = kNowhere;
}

void NetworkIds::State::put_node(NodeId n) {
  const Op& op = m.op(n);
  domains.insert(op.domain);
  if (op.function && called.insert(op.function).second) functions.push_back(op.function);
  put('[' + json_string(m.text(op.domain), false) + ',' + json_string(m.text(op.type), false) + ',' +
      json_string(m.text(op.overload), false) + ",[");
  std::vector<const Attr*> attributes;
  for (const Attr& a : m.attrs(n)) attributes.push_back(&a);
  std::ranges::sort(attributes, {}, [this](const Attr* a) { return m.text(a->name); });
  for (std::size_t i = 0; i < attributes.size(); ++i) {
    if (i > 0) put(",");
    put_attribute(*attributes[i]);
  }
  std::size_t inputs = m.input_count(n);
  while (inputs > 0 && !m.input(n, inputs - 1)) --inputs;  // trailing empty ones mean the same as none
  std::string rest = "],[";
  for (std::size_t i = 0; i < inputs; ++i)
    rest += (i == 0 ? "" : ",") + reference(m.input(n, i), m.node(n).graph);
  put(rest + "]," + std::to_string(m.output_count(n)) + ']');
}

void NetworkIds::State::put_attribute(const Attr& a) {
  const auto number_of = [](std::int64_t i) { return std::to_string(i); };
  put('[' + json_string(m.text(a.name), false) + ",\"");
  if (a.ref != NameId{} && a.ref != kEmptyName)
    return put("ref\"," + json_string(m.text(a.ref), false) + ']');
  const std::string kind = std::to_string(static_cast<int>(a.kind)) + "\",";
  switch (a.kind) {
    case AttrKind::Float: return put("float\",\"" + hex_of(a.f) + "\"]");
    case AttrKind::Floats: {
      std::string all;
      for (const float f : a.floats) all += hex_of(f);
      return put("floats\",\"" + all + "\"]");
    }
    case AttrKind::Int: return put(kind + std::to_string(a.i) + ']');
    case AttrKind::Ints: return put(kind + joined(a.ints, ",", number_of) + ']');
    case AttrKind::String: return put(kind + '"' + hex_of(a.s) + "\"]");
    case AttrKind::Strings:
      return put(kind + joined(a.strings, ",", [](Bytes s) { return '"' + hex_of(s) + '"'; }) + ']');
    case AttrKind::Tensor: return put("tensor\",\"" + tensor_hash(a.tensor) + "\"]");
    case AttrKind::Graph:
    case AttrKind::Graphs: {
      put(a.kind == AttrKind::Graph ? "graph\"," : "graphs\",[");
      for (std::size_t i = 0; i < a.graphs.size(); ++i) {
        if (i > 0) put(",");
        View body{.graph = a.graphs[i]};
        const auto inputs = m.graph_inputs(body.graph);
        body.inputs.assign(inputs.begin(), inputs.end());
        for (std::size_t k = 0; k < m.graph_output_count(body.graph); ++k)
          body.outputs.push_back(m.graph_output(body.graph, k));
        put_graph(body);
      }
      return put(a.kind == AttrKind::Graph ? "]" : "]]");
    }
    default: return put(kind + '"' + sha256_hex(a.proto) + "\"]");
  }
}

// Functions may call functions that follow.
void NetworkIds::State::put_functions() {
  for (std::size_t i = 0; i < functions.size(); ++i) {
    const Function& f = m.function(functions[i]);
    put(i == 0 ? ",\"local\":[[" : ",[");
    put(json_string(m.text(f.domain), false) + ',' + json_string(m.text(f.name), false) + ',' +
        json_string(m.text(f.overload), false) + ',' +
        joined(f.attributes, ",", [this](NameId a) { return json_string(m.text(a), false); }) + ",[");
    for (std::size_t k = 0; k < f.defaults.size(); ++k) {
      if (k > 0) put(",");
      put_attribute(f.defaults[k]);
    }
    put("],");
    put_opsets(m.opset_tables[m.graph(f.body).opsets], nullptr);
    put(",");
    View body{.graph = f.body};
    const auto inputs = m.graph_inputs(f.body);
    body.inputs.assign(inputs.begin(), inputs.end());
    for (std::size_t k = 0; k < m.graph_output_count(f.body); ++k)
      body.outputs.push_back(m.graph_output(f.body, k));
    put_graph(body);
    put("]");
  }
  if (!functions.empty()) put("]");
}

void NetworkIds::State::put_opsets(const OpsetTable& table, const std::unordered_set<NameId>* used) {
  std::set<std::pair<std::string_view, std::int64_t>> imports;
  for (const OpsetImport& o : table)
    if (used == nullptr || used->contains(o.domain)) imports.emplace(m.text(o.domain), o.version);
  put(joined(imports, ",", [](const auto& import) {
    return '[' + json_string(import.first, false) + ',' + std::to_string(import.second) + ']';
  }));
}

std::string NetworkIds::State::run(const View& view, const StatedTypes& stated) {
  types = &stated;
  Sha256 sha;
  hash = &sha;
  domains.clear();
  functions.clear();
  called.clear();
  put("{\"graph\":");
  constants_are_nodes = m.ir_version < kFirstWithConstants;
  put_graph(view);
  constants_are_nodes = true;
  const std::unordered_set<NameId> direct = domains;  // functions import operator sets themselves
  put_functions();
  put(",\"opset\":");
  put_opsets(m.opset_tables[0], &direct);
  put(",\"v\":1}");
  sha.add(buffer);
  buffer.clear();
  return "sha256:" + sha.hex();
}

NetworkIds::NetworkIds(const Model& m, PayloadHashes* shared) : s_(std::make_unique<State>(m)) {
  s_->payloads = shared;
}
NetworkIds::~NetworkIds() = default;

std::string NetworkIds::network(const StatedTypes& types) {
  const Model& m = s_->m;
  View view{.graph = m.main(), .is_main = true};
  const auto inputs = m.graph_inputs(m.main());
  view.inputs.assign(inputs.begin(), inputs.end());
  for (std::size_t i = 0; i < m.graph_output_count(m.main()); ++i)
    view.outputs.push_back(m.graph_output(m.main(), i));
  return s_->run(view, types);
}

std::string NetworkIds::content(const ModelPart& part, const StatedTypes& types) {
  View view{.graph = s_->m.main(), .inputs = part.inputs, .outputs = part.outputs, .is_part = true};
  for (const NodeId n : part.nodes) s_->in_part[n.index()] = true;
  std::string id = s_->run(view, types);
  for (const NodeId n : part.nodes) s_->in_part[n.index()] = false;
  return id;
}

}  // namespace graphopt
