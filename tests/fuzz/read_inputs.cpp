// Fuzz target: bytes to the inputs of a run. Arrays of NumPy, values of ONNX and lists of requests are read
// or refused; what was read has the elements that its dims say.
#include <algorithm>
#include <cstdint>
#include <optional>

#include "fuzz/common.h"
#include "runner/request_list.h"
#include "runtime/array_file.h"
#include "runtime/stored_file.h"

namespace graphopt::fuzz {
namespace {

void check_value(const HostValue& value) {
  for (const HostValue& item : value.items) check_value(item);
  if (value.kind != HostValue::Kind::Tensor) return;
  // A tensor without elements may have other dims whose product is no number.
  std::uint64_t elements = std::ranges::find(value.dims, 0) == value.dims.end() ? 1 : 0;
  for (const std::int64_t d : value.dims) {
    require(d >= 0, "a negative dim");
    if (elements == 0) break;
    require(!__builtin_mul_overflow(elements, static_cast<std::uint64_t>(d), &elements), "too many elements");
  }
  if (value.dtype == DType::String) require(value.strings.size() == elements, "another number of texts");
  else require(raw_size(value.dtype, elements) == value.raw.size(), "another number of bytes");
}

// Returns the value; nothing when the bytes are refused in the right way.
template <class T> std::optional<T> accepted(Result<T> result, ErrorKind kind = ErrorKind::Input) {
  if (result) return *std::move(result);
  check_errors(result.errors(), kind);
  return std::nullopt;
}

}  // namespace
}  // namespace graphopt::fuzz

void fuzz(std::string_view bytes) {
  using namespace graphopt;
  if (const auto value = fuzz::accepted(read_npy(bytes, "input"))) fuzz::check_value(*value);
  if (const auto values = fuzz::accepted(read_npz(bytes, "input")))
    for (const NamedValue& v : *values) fuzz::check_value(v.value);
  for (const StoredKind kind : {StoredKind::Tensor, StoredKind::Sequence, StoredKind::Optional})
    if (const auto value = fuzz::accepted(read_stored(bytes, "input", kind))) fuzz::check_value(value->value);
  if (const auto list = fuzz::accepted(runner::read_request_list(bytes, "input"), ErrorKind::Usage))
    for (const runner::ListedRequest& r : list->lines)
      fuzz::require(runner::wrong_id(r.id).empty() && r.repeat >= 1, "a request without an id, or of none");
}
