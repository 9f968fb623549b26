// Steps of saving that are the same for a model alone and for the models of a set.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "graphopt/error.h"
#include "ir/model.h"
#include "onnx/wire.h"
#include "onnx/writer.h"
#include "support/file.h"

namespace graphopt {

inline constexpr std::uint64_t kLargestMessage = 0x7FFFFFFF;  // bytes, protobuf's own limit

// Checks that files that will be read through maps still have their length.
std::optional<Error> shrunk_input(const Model& m);
// OUT may be IN, but not a file that contains weights of the model: both would be lost.
std::optional<Error> hits_weights(const Model& m, const std::string& path);
// A data file of the user's name may replace neither the model nor a file that is read.
std::optional<Error> bad_data_name(const SaveOptions& options, const std::string& target);
// The error of a model of so many bytes, more than kLargestMessage.
Error too_large(const std::string& path, std::uint64_t bytes, std::string remedy);

Status write_ranges(const std::vector<wire::ByteRange>& ranges, OutputFile& out);
std::string sha256_of(const std::vector<wire::ByteRange>& ranges);

class DataLayout;
class DataPlan;

// One model and its data file under names of the user's choice, in steps (writer.cpp).
class ModelOutput {
 public:
  // Both must outlive this object.
  ModelOutput(const Model& m, const SaveOptions& options);
  // For a model whose payloads go into the data file of a set: they are added to `shared` at once, and the
  // model makes no data file.
  ModelOutput(const Model& m, const SaveOptions& options, DataLayout& shared);
  ~ModelOutput();

  void name_data(std::string name);  // of the set's data file, from the model's folder; before write()
  Status write();                    // everything but the names
  std::string sha256() const { return sha256_; }  // of the model's file, if the writer was told to find it
  void find_sha256() { finds_sha256_ = true; }    // before write()
  Status place();                                 // gives the data file its name, then the model
  void remove_old_model() const;
  void remove_data() const;                    // undoes place() for the data file
  void remove_old() const;                     // data files of the model that was replaced
  bool replaces() const { return replaces_; }  // a file of this name was there
  bool regular() const { return model_file_->regular(); }
  const std::string& target() const { return model_file_->target(); }
  const SavedFiles& saved() const { return saved_; }

 private:
  const Model& m_;
  const SaveOptions& options_;
  std::optional<OutputFile> model_file_, data_file_;
  std::unique_ptr<DataPlan> plan_;
  bool shares_ = false, finds_sha256_ = false, replaces_ = false;
  std::string sha256_;
  SavedFiles saved_;
};

}  // namespace graphopt
