// check: runs the original and the result in ONNX Runtime and compares them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "graphopt/words.h"

namespace graphopt {

enum class CheckVerdict : std::uint8_t {
  Same,
  Different,
  NotChecked,  // no input set was run on both
};
template <> struct Words<CheckVerdict> {
  static constexpr std::string_view plural = "verdicts";
  static constexpr std::array<std::string_view, 3> all = {"same", "different", "not checked"};
};

struct CheckStage {
  struct Options {
    int seeds = 0;  // 0: no check
    std::optional<double> tolerance;
    // A failed check is followed by a search for the rewrite that caused it; implies a check.
    bool bisect = false;
    // Values of the user's own, which are used in every run in place of drawn ones: "NAME=FILE.npy", an array
    // of NumPy for that input, "NAME=FILE.pb", a TensorProto, or "FILE.npz", several arrays by their names.
    // Inputs that none names are drawn.
    std::vector<std::string> inputs;
    std::string ort;       // ONNX Runtime's library, or a folder with it; empty: searched for
    std::string keep_bad;  // a model that does not compute the same is written here; empty: nowhere
  };

  struct Difference {
    std::string output;
    double max_abs = 0, max_rel = 0, noise = 0;
    bool unsteady = false;  // the original differs from itself by more than 0.05
    bool random = false, ok = true;
    std::string problem;
  };
  struct Report {
    CheckVerdict verdict = CheckVerdict::NotChecked;  // of a run that did not fail Same
    std::string why;                                  // of any other verdict than Same, one line
    std::string runtime;                              // "ONNX Runtime 1.31.1"
    std::uint64_t runs = 0, skipped = 0;              // input sets: compared; not accepted by the original
    std::vector<Difference> outputs;                  // the largest difference of each output over all runs
    std::uint64_t bucket_runs = 0;  // input sets: compared with models of buckets, padded and cut
  };
};

}  // namespace graphopt
