#include "exports/triton.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "deploy/value_types.h"
#include "exports/text_proto.h"
#include "support/output_set.h"

namespace graphopt {
namespace {

constexpr std::int64_t kOpen = -1;  // a dim of any extent

// Element types of Triton's ONNX Runtime backend (the table "Datatypes" of its model configuration).
constexpr std::array<std::pair<std::string_view, const char*>, 13> kTypes = {{{"BOOL", "TYPE_BOOL"},
                                                                              {"UINT8", "TYPE_UINT8"},
                                                                              {"UINT16", "TYPE_UINT16"},
                                                                              {"UINT32", "TYPE_UINT32"},
                                                                              {"UINT64", "TYPE_UINT64"},
                                                                              {"INT8", "TYPE_INT8"},
                                                                              {"INT16", "TYPE_INT16"},
                                                                              {"INT32", "TYPE_INT32"},
                                                                              {"INT64", "TYPE_INT64"},
                                                                              {"FLOAT16", "TYPE_FP16"},
                                                                              {"FLOAT", "TYPE_FP32"},
                                                                              {"DOUBLE", "TYPE_FP64"},
                                                                              {"STRING", "TYPE_STRING"}}};

struct Port {
  std::string name;
  const char* type = nullptr;
  std::vector<std::int64_t> dims;
  bool optional = false;
};

struct Step {
  std::string id;
  DeviceKind kind = DeviceKind::Other;
  std::vector<Port> inputs, outputs;
};

class TritonMaker {
 public:
  TritonMaker(const deploy::Manifest& manifest, std::string_view name, const std::string& file)
      : manifest_(manifest), file_(file) {
    out_.ensemble = plain_stem(name);
    for (const deploy::NetworkValue& v : manifest.network.inputs)
      (v.optional ? defaults_ : inputs_).insert(v.name);
  }

  Result<TritonRepository> run() {
    if (Status s = find_needed(); !s) return s.errors();
    if (Status s = make_steps(); !s) return s.errors();
    if (Status s = write(); !s) return s.errors();
    return std::move(out_);
  }

 private:
  Error refused(std::string what, std::string remedy) const {
    return {
        ErrorKind::Input, {file_, {}, {}, {}, {}}, "--emit triton: " + std::move(what), std::move(remedy)};
  }

  // The values that outputs of the network need, and the subgraphs that make them.
  Status find_needed() {
    std::set<std::string> made;
    for (const deploy::Subgraph& subgraph : manifest_.subgraphs)
      for (const deploy::PortOut& v : subgraph.outputs) made.insert(v.name);
    for (const deploy::NetworkValue& v : manifest_.network.outputs) {
      if (!made.contains(v.name)) {
        const bool input = inputs_.contains(v.name) || defaults_.contains(v.name);
        return refused("the output '" + v.name + "' is " + (input ? "an input" : "a constant") +
                           ", and an ensemble can only give what a subgraph makes",
                       "take it from the outputs of the model; a caller has its value without asking");
      }
      needed_.insert(v.name);
    }
    std::vector<std::size_t> kept;
    for (std::size_t i = manifest_.subgraphs.size(); i-- > 0;) {
      const deploy::Subgraph& subgraph = manifest_.subgraphs[i];
      if (std::ranges::none_of(subgraph.outputs, [this](const auto& v) { return is_needed(v); })) continue;
      for (const deploy::PortIn& v : subgraph.inputs)
        if (!defaults_.contains(v.name)) needed_.insert(v.name);
      kept.push_back(i);
    }
    out_.subgraphs.assign(kept.rbegin(), kept.rend());
    return Done{};
  }

  bool is_needed(const deploy::PortOut& v) const { return needed_.contains(v.name); }

  Status make_steps() {
    for (const std::size_t i : out_.subgraphs) {
      const deploy::Subgraph& subgraph = manifest_.subgraphs[i];
      Step step{subgraph.id, manifest_.devices[subgraph.device].kind, {}, {}};
      if (step.id == out_.ensemble)
        return refused("the ensemble would have the name of the subgraph '" + step.id + "'",
                       "give -o another name");
      for (const deploy::PortIn& v : subgraph.inputs) {
        Result<Port> port = port_of(v.name, v.type, step.id, true);
        if (!port) return port.errors();
        step.inputs.push_back(*std::move(port));
      }
      if (std::ranges::all_of(step.inputs, &Port::optional))
        return refused("subgraph '" + step.id + "' has no inputs, and every step of an ensemble needs one",
                       "fold it (-O1 or above, a higher --fold-limit), or let another device take its nodes");
      for (const deploy::PortOut& v : subgraph.outputs) {
        if (!is_needed(v)) continue;
        Result<Port> port = port_of(v.name, v.type, step.id, false);
        if (!port) return port.errors();
        // Not even a name: graphopt does not know it.
        if (std::ranges::find(*v.type.shape, deploy::ValueDim{}) != v.type.shape->end()) {
          if (unknown_++ == 0) first_unknown_ = "'" + port->name + "' of subgraph '" + step.id + "'";
        }
        step.outputs.push_back(*std::move(port));
      }
      if (step.kind != DeviceKind::Cpu && step.kind != DeviceKind::Gpu) other_kinds_.insert(word(step.kind));
      steps_.push_back(std::move(step));
    }
    return Done{};
  }

