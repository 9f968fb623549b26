// The meaning of an input's values for the operators that they reach.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "infer/infer.h"
#include "ir/model.h"

namespace graphopt {

// The purpose of a value, the weaker first: where an input is used in several ways, the last of them decides.
enum class Meaning : std::uint8_t {
  Data,          // any numbers
  NumericText,   // strings that are converted to numbers
  Probability,   // 0 .. 1
  Inside,        // -0.9 .. 0.9: Asin, Acos, Atanh
  Positive,      // Sqrt, Log, variances, scales
  Condition,     // selects a branch or continues a loop
  Index,         // bounded by `bounds`
  Length,        // 1 .. bound: a length of a sequence
  Divisor,       // never 0
  Small,         // an amount: trip counts, repeats, sizes of results
  AxisZero,      // a position or an axis: 0
  AxisList,      // axes: 0, 1, 2 ...
  ScaleFactors,  // 1 or 2 per axis
  Parts,         // sizes that add up to `dims`, which is one dim here
  Dims,          // `dims` in order: a shape that fits the data
};

// Legal when 0 <= scale * x + low and scale * x + high < limit / share.
struct IndexBound {
  DimId limit;  // of the model's pool; none: unknown
  std::int64_t scale = 1, low = 0, high = 0;
  std::int64_t share = 1;        // number of unknown summands of the index, plus 1
  bool may_be_negative = false;  // a negative one counts from the end
};

struct InputUses {
  Meaning meaning = Meaning::Data;
  std::vector<IndexBound> bounds;  // Index, Length
  std::vector<DimId> dims;         // Dims; of the model's pool
  std::vector<std::string> texts;  // strings in a consumer's vocabulary
  std::vector<std::int64_t> keys;  // integers in a consumer's vocabulary
};

// Walks use lists, through operators that keep values, into and out of subgraphs and functions. Bounded.
InputUses uses_of_input(const Model& model, const Inference& infer, ValueId input);

}  // namespace graphopt
