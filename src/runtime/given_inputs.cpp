#include "runtime/given_inputs.h"

#include <algorithm>
#include <utility>

#include "runtime/array_file.h"
#include "support/file.h"
#include "support/nearest.h"

namespace graphopt {
namespace {

constexpr std::string_view kArchive = ".npz";

// Adds what one text names.
Status add(const std::string& text, GivenInputs& out) {
  const std::size_t equals = text.find('=');
  const bool named = equals != std::string::npos && equals > 0;
  const std::string name = named ? text.substr(0, equals) : "";
  const std::string file = named ? text.substr(equals + 1) : text;
  const bool is_archive = file.ends_with(kArchive);
  if (file.empty() || (!named && !is_archive))
    return Error{ErrorKind::Usage,
                 {},
                 "--check-input: '" + text + "' names no input and no archive",
                 "write NAME=FILE.npy, or FILE.npz whose arrays have the names of inputs"};
  const Result<std::shared_ptr<const FileImage>> image = FileImage::open(file);
  if (!image) return image.errors();
  const std::string_view bytes = (*image)->bytes();
  if (!is_archive) {
    Result<HostValue> value = read_npy(bytes, file);
    if (!value) return value.errors();
    out.push_back({name, *std::move(value)});
    return Done{};
  }
  Result<GivenInputs> arrays = read_npz(bytes, file);
  if (!arrays) return arrays.errors();
  if (!named) {
    std::ranges::move(*arrays, std::back_inserter(out));
    return Done{};
  }
  const bool single = arrays->size() == 1;
  const auto found =
      std::ranges::find_if(*arrays, [&](const NamedValue& a) { return single || a.name == name; });
  if (found != arrays->end()) {
    out.push_back({name, std::move(found->value)});
    return Done{};
  }
  std::vector<std::string> names;
  for (const NamedValue& a : *arrays) names.push_back(a.name);
  return Error{ErrorKind::Usage,
               {file, {}, {}, {}, {}},
               "--check-input: it has no array '" + name + "'",
               suggest(name, names, "arrays")};
}

}  // namespace

Result<GivenInputs> read_given_inputs(const std::vector<std::string>& texts) {
  GivenInputs out;
  for (const std::string& text : texts)
    if (Status added = add(text, out); !added) return added.errors();
  return out;
}

}  // namespace graphopt
