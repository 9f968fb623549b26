// Which initializers go into external data, and the data file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/model.h"
#include "onnx/tensor_wire.h"
#include "onnx/writer.h"
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

  // `all_large`: every initializer above the threshold becomes external, whatever it was in the input.
  DataPlan(const Model& m, const SaveOptions& options, bool files_allowed, bool all_large);

  Form form(TensorId t) const { return t.index() < forms_.size() ? forms_[t.index()] : Form::AsIs; }
  const DataRange* range(TensorId t) const;
  bool moves() const { return moves_; }  // some tensor is not AsIs
  bool has_data() const { return !data_.empty(); }
  bool keeps() const { return kept_bytes_ > 0; }
  std::uint64_t data_bytes() const { return size_; }
  std::uint64_t kept_bytes() const { return kept_bytes_; }
  const std::string& file_name() const { return name_; }

  // Writes the data file, unless one of that name and size already exists; `file` is not committed yet.
  Status write(const Model& m, const std::string& target, std::optional<OutputFile>& file) const;

 private:
  struct Slice {
    Bytes bytes;
    std::uint64_t offset;
  };
  bool found_from(const std::string& folder, const Tensor& t);
  void lay_out(const Model& m, const std::vector<TensorId>& tensors, const std::string& target);

  std::vector<Form> forms_;
  std::vector<std::uint32_t> range_of_;  // by tensor id, index into ranges_
  std::vector<DataRange> ranges_;
  std::vector<Slice> data_;
  std::uint64_t size_ = 0, kept_bytes_ = 0;
  bool moves_ = false;
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
