// One form of export: a file or a folder beside OUT.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "deploy/manifest.h"
#include "graphopt/error.h"
#include "graphopt/options.h"
#include "infer/infer.h"
#include "ir/part.h"
#include "onnx/set_writer.h"

namespace graphopt {

// What exports are made of. It outlives them.
struct ExportSource {
  const Options& options;  // of the run
  Model& model;            // OUT's
  const Inference& inference;
  const deploy::Manifest& manifest;  // without its files until it is written
  std::span<const ModelPart> parts;
  std::span<const std::vector<TypeOverride>> part_types;  // by part
  SaveOptions save;                                       // of the user: all but path, types and part
  std::span<const SetModel> wholes;                       // OUT and the models of buckets, by their names
  std::function<void(std::string)> warn;
};

// Called in this order: is_there, is_ours; then plan, stage, place, files for one that is written; or remove
// for one of an earlier run.
class ExportForm {
 public:
  ExportForm(const ExportSource& source, std::string path) : source_(source), path_(std::move(path)) {}
  virtual ~ExportForm() = default;
  ExportForm(const ExportForm&) = delete;
  ExportForm& operator=(const ExportForm&) = delete;

  const std::string& path() const { return path_; }
  const std::vector<SaveStage::File>& files() const { return files_; }  // that were written

  bool is_there() const;
  virtual bool is_ours() const = 0;                     // an earlier run wrote it
  virtual bool is_unfinished() const { return false; }  // one that was ended left something of it

  virtual Status plan() = 0;  // refuses what the form cannot say
  // Writes everything under hidden names; `list` is the text of the manifest.
  virtual Status stage(const SavedSet& saved, std::string_view list) = 0;
  virtual Status place() = 0;

  virtual Status remove() = 0;

 protected:
  const ExportSource& source_;
  const std::string path_;
  std::vector<SaveStage::File> files_;
};

std::unique_ptr<ExportForm> triton_export(const ExportSource& source, std::string path);
std::unique_ptr<ExportForm> genai_export(const ExportSource& source, std::string path);
std::unique_ptr<ExportForm> layers_export(const ExportSource& source, std::string path);
std::unique_ptr<ExportForm> package_export(const ExportSource& source, std::string path);

}  // namespace graphopt