  Result<Port> port_of(const std::string& name, const deploy::ValueType& type, const std::string& subgraph,
                       bool is_input) const {
    Port port;
    port.name = name;
    port.optional = is_input && defaults_.contains(port.name);
    const std::string at = "'" + port.name + "' of subgraph '" + subgraph + "' ";
    const std::string other = "keep it inside of a subgraph (another profile, or an atomic group of it)";
    if (port.name.find('\0') != std::string::npos)
      return refused("the name of " + at + "has a zero byte", "rename the value");
    if (type.kind != deploy::ValueKind::Tensor)
      return refused(at + "is a " + std::string(word(type.kind)) + ", and Triton has tensors only", other);
    const std::string dtype = deploy::enumerator(type.dtype);
    const auto known = std::ranges::find(kTypes, dtype, &std::pair<std::string_view, const char*>::first);
    if (known == kTypes.end())
      return refused(at + "is of type " + dtype + ", which Triton's ONNX Runtime backend does not have",
                     other + ", or cast it there to a type that Triton has");
    port.type = known->second;
    if (!type.shape)
      return refused("the rank of " + at + "is not known, and Triton wants it",
                     "state its shape in the model (onnx.helper.make_tensor_value_info)");
    for (const deploy::ValueDim& d : *type.shape) {
      const auto* number = std::get_if<std::int64_t>(&d);
      port.dims.push_back(number ? *number : kOpen);
    }
    if (std::ranges::find(port.dims, 0) != port.dims.end())
      return refused(at + "has a dim 0, which Triton does not allow", "leave that dim open, or " + other);
    if (port.dims.empty()) {
      if (is_input && type.dtype == DType::String)
        return refused(at + "is a scalar of type STRING, which Triton cannot give to ONNX Runtime",
                       "give it the shape [1]");
      port.dims = {1};  // of a scalar: the backend takes and gives it so
    }
    return port;
  }

  Status write() {
    for (const Step& step : steps_) out_.configs.emplace_back(step.id, config_of(step));
    out_.configs.emplace_back(out_.ensemble, ensemble());
    for (const std::string_view kind : other_kinds_)
      out_.warnings.push_back("Triton has instances on CPUs and GPUs only: subgraphs of kind '" +
                              std::string(kind) + "' are given to CPUs");
    for (const std::string& name : inputs_)
      if (!needed_.contains(name))
        out_.warnings.push_back("no subgraph reads the input '" + name + "': the ensemble has no such input");
    for (const std::string& name : defaults_)
      out_.warnings.push_back("the input '" + name + "' has its default: an ensemble has no optional inputs");
    if (unknown_ > 0)
      out_.warnings.push_back("dims of " + std::to_string(unknown_) +
                              " values at borders are not known, the first of them " + first_unknown_ +
                              "; where ONNX Runtime knows more, Triton refuses the configuration: write the "
                              "number that it names in place of -1");
    return Done{};
  }

  static void write_port(TextProto& to, const char* field, const Port& port) {
    to.open(field);
    to.text("name", port.name);
    to.word("data_type", port.type);
    to.numbers("dims", port.dims);
    if (port.optional) to.word("optional", "true");
    to.close();
  }

  static std::string config_of(const Step& step) {
    TextProto to;
    to.text("name", step.id);
    to.text("backend", "onnxruntime");
    to.number("max_batch_size", 0);
    for (const Port& port : step.inputs) write_port(to, "input", port);
    for (const Port& port : step.outputs) write_port(to, "output", port);
    to.open("instance_group");
    to.word("kind", step.kind == DeviceKind::Gpu ? "KIND_GPU" : "KIND_CPU");
    to.close();
    return to.str();
  }

  // The steps' tensors are the network's, so their types are those of the ports.
  std::string ensemble() const {
    std::map<std::string_view, const Port*> read, made;
    for (const Step& step : steps_) {
      for (const Port& port : step.inputs) read.emplace(port.name, &port);
      for (const Port& port : step.outputs) made.emplace(port.name, &port);
    }
    TextProto to;
    to.text("name", out_.ensemble);
    to.text("platform", "ensemble");
    to.number("max_batch_size", 0);
    for (const deploy::NetworkValue& v : manifest_.network.inputs)
      if (!defaults_.contains(v.name) && needed_.contains(v.name)) write_port(to, "input", *read.at(v.name));
    for (const deploy::NetworkValue& v : manifest_.network.outputs)
      write_port(to, "output", *made.at(v.name));
    to.open("ensemble_scheduling");
    for (const Step& step : steps_) {
      to.open("step");
      to.text("model_name", step.id);
      to.number("model_version", -1);  // the latest
      for (const Port& port : step.inputs)
        if (!port.optional) write_map(to, "input_map", port.name);
      for (const Port& port : step.outputs) write_map(to, "output_map", port.name);
      to.close();
    }
    to.close();
    return to.str();
  }

  static void write_map(TextProto& to, const char* field, const std::string& name) {
    to.open(field);
    to.text("key", name);
    to.text("value", name);
    to.close();
  }

  const deploy::Manifest& manifest_;
  const std::string& file_;
  std::set<std::string> inputs_, defaults_;  // of the network: without and with a default
  std::set<std::string> needed_;             // values
  std::set<std::string_view> other_kinds_;
  std::size_t unknown_ = 0;  // outputs of steps with a dim that is not known
  std::string first_unknown_;
  std::vector<Step> steps_;
  TritonRepository out_;
};

}  // namespace

Result<TritonRepository> triton_repository(const deploy::Manifest& manifest, std::string_view name,
                                           const std::string& file) {
  return TritonMaker(manifest, name, file).run();
}

}  // namespace graphopt
