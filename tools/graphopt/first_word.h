// The first word of a command line where it is neither a verb nor a model.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graphopt/error.h"

namespace graphopt::tool {

// Returns the words in the tool's own form: "help VERB" is `VERB --help`, "devices list" is `--list-devices`.
// A model called "help" stays one. ErrorKind::Usage for the help of something that is no verb.
Result<std::vector<std::string>> in_own_form(std::vector<std::string> words);

// Returns the error for a word that is no file, and that another tool has as a command (peer_options.h). None
// for any other word.
std::optional<Error> foreign_command(const std::string& word);
// The same, and for a word that is no file and is near to a verb, or does not look like the name of a file:
// the remedy then lists the verbs.
std::optional<Error> no_verb(const std::string& word);

// Adds the verbs to the remedy of an error about a model that is not there, if its name may be meant as one.
Errors with_verbs(Errors errors, const std::string& input);

}  // namespace graphopt::tool
