#include "runtime/given_inputs.h"

#include <algorithm>
#include <utility>

#include "runtime/array_file.h"
#include "support/file.h"

namespace graphopt {
namespace {

constexpr std::string_view kArchive = ".npz", kStored = ".pb";

// Adds what one text names.
Status add(const std::string& text, std::string_view option, GivenInputs& out) {
  const std::size_t equals = text.find('=');
  const bool named = equals != std::string::npos && equals > 0;
  const std::string name = named ? text.substr(0, equals) : "";
  const std::string file = named ? text.substr(equals + 1) : text;
  const bool is_archive = file.ends_with(kArchive);
  if (file.empty() || (!named && !is_archive))
    return Error{ErrorKind::Usage,
                 {},
                 std::string(option) + ": '" + text + "' names no input and no archive",
                 "write NAME=FILE.npy, or FILE.npz whose arrays have the names of inputs"};
  const Result<std::shared_ptr<const FileImage>> image = FileImage::open(file);
  if (!image) return image.errors();
  const std::string_view bytes = (*image)->bytes();
  if (is_archive && !named) {
    Result<GivenInputs> arrays = read_npz(bytes, file);
    if (!arrays) return arrays.errors();
    std::ranges::move(*arrays, std::back_inserter(out));
    return Done{};
  }
  Result<HostValue> value = read_array(bytes, file, name, StoredKind::Tensor, ErrorKind::Usage);
  if (!value) return value.errors();
  out.push_back({name, *std::move(value)});
  return Done{};
}

}  // namespace

Result<HostValue> read_array(std::string_view bytes, const std::string& file, const std::string& name,
                             StoredKind kind, ErrorKind missing) {
  if (file.ends_with(kArchive)) return read_npz_array(bytes, file, name, missing);
  if (!file.ends_with(kStored)) return read_npy(bytes, file);
  Result<NamedValue> stored = read_stored(bytes, file, kind);
  if (!stored) return stored.errors();
  return std::move(stored->value);
}

Result<GivenInputs> read_given_inputs(const std::vector<std::string>& texts, std::string_view option) {
  GivenInputs out;
  for (const std::string& text : texts)
    if (Status added = add(text, option, out); !added) return added.errors();
  return out;
}

}  // namespace graphopt
