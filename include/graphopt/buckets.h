// Whether a model can be compiled per bucket of shapes: the answer of `graphopt inspect --bucketable`.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "graphopt/error.h"
#include "graphopt/inspect.h"

namespace graphopt {

struct BucketableOptions {
  InspectOptions model;
  std::vector<std::string> buckets;  // --bucket 'seq=16..512:pow2'
  std::string file;                  // --buckets FILE
};

// Extents are texts over the symbols of the model: "seq", "floor((h)/(2))", "past + seq". A layout is an
// extent, a product "batch x seq" (merged axes), or segments "past ++ seq" (joined ones); what contains a
// symbol of the buckets is padded behind it.
struct Bucketability {
  std::string verdict;  // "proved", "assumed", "refused"

  struct Symbol {
    std::string name;
    std::vector<std::int64_t> sizes;  // ascending
    std::int64_t low = 0, high = 0;   // what is promised
    bool fixed = false;               // never padded
  };
  std::vector<Symbol> symbols;
  std::vector<std::vector<std::string>> groups;
  std::string where;
  std::uint64_t buckets = 0;

  struct Input {
    std::string name;
    std::vector<std::string> layouts;
    double pad = 0;
    std::string pad_class;  // "const": exactly this; "finite": any finite number; "any": anything
  };
  std::vector<Input> inputs;  // those with padded axes

  struct Output {
    std::string name;
    std::vector<std::string> extents, layouts;
    bool is_prefix = true;  // true elements are the first ones of each axis
  };
  std::vector<Output> outputs;           // empty where refused
  std::vector<std::string> constraints;  // "mod(h, 2) == 0"

  struct Assumption {
    std::string node, kind, text;
  };
  std::vector<Assumption> assumptions;

  struct Refusal {
    std::string op, node;  // empty where no single node is to blame
    int axis = -1;         // of its operand; -1: none
    std::string input;     // the operand
    std::string reason, content, needs, repair;
  };
  Refusal refused;
};

// ErrorKind::Usage for marks that are wrong or do not fit the model.
Result<Bucketability> bucketable(const BucketableOptions& options);
std::string to_json(const Bucketability& b);

}  // namespace graphopt
