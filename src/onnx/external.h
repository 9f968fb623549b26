// External data: payloads of tensors in files next to the model.
//
// A model may come from an untrusted source, so a location is followed only inside the model's folder (and
// the folder of --external-root): no absolute path, no "..", no link that leads out. Ranges are checked
// against the file and against each other: two tensors share a whole range or nothing of it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "onnx/problems.h"
#include "support/file.h"

namespace graphopt {

struct ExternalEntry {  // TensorProto.external_data
  std::string_view location, offset, length;
  bool has_location = false, has_offset = false, has_length = false;
};

// Returns the location that the external data of a tensor name, as the file says it; "" without one.
std::string_view location_of(std::string_view tensor);

class ExternalFiles {
 public:
  ExternalFiles(std::string folder, std::string root) : folder_(std::move(folder)), root_(std::move(root)) {}

  // Returns the `size` bytes to which the entry refers. A fault without text was already reported for this
  // file.
  std::optional<Fault> find(const ExternalEntry& entry, std::uint64_t size, std::string_view& bytes);
  struct Range {
    const FileImage* file;
    std::uint64_t begin, end;
    std::string_view tensor;
  };
  void note(std::string_view bytes, std::string_view tensor);
  void check_overlaps(Problems& problems);

  // Returns the files that were opened, with the locations that the model names, by location.
  std::vector<std::pair<std::string, std::shared_ptr<const FileImage>>> files() const;
  std::uint64_t total_bytes() const { return total_; }
  bool used() const { return !files_.empty(); }

 private:
  struct Opened {
    std::shared_ptr<const FileImage> image;
    bool reported = false;
  };
  std::optional<Fault> open(const std::string& location, Opened& out);

  std::string folder_, root_;
  std::map<std::string, Opened, std::less<>> files_;
  std::vector<Range> ranges_;
  std::uint64_t total_ = 0;
};

}  // namespace graphopt
