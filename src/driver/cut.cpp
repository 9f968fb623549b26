// See cut.h. Steps: the names are looked up; inner values that become inputs leave their nodes; the nodes are
// found; what they need is listed; types of the new inputs and outputs are inferred; the bytes are made.
//
// Inputs. An input of the model stays what it is. One with a default need not be named: it keeps it. An
// initializer that is named loses its value, and so does, before IR version 4, one that is an input too:
// there no runtime lets callers feed it. A node that makes an input beside other results stays for those, and
// its result gets another name. Inputs that nothing is left to read go; but where the outputs are those that
// the model has, as in a second run on its result, nothing was cut, and all of them stay. So do functions
// that nobody calls where every node stays: the last call of one may have gone after the first run had cut.
#include "driver/cut.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "infer/infer.h"
#include "ir/bodies.h"
#include "ir/part.h"
#include "onnx/annotations.h"
#include "onnx/default_constants.h"
#include "onnx/in_memory.h"
#include "onnx/problems.h"
#include "shapes/map_dims.h"
#include "support/nearest.h"
#include "support/quote_name.h"

namespace graphopt {
namespace {

class Cutter {
 public:
  Cutter(Model& m, const LoadStage::Options& options, std::vector<Warning>& warnings)
      : m_(m), options_(options), warnings_(warnings) {}

  Result<ModelPart> run() {
    index();
    if (!find("--inputs", options_.inputs, inputs_) || !find("--outputs", options_.outputs, outputs_))
      return std::move(errors_);
    std::vector<ValueId> all;
    for (std::size_t i = 0; i < m_.graph_output_count(m_.main()); ++i)
      if (const ValueId v = m_.graph_output(m_.main(), i)) all.push_back(v);
    if (options_.outputs.empty()) outputs_ = all;
    keeps_inputs_ = options_.inputs.empty() && outputs_ == all;
    if (!find_types()) return std::move(errors_);
    detach();
    find_nodes();
    rename_other_definitions();
    if (!complete()) return std::move(errors_);
    return make();
  }

  const std::vector<TypeOverride>& types() const { return types_; }

 private:
  void refuse(std::string what, std::string remedy) {
    if (errors_.size() < kMaxErrors)
      errors_.push_back({ErrorKind::Usage, {m_.file, {}, {}, {}, {}}, std::move(what), std::move(remedy)});
  }
  void warn(std::string what, std::string remedy) {
    warnings_.push_back({{m_.file, {}, {}, {}, {}}, std::move(what), std::move(remedy)});
  }
  std::string name(ValueId v) const { return quote_name(m_.text(m_.value(v).name)); }

  void index() {
    for (std::size_t i = 0; i < m_.value_count(); ++i)
      if (const Value& v = m_.value(ValueId{i}); v.alive && v.graph == m_.main())
        by_name_.emplace(m_.text(v.name), ValueId{i});
  }

  // The list was split at its commas, which a name may hold: a piece that names nothing begins such a name
  // where it and the pieces behind it are one of the model. `at` is left at the last piece of the name.
  std::string name_at(const std::vector<std::string>& pieces, std::size_t& at) const {
    std::string text = pieces[at];
    for (std::size_t last = at; last < pieces.size();) {
      if (by_name_.contains(text)) {
        at = last;
        return text;
      }
      if (++last < pieces.size()) text += "," + pieces[last];
    }
    return pieces[at];
  }

  // Finds the values of an option; returns false when something is wrong with them.
  bool find(const char* option, const std::vector<std::string>& wanted, std::vector<ValueId>& out) {
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const std::string text = name_at(wanted, i);
      const auto at = by_name_.find(text);
      if (at == by_name_.end()) {
        refuse_name(option, text);
      } else if (std::ranges::find(out, at->second) != out.end()) {
        refuse(std::string(option) + " names " + quote_name(text) + " twice", "name each value once");
      } else {
        out.push_back(at->second);
      }
    }
    return errors_.empty();
  }

