// Model, functions, graphs and value_info. Nodes and attributes: node_writer.cpp.
#include "onnx/message_writer.h"

#include <algorithm>
#include <limits>
#include <ranges>
#include <string>
#include <tuple>
#include <unordered_map>

#include "onnx/fields.h"
#include "onnx/types_wire.h"
#include "support/file.h"

namespace graphopt {

namespace gf = field::graph;
namespace mf = field::model;
namespace ff = field::function;
using wire::Field;
using wire::Fields;
using wire::first_field;
using wire::Kind;

namespace {

constexpr std::uint32_t kNoLimit = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint64_t kLast = std::numeric_limits<std::uint64_t>::max();

Bytes image_of(const Model& m) {
  if (m.rest.empty()) return {};
  const FileImage* image = FileImage::holding(m.rest.front());
  return image != nullptr ? image->bytes() : Bytes{};
}

bool spells_standard_import(std::span<const Bytes> rest) {
  for (const Bytes whole : rest) {
    const Field import = first_field(whole);
    if (import.number != ff::kOpsetImport || import.kind != Kind::Length) continue;
    Fields fields(import.bytes);
    for (Field f; fields.next(f);)
      if (f.number == field::opset::kDomain && f.bytes == kSpelledStandard) return true;
  }
  return false;
}

}  // namespace

MessageWriter::MessageWriter(const Model& m, const SaveOptions& options, const DataPlan& plan)
    : m_(m),
      plan_(plan),
      written_(plan.written()),
      image_(image_of(m)),
      w_(image_),
      every_subgraph_(plan.moves() || !options.types.empty()) {
  const std::size_t values = written_.value_count();
  if (!options.types.empty()) {
    types_.resize(values);
    open_dims_.resize(values, false);
  }
  for (const TypeOverride& o : options.types) {
    const std::size_t i = written_.number(o.value);
    if (i >= values) continue;
    types_[i] = o.type;
    open_dims_[i] = !o.keeps_dims;
    stale_.insert(m.value(o.value).name);
  }
  is_output_.resize(values, false);
  for (const GraphId g : written_.graphs())
    for (const ValueId v : written_.outputs(g))
      if (m.value(v).graph == g) is_output_[written_.number(v)] = true;
  if (options.part)  // those of the model among them are no inputs of their graph
    for (const ValueId v : options.part->inputs) is_output_[written_.number(v)] = true;
  collect_value_infos();
}

std::uint64_t MessageWriter::position(Bytes bytes) const {
  const bool inside =
      !bytes.empty() && bytes.data() >= image_.data() && bytes.data() < image_.data() + image_.size();
  if (inside) return static_cast<std::uint64_t>(bytes.data() - image_.data());
  return image_.size();
}

void MessageWriter::collect_value_infos() {
  // A value that a pass made anew, under the name of one that is gone, has the place of that one.
  std::unordered_map<NameId, Bytes> positions_of_gone;
  if (!types_.empty())
    for (std::size_t i = 0; i < m_.value_count(); ++i)
      if (const Value& value = m_.value(ValueId{i}); !value.alive && value.info.data() != nullptr)
        positions_of_gone.emplace(value.name, value.info);
  for (std::size_t i = 0; i < written_.value_count(); ++i) {
    const ValueId v = written_.value(i);
    const Value& value = m_.value(v);
    if (!value.alive) continue;
    if (value.info_stale) stale_.insert(value.name);
    if (!m_.graph(value.graph).alive) continue;
    // A function states no types elsewhere, neither of its inputs nor of its outputs.
    const bool of_function = m_.graph(value.graph).function.valid();
    if (!of_function && (value.is_input || is_output_[i])) continue;
    const bool info = value.info.data() != nullptr && !value.info_stale;
    if (!info && (types_.empty() || !types_[i])) continue;
    if (!value.def && !value.is_initializer && !(of_function && value.is_input)) continue;
    const std::uint64_t definition = value.def ? m_.node(value.def).order : 0;
    const auto gone = info ? positions_of_gone.end() : positions_of_gone.find(value.name);
    const std::uint64_t at = gone != positions_of_gone.end() ? position(gone->second) : position(value.info);
    infos_.push_back({value.graph, at, definition, value.def_slot, v, {}});
  }
  const auto keep = [this](GraphId g, std::span<const Bytes> rest, std::uint32_t number) {
    for (const Bytes whole : rest) {
      const Field f = first_field(whole);
      if (f.number != number || f.kind != Kind::Length) continue;
      const NameId name = stale_.empty() ? NameId{} : m_.names.find(value_info_name(f.bytes));
      if (!name || !stale_.contains(name)) infos_.push_back({g, position(whole), kLast, 0, {}, whole});
    }
  };
  for (const GraphId g : written_.graphs()) {
    const FunctionId f = m_.graph(g).function;
    if (f) keep(g, m_.function(f).rest, ff::kValueInfo);
    else keep(g, written_.rest(g), gf::kValueInfo);
  }
  const auto order = [](const Info& a, const Info& b) {
    const auto key = [](const Info& i) { return std::tuple(i.graph, i.position, i.definition, i.slot); };
    return key(a) < key(b);
  };
  if (!std::ranges::is_sorted(infos_, order)) std::ranges::stable_sort(infos_, order);
}

std::vector<wire::ByteRange> MessageWriter::ranges() {
  write_model();
  return w_.take();
}

// Writes kept fields numbered low..high, last to first, in the order of their numbers.
void MessageWriter::write_rest(std::span<const Bytes> rest, std::uint32_t low, std::uint32_t high) {
  std::vector<Field> fields;
  for (const Bytes whole : rest) {
    const Field f = first_field(whole);
    if (f.number < low || f.number > high) continue;
    fields.push_back(f);
  }
  std::ranges::stable_sort(fields, {}, wire::rank_of);
  for (auto it = fields.rbegin(); it != fields.rend(); ++it) w_.raw(it->whole);
}

// Writes a text field: the file's own bytes when it has the field (also empty), else `now`.
void MessageWriter::write_text(std::span<const Bytes> rest, std::uint32_t number, NameId now) {
  for (auto it = rest.rbegin(); it != rest.rend(); ++it) {
    const Field f = first_field(*it);
    if (f.number == number && f.kind == Kind::Length) return w_.raw(*it);
  }
  if (now && now != kEmptyName) w_.field_copy(number, m_.text(now));
}

// Writes the opset imports: the file's own entries if they agree with the table. `spelled`: the standard
// domain may be spelled out in them.
void MessageWriter::write_opsets(std::span<const Bytes> rest, std::uint32_t number, const OpsetTable& table,
                                 bool spelled) {
  std::vector<OpsetImport> now(table.begin(), table.end());
  std::vector<Bytes> entries;
  bool same = true;
  for (const Bytes whole : rest) {
    const Field f = first_field(whole);
    if (f.number != number || f.kind != Kind::Length) continue;
    entries.push_back(whole);
    std::string_view domain;
    std::int64_t version = 0;
    Fields fields(f.bytes);
    for (Field x; fields.next(x);) {
      if (x.number == field::opset::kDomain) domain = x.bytes;
      if (x.number == field::opset::kVersion) version = wire::as_int64(x);
    }
    if (domain == kSpelledStandard) {
      domain = {};
      same = same && spelled;
    }
    const auto it =
        std::ranges::find_if(table, [&](const OpsetImport& o) { return m_.text(o.domain) == domain; });
    if (it == table.end() || it->version != version) same = false;
    else std::erase_if(now, [&](const OpsetImport& o) { return o.domain == it->domain; });
  }
  if (same) {  // what a pass added comes after what was there
    for (auto it = now.rbegin(); it != now.rend(); ++it) {
      const std::uint64_t end = w_.size();
      w_.field_int(field::opset::kVersion, it->version);
      if (it->domain != kEmptyName) w_.field_copy(field::opset::kDomain, m_.text(it->domain));
      w_.close(number, end);
    }
    for (auto it = entries.rbegin(); it != entries.rend(); ++it) w_.raw(*it);
    return;
  }
  for (auto it = table.rbegin(); it != table.rend(); ++it) {
    const std::uint64_t end = w_.size();
    w_.field_int(field::opset::kVersion, it->version);
    w_.field_copy(field::opset::kDomain, m_.text(it->domain));
    w_.close(number, end);
  }
}

void MessageWriter::write_model() {
  write_rest(written_.rest(), mf::kFunctions + 1, kNoLimit);
  for (const FunctionId f : std::views::reverse(written_.functions())) write_function(m_.function(f));
  write_rest(written_.rest(), mf::kOpsetImport + 1, mf::kFunctions);
  write_opsets(written_.rest(), mf::kOpsetImport, written_.opsets(), true);
  const std::uint64_t end = w_.size();
  write_graph(m_.main());
  w_.close(mf::kGraph, end);
  write_rest(written_.rest(), mf::kIrVersion + 1, mf::kGraph);
  std::int64_t version = -1;
  for (const Bytes whole : written_.rest())
    if (const Field f = first_field(whole); f.number == mf::kIrVersion) version = wire::as_int64(f);
  if (version == m_.ir_version) write_rest(written_.rest(), mf::kIrVersion, mf::kIrVersion);
  else w_.field_int(mf::kIrVersion, m_.ir_version);
}

void MessageWriter::write_function(const Function& f) {
  if (!m_.graph(f.body).alive) return;
  const std::uint64_t end = w_.size();
  respells_ = spells_standard_import(f.rest);
  const Graph& graph = m_.graph(f.body);
  write_rest(f.rest, ff::kMetadata, kNoLimit);
  write_text(f.rest, ff::kOverload, f.overload);
  write_value_infos(f.body, ff::kValueInfo);
  for (auto it = f.defaults.rbegin(); it != f.defaults.rend(); ++it)
    write_attribute(*it, ff::kAttributeProto);
  write_text(f.rest, ff::kDomain, f.domain);
  write_opsets(f.rest, ff::kOpsetImport, m_.opset_tables[graph.opsets], false);
  write_rest(f.rest, ff::kDocString, ff::kDocString);
  write_nodes(f.body, ff::kNode);
  for (auto it = f.attributes.rbegin(); it != f.attributes.rend(); ++it)
    w_.field_copy(ff::kAttribute, m_.text(*it));
  for (std::size_t i = m_.graph_output_count(f.body); i-- > 0;)
    w_.field_copy(ff::kOutput, m_.text(m_.value(m_.graph_output(f.body, i)).name));
  for (auto it = graph.inputs.rbegin(); it != graph.inputs.rend(); ++it)
    w_.field_copy(ff::kInput, m_.text(m_.value(*it).name));
  write_rest(f.rest, ff::kName + 1, ff::kInput - 1);
  write_text(f.rest, ff::kName, f.name);
  respells_ = false;
  w_.close(mf::kFunctions, end);
}

// Writes the content of a GraphProto.
void MessageWriter::write_graph(GraphId g) {
  const Graph& graph = m_.graph(g);
  const std::span<const Bytes> rest = written_.rest(g);
  const std::span<const ValueId> inputs = written_.inputs(g), initializers = written_.initializers(g);
  write_rest(rest, gf::kSparseInitializer + 1, kNoLimit);
  for (auto it = initializers.rbegin(); it != initializers.rend(); ++it)
    if (m_.alive(*it) && m_.value(*it).is_sparse) write_sparse(*it);
  write_rest(rest, gf::kValueInfo + 1, gf::kSparseInitializer);
  write_value_infos(g, gf::kValueInfo);
  write_outputs(g);
  for (auto it = inputs.rbegin(); it != inputs.rend(); ++it) write_value(gf::kInput, *it, m_.value(*it).info);
  write_rest(rest, gf::kInitializer + 1, gf::kInput);
  for (auto it = initializers.rbegin(); it != initializers.rend(); ++it) {
    const Value& v = m_.value(*it);
    if (v.alive && v.is_initializer && !v.is_sparse && !written_.is_constant_node(graph, *it))
      write_initializer(*it);
  }
  write_rest(rest, gf::kName + 1, gf::kInitializer);
  write_text(rest, gf::kName, graph.name);
  write_nodes(g, gf::kNode);
}

void MessageWriter::write_nodes(GraphId g, std::uint32_t number) {
  const std::span<const ValueId> initializers = written_.initializers(g);
  written_.nodes_backwards(g, [&](NodeId n) { write_node(n, number); });
  for (auto it = initializers.rbegin(); it != initializers.rend(); ++it)
    if (written_.is_constant_node(m_.graph(g), *it)) write_constant_node(*it, number);
}

void MessageWriter::write_value_infos(GraphId g, std::uint32_t number) {
  const auto [first, last] = std::ranges::equal_range(infos_, g, {}, &Info::graph);
  for (auto it = last; it != first;) {
    --it;
    if (!it->value) w_.raw(it->whole);
    else write_value(number, it->value, m_.value(it->value).info);
  }
}

// Writes a ValueInfoProto with the value's name: `info` unchanged where it is still valid.
void MessageWriter::write_value(std::uint32_t number, ValueId v, Bytes info) {
  const Value& value = m_.value(v);
  const std::string_view name = m_.text(value.name);
  const TypeId type = override_of(v);
  const bool stale = value.info_stale && !value.is_input;
  if (!type && !stale && info.data() != nullptr && value_info_name(info) == name)
    return w_.field_bytes(number, info);
  const std::uint64_t end = w_.size();
  wire::BackwardWriter& w = w_;
  write_value_info(w, m_, stale ? Bytes{} : info, name, type, !type || !open_dims_[written_.number(v)]);
  w_.close(number, end);
}

// A value can be more than one output, or an output and an input, each with its own ValueInfoProto: the
// entries of the file are used again where name and position agree.
void MessageWriter::write_outputs(GraphId g) {
  std::vector<Bytes> entries;
  for (const Bytes whole : written_.rest(g))
    if (const Field f = first_field(whole); f.number == gf::kOutput && f.kind == Kind::Length)
      entries.push_back(f.bytes);
  std::unordered_map<std::string_view, Bytes> by_name;  // the first of each name
  for (const Bytes entry : entries) by_name.emplace(value_info_name(entry), entry);
  const std::vector<ValueId> outputs = written_.outputs(g);
  for (std::size_t i = outputs.size(); i-- > 0;) {
    const ValueId v = outputs[i];
    const std::string_view name = m_.text(m_.value(v).name);
    Bytes info = m_.value(v).info;
    if (i < entries.size() && value_info_name(entries[i]) == name) {
      info = entries[i];
    } else if (const auto it = by_name.find(name); it != by_name.end()) {
      info = it->second;
    }
    write_value(gf::kOutput, v, info);
  }
}

}  // namespace graphopt
