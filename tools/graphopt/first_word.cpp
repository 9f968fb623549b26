// Problem: people try what other tools have ("help", "devices list"), misspell verbs, or write words that are
// no verb at all, and would get an error about a file that is not there, or about a second model. Method: a
// word is a file if there is one; else it is compared with the verbs of all_verbs(), so that a new verb is
// known here.
#include "first_word.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "graphopt/optimize.h"
#include "option_set.h"
#include "peer_options.h"
#include "verbs.h"

namespace graphopt::tool {
namespace {

bool is_there(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

// Returns true for a word that may be meant as a verb: nothing of that name is there, and files of models
// mostly have a folder or an ending.
bool may_be_verb(const std::string& word) {
  return !word.empty() && word != "-" && word.find_first_of("./") == std::string::npos && !is_there(word);
}

// "subcommands: inspect, devices check"
std::string listed_verbs() {
  std::string out;
  for (const VerbEntry* verb : all_verbs())
    if (!verb->name.empty()) out += (out.empty() ? "subcommands: " : ", ") + std::string(verb->name);
  return out;
}

// "did you mean 'inspect'?"; empty where no verb is near.
std::string near_verbs(const std::string& word) {
  std::string near = suggest_names(word, verb_words(), "subcommands");
  return near.starts_with("did you mean") ? near : std::string();
}

std::string verbs_or_near(const std::string& word) {
  std::string near = near_verbs(word);
  return near.empty() ? listed_verbs() : near;
}

bool is_option(const std::string& word) { return word.starts_with('-'); }

}  // namespace

Result<std::vector<std::string>> in_own_form(std::vector<std::string> words) {
  const bool asks_help = !words.empty() && words.front() == "help" && !is_there("help");
  // A program that asks for a model of this name gives options, too: its error says that there is none.
  if (asks_help && std::ranges::none_of(words, is_option)) {
    words.erase(words.begin());
    const std::vector<std::string> verbs = verb_words();
    if (!words.empty() && std::ranges::find(verbs, words.front()) == verbs.end()) {
      const std::string_view own = own_command(words.front());
      return usage_error("help: unknown subcommand '" + words.front() + "'",
                         own.empty() ? verbs_or_near(words.front()) : std::string(own));
    }
    words.emplace_back("--help");
  }
  if (words.size() > 1 && words[0] == "devices" && words[1] == "list") {
    words.erase(words.begin());
    words.front() = "--list-devices";
  }
  return words;
}

std::optional<Error> foreign_command(const std::string& word) {
  const std::string_view own = own_command(word);
  if (own.empty() || is_there(word)) return std::nullopt;
  return usage_error("unknown subcommand '" + word + "'", std::string(own));
}

std::optional<Error> no_verb(const std::string& word) {
  if (std::optional<Error> error = foreign_command(word)) return error;
  if (std::string near = near_verbs(word); !near.empty() && !is_there(word))
    return usage_error("unknown subcommand '" + word + "'", std::move(near));
  if (!may_be_verb(word)) return std::nullopt;
  return usage_error("'" + word + "' is neither a subcommand nor a file",
                     "graphopt IN -o OUT optimizes a model; " + listed_verbs());
}

Errors with_verbs(Errors errors, const std::string& input) {
  Error& first = errors.front();
  if (first.kind == ErrorKind::Input && first.place.file == input && may_be_verb(input))
    first.remedy += "; " + verbs_or_near(input);
  return errors;
}

}  // namespace graphopt::tool
