// Fuzz target: bytes to a model and back. What loads is well formed, can be saved, and what was saved stays
// the same.
#include "fuzz/common.h"
#include "onnx/text.h"

void fuzz(std::string_view bytes) {
  using namespace graphopt;
  if (looks_like_text(bytes)) return;  // load_text.cpp
  if (const std::optional<Model> model = fuzz::load(bytes)) fuzz::check_round_trip(*model);
}
