// Functions of the model. See graph_reader.h.
#include <algorithm>
#include <string>

#include "ir/reader_access.h"
#include "onnx/fields.h"
#include "onnx/graph_reader.h"
#include "onnx/topology.h"
#include "support/quote_name.h"

namespace graphopt {

namespace ff = field::function;
using wire::Field;
using wire::Fields;
using wire::Kind;

OpsetTable GraphReader::read_opsets(const std::vector<Bytes>& imports, const Place& where) {
  OpsetTable table;
  constexpr std::size_t kMostImports = 1000;  // tables are searched linearly
  if (imports.size() > kMostImports) {
    problems_.add(where, "it imports " + std::to_string(imports.size()) + " opsets",
                  "keep those that its nodes use");
    return table;
  }
  for (const Bytes proto : imports) {
    std::string_view domain;
    std::int64_t version = 0;
    Fields fields(proto);
    for (Field f; fields.next(f);) {
      if (f.number == field::opset::kDomain && f.kind == Kind::Length) domain = f.bytes;
      if (f.number == field::opset::kVersion && f.kind == Kind::Varint) version = wire::as_int64(f);
    }
    const std::string shown = domain.empty() ? "ai.onnx" : std::string(domain);
    if (fields.broken()) {
      problems_.add(where, std::string("an opset import is broken: ") + fields.what(), kDamaged);
      continue;
    }
    if (version < 1) {
      problems_.add(where,
                    "the opset version of domain " + quote_name(shown) + " is " + std::to_string(version),
                    kReport);
      continue;
    }
    NameId name = view(domain);
    if (name == ai_onnx_) name = kEmptyName;
    const auto known = std::ranges::find(table, name, &OpsetImport::domain);
    if (known == table.end()) table.push_back({name, version});
    else if (known->version != version)
      problems_.add(where,
                    "domain " + quote_name(shown) + " has two opset versions, " +
                        std::to_string(known->version) + " and " + std::to_string(version),
                    "keep one of them");
  }
  return table;
}

void GraphReader::declare_function(Bytes proto) {
  Function f;
  f.domain = f.name = f.overload = kEmptyName;
  Fields fields(proto);
  for (Field x; fields.next(x);) {
    if (x.kind != Kind::Length) continue;
    if (x.number == ff::kName) f.name = view(x.bytes);
    if (x.number == ff::kDomain) f.domain = view(x.bytes);
    if (x.number == ff::kOverload) f.overload = view(x.bytes);
  }
  if (f.domain == ai_onnx_) f.domain = kEmptyName;
  Place where;
  where.graph = "function " + std::string(m_.text(f.domain)) + "::" + std::string(m_.text(f.name));
  if (fields.broken()) {
    problems_.add(std::move(where), std::string("its bytes are broken: ") + fields.what(), kDamaged);
    return;
  }
  if (f.name == kEmptyName) {
    problems_.add({}, "it has a function without a name", kReport);
    return;
  }
  const FunctionKey key{f.domain, f.name, f.overload};
  const FunctionId id = m_.add_function(std::move(f));
  function_protos_.push_back(proto);
  if (!function_ids_.emplace(key, id).second)
    problems_.add(std::move(where), "the model has two functions of this name",
                  "remove one, or give it an overload name");
}

void GraphReader::read_functions() {
  for (std::uint32_t i = 0; i < function_protos_.size() && !problems_.full(); ++i)
    read_function(FunctionId{i}, function_protos_[i]);
  if (m_.function_count() > 0 && !problems_.full()) check_function_calls(m_, problems_);
}

void GraphReader::read_function(FunctionId id, Bytes proto) {
  Parts parts;
  std::vector<Bytes> imports, defaults, rest;
  std::vector<NameId> attributes;
  Fields fields(proto);
  for (Field f; fields.next(f);) {
    if (f.kind == Kind::Length) {
      switch (f.number) {
        case ff::kInput: parts.inputs.push_back(f.bytes); continue;
        case ff::kOutput: parts.outputs.push_back(f.bytes); continue;
        case ff::kAttribute: attributes.push_back(view(f.bytes)); continue;
        case ff::kAttributeProto: defaults.push_back(f.bytes); continue;
        case ff::kNode: parts.nodes.push_back(f.bytes); continue;
        case ff::kValueInfo: parts.value_infos.push_back(f.whole); continue;
        case ff::kOpsetImport: imports.push_back(f.bytes); break;
        default: break;
      }
    }
    rest.push_back(f.whole);
  }
  m_.opset_tables.emplace_back();
  const auto table = static_cast<std::uint32_t>(m_.opset_tables.size() - 1);
  const GraphId g = m_.add_graph({}, {}, table);
  ReaderAccess::graph(m_, g).function = id;
  {
    Function& function = ReaderAccess::function(m_, id);
    function.body = g;
    function.attributes = std::move(attributes);
    function.rest = std::move(rest);
  }
  const Place where = place(g);
  m_.opset_tables[table] = read_opsets(imports, where);
  std::vector<Attr> values;
  const int budget = wire::kMaxDepth - 1;
  for (const Bytes bytes : defaults) {
    Attr a;
    if (read_attribute(bytes, g, {}, budget, a)) values.push_back(a);
  }
  ReaderAccess::function(m_, id).defaults = std::move(values);

  open(g);
  for (const Bytes name : parts.inputs)
    if (name.empty()) problems_.add(where, "it has an input without a name", kReport);
    else declare(g, name, "an input", true);
  read_body(g, parts, budget);
  std::vector<ValueId> outputs;
  for (const Bytes name : parts.outputs) {
    const ValueId v = name.empty() ? ValueId{} : lookup(view(name));
    if (v) outputs.push_back(v);
    else
      problems_.add(place(g, "output " + quote_name(name)), "no node or input gives it",
                    "remove the output, or add what makes it");
  }
  m_.set_graph_outputs(g, outputs);
  read_value_infos(g, parts.value_infos, budget);
  if (open_graphs_.back().unsorted && !problems_.full() && sort_nodes(m_, g, problems_)) sorted_.push_back(g);
  close();
}

}  // namespace graphopt
