// inspect(): loads, infers and reports; it changes nothing.
#include "graphopt/inspect.h"

#include <algorithm>
#include <functional>
#include <map>
#include <new>

#include "driver/reading.h"
#include "driver/regions.h"
#include "infer/infer.h"
#include "infer/multiply_adds.h"
#include "ir/figures.h"
#include "ir/type_text.h"
#include "onnx/wire.h"
#include "regions/region_functions.h"
#include "shapes/bind.h"

namespace graphopt {
namespace {

struct Inspector {
  Model model;
  std::optional<Inference> inference;
  Inspection out;

  std::string name(ValueId v) const { return std::string(model.text(model.value(v).name)); }

  void head();
  void interface();
  void symbols();
  void weights();
  void largest();
  void work();
  void functions();
  void shapes();
  void unknown_operators();
  void regions();
  void problems(const std::vector<Warning>& warnings);
};

void Inspector::head() {
  out.file = model.file;
  out.ir_version = model.ir_version;
  out.graph = model.text(model.graph(model.main()).name);
  for (const OpsetImport& o : model.opset_tables[0]) {
    const std::string_view domain = model.text(o.domain);
    out.opsets.push_back({domain.empty() ? "ai.onnx" : std::string(domain), o.version});
  }
  out.figures = count_model(model);
  out.figures.bytes = model.file_bytes;
  out.external_bytes = model.external_data_bytes;
  out.model_bytes = model.file_bytes - model.external_data_bytes;
}

void Inspector::interface() {
  for (const ValueId v : model.graph_inputs(model.main())) {
    out.inputs.push_back({name(v), type_text(model, model.value(v).declared), model.value(v).is_initializer});
  }
  for (std::size_t i = 0; i < model.graph_output_count(model.main()); ++i) {
    const ValueId v = model.graph_output(model.main(), i);
    if (v) out.outputs.push_back({name(v), type_text(model, inference->type(v)), false});
  }
}

void Inspector::symbols() {
  std::map<DimId, std::size_t> index;
  for (const DimId s : input_symbols(model)) {
    index[s] = out.symbols.size();
    out.symbols.push_back({std::string(model.dims.symbol_name(s)), {}});
  }
  for (const ValueId v : model.graph_inputs(model.main())) {
    for (const DimId d : model.types[model.value(v).declared].dims) {
      if (!d) continue;
      for (const DimId s : model.dims.symbols_of(d)) {
        std::vector<std::string>& inputs = out.symbols[index[s]].inputs;
        if (inputs.empty() || inputs.back() != name(v)) inputs.push_back(name(v));
      }
    }
  }
}

void Inspector::weights() {
  std::map<DType, Inspection::WeightType> types;
  for (std::size_t i = 0; i < model.tensor_count(); ++i) {
    const Tensor& t = model.tensor(TensorId{i});
    const auto elements = static_cast<std::uint64_t>(t.elements);
    const std::uint64_t bytes = raw_size(t.dtype, elements).value_or(0);  // strings have no size of their own
    out.weight_bytes += bytes;
    out.parameters += elements;
    Inspection::WeightType& type = types[t.dtype];
    ++type.tensors;
    type.elements += elements;
    type.bytes += bytes;
  }
  for (auto& [dtype, type] : types) {
    type.type = dtype_name(dtype);
    out.weight_types.push_back(std::move(type));
  }
  std::ranges::stable_sort(out.weight_types, std::greater{}, &Inspection::WeightType::bytes);
}

void Inspector::largest() {
  std::vector<std::pair<std::uint64_t, ValueId>> found;
  for (std::size_t i = 0; i < model.value_count(); ++i) {
    const Value& value = model.value(ValueId{i});
    if (!value.alive || !value.tensor) continue;
    const Tensor& t = model.tensor(value.tensor);
    if (const auto bytes = raw_size(t.dtype, static_cast<std::uint64_t>(t.elements)); bytes && *bytes > 0)
      found.emplace_back(*bytes, ValueId{i});
  }
  const auto most = found.begin() + static_cast<std::ptrdiff_t>(std::min(Inspection::kLargest, found.size()));
  std::ranges::partial_sort(found, most, [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  for (auto it = found.begin(); it != most; ++it) {
    const Tensor& t = model.tensor(model.value(it->second).tensor);
    std::string type = std::string(dtype_name(t.dtype)) + "[";
    for (const std::int64_t d : t.dims) type += (type.back() == '[' ? "" : ",") + std::to_string(d);
    out.largest.push_back({name(it->second), type + "]", it->first});
  }
}

// Called after all that reads types: it interns expressions.
void Inspector::work() {
  const MultiplyAdds found = multiply_adds(model, *inference);
  if (found.count) out.multiply_adds = model.dims.print(found.count);
  out.uncounted = found.unknown;
}

void Inspector::functions() {
  for (std::size_t i = 0; i < model.function_count(); ++i) {
    const Function& f = model.function(FunctionId{i});
    std::string text = std::string(model.text(f.domain)) + "::" + std::string(model.text(f.name));
    if (!model.text(f.overload).empty()) text += ':' + std::string(model.text(f.overload));
    out.functions.push_back({std::move(text), model.graph(f.body).node_count});
  }
}

void Inspector::shapes() {
  for (std::size_t i = 0; i < model.node_count(); ++i) {
    const NodeId n{i};
    if (!model.alive(n) || model.is_return(n) || model.node(n).graph != model.main()) continue;
    for (const ValueId v : model.outputs(n)) {
      if (!v) continue;
      ++out.shapes.values;
      const Type& t = inference->type_of(v);
      const bool ranked = t.kind != TypeKind::Unknown && (t.kind != TypeKind::Tensor || t.has_rank);
      if (!ranked) continue;
      ++out.shapes.ranked;
      bool linked = true;
      for (const DimId d : t.dims) linked = linked && d && model.dims.linked(d);
      if (linked) ++out.shapes.linked;
    }
  }
}

void Inspector::unknown_operators() {
  std::map<std::string, std::uint64_t> found;
  for (std::size_t i = 0; i < model.node_count(); ++i) {
    const NodeId n{i};
    if (!model.alive(n) || model.is_return(n) || model.kind(n) != OpKind::Opaque) continue;
    ++found[operator_name(model, model.node(n).op)];
  }
  for (const auto& [op, n] : found) out.opaque.push_back({op, n});
}

// Must be called last: it turns region functions of the model back into the nodes of their bodies.
void Inspector::regions() {
  if (inline_region_functions(model) > 0) {
    inference.emplace(model, InferOptions{});
    inference->run();
  }
  out.regions = describe_regions(model, list_regions(model, *inference, model.main()));
}

void Inspector::problems(const std::vector<Warning>& warnings) {
  for (const Warning& w : warnings) out.problems.push_back(warning_text(w));
  for (const FalseClaim& claim : inference->false_claims()) {
    out.problems.push_back(claim_text(model, claim));
  }
}

Result<Inspection> run(const InspectOptions& options) {
  Result<ReadModel> read = read_for_view(options.input, options.external_root, options.dim_names);
  if (!read) return read.errors();
  auto inspector = std::make_unique<Inspector>();
  inspector->model = std::move(read->model);
  inspector->inference.emplace(inspector->model, InferOptions{});
  inspector->inference->run();
  constexpr std::uint32_t kProducerName = 2, kProducerVersion = 3;  // of ModelProto
  for (const Bytes piece : inspector->model.rest) {
    wire::Fields fields(piece);
    for (wire::Field f; fields.next(f);) {
      if (f.kind != wire::Kind::Length) continue;
      if (f.number == kProducerName) inspector->out.producer = f.bytes;
      if (f.number == kProducerVersion) inspector->out.producer_version = f.bytes;
    }
  }
  inspector->out.format = read->text ? ModelFormat::Text : ModelFormat::Protobuf;
  for (const DataFile& f : inspector->model.data_files)
    inspector->out.data_files.push_back({f.location, f.path, f.bytes});
  inspector->head();
  inspector->interface();
  inspector->symbols();
  inspector->weights();
  inspector->largest();
  inspector->functions();
  inspector->shapes();
  inspector->unknown_operators();
  inspector->problems(read->warnings);
  inspector->work();
  inspector->regions();
  Inspection out = std::move(inspector->out);
  if (options.process_ends) (void)inspector.release();
  return out;
}

}  // namespace

Result<Inspection> inspect(const InspectOptions& options) {
  try {
    return run(options);
  } catch (const std::bad_alloc&) {
    return out_of_memory(options.input);
  }
}

}  // namespace graphopt
