// ONNX text from the IR, without recursion over nested graphs: an explicit stack holds what is still to be
// written.

#include "ir/print.h"

#include <bit>
#include <charconv>
#include <cstring>

namespace graphopt {
namespace {

class Printer {
 public:
  Printer(const Model& m, std::size_t max_elements) : m_(m), max_elements_(max_elements) {}

  void model() {
    out_ += "<ir_version: " + std::to_string(m_.ir_version) + ", opset_import: [";
    const char* sep = "";
    for (const OpsetImport& o : m_.opset_tables[0]) {
      out_ += sep + string_literal(m_.text(o.domain)) + " : " + std::to_string(o.version);
      sep = ", ";
    }
    out_ += "]>\n";
    graph(m_.main(), "");
    for (std::uint32_t g = 0; g < m_.graph_count(); ++g) {
      const Graph& body = m_.graph(GraphId{g});
      if (!body.alive || !body.function) continue;
      const Function& f = m_.function(body.function);
      out_ += "\n<domain: " + string_literal(m_.text(f.domain)) + ">\n";
      function_head(f);
      nodes(GraphId{g}, "");
    }
  }

  void graph(GraphId g, const std::string& indent) {
    const Graph& graph = m_.graph(g);
    out_ += graph.name == kEmptyName || !graph.name ? "g" : std::string(m_.text(graph.name));
    out_ += " (";
    list(graph.inputs);
    out_ += ") => (";
    std::vector<ValueId> outs;
    for (std::size_t i = 0; i < m_.graph_output_count(g); ++i) outs.push_back(m_.graph_output(g, i));
    list(outs);
    out_ += ")\n";
    initializers(graph, indent);
    nodes(g, indent);
  }

  std::string take() { return std::move(out_); }

