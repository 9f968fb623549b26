// Reads what manifest_json.h writes (docs/manifest.md, share/graphopt/schemas/manifest.schema.json).
//
// Problem: a runner must not find in the middle of a request that a manifest was cut off, or names a subgraph
// that is not there. Method: the whole document is checked before anything of it is used: the form of each
// value, each reference, and what two places say of one fact (ports and borders, sizes and models, counts).
// What the files hold is not looked at. Linear in the text, up to sorting.
#pragma once

#include <string>
#include <string_view>

#include "deploy/manifest.h"
#include "graphopt/error.h"

namespace graphopt::deploy {

// Returns the manifest of any version 1.x; what is below `extensions` is left out. Otherwise up to kMaxErrors
// mistakes of kind Input, each with its path in the document ("subgraphs[2].inputs[0].from"). `file` is for
// messages.
Result<Manifest> read_manifest(std::string_view text, const std::string& file);

}  // namespace graphopt::deploy
