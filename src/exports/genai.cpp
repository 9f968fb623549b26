#include "exports/genai.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace graphopt {
namespace {

using Ordered = nlohmann::ordered_json;

constexpr const char* kInputIds = "input_ids";
constexpr const char* kLogits = "logits";
// Inputs that onnxruntime-genai makes itself, beside the caches.
constexpr std::array<std::string_view, 3> kInputs = {kInputIds, "attention_mask", "position_ids"};
constexpr std::string_view kDigits = "0123456789";

// "past.3.key" as ("past.%d.key", 3); nothing for a name without a number.
struct LayerName {
  std::string pattern;
  std::size_t layer = 0;
};

std::optional<LayerName> layer_of(const std::string& name) {
  const std::size_t first = name.find_first_of(kDigits);
  if (first == std::string::npos) return std::nullopt;
  const std::size_t last = std::min(name.find_first_not_of(kDigits, first), name.size());
  LayerName out;
  const auto [end, error] = std::from_chars(name.data() + first, name.data() + last, out.layer);
  const bool padded = last - first > 1 && name[first] == '0';  // a pattern writes no zeros before it
  if (error != std::errc{} || padded || name.find('%') != std::string::npos) return std::nullopt;
  out.pattern = name.substr(0, first) + "%d" + name.substr(last);
  return out;
}

// The name by which genai's configurations call an execution provider (NormalizeProviderName); for others the
// name without its ending.
std::string provider_of(const std::string& ep) {
  constexpr std::array<std::pair<std::string_view, const char*>, 7> known = {
      {{"CUDA", "cuda"},
       {"Dml", "DML"},
       {"QNN", "QNN"},
       {"WebGpu", "WebGPU"},
       {"OpenVINO", "OpenVINO"},
       {"VitisAI", "VitisAI"},
       {"NvTensorRTRTX", "NvTensorRtRtx"}}};
  constexpr std::string_view ending = "ExecutionProvider";
  const std::string name = ep.ends_with(ending) ? ep.substr(0, ep.size() - ending.size()) : ep;
  const auto at = std::ranges::find(known, name, &std::pair<std::string_view, const char*>::first);
  return at == known.end() ? name : at->second;
}

// Returns the dim where it is a number.
std::optional<std::int64_t> number_at(const deploy::ValueType& type, std::size_t axis) {
  const auto* number = std::get_if<std::int64_t>(&(*type.shape)[axis]);
  return number ? std::optional(*number) : std::nullopt;
}

struct States {
  std::string past, present;  // patterns
  std::set<std::size_t> layers;
  const deploy::ValueType* type = nullptr;  // of the first one that was met
};

class GenaiMaker {
 public:
  GenaiMaker(const deploy::Manifest& manifest, const std::string& file) : manifest_(manifest), file_(file) {}

  Result<GenaiConfig> run() {
    if (Status s = find_states(); !s) return s.errors();
    if (Status s = check_inputs(); !s) return s.errors();
    Ordered decoder = Ordered::object();
    add_sizes(decoder);
    decoder["inputs"] = inputs();
    decoder["outputs"] = outputs();
    decoder["pipeline"] = pipeline();
    Ordered model = {{"type", "decoder-pipeline"}};
    add_vocabulary(model);
    model["decoder"] = std::move(decoder);
    const Ordered config = {{"model", std::move(model)}, {"search", {{"past_present_share_buffer", false}}}};
    out_.config = config.dump(-1, ' ', false, Ordered::error_handler_t::replace);
    out_.warnings.emplace_back(
        "a graph does not say what its tokens mean: add context_length and "
        "bos_token_id, eos_token_id, pad_token_id to 'model', and the tokenizer's files");
    return std::move(out_);
  }

 private:
  Error refused(const std::string& what,
                const char* remedy =
                    "export the model with the names of its decoders (input_ids, logits, "
                    "past_key_values.0.key, present.0.key)") const {
    return {ErrorKind::Input,
            {file_, {}, {}, {}, {}},
            "--emit genai: the model is no decoder that onnxruntime-genai can run: " + what,
            std::string("leave genai out of --emit, or ") + remedy};
  }

  Status find_states() {
    std::map<std::string, const deploy::ValueType*> types;
    for (const deploy::NetworkValue& v : manifest_.network.inputs) types[v.name] = &v.type;
    for (const deploy::Subgraph& subgraph : manifest_.subgraphs)
      for (const deploy::PortOut& v : subgraph.outputs) {
        if (v.state_of.empty()) continue;
        const std::string &from = v.state_of, &to = v.name;
        const std::optional<LayerName> in = layer_of(from), out = layer_of(to);
        if (!in || !out || in->layer != out->layer)
          return refused("the names '" + from + "' and '" + to + "' have no number of a layer");
        States& states = states_[in->pattern];
        if (states.past.empty()) states = {in->pattern, out->pattern, {}, types[from]};
        if (states.present != out->pattern)
          return refused("'" + to + "' is not named as '" + states.present + "' is");
        states.layers.insert(in->layer);
        pasts_.insert(from);
      }
    if (states_.empty())
      return refused("it has no pair of a past and a present value (past_key_values.0.key, present.0.key)");
    layers_ = states_.begin()->second.layers.size();
    for (const auto& [pattern, states] : states_)
      if (states.layers.size() != layers_ || *states.layers.rbegin() + 1 != layers_)
        return refused("the layers of '" + pattern + "' are not those from 0 on that the others have");
    return find_keys();
  }

