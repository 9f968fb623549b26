// Tensors are passed in without a copy and copied out: results outlive the session's memory.
//
// Nesting is bounded by what ONNX Runtime produces (sequences of maps of tensors), so read() and make() may
// recurse.
#include "runtime/ort_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "ir/types.h"

namespace graphopt {
namespace {

constexpr std::size_t kMessageLength = 300;

// Returns the index behind "FILE.cc:LINE FUNCTION(PARAMETERS) ", of which `dot` is the point, or npos when
// the text there is something else.
std::size_t end_of_source_place(std::string_view text, std::size_t dot) {
  std::size_t at = text.find(':', dot);
  if (at == std::string_view::npos || at - dot > 4) return std::string_view::npos;
  const std::string_view ending = text.substr(dot, at - dot);
  if (ending != ".cc" && ending != ".h" && ending != ".cpp" && ending != ".hpp")
    return std::string_view::npos;
  const std::size_t digits = ++at;
  while (at < text.size() && text[at] >= '0' && text[at] <= '9') ++at;
  if (at == digits) return std::string_view::npos;
  while (at < text.size() && text[at] == ' ') ++at;
  // A signature follows, if its name is qualified: "Status onnxruntime::Foo::Bar(int) const".
  const std::size_t open = text.find('(', at);
  if (open == std::string_view::npos || text.substr(at, open - at).find("::") == std::string_view::npos)
    return at;
  int depth = 0;
  std::size_t end = open;
  for (; end < text.size(); ++end) {
    if (text[end] == '(') ++depth;
    if (text[end] == ')' && --depth == 0) break;
  }
  if (end == text.size()) return at;
  at = end + 1;
  if (text.substr(at).starts_with(" const")) at += std::string_view(" const").size();
  if (text.substr(at).starts_with(" [with "))  // the arguments of a template
    at = std::min(text.find(']', at), text.size() - 1) + 1;
  while (at < text.size() && text[at] == ' ') ++at;
  return at;
}

// Drops the places in ONNX Runtime's sources that its messages name: they say nothing to its users.
std::string without_source_places(std::string_view text) {
  std::string out;
  std::size_t begin = 0;
  for (std::size_t dot = text.find('.'); dot != std::string_view::npos; dot = text.find('.', dot + 1)) {
    const std::size_t end = end_of_source_place(text, dot);
    if (end == std::string_view::npos) continue;
    const std::size_t path = text.find_last_of(" :\n", dot);
    const std::size_t start = path == std::string_view::npos ? 0 : path + 1;
    if (start < begin) continue;
    out += text.substr(begin, start - begin);
    begin = end;
    dot = end - 1;
  }
  out += text.substr(begin);
  return out;
}

}  // namespace

std::string shorten(std::string_view message) {
  const std::string without = without_source_places(message);
  std::string_view text = without;
  if (const auto at = text.find("Exception during initialization: "); at != std::string_view::npos)
    text.remove_prefix(at + std::string_view("Exception during initialization: ").size());
  std::string line;
  for (const char c : text) {
    const bool space = c == '\n' || c == '\r' || c == '\t' || c == ' ';
    if (space && (line.empty() || line.back() == ' ')) continue;
    line += space ? ' ' : c;
  }
  while (!line.empty() && line.back() == ' ') line.pop_back();
  if (line.size() > kMessageLength) {
    std::size_t cut = kMessageLength;
    while (cut > 0 && (static_cast<unsigned char>(line[cut]) & 0xC0) == 0x80)
      --cut;  // not inside a UTF-8 character
    line.resize(cut);
    line += " ...";
  }
  return line;
}

std::optional<std::string> failure(const OrtApi& api, OrtStatus* status) {
  if (status == nullptr) return std::nullopt;
  std::string message = shorten(api.GetErrorMessage(status));
  api.ReleaseStatus(status);
  return message.empty() ? std::string("failed without a message") : message;
}

std::optional<std::string> OrtValues::make(const HostValue& value, OwnedValue& out) const {
  switch (value.kind) {
    case HostValue::Kind::Tensor: return make_tensor(value, out);
    case HostValue::Kind::Sequence:
    case HostValue::Kind::Map: return make_list(value, out);
    case HostValue::Kind::Absent: break;
  }
  return "an absent value cannot be fed";
}

std::optional<std::string> OrtValues::make_tensor(const HostValue& value, OwnedValue& out) const {
  // Element types have the same numbers in ONNX and here.
  const auto type = static_cast<ONNXTensorElementDataType>(value.dtype);
  if (value.dtype != DType::String)
    return failure(*api_, api_->CreateTensorWithDataAsOrtValue(cpu_, const_cast<char*>(value.raw.data()),
                                                               value.raw.size(), value.dims.data(),
                                                               value.dims.size(), type, out.out()));
  if (auto failed = failure(*api_, api_->CreateTensorAsOrtValue(allocator_, value.dims.data(),
                                                                value.dims.size(), type, out.out())))
    return failed;
  if (value.strings.empty()) return std::nullopt;
  std::vector<const char*> texts;
  for (const std::string& text : value.strings) texts.push_back(text.c_str());
  return failure(*api_, api_->FillStringTensor(out.get(), texts.data(), texts.size()));
}

std::optional<std::string> OrtValues::make_list(const HostValue& value, OwnedValue& out) const {
  std::vector<OwnedValue> items;
  std::vector<const OrtValue*> raw;
  for (const HostValue& item : value.items) {
    OwnedValue made(*api_, &OrtApi::ReleaseValue);
    if (auto failed = make(item, made)) return failed;
    raw.push_back(made.get());
    items.push_back(std::move(made));
  }
  const ONNXType type = value.kind == HostValue::Kind::Map ? ONNX_TYPE_MAP : ONNX_TYPE_SEQUENCE;
  return failure(*api_, api_->CreateValue(raw.data(), raw.size(), type, out.out()));
}

std::optional<std::string> OrtValues::read(const OrtValue* value, HostValue& out) const {
  out = {};
  int present = 0;
  if (value == nullptr) return std::nullopt;
  if (auto failed = failure(*api_, api_->HasValue(value, &present))) return failed;
  if (present == 0) return std::nullopt;
  ONNXType type = ONNX_TYPE_UNKNOWN;
  if (auto failed = failure(*api_, api_->GetValueType(value, &type))) return failed;
  switch (type) {
    case ONNX_TYPE_TENSOR: return read_tensor(value, out);
    case ONNX_TYPE_SEQUENCE: return read_list(value, HostValue::Kind::Sequence, out);
    case ONNX_TYPE_MAP: return read_list(value, HostValue::Kind::Map, out);
    default: return fmt::format("values of kind {} are not compared", static_cast<int>(type));
  }
}

std::optional<std::string> OrtValues::read_tensor(const OrtValue* value, HostValue& out) const {
  Owned<OrtTensorTypeAndShapeInfo> info(*api_, &OrtApi::ReleaseTensorTypeAndShapeInfo);
  if (auto failed = failure(*api_, api_->GetTensorTypeAndShape(value, info.out()))) return failed;
  ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  std::size_t rank = 0, elements = 0;
  if (auto failed = failure(*api_, api_->GetTensorElementType(info.get(), &type))) return failed;
  if (auto failed = failure(*api_, api_->GetDimensionsCount(info.get(), &rank))) return failed;
  out.kind = HostValue::Kind::Tensor;
  out.dtype = static_cast<DType>(type);
  out.dims.resize(rank);
  if (auto failed = failure(*api_, api_->GetDimensions(info.get(), out.dims.data(), rank))) return failed;
  if (auto failed = failure(*api_, api_->GetTensorShapeElementCount(info.get(), &elements))) return failed;
  if (out.dtype == DType::String) {
    out.strings.resize(elements);
    return read_strings(value, out);
  }
  const auto bytes = raw_size(out.dtype, elements);
  if (!bytes) return fmt::format("elements of type {} are not compared", static_cast<int>(type));
  if (*bytes == 0) return std::nullopt;
  void* data = nullptr;  // the C API of the headers has no const form
  if (auto failed = failure(*api_, api_->GetTensorMutableData(const_cast<OrtValue*>(value), &data)))
    return failed;
  out.raw.assign(static_cast<const char*>(data), *bytes);
  return std::nullopt;
}

std::optional<std::string> OrtValues::read_strings(const OrtValue* value, HostValue& out) const {
  if (out.strings.empty()) return std::nullopt;
  std::size_t length = 0;
  if (auto failed = failure(*api_, api_->GetStringTensorDataLength(value, &length))) return failed;
  std::string text(length, '\0');
  std::vector<std::size_t> starts(out.strings.size());
  if (auto failed = failure(
          *api_, api_->GetStringTensorContent(value, text.data(), length, starts.data(), starts.size())))
    return failed;
  starts.push_back(length);
  for (std::size_t i = 0; i + 1 < starts.size(); ++i)
    out.strings[i] = text.substr(starts[i], starts[i + 1] - starts[i]);
  return std::nullopt;
}

std::optional<std::string> OrtValues::read_list(const OrtValue* value, HostValue::Kind kind,
                                                HostValue& out) const {
  out.kind = kind;
  std::size_t count = 2;  // a map: its keys, its values
  if (kind == HostValue::Kind::Sequence)
    if (auto failed = failure(*api_, api_->GetValueCount(value, &count))) return failed;
  out.items.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    OwnedValue item(*api_, &OrtApi::ReleaseValue);
    if (auto failed = failure(*api_, api_->GetValue(value, static_cast<int>(i), allocator_, item.out())))
      return failed;
    if (auto failed = read(item.get(), out.items[i])) return failed;
  }
  return std::nullopt;
}

}  // namespace graphopt
