#include "output_paths.h"

#include <filesystem>
#include <string>
#include <system_error>

#include "console.h"
#include "graphopt/option_table.h"
#include "side_file.h"

namespace graphopt::tool {
namespace {

namespace fs = std::filesystem;

constexpr int kMostLinks = 40;  // as many as Linux follows

// Returns the path that would be opened; a link whose target is not there yet is followed, too.
fs::path opened_path(fs::path path) {
  std::error_code ignored;
  for (int i = 0; i < kMostLinks && fs::is_symlink(path, ignored); ++i)
    path = path.parent_path() / fs::read_symlink(path, ignored);  // an absolute target replaces the folder
  path = fs::absolute(path, ignored);
  const fs::path canonical = fs::weakly_canonical(path, ignored);
  return canonical.empty() ? path.lexically_normal() : canonical;  // empty: a folder that may not be read
}

bool same_file(const std::string& a, const std::string& b) {
  std::error_code ignored;
  return opened_path(a) == opened_path(b) || fs::equivalent(a, b, ignored);
}

// Returns the path of a data file that has a name; empty when none is asked for.
std::string data_path(const Options& options) {
  if (options.save.external_file.empty() || options.output.empty() || options.output == "-") return {};
  return (fs::path(options.output).parent_path() / options.save.external_file).string();
}

Error refused(const std::string& file, std::string what, std::string remedy) {
  return {ErrorKind::Usage, in_file(file), std::move(what), std::move(remedy)};
}

// The text of an option whose value is a file.
std::string path_of(const OptionRow<Options>& row, const Options& options) {
  const std::optional<OptionValue> value = row.get(options);
  const auto* text = value ? std::get_if<std::string>(&*value) : nullptr;
  return text != nullptr ? *text : std::string();
}

}  // namespace

std::vector<OutputPath> output_paths(const Options& options, const ToolOptions& tool) {
  std::vector<OutputPath> paths = {{"-o", options.output, true},
                                   {"--json", tool.json ? "-" : ""},
                                   {"--report", tool.report},
                                   {"--dot", tool.dot},
                                   {"--trace", tool.trace}};
  for (const OptionRow<Options>& row : option_table()) {
    if (!row.info.writes || row.info.name == "--output") continue;
    const std::string_view name = row.info.name;
    std::string path = name == "--manifest"        ? manifest_path(options)
                       : name == "--external-file" ? data_path(options)
                                                   : path_of(row, options);
    paths.push_back({std::string(name), std::move(path)});
  }
  for (const Export form : options.partition.exports) paths.push_back({"--emit", export_path(options, form)});
  return paths;
}

Status check_output_paths(const Options& options, const ToolOptions& tool) {
  std::vector<OutputPath> outputs = output_paths(options, tool);
  std::erase_if(outputs, [](const OutputPath& o) { return o.path.empty(); });
  const std::string& input = options.input;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const OutputPath& one = outputs[i];
    const std::string& option = one.option;
    if (!one.may_be_input && one.path != "-" && input != "-" && same_file(one.path, input))
      return refused(one.path, option + " and the model that is read are the same file",
                     "give " + option + " a file of its own");
    for (const std::string& given : options.check.inputs)
      if (one.path != "-" && same_file(one.path, given.substr(given.find('=') + 1)))
        return refused(one.path, option + " and an array of --check-input are the same file",
                       "give " + option + " a file of its own");
    for (std::size_t j = 0; j < i; ++j) {
      const std::string both = outputs[j].option + " and " + option;
      if ((one.path == "-") != (outputs[j].path == "-")) continue;
      if (one.path == "-") return refused({}, both + " both want stdout", "give one of them a file");
      if (same_file(one.path, outputs[j].path))
        return refused(one.path, both + " name the same file", "give each a file of its own");
    }
  }
  if (Status report = check_side_file(report_file(tool.report)); !report) return report;
  if (Status drawing = check_side_file(drawing_file(tool.dot)); !drawing) return drawing;
  return check_side_file(trace_file(tool.trace));
}

}  // namespace graphopt::tool
