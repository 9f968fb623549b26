// Where two mapped graphs compute other numbers: both run in ONNX Runtime on the same inputs, and values that
// correspond are compared.
//
// Problem: two files that should be one model give other results; which operator is to blame? Method: values
// of the main graphs that correspond are fetched in portions and compared, through layouts and casts
// (difference.h); the frontier (mapping/frontier.h) names the operators. How much a value may differ depends
// on its type and on how much it differs by itself where inputs change by a rounding. Where the graphs agree
// at their outputs, values that differ are no counterparts, and values without counterpart that are equal
// are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graphopt/error.h"
#include "infer/infer.h"
#include "mapping/map_graphs.h"
#include "numeric/difference.h"
#include "runtime/inputs.h"

namespace graphopt {

struct NumericSide {
  const Model& model;
  const Inference& inference;
  std::string folder;  // of its external data
};

struct NumericOptions {
  // Outputs are compared first; where they agree, nothing else is. Else values are fetched from the inputs
  // on, until some differ.
  bool bisect = false;
  std::optional<double> tolerance;  // relative; none: by the types
  GivenInputs given;                // for inputs of A, or of B
  std::uint64_t seeds = 1;          // sets of inputs
  std::string ort;
};

struct NumericReport {
  using ValuePair = std::pair<ValueId, ValueId>;
  struct First {
    mapping::Index a = 0, b = 0;  // values of the main scope
    ValueDifference difference;
    std::vector<mapping::Index> region_a, region_b;  // operators
  };
  std::string runtime;
  std::size_t compared = 0, diverging = 0;
  std::vector<First> first;
  // What the numbers say of the mapping: values that do not correspond, and values without counterpart that
  // are equal.
  std::vector<ValuePair> unequal, equal;
  std::vector<std::pair<ValueId, std::vector<std::size_t>>> layouts;  // of values of A
};

// `main`: the scope of the main graphs. ErrorKind::NotChecked without ONNX Runtime, where it does not run
// one of them, and for inputs of B that correspond to none of A; ErrorKind::Usage for a given input that fits
// neither.
Result<NumericReport> compare_mapped(const mapping::Scope& main, const NumericSide& a, const NumericSide& b,
                                     const NumericOptions& options);

}  // namespace graphopt