  void refuse_name(const char* option, const std::string& text) {
    const std::string what = std::string(option) + ": ";
    for (std::size_t i = 0; i < m_.value_count(); ++i) {
      const Value& v = m_.value(ValueId{i});
      if (!v.alive || m_.text(v.name) != text) continue;
      return refuse(what + quote_name(text) + " is a value inside of '" + graph_path(m_, v.graph) +
                        "', and a model is cut in its main graph only",
                    "name a result of the node that holds it");
    }
    std::vector<std::string_view> names;
    for (const auto& [known, v] : by_name_) names.push_back(known);
    std::ranges::sort(names);
    refuse(what + "the model has no value " + quote_name(text), suggest(text, names, "values"));
  }

  bool loses_value(ValueId v) const {
    const Value& value = m_.value(v);
    return value.is_initializer && (!value.is_input || m_.ir_version < kConstantsIrVersion);
  }

  bool is_stated(TypeId id) const {
    const Type& t = m_.types[id];
    if (t.kind == TypeKind::Tensor || t.kind == TypeKind::SparseTensor) return t.elem != DType::Undefined;
    return t.kind != TypeKind::Unknown;
  }

  // What inference knows of new inputs and outputs. Where it knows no type, that of the file is left. Of an
  // input nothing else is: what the file states of an inner value is a claim, and believed of an input.
  bool find_types() {
    std::vector<std::pair<ValueId, bool>> borders;
    for (const ValueId v : inputs_)
      if (!m_.value(v).is_input) borders.emplace_back(v, true);
    for (const ValueId v : outputs_)
      if (!m_.value(v).is_input && std::ranges::find(inputs_, v) == inputs_.end() && !is_model_output(v))
        borders.emplace_back(v, false);
    if (borders.empty()) return true;
    Inference inference(m_, {});
    inference.run();
    std::unordered_set<ValueId> refuted;
    for (const FalseClaim& claim : inference.false_claims()) refuted.insert(claim.value);
    for (const auto& [v, is_input] : borders) {
      if (const TypeId type = inference.type(v); is_stated(type)) {
        types_.push_back({v, without_made_names(m_, type), !is_input && !refuted.contains(v)});
        if (m_.types[type].kind == TypeKind::Tensor && !m_.types[type].has_rank)
          warn((is_input ? "--inputs" : "--outputs") + std::string(": the rank of ") + name(v) +
                   " is not known, so it would have no shape, which onnx.checker refuses",
               "add a value_info for it to the model, or name another value");
      } else if (!is_stated(m_.value(v).declared)) {
        if (is_input)
          refuse("--inputs: the type of " + name(v) +
                     " is known neither from the nodes before it nor from the "
                     "file, and an input needs one",
                 "add a value_info for it to the model, or name a value behind it");
        else
          warn("--outputs: the type of " + name(v) + " is not known, so it has none",
               "add a value_info for it to the model");
      }
    }
    return errors_.empty();
  }

  bool is_model_output(ValueId v) const {
    for (UseId u = m_.first_use(v); u; u = m_.next_use(u))
      if (m_.user(u) == m_.graph(m_.main()).ret) return true;
    return false;
  }

  void detach() {
    for (const ValueId v : inputs_) {
      if (!m_.value(v).def) continue;
      detached_.push_back({m_.value(v).def, m_.value(v).def_slot, v});
      m_.detach_output(m_.value(v).def, m_.value(v).def_slot);
    }
  }

  void read(ValueId v) {
    if (!v || m_.value(v).graph != m_.main() || !seen_.insert(v).second) return;
    if (const NodeId n = m_.value(v).def; n && kept_.insert(n).second) nodes_.push_back(n);
  }
  void read_operands(NodeId n) {
    for (std::size_t i = 0; i < m_.input_count(n); ++i) read(m_.input(n, i));
  }

  void find_nodes() {
    for (const ValueId v : outputs_) read(v);
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const NodeId n = nodes_[i];
      read_operands(n);
      for_each_body(m_, n, [this](GraphId g) {
        for (NodeId inner = m_.first_node(g); inner; inner = m_.next_node(inner)) read_operands(inner);
        read_operands(m_.graph(g).ret);
      });
    }
  }

  void rename_other_definitions() {
    for (const Detached& d : detached_) {
      if (!kept_.contains(d.node)) continue;
      m_.attach_output(d.node, d.slot,
                       m_.add_value(m_.main(), m_.fresh_name(m_.text(m_.value(d.value).name))));
    }
  }

