// See manifest_files.h.
#include "deploy/manifest_files.h"

#include <set>
#include <string>
#include <utility>

#include "deploy/manifest_json.h"

namespace graphopt::deploy {
namespace {

using nlohmann::json;

// Parts of equal bytes share one file.
class FileList {
 public:
  explicit FileList(std::vector<File>& files) : files_(files) {}

  void add(const SetFile& file, FileRole role) {
    if (seen_.insert(file.name).second) files_.push_back({file.name, role, file.sha256, file.bytes});
  }
  // Adds the files of one model, and names them in its subgraphs.
  void add(const ModelFiles& of, std::vector<Subgraph>& subgraphs) {
    add(of.model, FileRole::Model);
    for (std::size_t s = 0; s < of.parts.size(); ++s) {
      subgraphs[s].file = of.parts[s].name;
      add(of.parts[s], FileRole::Subgraph);
    }
    if (of.is_one_part)
      for (Subgraph& s : subgraphs) s.file = of.model.name;
  }

 private:
  std::vector<File>& files_;
  std::set<std::string> seen_;
};

}  // namespace

void add_files(Manifest& manifest, const ModelFiles& out, std::span<const ModelFiles> buckets,
               const std::optional<SetFile>& data) {
  manifest.files.clear();
  FileList files(manifest.files);
  files.add(out, manifest.subgraphs);  // OUT comes first: that tells it from models of buckets
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    BucketModel& model = manifest.buckets->models[i];
    model.file = buckets[i].model.name;
    files.add(buckets[i], model.subgraphs);
  }
  if (data) files.add(*data, FileRole::ExternalData);
  if (!manifest.buckets) return;
  manifest.buckets->fallback = out.model.name;
  manifest.buckets->data = data ? data->name : std::string();
}

std::optional<std::vector<SetFile>> read_manifest_files(std::string_view text) {
  const json manifest = json::parse(text, nullptr, false);
  const auto format = manifest.find("format"), files = manifest.find("files");
  if (format == manifest.end() || *format != kManifestFormat || files == manifest.end() || !files->is_array())
    return {};
  std::vector<SetFile> out;
  bool seen_out = false;
  for (const json& file : *files) {
    const auto path = file.find("path"), role = file.find("role"), sha = file.find("sha256");
    if (path == file.end() || !path->is_string() || role == file.end() || sha == file.end() ||
        !sha->is_string())
      return {};
    const bool is_model = *role == "model", is_out = is_model && !seen_out;
    seen_out = seen_out || is_model;
    if (is_out || (!is_model && *role != "subgraph" && *role != "external_data")) continue;
    out.push_back({path->get<std::string>(), 0, sha->get<std::string>()});
  }
  return out;
}

}  // namespace graphopt::deploy
