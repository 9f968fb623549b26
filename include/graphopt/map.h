// Which operator of one model became which operator of another: what `graphopt map` tells.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graphopt/error.h"
#include "graphopt/map_enums.h"
#include "graphopt/optimize.h"
#include "graphopt/stages/load.h"

namespace graphopt {

struct MapOptions {
  std::string first, second;  // files; one of them may be "-", stdin
  LoadStage::Options load;    // of both
  // "A=B": operators that are a pair, by the names that MapReport has, or by other results of theirs.
  std::vector<std::string> pairs;
  MapMethod method = MapMethod::Sparse;
  std::uint64_t rounds = 10;  // of the literal method, at most
  bool names = true;          // equal names of results are evidence
  bool weights = true;        // equal contents of constants are evidence
  std::size_t top_k = 3;      // MapReport::Advice of each operator that is alone

  // Both run in ONNX Runtime, and values that correspond are compared: all of them, or with `bisect` only
  // until some differ, and none where the outputs agree.
  bool numeric = false, bisect = false;
  std::optional<double> tolerance;  // relative; none: by the types of the models
  std::vector<std::string> inputs;  // as CheckStage::Options::inputs, for inputs of A or of B
  std::uint64_t seeds = 1;          // sets of inputs that are drawn
  std::string ort;                  // as CheckStage::Options::ort
};

// Operators are named by their first result that has a name; in bodies by OWNER/ATTRIBUTE/RESULT, and in
// functions by CALL/FUNCTION/RESULT, with the first call that is mapped. Constants are no operators, nor is
// Identity of a constant.
struct MapReport {
  struct Operator {
    std::string name, op;     // op: "Conv", "com.microsoft::Attention"
    std::string type;         // of its first result, as "float[n,4]"
    std::uint64_t depth = 0;  // operators before it on the longest way from the inputs of its graph
  };
  struct Graph {
    std::string file, network;    // "network.id" of a manifest of the model as it is
    std::uint64_t operators = 0;  // of the main graph
    std::uint64_t constants = 0;  // that these read
    std::vector<Operator> nodes;  // in canonical order; those of bodies after those of their owner
    std::uint64_t in_pairs = 0, in_groups = 0, alone = 0;  // of nodes; each counts once, pairs first
  };
  // Values that correspond. `layout`: the permutation of dims that turns A's into B's; none: the same dims.
  struct Value {
    std::string a, b;
    std::vector<std::size_t> layout;
  };
  struct Pair {
    std::string a, b;
    std::vector<Value> values;  // results that correspond
    double confidence = 0;      // the share of such pairs that is right, 0 to 1
    double raw = 0;             // by the rule of `why`, before it was fitted to pairs that are known
    std::string why;
  };
  struct Group {
    std::vector<std::string> a, b;
    MapGroupKind kind = MapGroupKind::Rewritten;
    std::optional<Value> value;  // that ends it; none for operators of one graph alone
    std::string why;
  };
  // The operators of B that are most like an operator of A that is alone, best first; scores from 0 to 1.
  struct Advice {
    std::string a;
    std::vector<std::pair<std::string, double>> top;
  };

  // Values that differ while all that correspond above them agree.
  struct Divergence {
    std::string a, b;                             // the operators that make them
    std::vector<std::string> region_a, region_b;  // the operators between those that agree and these
    double max_abs = 0, max_rel = 0, cosine = 1;
    std::string problem;  // what is more than a number
    struct Attribute {
      std::string name, a, b;  // empty: it is not there
    };
    std::vector<Attribute> attributes;  // that differ
  };
  struct Numeric {
    std::string runtime;
    std::uint64_t compared = 0, diverging = 0;  // pairs of values
    std::vector<Divergence> first;
  };

  Graph a, b;
  MapMethod method = MapMethod::Sparse;
  bool is_one_model = false;
  std::vector<Pair> pairs;    // in the order of A's operators
  std::vector<Group> groups;  // in the order of A's operators; none where the graphs are not one model
  std::vector<Advice> advice;
  std::vector<std::pair<std::string, std::uint64_t>> reasons;  // pairs by `why`
  std::optional<Numeric> numeric;
};

// Graphs that are not one model are no error, nor are values that differ. ErrorKind::Usage for pairs that
// cannot be, for more operators than the literal method takes, and for inputs that fit neither graph;
// ErrorKind::NotChecked where numbers are wanted and there is no ONNX Runtime, or it does not run the models,
// or their inputs do not correspond.
Result<MapReport> map_models(const MapOptions& options, Observer& observer);
// Returns the report in the form of share/graphopt/schemas/map.schema.json: equal models have equal bytes.
std::string to_json(const MapReport& report);

}  // namespace graphopt
