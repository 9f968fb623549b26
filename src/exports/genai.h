// A partitioned decoder as a pipeline of onnxruntime-genai: the text of genai_config.json.
//
// Problem: onnxruntime-genai runs a decoder in parts ("decoder-pipeline"), but has to be told which inputs
// are token ids and caches, and what each part reads and makes. Method: names tell it, as they tell state
// pairs (docs/devices.md): `input_ids` and `logits`, and past and present values whose names differ in the
// number of their layer alone. A model with other inputs is none that it can feed, and is refused.
// The form is that of Config::Model::Decoder and its PipelineModel (config.h and config.cpp of
// microsoft/onnxruntime-genai, which refuse keys that they do not know); decoder_only_pipeline.cpp runs it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "deploy/manifest.h"
#include "graphopt/error.h"

namespace graphopt {

struct GenaiConfig {
  std::string config;                  // JSON without the files of the pipeline
  std::vector<std::size_t> subgraphs;  // those that run, in order: an entry of the pipeline each
  std::vector<std::string> warnings;
};

// Errors name the model's file `file`.
Result<GenaiConfig> genai_config(const deploy::Manifest& manifest, const std::string& file);
// Returns the text with the files of subgraphs (by subgraph), as seen from the folder of the text.
std::string genai_text(const GenaiConfig& config, std::span<const std::string> files);

}  // namespace graphopt
