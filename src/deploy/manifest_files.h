// The list of files in a manifest: what a run adds to it when all is written, and what the next run reads of
// it to know which files it replaces (support/output_set.h).
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "deploy/manifest.h"
#include "support/output_set.h"

namespace graphopt::deploy {

// The files of one model: OUT, or a bucket's.
struct ModelFiles {
  SetFile model;
  // By subgraph. Without a file each, and with one subgraph that is the whole, this is the model's file.
  std::vector<SetFile> parts;
  bool is_one_part = false;
};
// Adds OUT, the models of the buckets in their order, and the data file, and names them where they belong.
// Names are relative to the manifest's folder.
void add_files(Manifest& manifest, const ModelFiles& out, std::span<const ModelFiles> buckets,
               const std::optional<SetFile>& data);

// Returns the files that a manifest lists, without OUT, which the user named: subgraphs, models of buckets
// and external data. Nothing for a text that is no manifest. It asks less of the text than read_manifest():
// a run must find what an older version wrote, whatever else stands in that list.
std::optional<std::vector<SetFile>> read_manifest_files(std::string_view text);

}  // namespace graphopt::deploy
