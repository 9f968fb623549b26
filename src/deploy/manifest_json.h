// The manifest as JSON (docs/manifest.md, share/graphopt/schemas/manifest.schema.json).
//
// Equal manifests give equal bytes: keys are sorted, and there is no time, host or absolute path in it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "deploy/manifest.h"

namespace graphopt::deploy {

inline constexpr const char* kManifestFormat = "graphopt.manifest";
inline constexpr const char* kManifestVersion = "1.2";

nlohmann::json to_json(const Manifest& manifest);
// Of a device: {"name": ..., "options": {...}}.
nlohmann::json to_json(const ExecutionProvider& ep);

// Returns the text of a document: sorted keys, one space of indent, a newline at the end. In strings that are
// not UTF-8 U+FFFD replaces the wrong bytes.
std::string document_text(const nlohmann::json& document);
std::string manifest_text(const Manifest& manifest);

}  // namespace graphopt::deploy
