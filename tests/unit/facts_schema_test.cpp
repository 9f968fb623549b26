// Compares the operator table with the schemas of the onnx library: every operator, every version, every
// domain that the library registers. A newer onnx makes this test name what is missing.
//
// The comparison is a function over rows and schemas, so that the tests below can hand it a table with a
// planted error and see that it is found.
#include <gtest/gtest.h>
#include <onnx/defs/schema.h>

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "ops/facts.h"
#include "support/known_names.h"

namespace graphopt {
namespace {

using onnx::AttributeProto;
using onnx::OpSchema;
using onnx::OpSchemaRegistry;
using Findings = std::vector<std::string>;

std::uint8_t count(int n) { return n > 254 ? 255 : static_cast<std::uint8_t>(n); }

AttributeProto::AttributeType proto_type(AttrType t) {
  switch (t) {
    case AttrType::Int: return AttributeProto::INT;
    case AttrType::Float: return AttributeProto::FLOAT;
    case AttrType::String: return AttributeProto::STRING;
    case AttrType::Ints: return AttributeProto::INTS;
    case AttrType::Floats: return AttributeProto::FLOATS;
    case AttrType::Strings: return AttributeProto::STRINGS;
    case AttrType::Tensor: return AttributeProto::TENSOR;
    case AttrType::Graph: return AttributeProto::GRAPH;
    case AttrType::SparseTensor: return AttributeProto::SPARSE_TENSOR;
    case AttrType::TypeProto: return AttributeProto::TYPE_PROTO;
    case AttrType::Tensors: return AttributeProto::TENSORS;
    case AttrType::Graphs: return AttributeProto::GRAPHS;
  }
  return AttributeProto::UNDEFINED;
}

bool same_default(const AttrDefaultValue& ours, const AttributeProto& theirs) {
  switch (theirs.type()) {
    case AttributeProto::UNDEFINED: return std::holds_alternative<std::monostate>(ours);
    case AttributeProto::INT: {
      const auto* v = std::get_if<std::int64_t>(&ours);
      return v != nullptr && *v == theirs.i();
    }
    case AttributeProto::FLOAT: {  // bit for bit: LabelEncoder has a -0
      const auto* v = std::get_if<float>(&ours);
      return v != nullptr && std::bit_cast<std::uint32_t>(*v) == std::bit_cast<std::uint32_t>(theirs.f());
    }
    case AttributeProto::STRING: {
      const auto* v = std::get_if<std::string_view>(&ours);
      return v != nullptr && *v == theirs.s();
    }
    case AttributeProto::INTS: {
      const auto* v = std::get_if<std::span<const std::int64_t>>(&ours);
      return v != nullptr && std::ranges::equal(*v, theirs.ints());
    }
    case AttributeProto::FLOATS: {
      const auto* v = std::get_if<std::span<const float>>(&ours);
      return v != nullptr && std::ranges::equal(*v, theirs.floats());
    }
    case AttributeProto::STRINGS: {
      const auto* v = std::get_if<std::span<const std::string_view>>(&ours);
      return v != nullptr && std::ranges::equal(*v, theirs.strings());
    }
    default: return false;
  }
}

void compare_attributes(const OpFacts& row, const OpSchema& schema, const std::string& who, Findings& found) {
  for (const auto& [name, theirs] : schema.attributes()) {
    const AttrFact* ours = find_attribute(row, name);
    const std::string what = who + ": attribute '" + name + "'";
    if (ours == nullptr) {
      found.push_back(what + " is missing");
      continue;
    }
    if (proto_type(ours->type) != theirs.type) found.push_back(what + " has another type");
    if (ours->required != theirs.required) found.push_back(what + " is required in one, not in the other");
    if (!same_default(ours->fallback, theirs.default_value)) found.push_back(what + " has another default");
  }
  std::set<std::string_view> seen;
  for (const AttrFact& a : row.attributes) {
    if (!schema.attributes().contains(std::string(a.name)))
      found.push_back(who + ": the schema has no attribute '" + std::string(a.name) + "'");
    if (!seen.insert(a.name).second) found.push_back(who + ": '" + std::string(a.name) + "' stands twice");
  }
}

// An attribute or operand called axis or axes has its place in the row; before opset 7 `axis` belongs to
// broadcasting.
void compare_axis(const OpFacts& row, const OpSchema& schema, const std::string& who, Findings& found) {
  AxisFact want;
  const auto& attributes = schema.attributes();
  const auto attribute = [&](const char* name) {
    const auto it = attributes.find(name);
    return it == attributes.end() ? nullptr : &it->second;
  };
  if (const auto* axis = attribute("axis"); axis != nullptr && row.broadcast != Broadcast::LegacyAxis) {
    want.in = AxisIn::Attribute;
    if (axis->default_value.type() == AttributeProto::INT)
      want.fallback = static_cast<std::int8_t>(axis->default_value.i());
    else want.fallback = row.axis.fallback;  // stated in words only
  } else if (attribute("axes") != nullptr) {
    want.in = AxisIn::AttributeList;
  }
  for (std::size_t slot = 0; slot < schema.inputs().size(); ++slot) {
    const std::string& name = schema.inputs()[slot].GetName();
    if (name != "axis" && name != "axes") continue;
    want.in = name == "axis" ? AxisIn::Operand : AxisIn::OperandList;
    want.operand = static_cast<std::uint8_t>(slot);
    want.fallback = row.axis.fallback;
    if (name == "axes") {
      const bool optional = schema.inputs()[slot].GetOption() == OpSchema::Optional;
      if (row.axis.absent_means_all != optional) found.push_back(who + ": may the axes be absent?");
    }
  }
  if (row.axis.in != want.in || row.axis.operand != want.operand)
    found.push_back(who + ": the axis stands elsewhere");
  else if (row.axis.fallback != want.fallback) found.push_back(who + ": the axis has another default");
}

std::string full_name(const std::string& domain, const std::string& name, int since) {
  return domain + (domain.empty() ? "" : "/") + name + "@" + std::to_string(since);
}

// Returns whether onnx has no inference function for the operator, and its function body refers to attributes
// with a default.
bool needs_attributes_in_functions(const OpSchema& schema) {
  if (schema.has_type_and_shape_inference_function() || !schema.HasFunction()) return false;
  for (const onnx::NodeProto& n : schema.GetFunction()->node())
    for (const AttributeProto& a : n.attribute())
      if (const auto it = schema.attributes().find(a.ref_attr_name());
          it != schema.attributes().end() && it->second.default_value.type() != AttributeProto::UNDEFINED)
        return true;
  return false;
}

Findings compare(std::span<const OpFacts> rows, std::span<const OpSchema> schemas) {
  Findings found;
  std::map<std::pair<std::string_view, std::string_view>, std::vector<const OpFacts*>> by_name;
  for (const OpFacts& row : rows)
    if (!row.name.empty()) by_name[{row.domain, row.name}].push_back(&row);
  std::set<std::string> versions;  // "domain/name@since" of every schema
  std::set<std::string_view> domains;
  for (const OpSchema& schema : schemas) {
    const int since = schema.SinceVersion();
    const std::string who = full_name(schema.domain(), schema.Name(), since);
    versions.insert(who);
    domains.insert(schema.domain());
    if (schema.domain().empty() && since > kNewestOpset) {
      found.push_back(who + ": newer than kNewestOpset");
      continue;
    }
    const OpFacts* row = nullptr;
    for (const OpFacts* r : by_name[{schema.domain(), schema.Name()}])
      if (r->since <= since && (row == nullptr || r->since > row->since)) row = r;
    if (row == nullptr) {
      found.push_back(who + ": no row");
      continue;
    }
    const auto differs = [&](bool yes, const char* what) {
      if (yes) found.push_back(who + ": " + what);
    };
    differs(row->inferred_by_body != needs_attributes_in_functions(schema),
            "does its function body, by which it is inferred, need attributes?");
    differs(row->deprecated != schema.Deprecated(), "deprecated in one, not in the other");
    differs(row->min_inputs != count(schema.min_input()), "another least number of inputs");
    differs(row->max_inputs != count(schema.max_input()), "another greatest number of inputs");
    differs(row->min_outputs != count(schema.min_output()), "another least number of outputs");
    differs(row->max_outputs != count(schema.max_output()), "another greatest number of outputs");
    if (!row->deprecated) {
      differs(row->roles.size() != schema.inputs().size(), "one role for each input");
      compare_axis(*row, schema, who, found);
    }
    compare_attributes(*row, schema, who, found);
  }
  for (const OpFacts& row : rows) {
    if (row.name.empty() || !domains.contains(row.domain)) continue;
    if (row.kind == OpKind::MsSimplifiedLayerNormalization) continue;  // ONNX Runtime's own
    const std::string who = full_name(std::string(row.domain), std::string(row.name), row.since);
    if (!versions.contains(who)) found.push_back(who + ": a row of no schema version");
  }
  return found;
}

std::vector<OpSchema> all_schemas() { return OpSchemaRegistry::get_all_schemas_with_history(); }

std::string joined(const Findings& found) {
  std::string all;
  for (const std::string& f : found) all += f + "\n";
  return all;
}

bool mentions(const Findings& found, std::string_view text) {
  return std::ranges::any_of(found, [&](const std::string& f) { return f.find(text) != std::string::npos; });
}

// A copy of the table that can be changed.
struct Copy {
  Copy() : rows(all_facts().begin(), all_facts().end()) {}

