// Fuzz target: ONNX text to a model, the model to text and to bytes. The printer takes whatever the loader
// takes.
#include "fuzz/common.h"
#include "ir/print.h"

void fuzz(std::string_view bytes) {
  using namespace graphopt;
  // Always text: the same bytes after an opening that marks them as text would otherwise have to be found by
  // chance.
  const std::string text = "<ir_version: 10, opset_import: [\"\" : 21]>\n" + std::string(bytes);
  for (const std::string_view input : {bytes, std::string_view(text)}) {
    const std::optional<Model> model = fuzz::load(input);
    if (!model) continue;
    fuzz::require(!print(*model).empty(), "printed as nothing");
    fuzz::check_round_trip(*model);
  }
}
