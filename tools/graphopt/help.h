// --help and --help=json.
#pragma once

#include <string>

#include "verb.h"

namespace graphopt::tool {

// Returns the text of --help of a verb, whose options are `set`. That of a run lists the verbs, too.
std::string help_text(const VerbEntry& verb, const OptionSet& set);
// Returns all verbs with their words and options, as JSON (docs/help.md).
std::string help_json();

// Returns the texts of --version, --list-passes, and what the levels do.
std::string version_text();
std::string passes_text();
std::string levels_text();

}  // namespace graphopt::tool
