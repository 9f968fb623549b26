// buckets: whether the model can be compiled per bucket of shapes, how its inputs are then padded and its
// outputs cut (docs/buckets.md). It comes before clean-up: a model that is refused ends the run early.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "graphopt/words.h"

namespace graphopt {

// What a model must have been proved to be before it is written per bucket.
enum class BucketRequire : std::uint8_t {
  Proved,   // for all declared inputs
  Assumed,  // or for inputs that meet the listed assumptions
  Repair,   // as Assumed, and nodes that padding would disturb may be repaired
  Force,    // whatever the analysis says
};
template <> struct Words<BucketRequire> {
  static constexpr std::string_view plural = "values";
  static constexpr std::array<std::string_view, 4> all = {"proved", "assumed", "repair", "force"};
};

enum class BucketVerdict : std::uint8_t {
  Proved,   // for all declared inputs
  Assumed,  // for inputs that meet the listed assumptions
  Refused,
};
template <> struct Words<BucketVerdict> {
  static constexpr std::string_view plural = "verdicts";
  static constexpr std::array<std::string_view, 3> all = {"proved", "assumed", "refused"};
};

// What the padding of an input must hold.
enum class PadClass : std::uint8_t {
  Const,   // exactly one number
  Finite,  // any finite value
  Any,     // any value
  None,    // no axis is padded: the extents are those of fixed symbols
};
template <> struct Words<PadClass> {
  static constexpr std::string_view plural = "classes";
  static constexpr std::array<std::string_view, 4> all = {"const", "finite", "any", "none"};
};

// What is assumed of inputs, and not proved.
enum class BucketAssumption : std::uint8_t {
  MaskDominates,       // an element that a mask hides is far below all others
  IndicesNotNegative,  // elements of an input that select entries are at least 0
};
template <> struct Words<BucketAssumption> {
  static constexpr std::string_view plural = "kinds";
  static constexpr std::array<std::string_view, 2> all = {"mask-dominates", "indices-not-negative"};
};

// What makes a node safe that reads padding.
enum class BucketRepair : std::uint8_t {
  Mask,            // what is not true gets a harmless element before the node
  MaskProduct,     // the same for operands of a product
  TrueMean,        // a masked sum divided by the true count
  TrueStatistics,  // normalize by masked sums and the true count
  LastIndex,       // count from the true end
  Lengths,         // give the recurrence its lengths
};
template <> struct Words<BucketRepair> {
  static constexpr std::string_view plural = "kinds";
  static constexpr std::array<std::string_view, 6> all = {
      "mask", "mask-product", "true-mean", "true-statistics", "last-index", "lengths"};
};

// Extents are texts over the symbols of the model: "seq", "floor((h)/(2))", "past + seq". A layout is an
// extent, a product "batch x seq" (merged axes), or segments "past ++ seq" (joined ones); what contains a
// symbol of the buckets is padded behind it.
struct Bucketability {
  BucketVerdict verdict = BucketVerdict::Refused;

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
    std::vector<std::string> layouts;  // by axis
    PadClass pad_class = PadClass::None;
    double pad = 0;  // what to pad with; may be infinite
  };
  std::vector<Input> inputs;  // whose extents have a symbol of the buckets; those with padded axes first

  struct Output {
    std::string name;
    std::vector<std::string> extents, layouts;
    bool is_prefix = true;  // true elements are the first ones of each axis
  };
  std::vector<Output> outputs;           // empty where refused
  std::vector<std::string> constraints;  // "mod(h, 2) == 0"

  struct Assumption {
    std::string node;
    BucketAssumption kind = BucketAssumption::MaskDominates;
    std::string text;
  };
  std::vector<Assumption> assumptions;

  struct Refusal {
    std::string op, node;  // empty where no single node is to blame
    int axis = -1;         // of its operand; -1: none
    std::string input;     // the operand
    std::string reason, content, needs;
    std::optional<BucketRepair> repair;  // none is known
    std::string unrepaired;              // why it was not repaired; empty where repairs were not asked for
    std::string remedy;                  // what may help
  };
  std::optional<Refusal> refused;  // where the verdict is Refused

  // Where repairs were asked for: what was done to nodes, in that order, and the inputs that this adds, an
  // int64 without dims each, which carries the true extent of a symbol in every run.
  struct Repair {
    std::string op, node;
    BucketRepair kind = BucketRepair::Mask;
    std::string text;
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
