// Which payloads of a model go into external data, and the data file of a single model.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/model.h"
#include "onnx/data_layout.h"
#include "onnx/tensor_wire.h"
#include "onnx/writer.h"
#include "onnx/written_model.h"
#include "support/file.h"

namespace graphopt {

// The destination of each tensor's payload, by id.
class DataPlan {
 public:
  enum class Form : std::uint8_t {
    AsIs,    // its bytes in the file stay valid: inline, or external and still found from the target's folder
    Inline,  // was external in another place: written into the message
    Data,    // written into the new data file
  };

  // For a model that is written alone. `all_large`: every initializer above the threshold becomes external,
  // whatever it was in the input.
  DataPlan(const Model& m, const SaveOptions& options, bool files_allowed, bool all_large);
  // For a model of a set: nothing stays in a file that the set does not have, and large initializers go into
  // the set's data file, unless External::Never. The plan adds them to `shared`, which must outlive it.
  // `kept`: as for WrittenModel.
  DataPlan(const Model& m, const SaveOptions& options, DataLayout& shared, const KeptFields* kept = nullptr);
  DataPlan(const DataPlan&) = delete;
  DataPlan& operator=(const DataPlan&) = delete;

  const WrittenModel& written() const { return written_; }
  bool has(TensorId t) const { return written_.whole() || number(t) != kNone; }
  Form form(TensorId t) const {
    const std::size_t i = forms_.empty() ? kNone : number(t);
    return i < forms_.size() ? forms_[i] : Form::AsIs;
  }
  // Valid until the data file gets another name.
  std::optional<DataRange> range(TensorId t) const;
  bool moves() const { return moves_; }  // some tensor is not AsIs
  bool has_data() const { return has_data_; }
  bool keeps() const { return kept_bytes_ > 0; }
  std::uint64_t data_bytes() const { return has_data_ ? layout_->size() : 0; }
  std::uint64_t kept_bytes() const { return kept_bytes_; }
  const std::string& file_name() const { return name_; }
  void name_file(std::string name) { name_ = std::move(name); }  // of a set

  // Writes the data file, unless one of that name and size already exists and the name is graphopt's own;
  // `file` is not committed yet.
  Status write(const std::string& target, std::optional<OutputFile>& file) const;

 private:
  static constexpr std::uint32_t kNoSlice = 0xFFFFFFFFu;
  static constexpr std::size_t kNone = WrittenModel::kNone;

  void find_tensors();
  std::size_t tensor_count() const { return written_.whole() ? m_.tensor_count() : tensors_.size(); }
  std::size_t number(TensorId t) const;
  TensorId tensor(std::size_t number) const { return written_.whole() ? TensorId{number} : tensors_[number]; }
  bool found_from(const std::string& folder, const Tensor& t);
  void inline_others(const std::optional<std::string>& folder);
  void lay_out(const std::vector<TensorId>& tensors);

  const Model& m_;
  const WrittenModel written_;
  DataLayout own_{DataLayout::Share::Ranges};
  DataLayout* layout_ = &own_;
  // Initializers that are written and whose payload may be in a data file, each once, in file order.
  std::vector<TensorId> initializers_;
  std::vector<TensorId> tensors_;  // of a part: those that it has, by id, and so their numbers
  // By number, which is the id for the whole model:
  std::vector<bool> is_initializer_;
  std::vector<Form> forms_;
  std::vector<std::uint32_t> slice_of_;  // in layout_
  std::uint64_t kept_bytes_ = 0;
  bool moves_ = false, has_data_ = false;
  bool named_ = false, force_ = false;  // a name of the user's; write-protected files are replaced
  std::string name_;
  struct Known {
    const FileImage* image;
    std::string location;
    bool found;
  };
  std::vector<Known> known_;
};

// Returns graphopt's own data files next to `target` (`name.<16 hex digits>.data`) to which neither the model
// written there nor, when it is another one, the model that was read refers.
void remove_old_data(const Model& m, const std::string& target, const std::vector<std::string>& referred);
// Locations to which the written model refers.
std::vector<std::string> locations(const Model& m, const DataPlan& plan);

}  // namespace graphopt
