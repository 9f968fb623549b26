// A model in ONNX text, loaded and inferred, with dims by name.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "infer/infer.h"
#include "onnx/reader.h"

namespace graphopt {

class InferCase {
 public:
  // `text` from the graph's name on; opset 21 of ai.onnx unless the header says something else.
  explicit InferCase(
      const std::string& text, InferOptions options = {},
      const std::string& header = R"(<ir_version: 10, opset_import: ["" : 21, "local" : 1]>)") {
    std::vector<Warning> warnings;
    auto loaded = load_model_from_memory(header + "\n" + text, "case", "", warnings);
    if (!loaded) {
      ADD_FAILURE() << "not loaded: " << text;
      return;
    }
    model = std::make_unique<Model>(std::move(*loaded));
    facts = std::make_unique<Inference>(*model, std::move(options));
    facts->run();
  }

  ValueId value(const std::string& name) const {
    for (std::size_t i = 0; model && i < model->value_count(); ++i) {
      const ValueId v{i};
      if (model->alive(v) && model->text(model->value(v).name) == name) return v;
    }
    ADD_FAILURE() << "no value '" << name << "'";
    return {};
  }

  // "float[b, 2*s]", "int64" without rank as "int64[?]", "?" when nothing is known.
  std::string type(const std::string& name) const {
    const ValueId v = value(name);
    if (!v) return "";
    const Type& t = facts->type_of(v);
    if (t.kind == TypeKind::Unknown) return "?";
    if (t.kind != TypeKind::Tensor) return "other";
    std::string out(dtype_name(t.elem));
    out += '[';
    if (!t.has_rank) out += "...";
    for (std::size_t i = 0; t.has_rank && i < t.dims.size(); ++i)
      out += (i > 0 ? ", " : "") +
             (model->dims.linked(t.dims[i]) ? model->dims.print(t.dims[i]) : std::string("fresh"));
    return out + ']';
  }

  std::string elements(const std::string& name) const {
    const SymbolicTensor* t = facts->symbolic(value(name));
    if (!t) return "none";
    std::string out;
    for (std::size_t i = 0; i < t->elements.size(); ++i)
      out += (i > 0 ? ", " : "") + (t->elements[i] ? model->dims.print(t->elements[i]) : std::string("?"));
    return out;
  }

  NodeId node_of(const std::string& result) const { return model->value(value(result)).def; }

  std::unique_ptr<Model> model;
  std::unique_ptr<Inference> facts;
};

}  // namespace graphopt