  // Inputs that are read must have been named, unless they have a value of their own.
  bool complete() {
    for (const ValueId v : inputs_)
      if (!seen_.contains(v))
        warn("--inputs: nothing that is left reads " + name(v), "leave it out, or name other outputs");
    if (options_.inputs.empty()) return true;
    for (const ValueId v : m_.graph_inputs(m_.main()))
      if (seen_.contains(v) && !m_.value(v).is_initializer && std::ranges::find(inputs_, v) == inputs_.end())
        refuse("--inputs: what is left still needs input " + name(v) + ": " + reader_of(v),
               "name it too, or a value between it and the outputs");
    return errors_.empty();
  }

  std::string reader_of(ValueId v) const {
    for (UseId u = m_.first_use(v); u; u = m_.next_use(u)) {
      const NodeId n = m_.ancestor_in(m_.main(), m_.user(u));
      if (!n || m_.is_return(n) || !kept_.contains(n)) continue;
      const Place p = place_of(m_, n);
      return "node '" + p.node + "' (" + p.op + ") reads it";
    }
    return "it is an output";
  }

  bool keeps_every_node() const {
    for (NodeId n = m_.first_node(m_.main()); n; n = m_.next_node(n))
      if (!kept_.contains(n)) return false;
    return true;
  }

  ModelPart make() {
    ModelPart part = part_of(m_, nodes_);
    part.inputs = inputs_;
    for (const ValueId v : m_.graph_inputs(m_.main())) {
      const bool stays = options_.inputs.empty() || m_.value(v).is_initializer;
      if (stays && (keeps_inputs_ || seen_.contains(v)) && std::ranges::find(inputs_, v) == inputs_.end())
        part.inputs.push_back(v);
    }
    part.outputs = outputs_;
    part.opsets = m_.opset_tables[0];
    if (keeps_every_node()) {
      part.functions.clear();
      for (std::size_t f = 0; f < m_.function_count(); ++f) part.functions.emplace_back(f);
    }
    std::unordered_set<ValueId> kept(part.initializers.begin(), part.initializers.end());
    for (const auto& values : {part.inputs, part.outputs})
      for (const ValueId v : values)
        if (m_.value(v).is_initializer) kept.insert(v);
    for (const std::string_view text : annotation_parameters(m_, [&](std::string_view tensor) {
           const auto at = by_name_.find(tensor);
           return at != by_name_.end() && seen_.contains(at->second);
         })) {
      const auto at = by_name_.find(text);
      if (at != by_name_.end() && m_.value(at->second).is_initializer) kept.insert(at->second);
    }
    for (const ValueId v : inputs_)
      if (loses_value(v)) kept.erase(v);
    part.initializers.clear();
    for (const ValueId v : m_.graph(m_.main()).initializers)
      if (kept.contains(v)) part.initializers.push_back(v);
    return part;
  }

  struct Detached {
    NodeId node;
    std::uint32_t slot;
    ValueId value;
  };

  Model& m_;
  const LoadStage::Options& options_;
  std::vector<Warning>& warnings_;
  Errors errors_;
  std::unordered_map<std::string_view, ValueId> by_name_;  // of the main graph
  std::vector<ValueId> inputs_, outputs_;                  // inputs_: as named
  bool keeps_inputs_ = false;                              // outputs are those of the model: nothing is cut
  std::vector<TypeOverride> types_;
  std::vector<Detached> detached_;
  std::unordered_set<ValueId> seen_;  // values of the main graph that are left
  std::unordered_set<NodeId> kept_;
  std::vector<NodeId> nodes_;
};

}  // namespace

bool cuts(const LoadStage::Options& options) { return !options.inputs.empty() || !options.outputs.empty(); }

Result<std::string> cut_model(Model model, const LoadStage::Options& options, const std::string& folder,
                              std::vector<Warning>& warnings) {
  Cutter cutter(model, options, warnings);
  Result<ModelPart> part = cutter.run();
  if (!part) return part.errors();
  return part_in_memory(model, cutter.types(), folder, *part);
}

}  // namespace graphopt
