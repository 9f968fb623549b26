// A verb of the command line: `graphopt VERB WORDS...`; the one without a word is a run.
//
// A verb is a file: a class that holds its options while a command line is read, and an entry that names and
// describes it. verbs.cpp lists the entries.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "console.h"
#include "graphopt/error.h"
#include "handlers.h"
#include "option_set.h"
#include "tool_options.h"

namespace graphopt::tool {

class Verb {
 public:
  Verb() = default;
  virtual ~Verb() = default;
  Verb(const Verb&) = delete;
  Verb& operator=(const Verb&) = delete;

  // Names the options and words, and what each sets: members of this object.
  virtual void declare(OptionSet& set) = 0;
  // All words are set: says what is missing, and what does not go together. ErrorKind::Usage.
  virtual Status check() = 0;
  // The model that is read, for messages of signal handlers.
  virtual const std::string& input() const = 0;
  // What is said when --timeout ends the process.
  virtual TimeIsOver time_is_over() const { return {input()}; }
  // Does it, and returns the exit status. `process_ends`: models need not be destroyed.
  virtual int run(Console& console, bool process_ends) = 0;

  ToolOptions tool;
};

struct VerbEntry {
  std::string_view name;     // "devices check"; empty for a run
  std::string_view words;    // "PROFILE IN"
  std::string_view summary;  // for the list of verbs
  std::string_view about;    // a paragraph with its line ends, under the usage of --help
  std::string (*ending)();   // of --help: levels, examples; null for none
  std::unique_ptr<Verb> (*make)();
};

}  // namespace graphopt::tool
