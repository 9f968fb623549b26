// Nodes and their attributes. See graph_reader.h.
#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "ir/reader_access.h"
#include "onnx/fields.h"
#include "onnx/graph_reader.h"
#include "onnx/tensor_wire.h"
#include "ops/hidden_operators.h"
#include "ops/node_facts.h"
#include "support/known_names.h"
#include "support/quote_name.h"

namespace graphopt {

namespace nf = field::node;
namespace af = field::attribute;
using wire::Field;
using wire::Fields;
using wire::Kind;

Place GraphReader::place(GraphId g, const ParsedNode& parsed, std::uint32_t index) const {
  Place p = place_of(m_, g);
  p.node = parsed.name && parsed.name != kEmptyName ? std::string(m_.text(parsed.name))
                                                    : "#" + std::to_string(index);
  if (!parsed.op) return p;
  const Op& op = m_.op(parsed.op);
  if (op.domain != kEmptyName) p.op = std::string(m_.text(op.domain)) + "::";
  p.op += m_.text(op.type);
  return p;
}

OpId GraphReader::find_op(std::string_view domain_text, std::string_view type_text,
                          std::string_view overload_text) {
  const NameId type = view(type_text);
  NameId domain = view(domain_text);
  if (domain == ai_onnx_) domain = kEmptyName;
  const NameId overload = view(overload_text);
  if (type.index() >= op_of_type_.size())
    op_of_type_.resize(std::max<std::size_t>(m_.names.size(), type.index() + std::size_t{1}));
  OpId& last = op_of_type_[type.index()];
  if (last && m_.op(last).domain == domain && m_.op(last).overload == overload) return last;
  OpKind kind = op_kind(m_.text(domain), type_text);
  FunctionId function;
  if (const auto it = function_ids_.find({domain, type, overload}); it != function_ids_.end()) {
    function = it->second;
    kind = is_domain_of_runtimes(m_.text(domain)) ? OpKind::Opaque : OpKind::FunctionCall;
  }
  return last = m_.intern_op(kind, m_.text(domain), type_text, overload_text, function);
}

// Reads all fields but the attributes. Returns false when the node cannot be used.
bool GraphReader::parse_node(Bytes proto, GraphId g, std::uint32_t index, ParsedNode& parsed) {
  parsed.proto = proto;
  parsed.name = kEmptyName;
  parsed.first_name = static_cast<std::uint32_t>(operand_names_.size());
  std::string_view type, domain, overload;
  const char* broken = nullptr;
  Fields fields(proto);
  bool outputs_begun = false, mixed = false;
  for (Field f; fields.next(f);) {
    if (f.kind != Kind::Length) continue;
    switch (f.number) {
      case nf::kInput:
        mixed = mixed || outputs_begun;
        operand_names_.push_back(view(f.bytes));
        ++parsed.inputs;
        break;
      case nf::kOutput:
        outputs_begun = true;
        operand_names_.push_back(view(f.bytes));
        ++parsed.outputs;
        break;
      case nf::kName: parsed.name = view(f.bytes); break;
      case nf::kOpType: type = f.bytes; break;
      case nf::kDomain: domain = f.bytes; break;
      case nf::kOverload: overload = f.bytes; break;
      case nf::kAttribute: parsed.has_attributes = true; break;
      case nf::kMetadata:
        if (!wire::well_formed(f.bytes)) broken = "its metadata end in the middle";
        break;
      case nf::kDevices: parsed.has_devices = true; break;
      default: break;
    }
  }
  if (mixed) {  // inputs after outputs in the file: no known writer does that, but it is allowed
    operand_names_.resize(parsed.first_name);
    for (const std::uint32_t wanted : {std::uint32_t{nf::kInput}, std::uint32_t{nf::kOutput}}) {
      Fields again(proto);
      for (Field f; again.next(f);)
        if (f.number == wanted && f.kind == Kind::Length) operand_names_.push_back(view(f.bytes));
    }
  }
  if (fields.broken()) broken = fields.what();
  if (broken != nullptr) {
    problems_.add(place(g, parsed, index), std::string("its bytes are broken: ") + broken, kDamaged);
    return false;
  }
  if (type.empty()) {
    problems_.add(place(g, parsed, index), "it names no operator", kReport);
    return false;
  }
  parsed.op = find_op(domain, type, overload);
  return true;
}

// Returns the operator of a node, opaque when the operator has no such number of operands or results. Rules,
// kernels and passes may rely on the numbers that the fact table states; a runtime may refuse such a node or
// know more of the operator than the table does, so it is kept as it is.
OpId GraphReader::fitting_op(const ParsedNode& parsed, GraphId g) {
  const Op op = m_.op(parsed.op);
  const auto version = std::clamp<std::int64_t>(m_.opset(g, op.domain), 0, kNewestOpset + 1);
  const OpFacts& row = facts(op.kind, static_cast<int>(version));
  const auto fits = [](std::uint32_t count, std::uint8_t least, std::uint8_t most) {
    return count >= least && (most == kVariadic || count <= most);
  };
  if (fits(parsed.inputs, row.min_inputs, row.max_inputs) &&
      fits(parsed.outputs, row.min_outputs, row.max_outputs))
    return parsed.op;
  return opaque(op);
}

OpId GraphReader::opaque(const Op& op) {
  return m_.intern_op(OpKind::Opaque, m_.text(op.domain), m_.text(op.type), m_.text(op.overload));
}

// Makes a node opaque that has an attribute which its operator does not have, or lacks one that the operator
// must have: what it does is not what the fact table states. Checks of runtimes refuse such a node.
void GraphReader::hide_unfitting_attributes(NodeId n) {
  const Op op = m_.op(m_.node(n).op);
  if (op.kind == OpKind::FunctionCall) return;
  const OpFacts& row = facts_of(m_, n);
  if (row.kind != op.kind) return;  // an operator of no row, or of a newer opset than the table has
  const auto known = [&](const Attr& a) { return find_attribute(row, m_.text(a.name)) != nullptr; };
  const auto given = [&](const AttrFact& a) {
    return !a.required ||
           std::ranges::any_of(m_.attrs(n), [&](const Attr& own) { return m_.text(own.name) == a.name; });
  };
  if (!std::ranges::all_of(m_.attrs(n), known) || !std::ranges::all_of(row.attributes, given))
    m_.set_op(n, opaque(op));
}

// The meaning of an operator depends on the version of its domain, so the version must be given. Nothing
// depends on it for operators without a row in the fact table.
void GraphReader::check_opset(GraphId g, OpId id, NodeId n) {
  const Op& op = m_.op(id);
  const std::uint64_t key = std::uint64_t{m_.graph(g).opsets} << 32 | op.domain.index();
  if (!missing_opsets_.insert(key).second) return;
  const std::string domain =
      op.domain == kEmptyName ? std::string("ai.onnx") : std::string(m_.text(op.domain));
  const std::string what = "the opset version of domain '" + domain + "' is not stated";
  if (op.kind == OpKind::Opaque || op.kind == OpKind::FunctionCall)
    problems_.warn(place_of(m_, n), what, "add it to opset_import");
  else
    problems_.add(place_of(m_, n), what,
                  "add '" + domain + "' to the opset_import of the model (or of the function)");
}

void GraphReader::make_node(const ParsedNode& parsed, GraphId g, std::uint32_t index, int budget) {
  operands_.clear();
  results_.clear();
  for (std::uint32_t k = 0; k < parsed.inputs; ++k) {
    const NameId name = operand_names_[parsed.first_name + k];
    ValueId v;
    if (name != kEmptyName) {
      v = resolve(name);
      if (!v) {
        Place p = place(g, parsed, index);
        p.slot = "input " + std::to_string(k) + " " + quote_name(m_.text(name));
        problems_.add(std::move(p), "no node, input or initializer gives it",
                      "add what makes it, or correct the name");
        if (problems_.full()) return;
      }
    }
    operands_.push_back(v);
  }
  for (std::uint32_t k = 0; k < parsed.outputs; ++k) {
    const NameId name = operand_names_[parsed.first_name + parsed.inputs + k];
    results_.push_back(name == kEmptyName ? ValueId{} : lookup(name));
  }
  const OpId op = fitting_op(parsed, g);
  const NodeId n = m_.add_node(g, op, operands_, results_);
  Node& node = ReaderAccess::node(m_, n);
  node.name = parsed.name;
  node.proto = parsed.proto;
  node.file_index = index;
  open_graphs_.back().current = n;
  if (m_.opset(g, m_.op(op).domain) == 0) check_opset(g, op, n);
  if (parsed.has_devices) pin_sharded(parsed.proto);
  if (!parsed.has_attributes) return hide_unfitting_attributes(n);
  if (budget < 2) {
    problems_.add(place(g, parsed, index),
                  "its attributes are nested deeper than the 100 levels of messages that ONNX readers accept",
                  "put inner parts into functions of the model, or unroll them");
    return;
  }
  read_attributes(parsed, n, budget);
  hide_unfitting_attributes(n);
  if (const std::uint64_t written = written_operands(m_, n)) m_.set_overwrites(n, written);
  if (parsed.outputs > 0 && m_.kind(n) == OpKind::Constant) note_constant(n);
}

// --- attributes --------------------------------------------------------------------------------------------

void GraphReader::read_attributes(const ParsedNode& parsed, NodeId n, int budget) {
  std::vector<Attr> attrs;
  Fields fields(parsed.proto);
  for (Field f; fields.next(f);) {
    if (f.number != nf::kAttribute || f.kind != Kind::Length) continue;
    Attr a;
    if (!read_attribute(f.bytes, m_.node(n).graph, n, budget, a)) continue;
    attrs.push_back(a);
    if (problems_.full()) break;
  }
  if (attrs.size() > 1) {
    std::vector<NameId> names;
    for (const Attr& a : attrs) names.push_back(a.name);
    std::ranges::sort(names);
    if (const auto twice = std::ranges::adjacent_find(names); twice != names.end()) {
      Place p = place_of(m_, n);
      p.slot = "attribute " + quote_name(m_.text(*twice));
      problems_.add(std::move(p), "it is there twice", "remove one of the two");
    }
  }
  ReaderAccess::set_attrs(m_, n, attrs);
}

namespace {

// The fields of an AttributeProto, before its type decides which of them count.
struct AttributeFields {
  std::string_view name, ref;
  std::int64_t type = 0;
  AttrKind present = AttrKind::Undefined;  // by the fields that are there
  bool lists_broken = false;
  const char* broken = nullptr;  // why the walk ended, if it did not reach the end
  float f = 0;
  std::int64_t i = 0;
  Bytes s;
  std::vector<Bytes> tensors, graphs, strings;
  std::vector<std::int64_t> ints;
  std::vector<float> floats;
};

AttributeFields split_attribute(Bytes proto) {
  AttributeFields a;
  Fields fields(proto);
  for (Field f; fields.next(f);) {
    const bool length = f.kind == Kind::Length;
    switch (f.number) {
      case af::kName:
        if (length) a.name = f.bytes;
        break;
      case af::kType:
        if (f.kind == Kind::Varint) a.type = wire::as_int32(f);
        break;
      case af::kRef:
        if (length) a.ref = f.bytes;
        break;
      case af::kFloat:
        if (f.kind == Kind::Fixed32) a.f = wire::as_float(f), a.present = AttrKind::Float;
        break;
      case af::kInt:
        if (f.kind == Kind::Varint) a.i = wire::as_int64(f), a.present = AttrKind::Int;
        break;
      case af::kString:
        if (length) a.s = f.bytes, a.present = AttrKind::String;
        break;
      case af::kTensor:
        if (length) a.tensors.push_back(f.bytes), a.present = AttrKind::Tensor;
        break;
      case af::kGraph:
        if (length) a.graphs.push_back(f.bytes), a.present = AttrKind::Graph;
        break;
      case af::kGraphs:
        if (length) a.graphs.push_back(f.bytes), a.present = AttrKind::Graphs;
        break;
      case af::kFloats:
        a.lists_broken |= !wire::append_floats(f, a.floats);
        a.present = AttrKind::Floats;
        break;
      case af::kInts:
        a.lists_broken |= !wire::append_varints(f, a.ints);
        a.present = AttrKind::Ints;
        break;
      case af::kStrings:
        if (length) a.strings.push_back(f.bytes), a.present = AttrKind::Strings;
        break;
      case af::kTensors: a.present = AttrKind::Tensors; break;
      case af::kTypeProto: a.present = AttrKind::TypeProto; break;
      case af::kTypeProtos: a.present = AttrKind::TypeProtos; break;
      case af::kSparse: a.present = AttrKind::SparseTensor; break;
      case af::kSparses: a.present = AttrKind::SparseTensors; break;
      default: break;
    }
  }
  if (fields.broken()) a.broken = fields.what();
  return a;
}

}  // namespace

// Reads an attribute of a node, or (without one) the default of a function's parameter.
bool GraphReader::read_attribute(Bytes proto, GraphId in, NodeId owner, int budget, Attr& a) {
  const AttributeFields fields = split_attribute(proto);
  a.proto = proto;
  a.f = fields.f;
  a.i = fields.i;
  a.s = fields.s;
  const auto where = [&] {
    Place p = owner ? place_of(m_, owner) : place(in);
    p.slot = "attribute " + quote_name(fields.name);
    return p;
  };
  const auto bad = [&](std::string what, const char* remedy) {
    problems_.add(where(), std::move(what), remedy);
    return false;
  };
  if (fields.broken != nullptr) return bad(std::string("its bytes are broken: ") + fields.broken, kDamaged);
  if (fields.lists_broken) return bad("its list is broken", kDamaged);
  if (fields.name.empty()) return bad("it has no name", kReport);
  const bool has_ref = !fields.ref.empty();
  a.name = view(fields.name);
  if (has_ref) a.ref = view(fields.ref);
  // Exporters of IR version 1 left out the type; an unknown type is kept as bytes.
  a.kind = fields.present;
  if (fields.type != 0) {
    const bool known = fields.type > 0 && fields.type <= static_cast<int>(AttrKind::TypeProtos);
    a.kind = known ? static_cast<AttrKind>(fields.type) : AttrKind::Undefined;
  }
  switch (a.kind) {
    case AttrKind::Ints: a.ints = m_.keep(std::span<const std::int64_t>(fields.ints)); break;
    case AttrKind::Floats: a.floats = m_.keep(std::span<const float>(fields.floats)); break;
    case AttrKind::Strings: a.strings = m_.keep(std::span<const Bytes>(fields.strings)); break;
    case AttrKind::Tensor: {
      if (has_ref) break;
      if (fields.tensors.size() != 1)
        return bad("it is said to be a tensor, but holds " + std::to_string(fields.tensors.size()), kReport);
      Tensor tensor;
      std::string_view tensor_name;
      if (const std::optional<Fault> f = read_tensor(fields.tensors[0], external_, tensor, tensor_name))
        fault(where(), *f);
      a.tensor = m_.add_tensor(std::move(tensor));
      break;
    }
    case AttrKind::Graph:
    case AttrKind::Graphs: {
      if (has_ref) break;
      if (a.kind == AttrKind::Graph && fields.graphs.size() != 1)
        return bad("it is said to be a graph, but holds " + std::to_string(fields.graphs.size()), kReport);
      if (!owner) return bad("a graph cannot be the default of a function's parameter", kReport);
      std::vector<GraphId> ids;
      for (const Bytes graph : fields.graphs) {
        const GraphId g = m_.add_graph(owner, a.name, m_.graph(m_.node(owner).graph).opsets);
        ids.push_back(g);
        read_graph(graph, g, budget - 3, {});
      }
      a.graphs = m_.keep(std::span<const GraphId>(ids));
      break;
    }
    default: break;
  }
  return true;
}

// Records the tensor of a Constant node, whichever attribute contains it.
void GraphReader::note_constant(NodeId n) {
  const ValueId v = m_.output(n, 0);
  if (!v) return;
  TensorId t;
  for (const Attr& a : m_.attrs(n)) {
    if (a.ref) continue;
    const auto count = [](std::size_t size) { return std::array{static_cast<std::int64_t>(size)}; };
    const auto bytes = [](const void* p, std::size_t size) {
      return size == 0 ? std::string() : std::string(static_cast<const char*>(p), size);
    };
    const auto of_strings = [this](std::vector<std::string> strings, std::vector<std::int64_t> dims) {
      Tensor made;
      made.dtype = DType::String;
      made.elements = static_cast<std::int64_t>(strings.size());
      made.dims = std::move(dims);
      auto owned = std::make_shared<Unpacked>();
      owned->strings = std::move(strings);
      made.owned = std::move(owned);
      made.ready = true;
      return m_.add_tensor(std::move(made));
    };
    if (a.name == known_name("value") && a.kind == AttrKind::Tensor) t = a.tensor;
    if (a.name == known_name("value_int") && a.kind == AttrKind::Int) t = m_.make_int64(a.i);
    if (a.name == known_name("value_ints") && a.kind == AttrKind::Ints) t = m_.make_int64s(a.ints);
    if (a.name == known_name("value_float") && a.kind == AttrKind::Float)
      t = m_.make_tensor(DType::Float, {}, bytes(&a.f, sizeof a.f));
    if (a.name == known_name("value_floats") && a.kind == AttrKind::Floats)
      t = m_.make_tensor(DType::Float, count(a.floats.size()), bytes(a.floats.data(), a.floats.size_bytes()));
    if (a.name == known_name("value_string") && a.kind == AttrKind::String)
      t = of_strings({std::string(a.s)}, {});
    if (a.name == known_name("value_strings") && a.kind == AttrKind::Strings)
      t = of_strings({a.strings.begin(), a.strings.end()}, {static_cast<std::int64_t>(a.strings.size())});
  }
  if (t) ReaderAccess::value(m_, v).tensor = t;
}

// A sharding specification names the tensors that it distributes over devices.
void GraphReader::pin_sharded(Bytes node) {
  Fields fields(node);
  for (Field f; fields.next(f);) {
    if (f.number != nf::kDevices || f.kind != Kind::Length) continue;
    Fields device(f.bytes);
    for (Field d; device.next(d);) {
      if (d.number != field::devices::kShardingSpec || d.kind != Kind::Length) continue;
      Fields spec(d.bytes);
      for (Field s; spec.next(s);)
        if (s.number == field::devices::kShardedTensor && s.kind == Kind::Length) pin(s.bytes);
    }
  }
}

}  // namespace graphopt
