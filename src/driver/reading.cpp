// See reading.h.
#include "driver/reading.h"

#include "onnx/text.h"
#include "support/file.h"
#include "support/memory_limit.h"

namespace graphopt {

Result<ReadModel> read_for_view(const std::string& input, const std::string& external_root,
                                DimNames dim_names) {
  ReadModel out;
  Result<std::shared_ptr<const FileImage>> image = FileImage::open(input);
  if (!image) return image.errors();
  out.text = looks_like_text((*image)->bytes());
  const bool expressions = dim_names == DimNames::Expressions;
  Result<Model> model = (*image)->mapped() ? load_model({input, external_root, 0, expressions}, out.warnings)
                                           : load_model_from_memory(std::string((*image)->bytes()), input,
                                                                    input == "-" ? "." : folder_of(input),
                                                                    out.warnings, expressions);
  if (!model) return model.errors();
  out.model = *std::move(model);
  return out;
}

std::string warning_text(const Warning& w) {
  const std::string place = to_string(w.place);
  return place + (place.empty() ? "" : ": ") + w.what + (w.remedy.empty() ? "" : " (" + w.remedy + ")");
}

std::string claim_text(const Model& model, const FalseClaim& claim) {
  const bool is_output = model.is_graph_output(claim.value);
  return (is_output ? "output '" : "value_info: '") + std::string(model.text(model.value(claim.value).name)) +
         "' is declared " + claim.declared + ", but the model computes " + claim.inferred;
}

Error out_of_memory(const std::string& input) {
  const Place place{input, {}, {}, {}, {}};
  if (const auto limit = memory_limit())
    return {
        ErrorKind::Limit, place,
        "the limit of " + std::to_string(*limit >> 20) + " MiB of memory was reached; nothing was written",
        "give --max-memory more (where it was not given, the limit is that of 'ulimit -d')"};
  return {ErrorKind::Limit, place, "there is not enough memory; nothing was written",
          "a machine with more memory is needed"};
}

}  // namespace graphopt
