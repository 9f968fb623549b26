// The findings of a load: at most ten problems, and warnings.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "graphopt/error.h"
#include "onnx/reader.h"

namespace graphopt {

// A problem whose place is filled in by the caller.
struct Fault {
  std::string what, remedy;
};

class Problems {
 public:
  Problems(std::string file, std::vector<Warning>& warnings) : file_(std::move(file)), warnings_(warnings) {}

  const std::string& file() const { return file_; }
  bool none() const { return errors_.empty(); }
  bool full() const { return errors_.size() >= kMaxErrors; }
  void add(Place place, std::string what, std::string remedy, ErrorKind kind = ErrorKind::Input) {
    if (full()) return;
    place.file = file_;
    errors_.push_back({kind, std::move(place), std::move(what), std::move(remedy)});
  }
  void add(Place place, Fault fault) {
    add(std::move(place), std::move(fault.what), std::move(fault.remedy));
  }
  void warn(Place place, std::string what, std::string remedy) {
    if (warnings_.size() >= kMaxErrors) return;
    place.file = file_;
    warnings_.push_back({std::move(place), std::move(what), std::move(remedy)});
  }
  Errors take() { return std::move(errors_); }

 private:
  std::string file_;
  Errors errors_;
  std::vector<Warning>& warnings_;
};

// The remedy for bytes that no exporter writes on purpose.
inline constexpr const char* kDamaged = "the file is damaged or cut off: export or download it again";
inline constexpr const char* kReport = "repair the model, or export it again";

}  // namespace graphopt
