#include "batch/model_rules.h"

#include <optional>

#include "graphopt/option_table.h"
#include "support/file.h"
#include "support/json_text.h"
#include "support/json_walk.h"

namespace graphopt {
namespace {

constexpr std::size_t kMostBytes = std::size_t{64} << 20;

// Returns the texts that set an option to a JSON value, one for each call of its `set`.
std::optional<std::vector<std::string>> texts_of(const Json& value) {
  const auto text = [](const Json& v) -> std::optional<std::string> {
    if (v.is_string()) return v.get<std::string>();
    if (v.is_boolean() || v.is_number()) return v.dump();
    return std::nullopt;
  };
  if (!value.is_array()) {
    if (const auto one = text(value)) return std::vector<std::string>{*one};
    return std::nullopt;
  }
  std::vector<std::string> out;
  for (const Json& item : value) {
    const auto one = text(item);
    if (!one) return std::nullopt;
    out.push_back(*one);
  }
  return out;
}

// Files of one model are no options of several. A data file is next to its output.
bool is_for_many(const OptionInfo& info) { return !info.writes || info.name == "--external-file"; }

class RuleReader {
 public:
  RuleReader(const std::string& file, std::vector<ModelRule>& rules)
      : walk_(file, ErrorKind::Usage), rules_(rules) {
    for (const OptionRow<Options>& row : option_table())
      if (is_for_many(row.info)) keys_.push_back(option_key(row.info));
    names_.assign(keys_.begin(), keys_.end());
  }

  Status read(const Json& json) {
    walk_.list(json, "", 0, "rules", [this](const Json& j, const std::string& path) { read_rule(j, path); });
    if (!walk_.errors().empty()) return walk_.errors();
    return Done{};
  }

 private:
  void read_rule(const Json& j, const std::string& path) {
    ModelRule rule;
    walk_.object(j, path,
                 {{"match", walk_.to_text(rule.match, false), true},
                  {"options",
                   [&](const Json& options, const std::string& at) {
                     walk_.members(options, at,
                                   [&](const std::string& key, const Json& value, const std::string& where) {
                                     read_option(key, value, where, rule);
                                   });
                   },
                   true}});
    rules_.push_back(std::move(rule));
  }

  void read_option(const std::string& key, const Json& value, const std::string& path, ModelRule& rule) {
    const OptionRow<Options>* row = find_option(key);
    if (row == nullptr || !is_for_many(row->info)) {
      walk_.refuse_name(key, path, names_, "options");
      return;
    }
    std::optional<std::vector<std::string>> texts = texts_of(value);
    if (!texts) {
      walk_.refuse(value, path, "a text, a number, true, false, or a list of them");
      return;
    }
    if (!row->info.repeats && texts->size() != 1) {  // one text with commas
      std::string joined;
      for (const std::string& text : *texts) joined += (joined.empty() ? "" : ",") + text;
      texts = {joined};
    }
    Options tried;
    for (const std::string& text : *texts) {
      if (Status set = row->set(tried, text); !set) {
        walk_.problem(path, set.errors().front().what, set.errors().front().remedy);
        return;
      }
      rule.options.emplace_back(std::string(row->info.name), text);
    }
  }

  JsonWalk walk_;
  std::vector<ModelRule>& rules_;
  std::vector<std::string> keys_;
  std::vector<std::string_view> names_;
};

}  // namespace

Result<std::vector<ModelRule>> read_model_rules(const std::string& path) {
  std::vector<ModelRule> rules;
  if (path.empty()) return rules;
  const auto image = FileImage::open(path, kMostBytes);
  if (!image) {
    Errors errors = image.errors();
    for (Error& e : errors) e.kind = ErrorKind::Usage;
    return errors;
  }
  const Json json = Json::parse((*image)->bytes(), nullptr, false);
  if (json.is_discarded())
    return Error{ErrorKind::Usage,
                 {path, {}, {}, {}, {}},
                 "it is no JSON",
                 R"(write [{"match": "bert/**", "options": {"level": 3}}])"};
  if (Status read = RuleReader(path, rules).read(json); !read) return read.errors();
  return rules;
}

void apply_rule(const ModelRule& rule, Options& options) {
  for (const auto& [name, text] : rule.options)
    if (const OptionRow<Options>* row = find_option(name)) (void)row->set(options, text);
}

}  // namespace graphopt
