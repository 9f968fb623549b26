// Problem: `-o DIR/` is a mistake that everybody makes, since other tools take it. Method: the command line
// turns it into the path of a file before anything looks at OUT, so that checks of equal files, manifests,
// data files, exports and reports follow by themselves. The folder is made just before the run, and is
// removed after one that wrote nothing, since a failed one leaves nothing behind.
#include "result_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "console.h"
#include "option_set.h"

namespace graphopt::tool {
namespace {

namespace fs = std::filesystem;

// Endings of models that are read; OUT has its own.
constexpr std::string_view kEndings[] = {".pb",    ".onnxtxt", ".onnxtext", ".textproto",
                                         ".txtpb", ".pbtxt",   ".prototxt"};

bool ends_like(std::string_view name, std::string_view ending) {
  return name.size() >= ending.size() &&
         std::ranges::equal(name.substr(name.size() - ending.size()), ending,
                            [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; });
}

// Returns the name of the result of a model: "net.onnx" for a/net.onnx, net.pb and net.
std::string name_of_result(const std::string& input) {
  std::string name = fs::path(input).filename().string();
  const auto* ending = std::ranges::find_if(kEndings, [&](std::string_view e) { return ends_like(name, e); });
  if (ending != std::end(kEndings) && name.size() > ending->size()) name.resize(name.size() - ending->size());
  return ends_like(name, ".onnx") ? name : name + ".onnx";
}

Error output_error(const std::string& output, std::string what, std::string remedy) {
  return {ErrorKind::Output, in_file(output), std::move(what), std::move(remedy)};
}

}  // namespace

ResultFolder::~ResultFolder() {
  if (!made_.empty()) ::rmdir(made_.c_str());  // fails for a folder that has something in it
}

Status ResultFolder::enter(Options& options) {
  const std::string output = options.output;
  std::error_code ignored;
  const bool is_there = fs::is_directory(output, ignored);
  if (output.empty() || output == "-" || (!is_there && output.back() != '/')) return Done{};
  const fs::file_status input = fs::status(options.input, ignored);
  if (fs::is_directory(input)) return Done{};  // the run says that this is no model
  if (options.input == "-" || (fs::exists(input) && !fs::is_regular_file(input)))
    return Error{ErrorKind::Usage, in_file(output), "it is a folder, and a model from a pipe has no name",
                 "name the file: -o " + (fs::path(output) / "NAME.onnx").string()};
  std::string folder = output;
  while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
  if (!is_there) {
    const fs::path parent = fs::path(folder).parent_path();
    if (fs::exists(folder, ignored))
      return output_error(output, "it is a file and no folder", "leave out the '/' to replace the file");
    if (!parent.empty() && !fs::is_directory(parent, ignored))
      return output_error(output, "the folder '" + parent.string() + "' is not there",
                          "make it with: mkdir -p '" + folder + "'");
    missing_ = folder;
  }
  options.output = (folder == "/" ? folder : folder + '/') + name_of_result(options.input);
  return Done{};
}

Status ResultFolder::make() {
  if (missing_.empty()) return Done{};
  constexpr mode_t kMode = 0777;
  if (::mkdir(missing_.c_str(), kMode) == 0) made_ = missing_;
  else if (errno != EEXIST)
    return output_error(missing_, std::string("the folder cannot be made: ") + std::strerror(errno),
                        "give -o a folder that is there, or a path where you may write");
  missing_.clear();
  return Done{};
}

}  // namespace graphopt::tool
