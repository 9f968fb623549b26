// What the values of an input mean to the operators that they reach.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "infer/infer.h"
#include "ir/model.h"

namespace graphopt {

// What a value is for, the weaker first: where an input is used in several ways, the last of them decides.
enum class Meaning : std::uint8_t {
  Data,          // any numbers
  NumericText,   // strings that are converted to numbers
  Probability,   // 0 .. 1
  Inside,        // -0.9 .. 0.9: Asin, Acos, Atanh
  Positive,      // Sqrt, Log, variances, scales
  Condition,     // decides a branch or goes on with a loop
  Index,         // bounded by `bounds`
  Length,        // 1 .. bound: a length of a sequence
  Divisor,       // never 0
  Small,         // an amount: trip counts, repeats, sizes of what is made
  AxisZero,      // a position or an axis: 0
  AxisList,      // axes: 0, 1, 2 ...
  ScaleFactors,  // 1 or 2 per axis
  Parts,         // sizes that add up to `dims`, which is one dim here
  Dims,          // `dims` one after the other: a shape that fits the data
};

// Legal when 0 <= scale * x + low and scale * x + high < limit / share.
struct IndexBound {
  DimId limit;  // of the model's pool; none: unknown
  std::int64_t scale = 1, low = 0, high = 0;
  std::int64_t share = 1;        // how many unknown numbers are added up to the index
  bool may_be_negative = false;  // counts from the end then
};

struct InputUses {
  Meaning meaning = Meaning::Data;
  std::vector<IndexBound> bounds;  // Index, Length
  std::vector<DimId> dims;         // Dims; of the model's pool
  std::vector<std::string> texts;  // strings that a consumer knows
  std::vector<std::int64_t> keys;  // integers that a consumer knows
};

// A walk over use lists, through operators that keep values, into and out of subgraphs and functions.
// Bounded.
InputUses uses_of_input(const Model& model, const Inference& infer, ValueId input);

}  // namespace graphopt
