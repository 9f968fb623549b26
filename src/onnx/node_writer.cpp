// Initializers, nodes and attributes. See message_writer.h.
#include <algorithm>
#include <string>

#include "onnx/fields.h"
#include "onnx/message_writer.h"

namespace graphopt {

namespace gf = field::graph;
namespace nf = field::node;
namespace af = field::attribute;
using wire::Field;
using wire::Fields;
using wire::Kind;

// --- constants ---------------------------------------------------------------------------------------------

void MessageWriter::write_payload_tensor(std::uint32_t number, TensorId t, std::string_view name,
                                         bool has_name) {
  const Tensor& tensor = m_.tensor(t);
  const DataPlan::Form form = plan_.form(t);
  if (form == DataPlan::Form::AsIs && !tensor.proto.empty() && tensor_name(tensor.proto) == name)
    return w_.field_bytes(number, tensor.proto);
  TensorForm f;
  f.name = name;
  f.has_name = has_name;
  f.new_payload = form != DataPlan::Form::AsIs || tensor.proto.empty();
  const std::optional<DataRange> range = plan_.range(t);
  if (form == DataPlan::Form::Data) {
    f.range = range ? &*range : nullptr;
  } else if (f.new_payload) {
    if (tensor.dtype == DType::String) f.strings = m_.strings(t);
    else f.raw = m_.raw(t).value_or(Bytes{});
  }
  const std::uint64_t end = w_.size();
  write_tensor(w_, tensor, f);
  w_.close(number, end);
}

void MessageWriter::write_initializer(ValueId v) {
  const Value& value = m_.value(v);
  if (value.tensor) write_payload_tensor(gf::kInitializer, value.tensor, m_.text(value.name), true);
}

void MessageWriter::write_sparse(ValueId v) {
  const Value& value = m_.value(v);
  const std::string_view name = m_.text(value.name);
  Field values;
  std::vector<Field> others;
  Fields fields(value.sparse);
  for (Field f; fields.next(f);) {
    if (f.number == field::sparse::kValues) values = f;
    else others.push_back(f);
  }
  if (tensor_name(values.bytes) == name) return w_.field_bytes(gf::kSparseInitializer, value.sparse);
  const std::uint64_t end = w_.size();
  for (auto it = others.rbegin(); it != others.rend(); ++it) w_.raw(it->whole);
  Tensor tensor;
  tensor.proto = values.bytes;
  TensorForm form;
  form.name = name;
  form.has_name = true;
  const std::uint64_t values_end = w_.size();
  write_tensor(w_, tensor, form);
  w_.close(field::sparse::kValues, values_end);
  w_.close(gf::kSparseInitializer, end);
}

void MessageWriter::write_constant_node(ValueId v, std::uint32_t number) {
  const Value& value = m_.value(v);
  const std::uint64_t end = w_.size();
  Attr a;
  a.name = m_.names.find("value");
  a.kind = AttrKind::Tensor;
  a.tensor = value.tensor;
  write_attribute(a, nf::kAttribute);
  w_.field_copy(nf::kOpType, "Constant");
  w_.field_copy(nf::kOutput, m_.text(value.name));
  w_.close(number, end);
}

// --- nodes -------------------------------------------------------------------------------------------------

namespace {

bool spells_standard_domain(Bytes node) {
  Fields fields(node);
  for (Field f; fields.next(f);)
    if (f.number == nf::kDomain && f.bytes == kSpelledStandard) return true;
  return false;
}

}  // namespace

void MessageWriter::write_node(NodeId n, std::uint32_t number) {
  const Node& node = m_.node(n);
  // ONNX Runtime reads "ai.onnx" as "" in the main graph alone: a node that was moved or copied into a body
  // or function has to lose that spelling.
  const Graph& around = m_.graph(node.graph);
  const bool keeps_spelling = !around.parent && !around.function;
  bool changed = node.dirty || node.proto.empty() || (!keeps_spelling && spells_standard_domain(node.proto));
  if (!changed && (every_subgraph_ || respells_))
    changed = !std::ranges::all_of(m_.attrs(n), [this](const Attr& a) { return attribute_unchanged(a); });
  if (!changed) return w_.field_bytes(number, node.proto);
  const std::uint64_t end = w_.size();
  const Op& op = m_.op(n);
  std::vector<Field> kept;
  // Texts that are the same keep their spelling, including present but empty ones.
  Field name, domain, overload;
  Fields fields(node.proto);
  for (Field f; fields.next(f);) {
    const bool ours = f.kind == Kind::Length && f.number <= nf::kOverload && f.number != nf::kDocString;
    if (!ours) kept.push_back(f);
    else if (f.number == nf::kName) name = f;
    else if (f.number == nf::kDomain) domain = f;
    else if (f.number == nf::kOverload) overload = f;
  }
  const auto text = [this, keeps_spelling](std::uint32_t field_number, const Field& old, NameId now) {
    const std::string_view wanted = now ? m_.text(now) : std::string_view{};
    const bool standard =
        keeps_spelling && field_number == nf::kDomain && old.bytes == kSpelledStandard && wanted.empty();
    if (!old.whole.empty() && (old.bytes == wanted || standard)) w_.raw(old.whole);
    else if (!wanted.empty()) w_.field_copy(field_number, wanted);
  };
  std::ranges::stable_sort(kept, {}, wire::rank_of);
  const auto keep_from = [&](std::uint32_t low) {
    for (; !kept.empty() && kept.back().number >= low; kept.pop_back()) w_.raw(kept.back().whole);
  };
  keep_from(nf::kMetadata);
  text(nf::kOverload, overload, op.overload);
  text(nf::kDomain, domain, op.domain);
  keep_from(nf::kDocString);
  const std::span<const Attr> attrs = m_.attrs(n);
  for (auto it = attrs.rbegin(); it != attrs.rend(); ++it) write_attribute(*it, nf::kAttribute);
  w_.field_copy(nf::kOpType, m_.text(op.type));
  text(nf::kName, name, node.name);
  const auto name_of = [this](ValueId v) { return v ? m_.text(m_.value(v).name) : std::string_view{}; };
  for (std::size_t i = m_.output_count(n); i-- > 0;) w_.field_copy(nf::kOutput, name_of(m_.output(n, i)));
  for (std::size_t i = m_.input_count(n); i-- > 0;) w_.field_copy(nf::kInput, name_of(m_.input(n, i)));
  keep_from(0);
  w_.close(number, end);
}

bool MessageWriter::attribute_unchanged(const Attr& a) const {
  if (a.proto.empty()) return false;
  if (a.tensor && plan_.form(a.tensor) != DataPlan::Form::AsIs) return false;
  const bool every = every_subgraph_ || respells_;
  return std::ranges::none_of(a.graphs, [&](GraphId g) { return every || m_.graph(g).dirty; });
}

void MessageWriter::write_attribute(const Attr& a, std::uint32_t number) {
  if (attribute_unchanged(a)) return w_.field_bytes(number, a.proto);
  const std::uint64_t end = w_.size();
  if (a.proto.empty()) {
    if (a.ref && a.ref != kEmptyName) w_.field_copy(af::kRef, m_.text(a.ref));
    w_.field_varint(af::kType, static_cast<std::uint64_t>(a.kind));
    write_attribute_value(a);
    w_.field_copy(af::kName, m_.text(a.name));
    return w_.close(number, end);
  }
  // Only the content of its graphs or its tensor differs: the other fields stay.
  const std::uint32_t replaced = a.tensor                    ? std::uint32_t{af::kTensor}
                                 : a.kind == AttrKind::Graph ? std::uint32_t{af::kGraph}
                                                             : std::uint32_t{af::kGraphs};
  std::vector<Field> kept;
  Fields fields(a.proto);
  for (Field f; fields.next(f);) {
    // Graphs are read from both fields, whatever the attribute says that it is.
    const bool read =
        f.number == replaced || (!a.tensor && (f.number == af::kGraph || f.number == af::kGraphs));
    if (!read) kept.push_back(f);
  }
  std::ranges::stable_sort(kept, {}, wire::rank_of);
  for (; !kept.empty() && kept.back().number > replaced; kept.pop_back()) w_.raw(kept.back().whole);
  write_attribute_value(a);
  for (; !kept.empty(); kept.pop_back()) w_.raw(kept.back().whole);
  w_.close(number, end);
}

// Returns the field that contains the value, by kind; nothing for a reference.
void MessageWriter::write_attribute_value(const Attr& a) {
  if (a.ref && a.ref != kEmptyName) return;
  switch (a.kind) {
    case AttrKind::Float: return w_.field_float(af::kFloat, a.f);
    case AttrKind::Int: return w_.field_int(af::kInt, a.i);
    case AttrKind::String: return w_.field_bytes(af::kString, a.s);
    case AttrKind::Floats:
      for (auto it = a.floats.rbegin(); it != a.floats.rend(); ++it) w_.field_float(af::kFloats, *it);
      return;
    case AttrKind::Ints:
      for (auto it = a.ints.rbegin(); it != a.ints.rend(); ++it) w_.field_int(af::kInts, *it);
      return;
    case AttrKind::Strings:
      for (auto it = a.strings.rbegin(); it != a.strings.rend(); ++it) w_.field_bytes(af::kStrings, *it);
      return;
    case AttrKind::Tensor: {
      const std::string_view name = tensor_name(m_.tensor(a.tensor).proto);
      return write_payload_tensor(af::kTensor, a.tensor, name, !name.empty());
    }
    case AttrKind::Graph:
    case AttrKind::Graphs:
      for (auto it = a.graphs.rbegin(); it != a.graphs.rend(); ++it) {
        const std::uint64_t end = w_.size();
        write_graph(*it);
        w_.close(a.kind == AttrKind::Graph ? std::uint32_t{af::kGraph} : std::uint32_t{af::kGraphs}, end);
      }
      return;
    default: return;  // other kinds are never made here: they keep their bytes
  }
}

}  // namespace graphopt
