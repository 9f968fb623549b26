// Bucket marks: which symbols of a model get lists of sizes, how the lists are made, and what the user
// promises about inputs. Plain data.
//
// Problem: a model with open dims is wanted once per size, but not for every size. The user says in words
// which sizes matter; text on the command line and a file say the same things. Design: a *symbol* is a dim
// that has one value in a run. A *group* is a record of symbols that share a range and a method and vary
// independently: each gets a list of its own. A range is a promise that the model is valid for each size in
// it. `fixed` symbols are never padded: their sizes are those of the list and no others. Names stay texts
// here ("seq", or a place: "x[1]"); who knows the model resolves them (unknown_names() says which ones do not
// exist). What stands in this struct after parse_marks() is consistent: check_group() and check_marks() have
// seen it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "graphopt/error.h"
#include "graphopt/stages/buckets.h"
#include "support/int_range.h"

namespace graphopt {

// An extent of a graph input is below 2^31 (docs/architecture.md, "Facts about values").
inline constexpr std::int64_t kMaxBucketExtent = (std::int64_t{1} << 31) - 1;
inline constexpr std::int64_t kDefaultBucketLimit = 64, kMaxBucketLimit = 65536;
// Ratios are decimals with nine digits after the point, so that floor(ratio * length) is exact.
inline constexpr std::int64_t kRatioOne = 1'000'000'000;
inline constexpr double kDefaultBucketShare = 0.01;

// A number as the user wrote it. Infinities are doubles; there is no NaN.
using MarkNumber = std::variant<std::int64_t, double>;
std::string number_text(const MarkNumber& n);

// How often each length was observed.
struct LengthCount {
  std::int64_t length = 0, count = 0;
  friend bool operator==(const LengthCount&, const LengthCount&) = default;
};

enum class BucketMethod : std::uint8_t { List, Step, Pow2, Geo, Hist, Max };

struct BucketGroup {
  std::vector<std::string> symbols;  // at least one, each once
  IntRange range;                    // 0 <= low <= high <= kMaxBucketExtent, high >= 1
  BucketMethod method = BucketMethod::List;
  std::vector<std::int64_t> values;  // List: ascending, each once; the last is range.high
  std::int64_t step = 0;             // Step: at least 1
  std::int64_t ratio = 0;            // Geo: in units of 1 / kRatioOne, above kRatioOne
  // Hist: the greatest number of buckets; none: a bucket more is taken while it saves more than `share` of
  // the work that the observed lengths cost without padding.
  std::optional<std::int64_t> most;
  double share = kDefaultBucketShare;  // 0 to 1
  std::string lengths_file;            // Hist
  std::vector<LengthCount> lengths;    // Hist: ascending, each once, in the range, some count above 0
  std::int64_t align = 1;              // buckets are multiples of it, except range.high
  bool fixed = false;                  // List, Step, Pow2
  std::optional<MarkNumber> pad;       // for inputs with a dim of this group and no pad of their own
  std::string from;                    // for messages: "--bucket 'seq=1..8:pow2'" or "groups[0]"

  friend bool operator==(const BucketGroup&, const BucketGroup&) = default;
};

struct InputMark {
  std::string input;
  std::optional<MarkNumber> pad;
  std::optional<std::pair<MarkNumber, MarkNumber>> values;  // each element of the input lies between them

  friend bool operator==(const InputMark&, const InputMark&) = default;
};

// States that a symbol has the value of an expression over other ones: "total" = "past + seq".
struct DimRelation {
  std::string symbol, expression;
  friend bool operator==(const DimRelation&, const DimRelation&) = default;
};

struct BucketMarks {
  std::string file;  // of --buckets, for messages; empty: none
  std::vector<BucketGroup> groups;
  std::vector<InputMark> inputs;
  std::vector<DimRelation> dims;
  std::int64_t limit = kDefaultBucketLimit;  // greatest number of buckets
  std::string where;                         // a comparison over symbols (shape_filter.h); empty: none
  std::optional<BucketRequire> require;
};

// What is wrong, and what to write instead; who parses knows the place.
struct MarkProblem {
  std::string what, remedy;
};

// Returns what is wrong with one group whose symbols, range and method are filled in; nothing when all is
// well. Lengths are checked when they are read.
std::optional<MarkProblem> check_group(const BucketGroup& group);

// Returns what is wrong between groups, inputs and relations: a symbol in two groups, a pad value outside the
// range of its input. Errors are of ErrorKind::Usage.
Errors check_marks(const BucketMarks& marks);

// Returns an error for each symbol and input that the model does not have, with near names. `symbols` are
// those of the model's inputs; a place "NAME[AXIS]" counts as known if NAME is an input.
Errors unknown_names(const BucketMarks& marks, std::span<const std::string> symbols,
                     std::span<const std::string> inputs);

// Returns the preset element that the marks give to an input with dims of these symbols: its own, else that
// of its groups; none when there is none. An error when its groups differ, or when it lies outside the
// input's range of values.
Result<std::optional<MarkNumber>> pad_of(const BucketMarks& marks, std::string_view input,
                                         std::span<const std::string> symbols);

}  // namespace graphopt
