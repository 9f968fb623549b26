#include "onnx/written_model.h"

#include <unordered_set>

#include "onnx/fields.h"
#include "onnx/wire.h"

namespace graphopt {

using wire::Field;
using wire::Fields;
using wire::first_field;

namespace {

// Returns the name of the tensor that a quantization annotation is about.
std::string_view annotated(Bytes annotation) {
  std::string_view name;
  Fields fields(annotation);
  for (Field f; fields.next(f);)
    if (f.number == field::annotation::kTensor && f.kind == wire::Kind::Length) name = f.bytes;
  return name;
}

}  // namespace

WrittenModel::WrittenModel(const Model& m, const ModelPart* part) : m_(m), part_(part) {
  if (!part) return;
  values_.resize(m.value_count(), false);
  nodes_.resize(m.node_count(), false);
  functions_.resize(m.function_count(), false);
  for (const NodeId n : part->nodes) nodes_[n.index()] = true;
  std::unordered_set<std::string_view> names;
  const auto add = [&](ValueId v) {
    if (!v) return;
    values_[v.index()] = true;
    names.insert(m.text(m.value(v).name));
  };
  for (const NodeId n : part->nodes)
    for (const ValueId v : m.outputs(n)) add(v);
  for (const ValueId v : part->inputs) add(v);
  for (const ValueId v : part->initializers) add(v);
  for (const FunctionId f : part->functions) functions_[f.index()] = true;
  for (const Bytes whole : m.rest)
    if (first_field(whole).number != field::model::kTrainingInfo) rest_.push_back(whole);
  for (const Bytes whole : m.graph(m.main()).rest) {
    const Field f = first_field(whole);
    if (f.number == field::graph::kQuantization && !names.contains(annotated(f.bytes))) continue;
    if (f.number == field::graph::kValueInfo) continue;  // of a name that no value has
    main_rest_.push_back(whole);
  }
}

std::span<const ValueId> WrittenModel::inputs(GraphId g) const {
  return is_main_part(g) ? std::span<const ValueId>(part_->inputs) : m_.graph_inputs(g);
}

std::span<const ValueId> WrittenModel::initializers(GraphId g) const {
  return is_main_part(g) ? part_->initializers : m_.graph(g).initializers;
}

std::vector<ValueId> WrittenModel::outputs(GraphId g) const {
  if (is_main_part(g)) return part_->outputs;
  std::vector<ValueId> out;
  for (std::size_t i = 0; i < m_.graph_output_count(g); ++i)
    if (const ValueId v = m_.graph_output(g, i)) out.push_back(v);
  return out;
}

bool WrittenModel::has(GraphId g) const {
  if (!part_) return true;
  NodeId owner;
  for (; m_.graph(g).owner; g = m_.graph(g).parent) owner = m_.graph(g).owner;
  if (m_.graph(g).function) return has(m_.graph(g).function);
  return !owner || nodes_[owner.index()];
}

std::span<const Bytes> WrittenModel::rest(GraphId g) const {
  return is_main_part(g) ? main_rest_ : m_.graph(g).rest;
}

}  // namespace graphopt
