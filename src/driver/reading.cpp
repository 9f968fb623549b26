// See reading.h.
#include "driver/reading.h"

#include "onnx/text.h"
#include "support/file.h"

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

Error out_of_memory(const std::string& input) {
  return {ErrorKind::Limit,
          {input, {}, {}, {}, {}},
          "there is not enough memory",
          "give --max-memory more, or a machine with more"};
}

}  // namespace graphopt