  // Keys and values apart, or both in one.
  Status find_keys() {
    std::vector<const States*> all;
    for (const auto& [pattern, states] : states_) all.push_back(&states);
    const auto is = [](const States* s, std::string_view word) {
      return s->past.substr(s->past.find("%d")).find(word) != std::string::npos;
    };
    if (all.size() == 1) {
      both_ = all[0];
    } else if (all.size() == 2) {
      for (const States* s : all) {
        if (is(s, "key")) keys_ = s;
        if (is(s, "value")) values_ = s;
      }
      if (keys_ == nullptr || values_ == nullptr || keys_ == values_)
        for (const States* s : all) {  // the word may stand before the number
          if (s->past.find("past_key") == 0 && s->past.find("past_key_values") != 0) keys_ = s;
          if (s->past.find("past_value") == 0) values_ = s;
        }
    }
    if (both_ == nullptr && (keys_ == nullptr || values_ == nullptr || keys_ == values_)) {
      std::string names;
      for (const States* s : all) names += (names.empty() ? "'" : ", '") + s->past + "'";
      return refused("of its past values (" + names + ") it is not told which are keys and which are values");
    }
    return Done{};
  }

  Status check_inputs() {
    bool has_ids = false, has_logits = false;
    for (const deploy::NetworkValue& v : manifest_.network.inputs) {
      has_ids |= v.name == kInputIds;
      if (v.optional || pasts_.contains(v.name) || std::ranges::find(kInputs, v.name) != kInputs.end())
        continue;
      return refused("it has the input '" + v.name + "', which onnxruntime-genai does not supply",
                     "remove that input from the model, or give it a default");
    }
    for (const deploy::NetworkValue& v : manifest_.network.outputs) has_logits |= v.name == kLogits;
    if (!has_ids) return refused(std::string("it has no input '") + kInputIds + "'");
    if (!has_logits) return refused(std::string("it has no output '") + kLogits + "'");
    return Done{};
  }

  void add_sizes(Ordered& decoder) const {
    // [batch, heads, past, head], or [2, batch, heads, past, head] with both in one.
    const deploy::ValueType& type = *(both_ ? both_ : keys_)->type;
    const std::size_t rank = both_ ? 5 : 4;
    if (type.shape && type.shape->size() == rank) {
      if (const auto n = number_at(type, rank - 1)) decoder["head_size"] = *n;
      if (const auto n = number_at(type, rank - 3)) decoder["num_key_value_heads"] = *n;
    }
    decoder["num_hidden_layers"] = layers_;
  }

  void add_vocabulary(Ordered& model) {
    for (const deploy::NetworkValue& v : manifest_.network.outputs) {
      if (v.name != kLogits || !v.type.shape || v.type.shape->empty()) continue;
      if (const auto n = number_at(v.type, v.type.shape->size() - 1)) {
        model["vocab_size"] = *n;
        return;
      }
    }
    out_.warnings.emplace_back("the last dim of 'logits' is not known: add vocab_size to 'model'");
  }

  Ordered inputs() const {
    Ordered out = Ordered::object();
    for (const deploy::NetworkValue& v : manifest_.network.inputs)
      if (std::ranges::find(kInputs, v.name) != kInputs.end()) out[v.name] = v.name;
    if (both_) out["past_names"] = both_->past;
    else out.update({{"past_key_names", keys_->past}, {"past_value_names", values_->past}});
    return out;
  }

  Ordered outputs() const {
    Ordered out = {{kLogits, kLogits}};
    if (both_) out["present_names"] = both_->present;
    else out.update({{"present_key_names", keys_->present}, {"present_value_names", values_->present}});
    return out;
  }

  Ordered pipeline() {
    std::set<std::string> defaults;
    for (const deploy::NetworkValue& v : manifest_.network.inputs)
      if (v.optional) defaults.insert(v.name);
    Ordered out = Ordered::array();
    for (const deploy::Index s : manifest_.partition.order) {
      const deploy::Subgraph& subgraph = manifest_.subgraphs[s];
      if (subgraph.outputs.empty()) continue;  // nothing needs what it makes
      Ordered one = {
          {"filename", ""},
          {"inputs", Ordered::array()},
          {"outputs", Ordered::array()},
          {"session_options", {{"provider_options", provider_options(manifest_.devices[subgraph.device])}}}};
      for (const deploy::PortIn& v : subgraph.inputs)
        if (!defaults.contains(v.name)) one["inputs"].push_back(v.name);
      for (const deploy::PortOut& v : subgraph.outputs) one["outputs"].push_back(v.name);
      out.push_back({{subgraph.id, std::move(one)}});
      out_.subgraphs.push_back(s);
    }
    return out;
  }

  // None for the CPU, which every session has.
  static Ordered provider_options(const deploy::Device& device) {
    Ordered out = Ordered::array();
    if (!device.ep || device.ep->name == "CPUExecutionProvider") return out;
    Ordered options = Ordered::object();
    for (const auto& [key, value] : device.ep->options) options[key] = value;
    out.push_back({{provider_of(device.ep->name), std::move(options)}});
    return out;
  }

  const deploy::Manifest& manifest_;
  const std::string& file_;
  std::map<std::string, States> states_;  // by the pattern of the past
  std::set<std::string> pasts_;
  std::size_t layers_ = 0;
  const States *keys_ = nullptr, *values_ = nullptr, *both_ = nullptr;
  GenaiConfig out_;
};

}  // namespace

Result<GenaiConfig> genai_config(const deploy::Manifest& manifest, const std::string& file) {
  return GenaiMaker(manifest, file).run();
}

std::string genai_text(const GenaiConfig& config, std::span<const std::string> files) {
  Ordered out = Ordered::parse(config.config, nullptr, false);
  Ordered& pipeline = out["model"]["decoder"]["pipeline"];
  for (std::size_t i = 0; i < config.subgraphs.size(); ++i)
    pipeline[i].begin().value()["filename"] = files[config.subgraphs[i]];
  return out.dump(1, ' ', false, Ordered::error_handler_t::replace) + '\n';
}

}  // namespace graphopt
