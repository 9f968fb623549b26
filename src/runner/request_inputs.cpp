// See request_inputs.h.
#include "runner/request_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "runtime/array_bits.h"
#include "runtime/array_file.h"
#include "runtime/given_inputs.h"
#include "support/file.h"
#include "support/nearest.h"
#include "support/quote_name.h"

namespace graphopt::runner {
namespace {

using deploy::ValueKind;
using deploy::ValueType;

constexpr std::string_view kNumpyArchive = ".npz";

std::string text_of(const std::vector<deploy::ValueDim>& shape) {
  std::string out;
  for (const deploy::ValueDim& d : shape) {
    if (!out.empty()) out += ',';
    if (const auto* number = std::get_if<std::int64_t>(&d)) out += std::to_string(*number);
    else if (const auto* name = std::get_if<std::string>(&d)) out += *name;
    else out += '?';
  }
  return '[' + out + ']';
}

std::string text_of(const std::vector<std::int64_t>& dims) {
  std::string out;
  for (const std::int64_t d : dims) out += fmt::format("{}{}", out.empty() ? "" : ",", d);
  return '[' + out + ']';
}

std::string_view kind_of(const HostValue& value) {
  switch (value.kind) {
    case HostValue::Kind::Absent: return "nothing";
    case HostValue::Kind::Tensor: return "a tensor";
    case HostValue::Kind::Sequence: return "a sequence";
    case HostValue::Kind::Map: return "a map";
  }
  return "a value";
}

std::string fit_tensor(HostValue& value, const ValueType& type) {
  if (value.kind != HostValue::Kind::Tensor)
    return fmt::format("takes a tensor, and the file holds {}", kind_of(value));
  if (type.dtype != DType::Undefined && value.dtype != type.dtype && !take_bits(value, type.dtype))
    return fmt::format("takes {}, and the file holds {}", dtype_name(type.dtype), dtype_name(value.dtype));
  if (!type.shape) return {};
  bool same = value.dims.size() == type.shape->size();
  for (std::size_t i = 0; same && i < value.dims.size(); ++i) {
    const auto* number = std::get_if<std::int64_t>(&(*type.shape)[i]);
    same = number == nullptr || *number == value.dims[i];
  }
  if (same) return {};
  return fmt::format("takes {}, and the file holds {}", text_of(*type.shape), text_of(value.dims));
}

// Reads the files of one request, each once.
class InputLoader {
 public:
  explicit InputLoader(const deploy::Network& network) : network_(network), values_(network.inputs.size()) {}

  Result<std::vector<NamedValue>> run(const std::vector<GivenFile>& files) {
    for (const GivenFile& given : files) load(given);
    if (errors_.empty()) find_missing();
    if (!errors_.empty()) return std::move(errors_);
    std::vector<NamedValue> out;
    for (std::size_t i = 0; i < values_.size(); ++i)
      if (values_[i]) out.push_back({network_.inputs[i].name, *std::move(values_[i])});
    return out;
  }

 private:
  void refuse(const std::string& file, std::string what, std::string remedy) {
    if (errors_.size() < kMaxErrors)
      errors_.push_back({ErrorKind::Usage, {file, {}, {}, {}, {}}, std::move(what), std::move(remedy)});
  }
  void refuse(const Errors& errors) {
    for (const Error& error : errors)
      if (errors_.size() < kMaxErrors) errors_.push_back(error);
  }

  std::optional<std::string_view> bytes_of(const std::string& file) {
    const auto [at, added] = images_.try_emplace(file);
    std::error_code none;
    if (added && std::filesystem::exists(file, none) && !std::filesystem::is_regular_file(file, none)) {
      refuse(file, "it is no regular file, and inputs are read more than once", "write the array to a file");
    } else if (added) {
      auto image = FileImage::open(file);
      if (image) at->second = *std::move(image);
      else refuse(image.errors());
    }
    return at->second ? std::optional(at->second->bytes()) : std::nullopt;
  }

  // Returns the place of the input; none, with an error, where there is none, or it has its value.
  std::optional<std::size_t> place_of(const std::string& input, const std::string& file) {
    const auto at = std::ranges::find(network_.inputs, input, &deploy::NetworkValue::name);
    if (at == network_.inputs.end()) {
      std::vector<std::string> names;
      for (const deploy::NetworkValue& known : network_.inputs) names.push_back(known.name);
      refuse(file, fmt::format("the network has no input {}", quote_name(input)),
             suggest(input, names, "inputs"));
      return std::nullopt;
    }
    const auto place = static_cast<std::size_t>(at - network_.inputs.begin());
    if (!values_[place]) return place;
    refuse(file, fmt::format("input {} is given twice", quote_name(input)), "give each input once");
    return std::nullopt;
  }

