// clean-up: the passes, until none changes anything.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graphopt/search_limit.h"
#include "graphopt/words.h"

namespace graphopt {

inline constexpr std::uint64_t kDefaultFoldLimit = 64 * 1024;  // bytes that one folded constant may add

// What folds constants. Ort: what is left after graphopt's own kernels goes through ONNX Runtime, which has
// to be there (CheckStage::Options::ort); the result then depends on its version. Only where results may
// round: level 2 and 3 without `exact`.
enum class FoldWith : std::uint8_t { Native, Ort };

// Why the passes stopped.
enum class CleanUpEnd : std::uint8_t {
  None,        // none ran
  FixedPoint,  // none found anything to do
  Rounds,      // the limit of rounds was reached
};
template <> struct Words<CleanUpEnd> {
  static constexpr std::string_view plural = "ends";
  static constexpr std::array<std::string_view, 3> all = {"", "fixed point", "limit of rounds"};
};

struct CleanUpStage {
  struct Options {
    int level = 2;  // 0 load and save; 1 keeps every bit; 2 default: may round; 3 rounds and assumes more
    bool exact = false;  // keeps every bit, at whatever level; assumes nothing
    // Exactly these, in this order, until none changes anything; empty: by level.
    std::vector<std::string> passes;
    std::vector<std::string> disabled;
    FoldWith fold = FoldWith::Native;
    std::uint64_t fold_limit = kDefaultFoldLimit;
    bool verify_each = false;
    // Passes whose refused candidates go into the report: "PASS", or "all" for every pass; "PASS:NODE" and
    // "all:NODE" ask for those of one node, given by its name or by that of one of its results.
    std::vector<std::string> explain;
    std::vector<std::string> print_after;  // passes after which the observer gets the model's text
  };

  struct PassFigures {
    std::string name;
    std::uint64_t runs = 0, rewrites = 0;
    double seconds = 0;
    std::vector<std::pair<std::string, std::uint64_t>> counters;
  };
  // Moves of the passes that search by cost (docs/hoisting.md): kept ones, in their order.
  struct Cost {
    std::int64_t compute = 0;  // C': nodes that are neither deformations nor absorbed elementwise nodes
    std::int64_t free = 0;     // F: elementwise nodes in no region with an anchor, and not absorbed
    std::int64_t deform = 0;   // D: deformation nodes
    // Elementwise nodes that are neither absorbed nor in the region of a Conv or product, and all nodes: more
    // nodes are kept only where compute falls, or apart by two for each of them.
    std::int64_t apart = 0, nodes = 0;
  };
  struct Move {
    std::string pass, kind, place;
    Cost before, after;
  };
  // For each graph that was searched, bodies and functions included: the first and the last cost. A graph in
  // which no move could start is not listed.
  struct GraphCost {
    std::string graph;  // its name
    Cost before, after;
  };
  // What the passes in Options::explain refused in their last run. `kind`: the kind of move, or the name of
  // the rule. `value`: the first result of the node at that place, or the initializer. `node`: its name, of
  // one in a body with the body's path before it, or `value` where it has none. `op`: its operator.
  struct Refused {
    std::string pass, kind, reason, place, node, op, value;
    std::optional<SearchLimit> limit;  // of reason "limit", where one limit is to blame
  };
  // What FoldWith::Ort did.
  struct RuntimeFold {
    std::string runtime;                     // "ONNX Runtime 1.31.1"
    std::uint64_t nodes = 0, constants = 0;  // nodes that went; results that became constants
    std::string refused;  // its message, where it did not run the constant part; else empty
  };
  struct Report {
    std::vector<PassFigures> passes;
    std::vector<Move> moves;
    std::vector<GraphCost> costs;
    std::vector<Refused> explain;
    std::optional<RuntimeFold> fold;
    std::uint64_t rounds = 0, rewrites = 0;
    CleanUpEnd stopped = CleanUpEnd::None;
  };
};

}  // namespace graphopt
