// --check: decides whether two models compute the same. Both run in ONNX Runtime, its own optimizations off,
// on the same legal inputs (runtime/inputs.h), for several bindings of the symbols and any number of seeds.
//
// An output passes when type, shape and the positions of NaN and infinities agree, and
//   - integers, Bool, strings: every element is equal;
//   - floats: the largest difference, divided by the largest finite magnitude of the original's output, is at
//     most the tolerance: the given one, or that of the coarsest float type among the output and what nodes
//     inside of the model give (float64 1e-6, float32 1e-4, float16 1e-2, bfloat16 5e-2);
//   - or, without a given tolerance, the output is that of a Sigmoid or Softmax (ops/facts.h, rounds_at_one),
//     and the largest difference is at most two units in the last place at 1;
//   - or, without a given tolerance, it is at most three times the difference that the original shows against
//     itself in ONNX Runtime with all of its own optimizations, or with one thread (`noise`: ties of ArgMax,
//     steps of quantization, sums in another order). Noise above 0.05 excuses no more than itself.
// For an output that differs between two runs of the original (random operators) only type and shape count.
//
// Nothing here throws or prints. ONNX Runtime's types stay in the .cpp files.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graphopt/error.h"
#include "graphopt/stages/check.h"
#include "runtime/inputs.h"
#include "runtime/model_source.h"

namespace graphopt {

struct CheckOptions {
  int seeds = 1;                    // input sets per binding
  std::optional<double> tolerance;  // for floating-point outputs, relative
  std::string ort;             // --ort: the library, or a folder that contains it; empty: see runtime/ort.h
  bool special_values = true;  // also run on NaN, infinities, negative indices
  std::string_view first = "the original model", second = "the optimized model";  // for messages
  GivenInputs given = {};  // in place of drawn values, in every run; then there are no special values
};

struct OutputDifference {
  std::string output;
  double max_abs = 0;     // largest difference of two elements
  double max_rel = 0;     // floats: relative to the largest magnitude; others: share of unequal elements
  double noise = 0;       // the original's own difference, measured where max_rel is above the tolerance
  bool unsteady = false;  // the noise is so large that it excuses no more than itself
  bool random = false;    // differs between two runs of the original: type and shape only
  bool ok = true;
  std::string problem;  // the reason, when it is more than a number: "shape [2,3] became [3,2]"
};

struct CheckRun {
  std::string binding;  // "batch=2 seq=16"
  std::uint64_t seed = 0;
  bool special = false;  // negative, extreme and special values
  std::string skipped;   // why the original did not run on it; the rest is empty then
  std::string broken;    // why the optimized model did not run on it
  std::vector<OutputDifference> outputs;
  bool ok() const;
};

struct CheckReport {
  CheckVerdict verdict = CheckVerdict::NotChecked;
  std::string why;      // one line: the first difference, or why nothing was compared
  std::string remedy;   // of NotChecked
  std::string runtime;  // "ONNX Runtime 1.31.1"; empty when none was opened
  // Of Different: numbers of a model with float16 or bfloat16 inside differ, which need not be a defect.
  bool half = false;
  std::vector<CheckRun> runs;
  std::vector<OutputDifference> worst;  // per output, over all runs: what the tool prints
};

// Holds the original's session and its results, so that --bisect computes them once.
class Checker {
 public:
  Checker(ModelSource original, const InputPlan& plan, CheckOptions options);  // loads nothing yet
  ~Checker();
  Checker(Checker&&) noexcept;
  Checker& operator=(Checker&&) noexcept;

  CheckReport check(const ModelSource& optimized);

 private:
  struct State;
  std::unique_ptr<State> s_;
};

// A Checker for one comparison.
CheckReport check_models(const ModelSource& original, const ModelSource& optimized, const InputPlan& plan,
                         const CheckOptions& options);

// Why a difference in a model with float16 inside need not be a defect: half a sentence.
inline constexpr std::string_view kHalfDiffers =
    "in models with float16 ONNX Runtime may skip the rounding between nodes, so that even an exact rewrite "
    "can change results (docs/rounding.md)";

// Returns ErrorKind::CheckFailed, or NotChecked, with `file` as its place; nothing when the verdict is Same.
std::optional<Error> to_error(const CheckReport& report, std::string file);

}  // namespace graphopt
