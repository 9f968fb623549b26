// The options of a run, in the groups of --help. Plain data: the command line fills it from text, a program
// directly.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace graphopt {

// Stages in their order. A run that stops after one of them saves the model in its state at that point.
enum class Stage : std::uint8_t { Load, Infer, CleanUp };

enum class ExternalData : std::uint8_t {
  Auto,  // weights stay in their files; models above 2 GiB get a data file
  Always,
  Never,
};

// The form in which regions (docs/regions.md) are written into the model.
enum class RegionForm : std::uint8_t {
  None,
  Metadata,   // an entry of each node's metadata_props
  Functions,  // model-local functions
};

// What the name of an input's dim means when it can be read as an expression over names of other input dims.
enum class DimNames : std::uint8_t {
  Expressions,  // "past + seq" is the sum, as exporters mean it
  Opaque,       // each name is only a name: dims with equal names are equal, and nothing else is known
};

struct ShapeOption {  // --shape NAME=1,3,224,224
  std::string input;
  std::vector<std::int64_t> dims;  // -1 keeps the dim as it is
};

struct DimOption {  // --dim SYMBOL=VALUE: low == high; --dim SYMBOL=LOW..HIGH
  std::string symbol;
  std::int64_t low = 0;
  std::int64_t high = 0;
};

inline constexpr std::uint64_t kDefaultFoldLimit = 64 * 1024;  // bytes that one folded constant may add

struct Options {
  std::string input;   // a file; "-" is stdin
  std::string output;  // a file, which may be the input; "-" is stdout; empty: a dry run

  // What to do
  int level = 2;       // 0 load and save; 1 keeps every bit; 2 default: may round; 3 rounds and assumes more
  bool exact = false;  // keeps every bit, at whatever level; assumes nothing
  std::vector<std::string>
      passes;  // exactly these, in this order, until none changes anything; empty: by level
  std::vector<std::string> disabled;
  Stage stop_after = Stage::CleanUp;
  RegionForm regions = RegionForm::None;
  std::uint64_t fold_limit = kDefaultFoldLimit;

  // Shapes. A single value is written into the types of inputs, so it changes which inputs the model accepts;
  // a range is a promise of the user that inference may use, and is not written.
  std::vector<ShapeOption> shapes;
  std::vector<DimOption> dims;
  DimNames dim_names = DimNames::Expressions;
  bool infer = false;  // write inferred types into value_info and outputs

  // Output
  ExternalData external_data = ExternalData::Auto;
  std::uint64_t external_threshold = 1024;  // tensors of at least this many bytes go to the data file
  std::string external_root;  // folder from which external data may be read, besides the model's own
  bool force = false;         // overwrite a write-protected output

  // Trust
  int check_seeds = 0;  // 0: no check
  std::optional<double> check_tolerance;
  // a failed check is followed by a search for the rewrite that caused it; implies a check
  bool bisect = false;
  bool verify_each = false;
  double timeout = 0;  // seconds; 0: none. Checked between passes and stages; saving is not interrupted
  std::string ort;     // ONNX Runtime's library; empty: searched for

  // People
  // Passes whose refused candidates go into the report: "PASS", or "all" for every pass; "PASS:NODE" and
  // "all:NODE" ask for those of one node, given by its name or by that of one of its results.
  std::vector<std::string> explain;
  bool dot = false;                      // draw the optimized main graph into the report
  std::vector<std::string> print_after;  // passes after which the observer gets the model's text

  // The caller ends the process after the call: the model is not destroyed, which saves time on large ones.
  bool process_ends = false;
};

}  // namespace graphopt
