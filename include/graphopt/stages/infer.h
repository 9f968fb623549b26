// infer: finds the type of every value. It runs when another stage needs types, and when it is asked for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace graphopt {

struct ShapeOption {  // --shape NAME=1,3,224,224
  std::string input;
  std::vector<std::int64_t> dims;  // -1 keeps the dim as it is
};

struct DimOption {  // --dim SYMBOL=VALUE: low == high; --dim SYMBOL=LOW..HIGH
  std::string symbol;
  std::int64_t low = 0;
  std::int64_t high = 0;
};

struct InferStage {
  // A single value is written into the types of inputs, so it changes which inputs the model accepts; a range
  // is a promise of the user that inference may use, and is not written.
  struct Options {
    std::vector<ShapeOption> shapes;
    std::vector<DimOption> dims;
    bool write_types = false;  // write inferred types into value_info and outputs
  };

  struct WrongClaim {
    std::string value, declared, inferred;
  };
  struct Report {
    std::uint64_t values = 0;    // of the model, when inference had run once
    std::uint64_t inferred = 0;  // values that were inferred, counted each time
    std::uint64_t again = 0;     // of these, after passes began to change the model
    double again_per_rewrite = 0;
    std::vector<WrongClaim> false_claims;  // value_info of the file that inference contradicts
  };
};

}  // namespace graphopt