  void load(const GivenFile& given) {
    const auto bytes = bytes_of(given.file);
    if (!bytes) return;
    if (!given.input.empty()) return load(given.input, given.file, *bytes);
    const auto names = npz_names(*bytes, given.file);
    if (!names) return refuse(names.errors());
    for (const std::string& name : *names) load(name, given.file, *bytes);
  }

  void load(const std::string& input, const std::string& file, std::string_view bytes) {
    const auto place = place_of(input, file);
    if (!place) return;
    const ValueType& type = network_.inputs[*place].type;
    const auto kind = stored_kind(type);
    if (!kind)
      return refuse(
          file,
          fmt::format("input {} is a sparse tensor, a map or of a type that is not known", quote_name(input)),
          "no file holds such a value: leave this network out");
    Result<HostValue> value = read_array(bytes, file, input, *kind);
    if (!value) return refuse(value.errors());
    if (const std::string wrong = fit_type(*value, type); !wrong.empty())
      return refuse(file, fmt::format("input {} {}", quote_name(input), wrong),
                    "give an array of a type and a shape that the input takes");
    values_[*place] = *std::move(value);
  }

  void find_missing() {
    for (std::size_t i = 0; i < values_.size(); ++i)
      if (!values_[i] && !network_.inputs[i].optional)
        refuse({}, fmt::format("input {} is not given", quote_name(network_.inputs[i].name)),
               "give a file for each input without a default");
  }

  const deploy::Network& network_;
  std::vector<std::optional<HostValue>> values_;  // by input
  std::map<std::string, std::shared_ptr<const FileImage>> images_;
  Errors errors_;
};

}  // namespace

std::optional<StoredKind> stored_kind(const ValueType& type) {
  const auto holds_tensors = [](const ValueType& t) {
    return t.elem.empty() || t.elem.front().kind == ValueKind::Tensor;
  };
  if (type.kind == ValueKind::Tensor) return StoredKind::Tensor;
  if (type.kind == ValueKind::Sequence && holds_tensors(type)) return StoredKind::Sequence;
  if (type.kind != ValueKind::Optional) return std::nullopt;
  const bool plain = holds_tensors(type) ||
                     (type.elem.front().kind == ValueKind::Sequence && holds_tensors(type.elem.front()));
  return plain ? std::optional(StoredKind::Optional) : std::nullopt;
}

std::string fit_type(HostValue& value, const ValueType& whole) {
  const ValueType* type = &whole;
  if (type->kind == ValueKind::Optional) {
    if (value.kind == HostValue::Kind::Absent || type->elem.empty()) return {};
    type = &type->elem.front();
  }
  if (type->kind == ValueKind::Tensor) return fit_tensor(value, *type);
  if (type->kind != ValueKind::Sequence) return "takes a value that no file holds";
  if (value.kind != HostValue::Kind::Sequence)
    return fmt::format("takes a sequence, and the file holds {}", kind_of(value));
  for (std::size_t i = 0; i < value.items.size() && !type->elem.empty(); ++i)
    if (const std::string wrong = fit_tensor(value.items[i], type->elem.front()); !wrong.empty())
      return fmt::format("{} at place {} of the sequence", wrong, i);
  return {};
}

Result<std::vector<GivenFile>> given_files(const std::vector<std::string>& texts, std::string_view option) {
  std::vector<GivenFile> out;
  Errors errors;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    const bool named = equals != std::string::npos && equals > 0;
    GivenFile given{named ? text.substr(0, equals) : "", named ? text.substr(equals + 1) : text};
    if (!given.file.empty() && (named || given.file.ends_with(kNumpyArchive))) {
      out.push_back(std::move(given));
      continue;
    }
    if (errors.size() < kMaxErrors)
      errors.push_back(
          {ErrorKind::Usage,
           {},
           fmt::format("{}: '{}' names no input and no archive", option, text),
           "write NAME=FILE (.npy, .npz, .pb), or FILE.npz whose arrays have the names of inputs"});
  }
  if (!errors.empty()) return errors;
  return out;
}

Result<std::vector<NamedValue>> load_inputs(const std::vector<GivenFile>& files,
                                            const deploy::Network& network) {
  return InputLoader(network).run(files);
}

}  // namespace graphopt::runner
