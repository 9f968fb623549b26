// Loads a model for functions that only look at it.
#pragma once

#include <string>
#include <vector>

#include "graphopt/error.h"
#include "graphopt/stages/load.h"
#include "infer/infer.h"
#include "ir/model.h"
#include "onnx/reader.h"

namespace graphopt {

struct ReadModel {
  Model model;
  bool text = false;  // the file is ONNX text
  std::vector<Warning> warnings;
};

// `input` "-" is the standard input.
Result<ReadModel> read_for_view(const std::string& input, const std::string& external_root,
                                DimNames dim_names);

// "PLACE: WHAT (REMEDY)"
std::string warning_text(const Warning& warning);

// "output 'y' is declared float[n,5], but the model computes float[n,4]"
std::string claim_text(const Model& model, const FalseClaim& claim);

// The error of a run that has no memory left.
Error out_of_memory(const std::string& input);

}  // namespace graphopt
