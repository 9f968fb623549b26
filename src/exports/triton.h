// A partitioned model as a model repository of Triton Inference Server: a model for each subgraph, and an
// ensemble that runs them one after the other.
//
// Problem: Triton has no graph of subgraphs. Its ensemble maps the inputs and outputs of models ("steps") to
// tensors of its own, and is strict: every step needs an input and an output, every tensor must be read or be
// an output, and no input can be an output. Method: from the outputs backward, the values that are needed and
// the subgraphs that make them; the names of tensors are those of the model's values. What an ensemble cannot
// say is refused.
// Rules: ValidateEnsembleSchedulingConfig, ValidateIOShape and BuildEnsembleGraph in
// src/model_config_utils.cc of triton-inference-server/core, ModelInstanceState::ValidateInputs and
// SetInputTensors in src/onnxruntime.cc of triton-inference-server/onnxruntime_backend, and
// docs/user_guide/{model_configuration,ensemble_models}.md of triton-inference-server/server.
// Linear in the ports of the subgraphs, up to sorting.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "deploy/manifest.h"
#include "graphopt/error.h"

namespace graphopt {

struct TritonRepository {
  std::string ensemble;                // the name of the model that stands for the whole
  std::vector<std::size_t> subgraphs;  // those that are models of the repository, in execution order
  // By name of the model: the text of its config.pbtxt. The ensemble is the last.
  std::vector<std::pair<std::string, std::string>> configs;
  std::vector<std::string> warnings;  // what the repository cannot do that the model can
};

// `name`: what the ensemble is called; characters other than ASCII letters, digits, '.', '_' and '-' become
// '_'. Errors name the model's file `file`.
Result<TritonRepository> triton_repository(const deploy::Manifest& manifest, std::string_view name,
                                           const std::string& file);

}  // namespace graphopt
