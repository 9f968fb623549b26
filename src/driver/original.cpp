#include "driver/original.h"

#include <utility>

#include "onnx/problems.h"
#include "onnx/text.h"
#include "runtime/given_inputs.h"
#include "support/file.h"

namespace graphopt {

std::string data_folder(const std::string& input) { return input == "-" ? "." : folder_of(input); }

Result<std::unique_ptr<OriginalModel>> OriginalModel::open(const Options& options,
                                                           std::vector<Warning>& warnings) {
  Result<GivenInputs> given = read_given_inputs(options.check.inputs, "--check-input");
  if (!given) return given.errors();
  Result<std::shared_ptr<const FileImage>> image = FileImage::open(options.input);
  if (!image) return image.errors();
  auto out = std::make_unique<OriginalModel>();
  out->given = *std::move(given);
  out->path = options.input;
  out->external_root = options.load.external_root;
  out->dim_expressions = options.load.dim_names == DimNames::Expressions;
  out->folder = data_folder(options.input);
  out->in_memory = !(*image)->mapped();
  if (out->in_memory) out->bytes = (*image)->bytes();
  if (looks_like_text((*image)->bytes())) {
    Problems problems(options.input, warnings);
    if (!text_to_binary((*image)->bytes(), problems, out->binary)) return problems.take();
  }
  return out;
}

Result<Model> OriginalModel::load(std::vector<Warning>& warnings) const {
  if (in_memory) return load_model_from_memory(bytes, path, folder, warnings, dim_expressions);
  return load_model({path, external_root, 0, dim_expressions}, warnings);
}

void OriginalModel::become(std::string model) {
  in_memory = true;
  bytes = std::move(model);
  binary.clear();
}

ModelSource OriginalModel::source() const {
  if (!binary.empty()) return {{}, binary, folder};
  if (in_memory) return {{}, bytes, folder};
  return {path, {}, {}};
}

}  // namespace graphopt
