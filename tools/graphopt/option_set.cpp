// CLI11 splits the words; the rows of the options check the values, so that each wrong one is answered with
// the expected form or with the names that are near it.
#include "option_set.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cassert>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <utility>

#include "first_word.h"
#include "graphopt/optimize.h"
#include "peer_options.h"

namespace graphopt::tool {
namespace {

// Thrown by the callback of an option whose value is wrong, caught where the words are read. (CLI11 reports
// by exceptions, too.)
struct BadArgument {
  Errors errors;
};

Error unknown_option(const OptionSet& options, const std::string& word, std::string_view verb) {
  const std::string name = word.substr(0, word.find('='));
  if (const std::string_view own = own_form(name); !own.empty())
    return usage_error("unknown option '" + name + "'", std::string(own));
  std::string remedy = suggest_names(name, options.names(), "options");
  if (!remedy.starts_with("did you mean"))
    remedy = "graphopt " + std::string(verb) + (verb.empty() ? "" : " ") +
             "--help lists the options; a file of that name is ./" + word;
  return usage_error((verb.empty() ? "" : std::string(verb) + ": ") + "unknown option '" + name + "'",
                     std::move(remedy));
}

// Reports a word too many: an unknown option, a misspelt subcommand, or a second model.
Error not_understood(const OptionSet& options, const std::vector<std::string>& rest, const std::string& input,
                     bool checks, std::string_view verb) {
  for (const std::string& word : rest) {
    if (word.size() > 1 && word.front() == '-') return unknown_option(options, word, verb);
  }
  if (verb.empty())
    if (std::optional<Error> error = no_verb(input)) return *std::move(error);
  const bool is_number = rest.front().find_first_not_of("0123456789") == std::string::npos;
  if (is_number && checks)
    return usage_error("'" + rest.front() + "' is a second model next to '" + input + "'",
                       "a number of seeds is joined to its option: --check=" + rest.front());
  return usage_error("'" + rest.front() + "' is a second model next to '" + input + "'",
                     "give one model; if '" + rest.front() + "' is where the result goes: graphopt " + input +
                         " -o " + rest.front() + "; for many models: graphopt batch IN... -o DIR");
}

// Converts CLI11's errors, such as "--shape: 1 required NAME=N,... missing"; all of them pass here.
Error from_cli(const CLI::App& app, const CLI::ParseError& e) {
  std::string what = e.what();
  std::string remedy = "graphopt --help shows what each option takes";
  const std::size_t missing = what.find(": 1 required ");
  if (missing != std::string::npos) {
    const std::string option = what.substr(0, missing);
    const CLI::Option* known = app.get_option_no_throw(option);
    const std::string value = known != nullptr ? known->get_option_text() : "";
    if (!value.empty())
      remedy = "write " + option + (option.starts_with("--") ? " " : "") + value + "; " + remedy;
    what = option + ": its value is missing";
  }
  return usage_error(std::move(what), std::move(remedy));
}

void set(const OptionSet::Entry& entry, std::string_view text) {
  if (Status done = entry.set(text); !done) throw BadArgument{std::move(done.errors())};
}

Error given_twice(const OptionInfo& info, const std::vector<std::string>& values) {
  const std::string name(info.short_name.empty() ? info.name : info.short_name);
  return usage_error(name + " is given twice: '" + values[0] + "' and '" + values[1] + "'",
                     "give " + name + " one file");
}

void register_option(CLI::App& app, const OptionSet::Entry& entry) {
  const OptionInfo& info = entry.info;
  const std::string names =
      std::string(info.short_name) + (info.short_name.empty() ? "" : ",") + std::string(info.name);
  if (info.form == OptionForm::Flag) {
    app.add_flag_function(names, [&entry](std::int64_t times) {
      for (std::int64_t i = 0; i < times; ++i) set(entry, "");
    });
    return;
  }
  CLI::Option* option = nullptr;
  if (info.writes) {
    // The second file would silently take the place of the first, and both look as if they were asked for.
    const auto once = [&entry](const std::vector<std::string>& values) {
      if (values.size() > 1) throw BadArgument{{given_twice(entry.info, values)}};
      set(entry, values.front());
    };
    option = app.add_option_function<std::vector<std::string>>(
        names, std::function<void(const std::vector<std::string>&)>(once));
    option->expected(1)->take_all()->allow_extra_args(false);
  } else if (info.repeats) {
    const auto each = [&entry](const std::vector<std::string>& values) {
      for (const std::string& value : values) set(entry, value);
    };
    option = app.add_option_function<std::vector<std::string>>(
        names, std::function<void(const std::vector<std::string>&)>(each));
    option->expected(1)->take_all()->allow_extra_args(false);
  } else {
    option = app.add_option_function<std::string>(
        names, std::function<void(const std::string&)>([&entry](const std::string& v) { set(entry, v); }));
    option->take_last();
  }
  option->option_text(std::string(info.value));
}

bool is_name(const OptionInfo& info, std::string_view word) {
  return !word.empty() && (word == info.name || word == info.short_name);
}

// Returns a word in the one form that CLI11 reads as it is meant: an option that may come without a value has
// one, since CLI11 would take the next word for it, and a flag has none. Empty: nothing is asked for.
Result<std::string> without_bare_form(const std::vector<OptionSet::Entry>& entries, const std::string& word) {
  const std::size_t sign = word.find('=');
  for (const OptionSet::Entry& entry : entries) {
    const OptionInfo& info = entry.info;
    if (!info.bare.empty() && is_name(info, word))
      return std::string(info.name) + '=' + std::string(info.bare);
    if (info.form != OptionForm::Flag || sign == std::string::npos || !is_name(info, word.substr(0, sign)))
      continue;
    const std::string value = word.substr(sign + 1);
    if (value == "true") return std::string(info.name);
    if (value == "false") return std::string();
    return usage_error(word.substr(0, sign) + ": it takes no value",
                       "graphopt --help shows what each option takes");
  }
  return word;
}

}  // namespace

Error usage_error(std::string what, std::string remedy) {
  return {ErrorKind::Usage, {}, std::move(what), std::move(remedy)};
}

void OptionSet::take(Options& options, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    const OptionRow<Options>* row = find_option(name);
    assert(row != nullptr);  // the verb names options of the table
    if (row != nullptr) add(*row, options);
  }
}

