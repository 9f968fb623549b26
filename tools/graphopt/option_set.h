// The options and words that a verb takes, and how a command line is split by them.
#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "graphopt/error.h"
#include "graphopt/option_table.h"

namespace graphopt::tool {

class OptionSet {
 public:
  struct Entry {
    OptionInfo info;
    std::function<Status(std::string_view)> set;
  };

  // Options of a run, by name: they set the members of `options`, which must outlive this object.
  void take(Options& options, std::initializer_list<std::string_view> names);
  void take_all(Options& options);
  // An option of a table of the verb's own.
  template <class T> void add(const OptionRow<T>& row, T& options) {
    entries_.push_back(
        {row.info, [set = row.set, &options](std::string_view text) { return set(options, text); }});
  }
  template <class T> void add(const std::vector<OptionRow<T>>& rows, T& options) {
    for (const OptionRow<T>& row : rows) add(row, options);
  }
  // Another help for an option, where it means less or more with this verb.
  void describe(std::string_view name, std::string_view help);
  // A word that is no option; in the order of their calls.
  void word(std::string name, std::string& to) { words_.push_back({std::move(name), &to, nullptr}); }
  // All words that are left.
  void all_words(std::string name, std::vector<std::string>& to) {
    words_.push_back({std::move(name), nullptr, &to});
  }

  const std::vector<Entry>& entries() const { return entries_; }
  std::vector<std::string> names() const;  // "--check"

  // Sets what the words ask for. `verb`: how errors call it; empty for a run. ErrorKind::Usage for unknown
  // options, wrong values and words too many.
  Status read(const std::vector<std::string>& words, std::string_view verb) const;

 private:
  struct Word {
    std::string name;
    std::string* to;  // or, for all that are left:
    std::vector<std::string>* all;
  };
  std::vector<Entry> entries_;
  std::vector<Word> words_;
};

Error usage_error(std::string what, std::string remedy);

}  // namespace graphopt::tool
