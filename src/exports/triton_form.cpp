// OUT.triton: a model repository (exports/triton.h).
//
// Triton's backend compares the dims of an output with those that ONNX Runtime tells, which infers what the
// file leaves open. So parts state of the model's outputs, too, what inference knows, and their
// configurations say the same.
#include <algorithm>
#include <utility>

#include "deploy/make_manifest.h"
#include "deploy/value_types.h"
#include "exports/folder_form.h"
#include "exports/triton.h"
#include "onnx/stated_type.h"
#include "options/output_names.h"
#include "shapes/map_dims.h"
#include "support/file.h"

namespace graphopt {
namespace {

class TritonExport : public FolderExport {
 public:
  using FolderExport::FolderExport;

  Status plan() override {
    find_types();
    Result<TritonRepository> made = triton_repository(
        with_types(), last_part(without_suffix(source_.options.output)), source_.model.file);
    if (!made) return made.errors();
    repository_ = *std::move(made);
    for (const std::string& text : repository_.warnings)
      source_.warn(source_.model.file + ": --emit triton: " + text);
    return Done{};
  }

 protected:
  std::string_view form() const override { return "triton"; }

  Status fill(const SavedSet&) override {
    for (const std::size_t part : repository_.subgraphs)
      if (Status s = write_part(deploy::subgraph_name(part) + "/1/model.onnx", part, types_of(part)); !s)
        return s;
    // Triton wants a version of the ensemble, too.
    if (Status s = make_folder(repository_.ensemble + "/1"); !s) return s;
    for (const auto& [name, config] : repository_.configs)
      if (Status s = write_text(name + "/config.pbtxt", config); !s) return s;
    return Done{};
  }

 private:
  void find_types() {
    Model& m = source_.model;
    const Inference& inference = source_.inference;
    std::vector<ValueId> refuted;
    for (const FalseClaim& claim : inference.false_claims()) refuted.push_back(claim.value);
    std::ranges::sort(refuted);
    for (std::size_t i = 0; i < m.graph_output_count(m.main()); ++i) {
      const ValueId v = m.graph_output(m.main(), i);
      if (!v || !m.value(v).def || inference.type_of(v).kind == TypeKind::Unknown) continue;
      outputs_.push_back(
          {v, without_made_names(m, inference.type(v)), !std::ranges::binary_search(refuted, v)});
    }
    // A value can be several outputs.
    std::ranges::sort(outputs_, {}, &TypeOverride::value);
    const auto same = std::ranges::unique(outputs_, {}, &TypeOverride::value);
    outputs_.erase(same.begin(), same.end());
  }

  const TypeOverride* output_type(ValueId v) const {
    const auto at = std::ranges::lower_bound(outputs_, v, {}, &TypeOverride::value);
    return at != outputs_.end() && at->value == v ? &*at : nullptr;
  }

  // What the repository is made of, with those types of outputs.
  deploy::Manifest with_types() const {
    const StatedTypes stated(source_.model, outputs_);
    deploy::Manifest out;
    out.devices = source_.manifest.devices;
    out.network = source_.manifest.network;
    out.subgraphs = source_.manifest.subgraphs;
    for (std::size_t s = 0; s < source_.parts.size(); ++s)
      for (std::size_t i = 0; i < source_.parts[s].outputs.size(); ++i)
        if (const ValueId v = source_.parts[s].outputs[i]; output_type(v) != nullptr)
          out.subgraphs[s].outputs[i].type = deploy::value_type(stated.of(v));
    return out;
  }

  std::vector<TypeOverride> types_of(std::size_t part) const {
    std::vector<TypeOverride> types = source_.part_types[part];
    std::vector<ValueId> made = source_.parts[part].outputs;
    std::ranges::sort(made);
    std::erase_if(types, [&](const TypeOverride& t) {
      return output_type(t.value) != nullptr && std::ranges::binary_search(made, t.value);
    });
    for (const ValueId v : made)
      if (const TypeOverride* type = output_type(v)) types.push_back(*type);
    return types;
  }

  TritonRepository repository_;
  std::vector<TypeOverride> outputs_;  // of the model, sorted by value
};

}  // namespace

std::unique_ptr<ExportForm> triton_export(const ExportSource& source, std::string path) {
  return std::make_unique<TritonExport>(source, std::move(path));
}

}  // namespace graphopt