void OptionSet::take_all(Options& options) { add(option_table(), options); }

void OptionSet::describe(std::string_view name, std::string_view help) {
  for (Entry& entry : entries_)
    if (entry.info.name == name) entry.info.help = help;
}

std::vector<std::string> OptionSet::names() const {
  std::vector<std::string> out;
  for (const Entry& entry : entries_)
    if (entry.info.name.starts_with("--")) out.emplace_back(entry.info.name);
  return out;
}

Status OptionSet::read(const std::vector<std::string>& words, std::string_view verb) const {
  CLI::App app;
  app.set_help_flag("");  // CLI11's own flag prints and exits; ours is an option like any other
  app.allow_extras();
  for (const Entry& entry : entries_) register_option(app, entry);
  std::string* input = nullptr;
  for (const Word& word : words_) {
    if (word.all != nullptr) {
      app.add_option(word.name, *word.all);
      continue;
    }
    app.add_option(word.name, *word.to);
    input = word.to;
  }
  std::vector<std::string> reversed;
  bool options = true;
  for (const std::string& word : words) {
    options = options && word != "--";
    const Result<std::string> plain = options ? without_bare_form(entries_, word) : word;
    if (!plain) return plain.errors();
    if (!plain->empty() || word.empty()) reversed.push_back(*plain);
  }
  std::ranges::reverse(reversed);  // CLI11 expects the words in reverse order
  try {
    app.parse(std::move(reversed));
  } catch (const BadArgument& bad) {
    return bad.errors;
  } catch (const CLI::ParseError& e) {
    return from_cli(app, e);
  } catch (const std::logic_error&) {  // of std::stoll, as in "-vq=x"
    return usage_error("a group of short options has a value, and they take none",
                       "graphopt --help shows what each option takes");
  }
  std::vector<std::string> rest = app.remaining();
  std::erase(rest, "--");  // ends the options; CLI11 returns it
  if (rest.empty()) return Done{};
  const CLI::Option* check = app.get_option_no_throw("--check");
  return not_understood(*this, rest, input == nullptr ? std::string() : *input,
                        check != nullptr && check->count() > 0, verb);
}

}  // namespace graphopt::tool
