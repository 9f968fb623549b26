// See test_data.h.
#include "runner/test_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <string_view>
#include <system_error>
#include <utility>

#include "runtime/given_inputs.h"
#include "support/file.h"
#include "support/quote_name.h"

namespace graphopt::runner {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSetPrefix = "test_data_set_";

Error wrong_folder(const std::string& folder, std::string what, std::string remedy) {
  return {ErrorKind::Input, {folder, {}, {}, {}, {}}, std::move(what), std::move(remedy)};
}

// Returns the number between the two parts of a name: 12 of "input_12.pb". None for other names.
std::optional<std::uint64_t> number_in(std::string_view name, std::string_view prefix,
                                       std::string_view suffix) {
  if (!name.starts_with(prefix) || !name.ends_with(suffix) || name.size() <= prefix.size() + suffix.size())
    return std::nullopt;
  const std::string_view digits = name.substr(prefix.size(), name.size() - prefix.size() - suffix.size());
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const bool whole = error == std::errc() && end == digits.data() + digits.size();
  return whole ? std::optional(number) : std::nullopt;
}

using Numbered = std::map<std::uint64_t, std::string>;  // paths

// Returns the entries of a folder whose names have these parts and a number; none where it cannot be read.
std::optional<Numbered> numbered(const std::string& folder, std::string_view prefix,
                                 std::string_view suffix) {
  std::error_code failed;
  Numbered out;
  for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed)) {
    const std::string name = at->path().filename().string();
    if (const auto number = number_in(name, prefix, suffix)) out.emplace(*number, at->path().string());
  }
  return failed ? std::nullopt : std::optional(std::move(out));
}

// Returns the files of one set by the names of the values.
Result<std::vector<GivenFile>> files_of(const std::string& folder, const Numbered& files,
                                        std::string_view kind,
                                        const std::vector<deploy::NetworkValue>& values) {
  std::vector<GivenFile> out;
  for (const auto& [number, path] : files) {
    if (number >= values.size())
      return wrong_folder(path, fmt::format("the network has {} {}s", values.size(), kind),
                          "give the test data of this model");
    if (number != out.size())
      return wrong_folder(
          folder, fmt::format("{}_{}.pb is missing, and {}_{}.pb is there", kind, out.size(), kind, number),
          "make the test data again: each file from the first one on has to be there");
    out.push_back({values[number].name, path});
  }
  return out;
}

}  // namespace

Result<std::vector<TestDataSet>> find_test_data(const std::string& folder, const deploy::Network& network) {
  const auto sets = numbered(folder, kSetPrefix, "");
  if (!sets)
    return wrong_folder(folder, "this is no folder that can be read",
                        "give a folder with folders test_data_set_0, test_data_set_1, ...");
  std::vector<std::string> folders;
  for (const auto& [number, path] : *sets) folders.push_back(path);
  if (folders.empty()) folders.push_back(folder);
  std::vector<TestDataSet> out;
  for (const std::string& path : folders) {
    const auto inputs = numbered(path, "input_", ".pb"), outputs = numbered(path, "output_", ".pb");
    if (!inputs || !outputs) return wrong_folder(path, "this is no folder that can be read", "give a folder");
    if (inputs->empty() && outputs->empty())
      return wrong_folder(path, "it has neither input_0.pb nor output_0.pb",
                          "give a folder with folders test_data_set_0, test_data_set_1, ...");
    Result<std::vector<GivenFile>> in = files_of(path, *inputs, "input", network.inputs);
    if (!in) return in.errors();
    Result<std::vector<GivenFile>> results = files_of(path, *outputs, "output", network.outputs);
    if (!results) return results.errors();
    const std::string clean = path.ends_with('/') ? path.substr(0, path.size() - 1) : path;
    out.push_back({last_part(clean), *std::move(in), *std::move(results)});
  }
  return out;
}

Result<std::vector<NamedValue>> load_outputs(const TestDataSet& set, const deploy::Network& network) {
  std::vector<NamedValue> out;
  for (const GivenFile& given : set.outputs) {
    const auto at = std::ranges::find(network.outputs, given.input, &deploy::NetworkValue::name);
    const auto kind = at == network.outputs.end() ? std::nullopt : stored_kind(at->type);
    if (!kind)
      return wrong_folder(given.file,
                          fmt::format("output {} has a type that no file holds", quote_name(given.input)),
                          "leave this network out");
    const auto image = FileImage::open(given.file);
    if (!image) return image.errors();
    Result<NamedValue> value = read_stored((*image)->bytes(), given.file, *kind);
    if (!value) return value.errors();
    if (const std::string wrong = fit_type(value->value, at->type); !wrong.empty())
      return wrong_folder(given.file, fmt::format("output {} {}", quote_name(given.input), wrong),
                          "give the test data of this model");
    out.push_back({given.input, std::move(value->value)});
  }
  return out;
}

}  // namespace graphopt::runner
