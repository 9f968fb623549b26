#include "onnx/written_model.h"

#include <algorithm>

#include "ir/bodies.h"
#include "onnx/fields.h"
#include "onnx/tensor_wire.h"
#include "onnx/types_wire.h"
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

KeptFields::KeptFields(const Model& m) {
  for (const Bytes whole : m.rest)
    if (first_field(whole).number != field::model::kTrainingInfo) model_.push_back(whole);
  for (const Bytes whole : m.graph(m.main()).rest) {
    const Field f = first_field(whole);
    if (f.number == field::graph::kValueInfo) continue;  // of a name that no value has
    if (f.number == field::graph::kOutput && f.kind == wire::Kind::Length) {
      outputs_.emplace(value_info_name(f.bytes), whole);
    } else if (f.number == field::graph::kQuantization) {
      annotations_of_.emplace(annotated(f.bytes), static_cast<std::uint32_t>(annotations_.size()));
      annotations_.push_back(whole);
    } else {
      graph_.push_back(whole);
    }
  }
}

void KeptFields::find_annotations(std::string_view value, std::vector<std::uint32_t>& out) const {
  const auto [first, last] = annotations_of_.equal_range(value);
  for (auto it = first; it != last; ++it) out.push_back(it->second);
}

Bytes KeptFields::output(std::string_view value) const {
  const auto at = outputs_.find(value);
  return at == outputs_.end() ? Bytes{} : at->second;
}

WrittenModel::WrittenModel(const Model& m, const ModelPart* part, const KeptFields* kept)
    : m_(m), part_(part), kept_(kept) {
  find_graphs();
  if (!part) {
    for (std::size_t f = 0; f < m.function_count(); ++f) functions_.push_back(FunctionId{f});
    return;
  }
  if (!kept) kept_ = &own_kept_.emplace(m);
  find_values();
  find_rest();
}

void WrittenModel::find_graphs() {
  if (!part_) {
    for (std::size_t g = 0; g < m_.graph_count(); ++g)
      if (m_.graph(GraphId{g}).alive) graphs_.push_back(GraphId{g});
    return;
  }
  const auto add_bodies = [this](NodeId n) {
    for (const Attr& a : m_.attrs(n)) graphs_.insert(graphs_.end(), a.graphs.begin(), a.graphs.end());
  };
  for (const NodeId n : part_->nodes) add_bodies(n);
  for (const FunctionId f : part_->functions) graphs_.push_back(m_.function(f).body);
  for (std::size_t i = 0; i < graphs_.size(); ++i)
    for (NodeId n = graphs_[i] ? m_.first_node(graphs_[i]) : NodeId{}; n; n = m_.next_node(n)) add_bodies(n);
  std::erase_if(graphs_, [this](GraphId g) { return !g || !m_.graph(g).alive; });
  graphs_.push_back(m_.main());
  std::ranges::sort(graphs_);
}

void WrittenModel::find_values() {
  const auto add = [this](std::span<const ValueId> values) {
    std::ranges::copy_if(values, std::back_inserter(values_), &ValueId::valid);
  };
  for (const GraphId g : graphs_) {
    nodes_backwards(g, [&](NodeId n) { add(m_.outputs(n)); });
    add(inputs(g));
    add(initializers(g));
  }
  std::ranges::sort(values_);
  values_.erase(std::unique(values_.begin(), values_.end()), values_.end());
}

// Annotations come in the order of the file, entries of outputs in that of the part.
void WrittenModel::find_rest() {
  const std::span<const Bytes> all = kept_->graph();
  main_rest_.assign(all.begin(), all.end());
  std::vector<std::uint32_t> annotations;
  for (const ValueId v : values_)
    if (m_.value(v).graph == m_.main()) kept_->find_annotations(m_.text(m_.value(v).name), annotations);
  std::ranges::sort(annotations);
  for (const std::uint32_t position : annotations) main_rest_.push_back(kept_->annotation(position));
  for (const ValueId v : part_->outputs)
    if (const Bytes entry = kept_->output(m_.text(m_.value(v).name)); !entry.empty())
      main_rest_.push_back(entry);
}

std::size_t WrittenModel::number(ValueId v) const {
  if (!part_) return v.index();
  const auto at = std::ranges::lower_bound(values_, v);
  return at != values_.end() && *at == v ? static_cast<std::size_t>(at - values_.begin()) : kNone;
}

std::span<const ValueId> WrittenModel::inputs(GraphId g) const {
  return is_main_part(g) ? std::span<const ValueId>(part_->inputs) : m_.graph_inputs(g);
}

std::span<const ValueId> WrittenModel::initializers(GraphId g) const {
  return is_main_part(g) ? part_->initializers : m_.graph(g).initializers;
}

bool WrittenModel::is_constant_node(const Graph& graph, ValueId v) const {
  const Value& value = m_.value(v);
  if (!value.alive || !value.is_initializer || value.is_sparse || !value.tensor) return false;
  if (graph.function) return true;
  // A subgraph inside a function may have initializers.
  if (m_.ir_version >= 4 || (graph.parent && is_in_function(m_, graph.parent))) return false;
  return !value.is_input && tensor_name(m_.tensor(value.tensor).proto) != m_.text(value.name);
}

std::vector<ValueId> WrittenModel::outputs(GraphId g) const {
  if (is_main_part(g)) return part_->outputs;
  std::vector<ValueId> out;
  for (std::size_t i = 0; i < m_.graph_output_count(g); ++i)
    if (const ValueId v = m_.graph_output(g, i)) out.push_back(v);
  return out;
}

std::span<const Bytes> WrittenModel::rest(GraphId g) const {
  return is_main_part(g) ? main_rest_ : m_.graph(g).rest;
}

}  // namespace graphopt
