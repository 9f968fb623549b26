// Finds the verb of a command line and reads its words. Options may come before and after IN; a first word
// that is a verb is one (a file of that name is ./inspect).
#include <string>
#include <string_view>
#include <vector>

#include "first_word.h"
#include "graphopt/devices.h"
#include "help.h"
#include "verbs.h"

namespace graphopt::tool {
namespace {

// A verb, and how many of the words name it.
struct Found {
  const VerbEntry* verb;
  std::size_t words;
};

// A verb of two words is found by the first alone where an option follows: `devices --help`.
Result<Found> find_verb(const std::vector<std::string>& words) {
  const VerbEntry* by_first = nullptr;
  for (const VerbEntry* verb : all_verbs()) {
    const std::string_view name = verb->name, first = name.substr(0, name.find(' '));
    if (name.empty() || words.empty() || words.front() != first) continue;
    if (first == name) return Found{verb, 1};
    if (words.size() > 1 && words[1] == name.substr(first.size() + 1)) return Found{verb, 2};
    by_first = verb;
  }
  if (by_first == nullptr) {
    const VerbEntry* batch = batch_of(words);
    return Found{batch != nullptr ? batch : all_verbs().front(), 0};
  }
  const std::string second = words.size() > 1 ? words[1] : "";
  if (second.starts_with('-')) return Found{by_first, 1};
  return usage_error(second.empty() ? words.front() + ": no subcommand is named"
                                    : words.front() + ": unknown subcommand '" + second + "'",
                     "graphopt " + std::string(by_first->name) + ' ' + std::string(by_first->words) +
                         "; graphopt --list-devices lists profiles");
}

}  // namespace

Result<Command> parse_command_line(int argc, const char* const* argv) {
  Command command;
  const std::vector<std::string> given(argv + std::min(argc, 1), argv + argc);
  if (given.size() == 1 && given.front() == "--version") {  // the most frequent call of build scripts
    command.text = version_text();
    return command;
  }
  Result<std::vector<std::string>> own = in_own_form(given);
  if (!own) return own.errors();
  std::vector<std::string> words = *std::move(own);
  const Result<Found> found = find_verb(words);
  if (!found) return found.errors();
  words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(found->words));
  std::unique_ptr<Verb> verb = found->verb->make();
  OptionSet set;
  verb->declare(set);
  if (Status read = set.read(words, found->verb->name); !read) return read.errors();
  switch (verb->tool.request) {
    case ToolOptions::Request::Help: command.text = help_text(*found->verb, set); break;
    case ToolOptions::Request::HelpJson: command.text = help_json(); break;
    case ToolOptions::Request::Version: command.text = version_text(); break;
    case ToolOptions::Request::Passes: command.text = passes_text(); break;
    case ToolOptions::Request::Devices: command.text = devices_text(list_devices()); break;
    case ToolOptions::Request::None:
      if (Status fits = verb->check(); !fits) return fits.errors();
      command.verb = std::move(verb);
  }
  return command;
}

}  // namespace graphopt::tool
