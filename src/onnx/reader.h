// Loads an ONNX model: binary or text syntax (detected by content), with external data.
//
// Method: the file is mapped and its wire format is walked once. Names are interned as views into the map;
// every node, tensor, type and attribute keeps its bytes, so whatever stays unchanged is written back
// unchanged; payloads of tensors are not touched. What later stages rely on is checked here: names resolve,
// nodes are in topological order (they are sorted when the file has another order), sizes are correct,
// functions do not call themselves.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graphopt/error.h"
#include "ir/model.h"

namespace graphopt {

// An irregularity that does not prevent using the model.
struct Warning {
  Place place;
  std::string what, remedy;
};

struct LoadOptions {
  std::string path;              // "-": standard input
  std::string external_root;     // a further folder for external data; empty: only the model's own
  std::uint64_t max_memory = 0;  // bytes that may be read into memory where a map is impossible; 0: no bound
  // A name of an input's dim that is an expression over names of other dims is believed to be that
  // expression.
  bool dim_expressions = true;
};

// Returns the model, or up to ten problems. The model keeps the files mapped.
Result<Model> load_model(const LoadOptions& options, std::vector<Warning>& warnings);
// The same for bytes in memory; `name` is used for the file in messages, external data are searched in
// `folder`.
Result<Model> load_model_from_memory(std::string bytes, const std::string& name, const std::string& folder,
                                     std::vector<Warning>& warnings, bool dim_expressions = true);

inline constexpr std::int64_t kOldestIrVersion = 3;  // the newest: kNewestIrVersion of stages/load.h

}  // namespace graphopt
