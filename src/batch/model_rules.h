// Options for some of the models: a JSON file, [{"match": "bert/**", "options": {"level": 3}}].
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graphopt/batch.h"

namespace graphopt {

struct ModelRule {
  std::string match;  // a pattern (batch/glob.h) of the path below the input, or below DIR
  std::vector<std::pair<std::string, std::string>> options;  // key or name, and the text of the value
};

// Returns the rules of a file; none for an empty path. Each option is known and has a value that it takes.
// ErrorKind::Usage: every mistake by its path.
Result<std::vector<ModelRule>> read_model_rules(const std::string& path);

// Sets the options of a rule. Precondition: it was read by read_model_rules.
void apply_rule(const ModelRule& rule, Options& options);

}  // namespace graphopt
