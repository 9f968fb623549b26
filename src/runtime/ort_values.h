// Owners of the C API's objects, and conversion of values to and from it. For ort*.cpp only.
#pragma once

#include <onnxruntime_c_api.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/host_value.h"

namespace graphopt {

// Owns an object of the C API.
template <class T> class Owned {
 public:
  Owned(const OrtApi& api, void (ORT_API_CALL* OrtApi::*release)(T*)) : api_(&api), release_(release) {}
  ~Owned() { reset(); }
  Owned(Owned&& other) noexcept
      : api_(other.api_), release_(other.release_), p_(std::exchange(other.p_, nullptr)) {}
  Owned& operator=(Owned&&) = delete;
  T* get() const { return p_; }
  T* release() { return std::exchange(p_, nullptr); }
  T** out() {
    reset();
    return &p_;
  }

 private:
  void reset() {
    if (p_ != nullptr) (api_->*release_)(p_);
    p_ = nullptr;
  }
  const OrtApi* api_;
  void (ORT_API_CALL* OrtApi::*release_)(T*);
  T* p_ = nullptr;
};

using OwnedValue = Owned<OrtValue>;

// Returns the informative part in one line: ONNX Runtime prefixes its source files and functions.
std::string shorten(std::string_view text);

// Returns the message of a failed call in one short line; nothing when it succeeded. Releases the status.
std::optional<std::string> failure(const OrtApi& api, OrtStatus* status);

class OrtValues {
 public:
  OrtValues(const OrtApi& api, const OrtMemoryInfo* cpu, OrtAllocator* allocator)
      : api_(&api), cpu_(cpu), allocator_(allocator) {}

  // `value` must outlive `out`: payloads are not copied. Precondition: not an absent optional, which the C
  // API cannot make.
  std::optional<std::string> make(const HostValue& value, OwnedValue& out) const;
  std::optional<std::string> read(const OrtValue* value, HostValue& out) const;

 private:
  std::optional<std::string> make_tensor(const HostValue& value, OwnedValue& out) const;
  std::optional<std::string> make_list(const HostValue& value, OwnedValue& out) const;
  std::optional<std::string> read_tensor(const OrtValue* value, HostValue& out) const;
  std::optional<std::string> read_strings(const OrtValue* value, HostValue& out) const;
  std::optional<std::string> read_list(const OrtValue* value, HostValue::Kind kind, HostValue& out) const;

  const OrtApi* api_;
  const OrtMemoryInfo* cpu_;
  OrtAllocator* allocator_;
};

}  // namespace graphopt
