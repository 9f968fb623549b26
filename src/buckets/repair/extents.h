// Extents as numbers that a model computes.
//
// Problem: a mask compares positions with a true extent, and a mean divides by a product of true extents. A
// run on padded data knows the padded ones alone.
// Method: each padded symbol gets an input, an int64 without dims that carries its true extent in every run.
// An extent is a polynomial over symbols and calls (ir/dim.h), and becomes nodes in front of the model: of
// the true run with the inputs for the padded symbols, of the run itself with the dims of other inputs for
// all. Symbols that are not padded have one value in both runs. Each expression is written once.
// Exact: all numbers are integers. An extent that occurs in the model has been computed there from the same
// symbols, and what may be negative where a division rounds, or may be 0 where one divides, is not written.
//
//   true extent of h // 2 + 1:   Add (Div (true_len_h, 2), 1)
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "buckets/formula_writer.h"
#include "buckets/padding/analysis.h"
#include "infer/infer.h"
#include "ir/dim_terms.h"
#include "ir/model.h"
#include "rewrite/emitter.h"

namespace graphopt {

// An int64 without dims that carries the true extent of a symbol.
struct LengthInput {
  DimId symbol;
  ValueId input;
};

enum class ExtentOf : std::uint8_t { TrueRun, ThisRun };

class ExtentValues {
 public:
  // Both must outlive this object.
  ExtentValues(Model& m, const Inference& inference, std::span<const PaddedSymbol> padded);
  ExtentValues(const ExtentValues&) = delete;  // writers of formulas refer to it
  ExtentValues& operator=(const ExtentValues&) = delete;

  // Returns why the extent cannot be computed; empty where it can.
  std::string obstacle(DimId extent, ExtentOf run) const;
  // Returns an int64 without dims. Precondition: no obstacle.
  ValueId value(DimId extent, ExtentOf run);
  Emitter& front() { return front_; }
  // The inputs that were added, in the order of their need.
  std::span<const LengthInput> lengths() const { return lengths_; }
  // Returns the first true extent that the analysis does not find to be that extent; none where all are.
  std::optional<std::string> mistake(const PaddingAnalysis& analysis) const;

 private:
  struct DimPlace {
    ValueId input;
    std::int64_t axis;
  };
  bool is_padded(DimId symbol) const;
  std::optional<DimPlace> place_of(DimId symbol) const;
  ValueId symbol_value(DimId symbol, ExtentOf run);
  ValueId length_of(DimId symbol);
  std::string obstacle(const DimFactor& f, ExtentOf run, int depth) const;
  std::string obstacle(DimId extent, ExtentOf run, int depth) const;

  Model& m_;
  const Inference& inference_;
  std::vector<DimId> padded_;
  Emitter front_;
  std::vector<LengthInput> lengths_;
  FormulaWriter of_true_run_, of_this_run_;
};

}  // namespace graphopt
