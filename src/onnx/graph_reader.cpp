// Graphs: inputs, initializers, outputs, value_info, and references to their values from outside. See
// graph_reader.h.
#include "onnx/graph_reader.h"

#include <algorithm>
#include <string>

#include "ir/reader_access.h"
#include "onnx/fields.h"
#include "onnx/tensor_wire.h"
#include "onnx/topology.h"
#include "onnx/types_wire.h"
#include "support/quote_name.h"

namespace graphopt {

namespace gf = field::graph;
using wire::Field;
using wire::Fields;
using wire::Kind;

GraphReader::GraphReader(Model& m, Problems& problems, ExternalFiles& external, bool dim_expressions)
    : m_(m),
      problems_(problems),
      external_(external),
      input_dims_{dim_expressions, {}},
      ai_onnx_(m.names.intern("ai.onnx")) {}

// --- scopes ------------------------------------------------------------------------------------------------

ValueId& GraphReader::meaning(NameId name) {
  if (name.index() >= meaning_.size())
    meaning_.resize(std::max<std::size_t>(m_.names.size(), name.index() + std::size_t{1}));
  return meaning_[name.index()];
}

ValueId GraphReader::lookup(NameId name) const {
  return name.index() < meaning_.size() ? meaning_[name.index()] : ValueId{};
}

void GraphReader::open(GraphId g) { open_graphs_.push_back({g, {}, false, undo_.size()}); }

void GraphReader::close() {
  const OpenGraph closed = open_graphs_.back();
  open_graphs_.pop_back();
  while (undo_.size() > closed.undo) {
    meaning_[undo_.back().name.index()] = undo_.back().before;
    undo_.pop_back();
  }
}

ValueId GraphReader::declare(GraphId g, std::string_view text, const char* what, bool input) {
  const NameId name = view(text);
  ValueId& now = meaning(name);
  if (now && m_.value(now).graph == g) {
    problems_.add(place(g),
                  std::string("it has two values named ") + quote_name(text) + "; the second is " + what,
                  "give every value of a graph a name of its own");
    return {};
  }
  const ValueId v = input ? m_.add_input(g, name) : m_.add_value(g, name);
  undo_.push_back({name, now});
  now = v;
  return v;
}

// Returns the value that a name refers to in the node under construction; records when its definition comes
// later in the file.
ValueId GraphReader::resolve(NameId name) {
  const ValueId v = lookup(name);
  if (!v) return {};
  const Value& value = m_.value(v);
  if (value.is_input || value.is_initializer) return v;
  if (value.def && value.graph == open_graphs_.back().graph) return v;
  for (auto reading = open_graphs_.rbegin(); reading != open_graphs_.rend(); ++reading) {
    if (reading->graph != value.graph) continue;
    if (!value.def || value.def == reading->current) reading->unsorted = true;
    break;
  }
  return v;
}

Place GraphReader::place(GraphId g, std::string slot) const {
  Place p = place_of(m_, g);
  p.slot = std::move(slot);
  return p;
}

void GraphReader::fault(Place where, const Fault& f) {
  if (!f.what.empty()) problems_.add(std::move(where), f);
}

// --- graphs ------------------------------------------------------------------------------------------------

void GraphReader::read_main(Bytes graph, const std::vector<Bytes>& training) {
  read_graph(graph, m_.main(), wire::kMaxDepth - 1, training);
}

bool GraphReader::split_graph(Bytes proto, GraphId g, Parts& parts) {
  Graph& graph = ReaderAccess::graph(m_, g);
  Fields fields(proto);
  for (Field f; fields.next(f);) {
    if (f.kind == Kind::Length) {
      switch (f.number) {
        case gf::kNode: parts.nodes.push_back(f.bytes); continue;
        case gf::kInitializer: parts.initializers.push_back(f.bytes); continue;
        case gf::kSparseInitializer: parts.sparse.push_back(f.bytes); continue;
        case gf::kInput: parts.inputs.push_back(f.bytes); continue;
        case gf::kValueInfo: parts.value_infos.push_back(f.whole); continue;
        case gf::kOutput:
          parts.outputs.push_back(f.bytes);
          break;  // its bytes are kept too: a value may be more
                  // than one output, or an input and an output
        case gf::kQuantization: parts.annotations.push_back(f.bytes); break;
        case gf::kName: graph.name = view(f.bytes); break;
        default: break;
      }
    }
    graph.rest.push_back(f.whole);
  }
  if (!fields.broken()) return true;
  problems_.add(place(g), std::string("the graph's bytes are broken: ") + fields.what(), kDamaged);
  return false;
}

void GraphReader::read_graph(Bytes proto, GraphId g, int budget, const std::vector<Bytes>& training) {
  if (budget < 0) {
    problems_.add(place(g),
                  "graphs are nested deeper than the 100 levels of messages that ONNX readers accept",
                  "put inner parts into functions of the model, or unroll them");
    return;
  }
  Parts parts;
  if (!split_graph(proto, g, parts)) return;
  open(g);
  read_inputs(g, parts.inputs, budget);
  read_initializers(g, parts);
  read_body(g, parts, budget);
  read_outputs(g, parts.outputs, budget);
  read_value_infos(g, parts.value_infos, budget);
  pin_annotated(parts.annotations);
  for (const Bytes t : training) pin_training(t);
  if (open_graphs_.back().unsorted && !problems_.full() && sort_nodes(m_, g, problems_)) sorted_.push_back(g);
  close();
}

void GraphReader::read_body(GraphId g, Parts& parts, int budget) {
  const std::size_t first_name = operand_names_.size();
  std::vector<ParsedNode> parsed_nodes(parts.nodes.size());
  for (std::uint32_t i = 0; i < parts.nodes.size() && !problems_.full(); ++i) {
    ParsedNode& parsed = parsed_nodes[i];
    if (!parse_node(parts.nodes[i], g, i, parsed)) continue;
    for (std::uint32_t k = 0; k < parsed.outputs; ++k) {
      const NameId name = operand_names_[parsed.first_name + parsed.inputs + k];
      if (name == kEmptyName) continue;
      ValueId& now = meaning(name);
      if (now && m_.value(now).graph == g) {
        problems_.add(
            place(g, parsed, i),
            "its result " + quote_name(m_.text(name)) + " has the name of another value of the graph",
            "give every value of a graph a name of its own");
        operand_names_[parsed.first_name + parsed.inputs + k] = kEmptyName;
        continue;
      }
      undo_.push_back({name, now});
      now = m_.add_value(g, name);
    }
  }
  parts.nodes = {};
  for (std::uint32_t i = 0; i < parsed_nodes.size() && !problems_.full(); ++i)
    if (parsed_nodes[i].op) make_node(parsed_nodes[i], g, i, budget);
  operand_names_.resize(first_name);
}

void GraphReader::read_inputs(GraphId g, const std::vector<Bytes>& inputs, int budget) {
  const bool main = g == m_.main();
  if (main) {
    for (const Bytes info : inputs) {
      input_dims_.collect(info);
      // An expression may be read before the input on which a name in it stands alone.
      for_each_dim_name(info, [this](std::string_view name, std::size_t, bool nested) {
        if (!nested && name.find_first_of("+-*/%(), '") == std::string_view::npos) m_.dims.symbol(name);
      });
    }
  }
  for (const Bytes info : inputs) {
    const std::string_view name = value_info_name(info);
    if (name.empty()) {
      problems_.add(place(g), "it has an input without a name", kReport);
      continue;
    }
    const ValueId v = declare(g, name, "an input", true);
    if (!v) continue;
    TypeId type;
    if (const std::optional<Fault> f = read_value_info(m_, info, main ? &input_dims_ : nullptr, budget, type))
      fault(place(g, "input " + quote_name(name)), *f);
    ReaderAccess::value(m_, v).info = info;
    ReaderAccess::value(m_, v).declared = type;
  }
}

void GraphReader::read_initializers(GraphId g, const Parts& parts) {
  const auto value_named = [&](std::string_view name, const char* what) -> ValueId {
    if (name.empty()) {
      problems_.add(place(g), std::string("it has ") + what + " without a name", kReport);
      return {};
    }
    const ValueId known = lookup(view(name));
    if (known && m_.value(known).graph == g && m_.value(known).is_input && !m_.value(known).is_initializer)
      return known;
    return declare(g, name, what, false);
  };
  for (const Bytes proto : parts.initializers) {
    if (problems_.full()) return;
    Tensor tensor;
    std::string_view name;
    const std::optional<Fault> f = read_tensor(proto, external_, tensor, name);
    if (f) fault(place(g, "initializer " + quote_name(name)), *f);
    const ValueId v = value_named(name, "an initializer");
    if (v) m_.mark_initializer(v, m_.add_tensor(std::move(tensor)));
  }
  for (const Bytes proto : parts.sparse) {
    std::string_view name;
    Fields fields(proto);
    for (Field f; fields.next(f);) {
      if (f.number == field::sparse::kValues && f.kind == Kind::Length) name = tensor_name(f.bytes);
      const bool tensor = f.number == field::sparse::kValues || f.number == field::sparse::kIndices;
      if (!tensor || f.kind != Kind::Length) continue;
      Tensor ignored;
      std::string_view ignored_name;
      if (const std::optional<Fault> fault_found = read_tensor(f.bytes, external_, ignored, ignored_name))
        fault(place(g, "sparse initializer " + quote_name(name)), *fault_found);
    }
    if (fields.broken())
      problems_.add(place(g, "sparse initializer " + quote_name(name)),
                    std::string("its bytes are broken: ") + fields.what(), kDamaged);
    const ValueId v = value_named(name, "a sparse initializer");
    if (!v) continue;
    m_.mark_initializer(v, {});
    ReaderAccess::value(m_, v).is_sparse = true;
    ReaderAccess::value(m_, v).sparse = proto;
  }
}

void GraphReader::read_outputs(GraphId g, const std::vector<Bytes>& outputs, int budget) {
  std::vector<ValueId> values;
  for (const Bytes info : outputs) {
    const std::string_view name = value_info_name(info);
    const ValueId v = name.empty() ? ValueId{} : resolve(view(name));
    if (!v) {
      problems_.add(place(g, "output " + quote_name(name)), "no node, input or initializer gives it",
                    "remove the output, or add what makes it");
      continue;
    }
    values.push_back(v);
    TypeId type;
    if (const std::optional<Fault> f = read_value_info(m_, info, nullptr, budget, type))
      fault(place(g, "output " + quote_name(name)), *f);
    Value& value = ReaderAccess::value(m_, v);
    if (value.graph != g || value.info.data() != nullptr) continue;
    value.info = info;
    value.declared = type;
  }
  m_.set_graph_outputs(g, values);
}

void GraphReader::read_value_infos(GraphId g, const std::vector<Bytes>& infos, int budget) {
  for (const Bytes whole : infos) {
    Field field;
    Fields(whole).next(field);
    const Bytes info = field.bytes;
    const std::string_view name = value_info_name(info);
    TypeId type;
    if (const std::optional<Fault> f = read_value_info(m_, info, nullptr, budget, type)) {
      fault(place(g, "value_info " + quote_name(name)), *f);
      if (problems_.full()) return;
    }
    // Also when no value has the name: no value may get a name about which the file already states something.
    const NameId id = name.empty() ? NameId{} : m_.names.intern_view(name);
    const ValueId v = id ? lookup(id) : ValueId{};
    if (v && m_.value(v).graph == g && m_.value(v).info.data() == nullptr) {
      ReaderAccess::value(m_, v).info = info;
      ReaderAccess::value(m_, v).declared = type;
      continue;
    }
    // About no value, or the second one about a value: kept unchanged.
    if (const FunctionId f = m_.graph(g).function) ReaderAccess::function(m_, f).rest.push_back(whole);
    else ReaderAccess::graph(m_, g).rest.push_back(whole);
  }
}

// --- names that are referenced from outside the graph's nodes ----------------------------------------------

void GraphReader::pin(std::string_view name) {
  const NameId id = name.empty() ? NameId{} : m_.names.find(name);
  if (const ValueId v = id ? lookup(id) : ValueId{}) ReaderAccess::value(m_, v).pinned = true;
}

void GraphReader::pin_annotated(const std::vector<Bytes>& annotations) {
  for (const Bytes proto : annotations) {
    Fields fields(proto);
    for (Field f; fields.next(f);) {
      if (f.kind != Kind::Length) continue;
      if (f.number == field::annotation::kTensor) pin(f.bytes);
      if (f.number != field::annotation::kParameters) continue;
      Fields entry(f.bytes);
      for (Field e; entry.next(e);)
        if (e.number == field::entry::kValue && e.kind == Kind::Length) pin(e.bytes);
    }
  }
}

// Training graphs read and assign values of the main graph by name.
void GraphReader::pin_training(Bytes proto) {
  Fields fields(proto);
  for (Field f; fields.next(f);) {
    if (f.kind != Kind::Length) continue;
    if (f.number == field::training::kInitialization || f.number == field::training::kAlgorithm) {
      pin_names_of_nodes(f.bytes, wire::kMaxDepth - 2);
    } else if (f.number == field::training::kInitializationBinding ||
               f.number == field::training::kUpdateBinding) {
      Fields entry(f.bytes);
      for (Field e; entry.next(e);)
        if (e.kind == Kind::Length) pin(e.bytes);
    }
  }
  if (fields.broken())
    problems_.add({}, std::string("its training information is broken: ") + fields.what(), kDamaged);
}

// Recursive: once per level of nested graphs, of which `budget` allows at most 33.
void GraphReader::pin_names_of_nodes(Bytes graph, int budget) {
  if (budget < 0) {
    problems_.add({}, "graphs of its training information are nested deeper than 100 levels of messages",
                  kReport);
    return;
  }
  Fields fields(graph);
  for (Field f; fields.next(f);) {
    if (f.kind != Kind::Length) continue;
    if (f.number == gf::kOutput) pin(value_info_name(f.bytes));
    if (f.number != gf::kNode) continue;
    Fields node(f.bytes);
    for (Field x; node.next(x);) {
      if (x.kind != Kind::Length) continue;
      if (x.number == field::node::kInput) pin(x.bytes);
      if (x.number != field::node::kAttribute) continue;
      Fields attribute(x.bytes);
      for (Field a; attribute.next(a);)
        if ((a.number == field::attribute::kGraph || a.number == field::attribute::kGraphs) &&
            a.kind == Kind::Length)
          pin_names_of_nodes(a.bytes, budget - 3);
    }
  }
}

}  // namespace graphopt
