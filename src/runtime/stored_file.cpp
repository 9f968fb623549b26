// See stored_file.h.
#include "runtime/stored_file.h"

#include <utility>

namespace graphopt {
namespace {

HostValue host_value(const Tensor& t) {
  HostValue out;
  out.kind = HostValue::Kind::Tensor;
  out.dtype = t.dtype;
  out.dims = t.dims;
  if (t.dtype != DType::String) out.raw = t.raw;
  else if (t.owned) out.strings = t.owned->strings;
  return out;
}

}  // namespace

Result<NamedValue> read_stored(std::string_view bytes, const std::string& file, StoredKind kind) {
  StoredValue stored;
  if (std::optional<Fault> fault = read_stored_value(bytes, kind, stored))
    return Error{ErrorKind::Input, {file, {}, {}, {}, {}}, std::move(fault->what), std::move(fault->remedy)};
  NamedValue out{std::string(stored.name), {}};
  switch (stored.content) {
    case StoredValue::Content::Absent: break;
    case StoredValue::Content::Tensor: out.value = host_value(stored.tensors.front()); break;
    case StoredValue::Content::Sequence:
      out.value.kind = HostValue::Kind::Sequence;
      for (const Tensor& t : stored.tensors) out.value.items.push_back(host_value(t));
      break;
  }
  return out;
}

}  // namespace graphopt
