#include "help.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "graphopt/version.h"
#include "verbs.h"

namespace graphopt::tool {
namespace {

constexpr std::size_t kOptionColumn = 32, kVerbColumn = 36;

void pad(std::string& line, std::size_t column) { line.resize(std::max(line.size() + 1, column), ' '); }

std::string usage_of(const VerbEntry& verb, std::string_view between = "") {
  std::string out = "graphopt ";
  if (!verb.name.empty()) out += std::string(verb.name) + ' ';
  return out.append(verb.words).append(between);
}

// Lists the verbs, each with its words.
std::string verb_list() {
  std::string out;
  for (const VerbEntry* verb : all_verbs()) {
    std::string line = usage_of(*verb);
    line.resize(std::max(line.size() + 3, kVerbColumn), ' ');
    out += (out.empty() ? "Usage: " : "       ") + line + std::string(verb->summary) + '\n';
  }
  return out;
}

std::string option_line(const OptionInfo& info) {
  std::string line = "  ";
  if (!info.short_name.empty()) line += std::string(info.short_name) + ", ";
  line += info.name;
  if (!info.bare.empty()) line += "[=" + std::string(info.value) + ']';
  else if (!info.value.empty()) line += (info.name.starts_with("--") ? " " : "") + std::string(info.value);
  pad(line, kOptionColumn);
  return line.append(info.help) + '\n';
}

using Json = nlohmann::ordered_json;

Json conflicts_of(std::string_view option, OptionConflict::Kind kind) {
  Json out = Json::array();
  for (const OptionConflict& c : option_conflicts()) {
    if (c.option != option || c.kind != kind) continue;
    Json one = {{"options", Json::array()}, {"what", c.what}};
    for (const std::string_view other : c.others) one["options"].push_back(other);
    out.push_back(std::move(one));
  }
  return out;
}

Json to_json(const OptionInfo& info, bool is_of_run) {
  Json out = {{"name", info.name},
              {"key", option_key(info)},
              {"short", info.short_name},
              {"group", info.group},
              {"form", kOptionFormNames[static_cast<std::size_t>(info.form)]},
              {"value", info.value},
              {"choices", Json::array()},
              {"repeats", info.repeats},
              {"bare", info.bare},
              {"help", info.help}};
  for (const std::string_view choice : info.choices) out["choices"].push_back(choice);
  if (!is_of_run) return out;
  const OptionRow<Options>* row = find_option(info.name);
  out["of_run"] = row != nullptr;
  out["stage"] = info.stage;
  out["changes_result"] = info.changes_result;
  out["writes"] = info.writes;
  const std::optional<OptionValue> value = row != nullptr ? row->get(Options()) : std::nullopt;
  out["default"] = nullptr;
  if (value) std::visit([&out](const auto& v) { out["default"] = v; }, *value);
  out["needs"] = conflicts_of(info.name, OptionConflict::Kind::Needs);
  out["excludes"] = conflicts_of(info.name, OptionConflict::Kind::Excludes);
  return out;
}

}  // namespace

std::string help_text(const VerbEntry& verb, const OptionSet& set) {
  std::string out = verb.name.empty() ? verb_list() : "Usage: " + usage_of(verb, " [options]") + '\n';
  out += '\n' + std::string(verb.about);
  std::vector<std::string_view> groups;  // each once, in the order of its first option
  for (const OptionSet::Entry& entry : set.entries())
    if (std::ranges::find(groups, entry.info.group) == groups.end()) groups.push_back(entry.info.group);
  for (const std::string_view group : groups) {
    out += '\n' + std::string(group) + ":\n";
    for (const OptionSet::Entry& entry : set.entries())
      if (entry.info.group == group) out += option_line(entry.info);
  }
  return verb.ending != nullptr ? out + verb.ending() : out;
}

std::string help_json() {
  Json out = {{"format_number", 1}, {"version", version()}, {"verbs", Json::array()}};
  for (const VerbEntry* verb : all_verbs()) {
    OptionSet set;
    const std::unique_ptr<Verb> object = verb->make();
    object->declare(set);
    Json& one = out["verbs"].emplace_back(
        Json{{"name", verb->name}, {"words", verb->words}, {"summary", verb->summary}});
    Json& options = one["options"] = Json::array();
    for (const OptionSet::Entry& entry : set.entries())
      options.push_back(to_json(entry.info, verb->name.empty()));
  }
  return out.dump(1, ' ') + '\n';
}

std::string version_text() { return "graphopt " + std::string(version()) + '\n'; }

std::string levels_text() {
  constexpr std::size_t kColumn = 12;
  std::string out = "\nLevels (docs/rounding.md says which passes round, and by how much):\n";
  for (const LevelDescription& level : list_levels()) {
    std::string line = "  " + std::string(level.option);
    line.resize(kColumn, ' ');
    out += line + std::string(level.text) + '\n';
  }
  return out;
}

std::string passes_text() {
  const auto row = [](std::string_view name, const std::string& runs, const std::string& rounds,
                      std::string_view text) {
    std::string line(name);
    pad(line, 26);
    line += runs;
    pad(line, 32);
    line += rounds;
    if (!text.empty()) pad(line, 40);
    return line + std::string(text) + '\n';
  };
  std::string out = row("", "runs", "rounds", "") + row("pass", "from", "from", "what it does");
  for (const PassDescription& pass : list_passes()) {
    const std::string rounds = pass.rounds_from > 0 ? "-O" + std::to_string(pass.rounds_from) : "never";
    out += row(pass.name, "-O" + std::to_string(pass.level), rounds, pass.summary);
  }
  return out + levels_text();
}

}  // namespace graphopt::tool
