// The options of a run as data: their names, what they take, and how a text becomes a member of Options and
// back.
//
// The command line, --help and --help=json are made of it, and by way of the latter the man page, the
// completions and the keywords of Python; so are the options that a manifest states. A new option is a member
// of the options of a stage and a row here.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "graphopt/error.h"
#include "graphopt/options.h"

namespace graphopt {

// What the text of an option is.
enum class OptionForm : std::uint8_t {
  Flag,     // none
  Choice,   // one of a few words
  Choices,  // several of them, between commas
  Text,
  Count,    // a whole number
  Number,   // a number that may have a fraction
  Bytes,    // "4096", "64K"
  Seconds,  // "10", "0.5s", "5m"
  File,
  Folder,
  Names,    // names of values of the model, between commas
  Passes,   // names of passes, between commas
  Devices,  // profiles of devices, between commas
  Pairs,    // NAME=VALUE, an option for each name
};
inline constexpr std::array<std::string_view, 14> kOptionFormNames = {
    "flag",    "choice", "choices", "text",  "count",  "number",  "bytes",
    "seconds", "file",   "folder",  "names", "passes", "devices", "pairs"};

// The value of an option; a list for those that hold several.
using OptionValue = std::variant<bool, std::int64_t, double, std::string, std::vector<std::string>>;

struct OptionInfo {
  std::string_view name;             // "--fold-limit"; "-O" has no long name
  std::string_view short_name = {};  // "-o"
  std::string_view group = {};       // the heading of --help that it is under
  std::string_view value = {};       // "BYTES": what --help calls the value
  std::string_view help = {};        // one line
  OptionForm form = OptionForm::Flag;
  std::vector<std::string_view> choices = {};  // of Choice and Choices
  bool repeats = false;                        // a second one adds to the first; else it replaces it,
                                               // and is an error if the option `writes`
  std::string_view bare = {};   // the value that the name alone stands for: --check is --check=1
  bool changes_result = false;  // files of a run differ with it
  std::string_view stage = {};  // whose option it is (stage_name); empty: of the run
  bool writes = false;          // the value is a file that a run writes
};

// Returns the name of an option in files and in programs: "fold_limit"; "level" for -O.
std::string option_key(const OptionInfo& info);

// An option of T, a struct of options.
template <class T> struct OptionRow {
  OptionInfo info;
  // Sets the member. A flag takes "", "true" and "false". ErrorKind::Usage names the option, the text, and
  // the form that was expected or the names that are near it.
  std::function<Status(T& options, std::string_view text)> set;
  // Returns the value that is in force; none where the option is not given and stands for no value.
  std::function<std::optional<OptionValue>(const T& options)> get;
};

// All options of a run that the library knows, by group.
const std::vector<OptionRow<Options>>& option_table();
// Returns the option of a name ("--fold-limit") or key ("fold_limit"), or null.
const OptionRow<Options>* find_option(std::string_view name);
// Returns the options that change what a run writes, with the values that are in force, by key; without the
// devices, of which results say more than their names.
std::vector<std::pair<std::string, OptionValue>> result_options(const Options& options);

// An option that asks for something that another one rules out or is missing for.
struct OptionConflict {
  enum class Kind : std::uint8_t { Needs, Excludes };
  std::string_view option;
  Kind kind;
  std::vector<std::string_view> others;  // Needs: any of them
  bool (*broken)(const Options& options);
  std::string_view what, remedy;  // of the error
};
const std::vector<OptionConflict>& option_conflicts();
// Returns the first conflict as an error: ErrorKind::Usage.
Status check_conflicts(const Options& options);

}  // namespace graphopt
