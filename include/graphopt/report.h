// The results of a run. Plain data; to_json gives the text that --report writes (docs/report.md lists its
// fields).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace graphopt {

// One counting rule for all figures: the nodes of the main graph and of every subgraph; a call of a
// model-local function counts as the nodes of its body, once per call, and the call itself does not count.
// Constant nodes hold data and are counted separately.
struct ModelFigures {
  std::uint64_t nodes = 0;
  std::uint64_t constants = 0;
  std::uint64_t initializers = 0;                  // of the main graph
  std::uint64_t subgraphs = 0;                     // each function that is called counts once
  std::uint64_t calls = 0;                         // of functions, each function's body counted once
  std::uint64_t bytes = 0;                         // the file plus external data; 0 when nothing was written
  std::map<std::string, std::uint64_t> operators;  // "Conv", "com.microsoft::Attention"; without Constant
};

struct Report {
  std::string version;        // of graphopt
  std::string input, output;  // as given by the user; no output: a dry run
  ModelFigures before, after;

  struct Phase {
    std::string name;
    double seconds = 0;
  };
  std::vector<Phase> phases;  // in their order
  double seconds = 0;         // from the call to the return

  struct PassFigures {
    std::string name;
    std::uint64_t runs = 0, rewrites = 0;
    double seconds = 0;
    std::vector<std::pair<std::string, std::uint64_t>> counters;
  };
  std::vector<PassFigures> passes;
  // Moves of the passes that search by cost (docs/hoisting.md): kept ones, in their order.
  struct Cost {
    std::int64_t compute = 0;  // C': nodes that are neither deformations nor absorbed elementwise nodes
    std::int64_t free = 0;     // F: elementwise nodes in no region with an anchor, and not absorbed
    std::int64_t deform = 0;   // D: deformation nodes
  };
  struct Move {
    std::string pass, kind, place;
    Cost before, after;
  };
  std::vector<Move> moves;
  // For each graph that was searched, bodies and functions included: the first and the last cost. A graph in
  // which no move could start is not listed.
  struct GraphCost {
    std::string graph;  // its name
    Cost before, after;
  };
  std::vector<GraphCost> costs;
  // What the passes in Options::explain refused in their last run. `kind`: the kind of move, or the name of
  // the rule. `value`: the first result of the node at that place, or the initializer.
  struct Refused {
    std::string pass, kind, reason, place, value;
    std::string limit;  // of reason "limit": the name of the limit, as in Report::limits; else empty
  };
  std::vector<Refused> explain;
  // Limits of the search, and of the list of regions, that refused something or cut it short; those that were
  // never met are not among them.
  struct Limit {
    std::string name;  // "path-nodes"; docs/report.md lists them
    std::uint64_t times = 0;
  };
  std::vector<Limit> limits;

  // The regions of the main graph after the passes (docs/regions.md).
  struct Region {
    std::string id;
    std::vector<std::string> members;  // the names of all results of its nodes, in topological order
    std::string anchor, kind;          // its first result and its operator; empty: elementwise nodes alone
    std::string function;              // the model-local function that it became; empty when it did not
  };
  struct Regions {
    std::string form = "none";  // the form in the model: "none", "metadata", "functions"
    std::vector<Region> regions;
    std::uint64_t launches = 0;  // regions, plus nodes outside regions that compute data
  };
  std::optional<Regions> regions;  // nothing when not requested
  std::string dot;                 // Graphviz text; empty when not requested

  std::uint64_t rounds = 0, rewrites = 0;
  std::string stopped;  // why the passes stopped: "fixed point", "limit of rounds"; "" when none ran

  struct InferenceFigures {
    std::uint64_t values = 0;    // of the model, when inference had run once
    std::uint64_t inferred = 0;  // values that were inferred, counted each time
    std::uint64_t again = 0;     // of these, after passes began to change the model
    double again_per_rewrite = 0;
  };
  std::optional<InferenceFigures> inference;  // nothing when it did not run

  struct WrongClaim {
    std::string value, declared, inferred;
  };
  std::vector<WrongClaim> false_claims;  // value_info of the file that inference contradicts

  struct Difference {
    std::string output;
    double max_abs = 0, max_rel = 0, noise = 0;
    bool random = false, ok = true;
    std::string problem;
  };
  struct Check {
    std::string verdict;                  // "same"; a check that found anything else ends the run
    std::string runtime;                  // "ONNX Runtime 1.31.1"
    std::uint64_t runs = 0, skipped = 0;  // input sets: compared; not accepted by the original
    std::vector<Difference> outputs;      // the largest difference of each output over all runs
  };
  std::optional<Check> check;

  struct File {
    std::string path;
    std::uint64_t bytes = 0;
  };
  std::vector<File> files;  // the files written; the model first

  std::vector<std::string> warnings;
};

std::string to_json(const Report& report);

}  // namespace graphopt
