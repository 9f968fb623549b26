// buckets: whether the model can be compiled per bucket of shapes, how its inputs are then padded and its
// outputs cut (docs/buckets.md). It comes before clean-up: a model that is refused ends the run early.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace graphopt {

// What a model must have been proved to be before it is written per bucket.
enum class BucketRequire : std::uint8_t {
  Proved,   // for all declared inputs
  Assumed,  // or for inputs that meet the listed assumptions
  Repair,   // as Assumed, and nodes that padding would disturb may be repaired
  Force,    // whatever the analysis says
};
inline constexpr std::array<std::string_view, 4> kBucketRequireNames = {"proved", "assumed", "repair",
                                                                        "force"};  // in that order

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
  // Others whose extents have a symbol of the buckets, a fixed one.
  struct SizedInput {
    std::string name;
    std::vector<std::string> extents;
  };
  std::vector<SizedInput> sized_inputs;

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
    std::string unrepaired;  // why it was not repaired; empty where repairs were not asked for
    std::string remedy;      // what may help
  };
  Refusal refused;

  // Where repairs were asked for: what was done to nodes, in that order, and the inputs that this adds, an
  // int64 without dims each, which carries the true extent of a symbol in every run.
  struct Repair {
    std::string op, node, kind, text;
  };
  std::vector<Repair> repairs;
  struct ExtraInput {
    std::string name, symbol;
  };
  std::vector<ExtraInput> extra_inputs;
};

struct BucketsStage {
  struct Options {
    std::vector<std::string> marks;        // --bucket 'seq=16..512:pow2'
    std::string file;                      // --buckets FILE
    std::optional<BucketRequire> require;  // else what the file says; else Assumed
    bool single = false;                   // one model that chooses, pads and cuts inside

    bool asked() const { return !marks.empty() || !file.empty(); }
  };
  using Report = Bucketability;
};

}  // namespace graphopt