  OpFacts& row(OpKind kind, int since) {
    for (OpFacts& r : rows)
      if (r.kind == kind && r.since == since) return r;
    ADD_FAILURE() << op_name(kind) << "@" << since << " has no row";
    return rows[0];
  }
  AttrFact& attribute(OpKind kind, int since, std::string_view name) {
    OpFacts& r = row(kind, since);
    storage.assign(r.attributes.begin(), r.attributes.end());
    r.attributes = storage;
    for (AttrFact& a : storage)
      if (a.name == name) return a;
    ADD_FAILURE() << name;
    return storage.at(0);
  }
  Findings compared() const { return compare(rows, all_schemas()); }

  std::vector<OpFacts> rows;
  std::vector<AttrFact> storage;
};

TEST(FactsSchema, TableAgreesWithEverySchema) {
  const std::vector<OpSchema> schemas = all_schemas();
  ASSERT_GT(schemas.size(), 600U);
  EXPECT_EQ(joined(compare(all_facts(), schemas)), "");
}

TEST(FactsSchema, TheRowOfAnOpsetIsThatOfItsVersion) {
  for (const OpSchema& schema : all_schemas()) {
    if (!schema.domain().empty()) continue;
    const OpKind kind = op_kind("", schema.Name());
    ASSERT_NE(kind, OpKind::Opaque) << schema.Name();
    EXPECT_EQ(op_name(kind), schema.Name());
    for (int opset = 1; opset <= kNewestOpset; ++opset) {
      const OpSchema* there = OpSchemaRegistry::Schema(schema.Name(), opset, "");
      if (there == nullptr)
        EXPECT_EQ(facts(kind, opset).kind, OpKind::Opaque) << schema.Name() << " at " << opset;
      else EXPECT_EQ(&facts(kind, opset), &facts(kind, there->SinceVersion())) << schema.Name() << opset;
    }
  }
}

TEST(FactsSchema, APlantedWrongDefaultIsFound) {
  Copy t;
  t.attribute(OpKind::Softmax, 13, "axis").fallback = std::int64_t{1};
  EXPECT_TRUE(mentions(t.compared(), "Softmax@13: attribute 'axis' has another default"));

  Copy bit;  // the last bit of a float
  bit.attribute(OpKind::LayerNormalization, 17, "epsilon").fallback = std::bit_cast<float>(0x3727C5ADU);
  EXPECT_TRUE(mentions(bit.compared(), "LayerNormalization@17: attribute 'epsilon' has another default"));

  Copy none;
  none.attribute(OpKind::Gelu, 20, "approximate").fallback = std::monostate{};
  EXPECT_TRUE(mentions(none.compared(), "Gelu@20: attribute 'approximate' has another default"));

  Copy some;
  some.attribute(OpKind::Squeeze, 1, "axes").fallback = std::int64_t{0};
  EXPECT_TRUE(mentions(some.compared(), "Squeeze@1: attribute 'axes' has another default"));
}

TEST(FactsSchema, AMissingRowIsFound) {
  Copy t;  // an operator
  std::erase_if(t.rows, [](const OpFacts& r) { return r.kind == OpKind::Gelu; });
  EXPECT_EQ(joined(t.compared()), "Gelu@20: no row\n");

  Copy newer;  // one version: that of opset 11 then speaks for 13, with the axes in an attribute
  std::erase_if(newer.rows, [](const OpFacts& r) { return r.kind == OpKind::Squeeze && r.since == 13; });
  EXPECT_TRUE(mentions(newer.compared(), "Squeeze@13: another greatest number of inputs"));
  EXPECT_TRUE(mentions(newer.compared(), "Squeeze@13: the schema has no attribute 'axes'"));

  Copy first;
  std::erase_if(first.rows, [](const OpFacts& r) { return r.kind == OpKind::Relu && r.since == 1; });
  EXPECT_TRUE(mentions(first.compared(), "Relu@1: no row"));
}

TEST(FactsSchema, OtherPlantedErrorsAreFound) {
  Copy counts;
  counts.row(OpKind::Conv, 1).min_inputs = 3;
  counts.row(OpKind::TopK, 11).max_outputs = 1;
  EXPECT_TRUE(mentions(counts.compared(), "Conv@1: another least number of inputs"));
  EXPECT_TRUE(mentions(counts.compared(), "TopK@11: another greatest number of outputs"));

  Copy attributes;
  attributes.row(OpKind::Gemm, 11).attributes = {};
  attributes.row(OpKind::Relu, 6).attributes = attributes.row(OpKind::Relu, 1).attributes;
  EXPECT_TRUE(mentions(attributes.compared(), "Gemm@13: attribute 'transB' is missing"));
  EXPECT_TRUE(mentions(attributes.compared(), "Relu@14: the schema has no attribute 'consumed_inputs'"));

  Copy type;
  type.attribute(OpKind::Cast, 6, "to").type = AttrType::String;
  EXPECT_TRUE(mentions(type.compared(), "Cast@6: attribute 'to' has another type"));
  Copy required;
  required.attribute(OpKind::Concat, 4, "axis").required = false;
  EXPECT_TRUE(mentions(required.compared(), "Concat@4: attribute 'axis' is required in one"));

  Copy axis;
  axis.row(OpKind::CumSum, 11).axis.operand = 0;
  axis.row(OpKind::Flatten, 11).axis.fallback = 0;
  axis.row(OpKind::ReduceSum, 13).axis.absent_means_all = false;
  EXPECT_TRUE(mentions(axis.compared(), "CumSum@11: the axis stands elsewhere"));
  EXPECT_TRUE(mentions(axis.compared(), "Flatten@11: the axis has another default"));
  EXPECT_TRUE(mentions(axis.compared(), "ReduceSum@13: may the axes be absent?"));

  Copy gone;
  gone.row(OpKind::Upsample, 10).deprecated = false;
  gone.row(OpKind::Relu, 6).since = 7;
  EXPECT_TRUE(mentions(gone.compared(), "Upsample@10: deprecated in one"));
  EXPECT_TRUE(mentions(gone.compared(), "Relu@7: a row of no schema version"));
}

TEST(FactsSchema, OperatorsOfANewerOnnxAreNamed) {
  std::vector<OpSchema> schemas = all_schemas();
  OpSchema later("Relu", __FILE__, __LINE__), fresh("Foo", __FILE__, __LINE__);
  OpSchema other("Bar", __FILE__, __LINE__);
  schemas.push_back(later.SetDomain("").SinceVersion(kNewestOpset + 1));
  schemas.push_back(fresh.SetDomain("").SinceVersion(12));
  schemas.push_back(other.SetDomain("ai.onnx.ml").SinceVersion(6));
  const Findings found = compare(all_facts(), schemas);
  EXPECT_EQ(found.size(), 3U) << joined(found);
  EXPECT_TRUE(mentions(found, "Relu@29: newer than kNewestOpset"));
  EXPECT_TRUE(mentions(found, "Foo@12: no row"));
  EXPECT_TRUE(mentions(found, "ai.onnx.ml/Bar@6: no row"));
}

TEST(FactsSchema, KnownNamesAreTheAttributesOfTheDefaultDomain) {
  std::set<std::string_view> used;
  for (const OpFacts& row : all_facts())
    if (row.domain.empty())
      for (const AttrFact& a : row.attributes) used.insert(a.name);
  const std::set<std::string_view> known(kKnownNames.begin() + 1, kKnownNames.end());
  EXPECT_EQ(used, known);
}

}  // namespace
}  // namespace graphopt