 private:
  static std::string string_literal(std::string_view s) {
    std::string out = "\"";
    for (const char c : s) {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
    return out + "\"";
  }

  std::string name(ValueId v) const { return v ? std::string(m_.text(m_.value(v).name)) : "\"\""; }

  std::string type(TypeId id) const {
    const Type& t = m_.types[id];
    switch (t.kind) {
      case TypeKind::Tensor: return std::string(dtype_name(t.elem)) + dims(t);
      case TypeKind::SparseTensor: return "sparse_tensor(" + std::string(dtype_name(t.elem)) + dims(t) + ")";
      case TypeKind::Sequence: return "seq(" + type(t.inner) + ")";
      case TypeKind::Optional: return "optional(" + type(t.inner) + ")";
      case TypeKind::Map: return "map(" + std::string(dtype_name(t.elem)) + ", " + type(t.inner) + ")";
      case TypeKind::Unknown:
      case TypeKind::Opaque: break;
    }
    return "";
  }

  std::string dims(const Type& t) const {
    if (!t.has_rank) return "";
    std::string out = "[";
    for (const DimId d : t.dims) {
      if (out.size() > 1) out += ",";
      out += d ? m_.dims.print(d) : "?";
    }
    return out + "]";
  }

  void list(std::span<const ValueId> values) {
    const char* sep = "";
    for (const ValueId v : values) {
      const std::string t = v ? type(m_.value(v).declared) : "";
      out_ += sep + t + (t.empty() ? "" : " ") + name(v);
      sep = ", ";
    }
  }

  void function_head(const Function& f) {
    out_ += std::string(m_.text(f.name)) + " (";
    const char* sep = "";
    for (const ValueId v : m_.graph_inputs(f.body)) {
      out_ += sep + name(v);
      sep = ", ";
    }
    out_ += ") => (";
    sep = "";
    for (std::size_t i = 0; i < m_.graph_output_count(f.body); ++i) {
      out_ += sep + name(m_.graph_output(f.body, i));
      sep = ", ";
    }
    out_ += ")\n";
  }

  void initializers(const Graph& graph, const std::string& indent) {
    const char* sep = "";
    bool any = false;
    for (const ValueId v : graph.initializers) {
      const Value& value = m_.value(v);
      if (!value.alive || !value.tensor) continue;
      out_ += any ? sep : indent + "<";
      any = true;
      sep = ", ";
      out_ += tensor(value.tensor, name(v));
    }
    if (any) out_ += ">\n";
  }

  std::string tensor(TensorId id, const std::string& label) const {
    const Tensor& t = m_.tensor(id);
    std::string out{dtype_name(t.dtype)};
    out += "[";
    for (std::size_t i = 0; i < t.dims.size(); ++i) out += (i ? "," : "") + std::to_string(t.dims[i]);
    out += "]" + (label.empty() ? "" : " " + label);
    if (static_cast<std::uint64_t>(t.elements) > max_elements_) return out;
    out += " = {";
    for (std::int64_t i = 0; i < t.elements; ++i)
      out += (i ? ", " : "") + element(id, static_cast<std::size_t>(i));
    return out + "}";
  }

  template <class T> static T load(Bytes raw, std::size_t i) {
    T v;
    std::memcpy(&v, raw.data() + i * sizeof(T), sizeof(T));
    return v;
  }

  template <class T> static std::string number(T v) {
    char text[64];
    const auto [end, ec] = std::to_chars(text, text + sizeof text, v);
    return ec == std::errc{} ? std::string(text, end) : "?";
  }

  std::string element(TensorId id, std::size_t i) const {
    const Tensor& t = m_.tensor(id);
    if (const auto* strings = m_.strings(id))
      return i < strings->size() ? string_literal((*strings)[i]) : "?";
    const auto raw = m_.raw(id);
    const std::size_t bits = static_cast<std::size_t>(bits_of(t.dtype));
    if (!raw || bits == 0 || (i + 1) * bits > raw->size() * 8) return "?";
    switch (t.dtype) {
      case DType::Float: return number(load<float>(*raw, i));
      case DType::Double: return number(load<double>(*raw, i));
      case DType::Int64: return number(load<std::int64_t>(*raw, i));
      case DType::Int32: return number(load<std::int32_t>(*raw, i));
      case DType::UInt64: return number(load<std::uint64_t>(*raw, i));
      case DType::UInt32: return number(load<std::uint32_t>(*raw, i));
      case DType::Int16: return number(load<std::int16_t>(*raw, i));
      case DType::UInt16:
      case DType::Float16:
      case DType::BFloat16:
        return number(load<std::uint16_t>(*raw, i));  // as ONNX text does: bits as a number
      case DType::Int8: return number(static_cast<int>(load<std::int8_t>(*raw, i)));
      case DType::UInt8:
      case DType::Bool: return number(static_cast<int>(load<std::uint8_t>(*raw, i)));
      default: return "?";
    }
  }

  std::string attribute(const Attr& a) const {
    const auto join = [](const auto& items, auto text) {
      std::string out = "[";
      for (std::size_t i = 0; i < items.size(); ++i) out += (i ? ", " : "") + text(items[i]);
      return out + "]";
    };
    if (a.ref) return "@" + std::string(m_.text(a.ref));
    switch (a.kind) {
      case AttrKind::Int: return number(a.i);
      case AttrKind::Float: return float_text(a.f);
      case AttrKind::String: return string_literal(a.s);
      case AttrKind::Ints: return join(a.ints, [](std::int64_t v) { return number(v); });
      case AttrKind::Floats: return join(a.floats, [](float v) { return float_text(v); });
      case AttrKind::Strings: return join(a.strings, [](Bytes s) { return string_literal(s); });
      case AttrKind::Tensor: return a.tensor ? tensor(a.tensor, "") : "\"?\"";
      default: return "\"(not shown)\"";
    }
  }

  static std::string float_text(float f) {
    std::string s = number(f);
    return s.find_first_of(".en") == std::string::npos ? s + ".0" : s;  // an integer would read as one
  }

  void nodes(GraphId g, const std::string& first_indent) {
    struct Frame {
      NodeId next;
      std::string indent;
      std::vector<GraphId> pending;  // subgraphs of the node before `next` that are still to be written
      std::vector<NameId> pending_names;
    };
    std::vector<Frame> stack;
    out_ += first_indent + "{\n";
    stack.push_back({m_.first_node(g), first_indent + "  ", {}, {}});
    while (!stack.empty()) {
      Frame& f = stack.back();
      if (!f.pending.empty()) {
        const GraphId inner = f.pending.back();
        f.pending.pop_back();
        out_ += f.indent + "# " + std::string(m_.text(f.pending_names.back())) + " =\n";
        f.pending_names.pop_back();
        const std::string indent = f.indent + "  ";
        const Graph& graph = m_.graph(inner);
        out_ +=
            indent + (graph.name && graph.name != kEmptyName ? std::string(m_.text(graph.name)) : "g") + " (";
        list(graph.inputs);
        out_ += ") => (";
        std::vector<ValueId> outs;
        for (std::size_t i = 0; i < m_.graph_output_count(inner); ++i)
          outs.push_back(m_.graph_output(inner, i));
        list(outs);
        out_ += ")\n";
        initializers(graph, indent);
        out_ += indent + "{\n";
        stack.push_back({m_.first_node(inner), indent + "  ", {}, {}});
        continue;
      }
      if (!f.next) {
        out_ += f.indent.substr(0, f.indent.size() - 2) + "}\n";
        stack.pop_back();
        continue;
      }
      const NodeId n = f.next;
      f.next = m_.next_node(n);
      node(n, f.indent);
      for (const Attr& a : m_.attrs(n))
        for (const GraphId inner : a.graphs) {
          f.pending.insert(f.pending.begin(), inner);
          f.pending_names.insert(f.pending_names.begin(), a.name);
        }
    }
  }

  void node(NodeId n, const std::string& indent) {
    out_ += indent;
    const char* sep = "";
    for (const ValueId v : m_.outputs(n)) {
      out_ += sep + name(v);
      sep = ", ";
    }
    const Op& op = m_.op(n);
    out_ += " = ";
    if (op.domain != kEmptyName) out_ += std::string(m_.text(op.domain)) + ".";
    out_ += m_.text(op.type);
    sep = " <";
    for (const Attr& a : m_.attrs(n)) {
      if (!a.graphs.empty()) continue;
      out_ += sep + std::string(m_.text(a.name)) + " = " + attribute(a);
      sep = ", ";
    }
    out_ += *sep == ',' ? "> (" : " (";
    sep = "";
    for (std::size_t i = 0; i < m_.input_count(n); ++i) {
      out_ += sep + name(m_.input(n, i));
      sep = ", ";
    }
    out_ += ")\n";
  }

  const Model& m_;
  std::size_t max_elements_;
  std::string out_;
};

}  // namespace

std::string print(const Model& model, std::size_t max_elements) {
  Printer p(model, max_elements);
  p.model();
  return p.take();
}

std::string print(const Model& model, GraphId graph, std::size_t max_elements) {
  Printer p(model, max_elements);
  p.graph(graph, "");
  return p.take();
}

}  // namespace graphopt
