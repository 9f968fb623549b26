// What a run needs at most, by the sizes of its files. Measured on 45 exports of 3 KiB to 91 MiB, and on a
// file that is all graph: a process has 11 MiB before it reads anything; a byte of the graph takes up to 13
// in memory, one of the weights 1, since they are mapped and read once. With ONNX Runtime the libraries take
// some 90 MiB, and two models with their activations up to 200 MiB and four times the weights. Activations
// may be far larger: what a run really needed is compared with the estimate afterwards, and later ones are
// raised.
#include <algorithm>
#include <filesystem>
#include <system_error>

#include "graphopt/batch.h"
#include "onnx/reader.h"
#include "support/file.h"

namespace graphopt {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint64_t kProcess = 16 * kMiB, kRuntime = 320 * kMiB;
constexpr std::uint64_t kMostOfGraph = 8 * kMiB;         // what a file has beyond this is weights
constexpr std::uint64_t kMost = std::uint64_t{1} << 56;  // of files with holes; no sum overflows
constexpr std::uint64_t kPerGraphByte = 14, kPerCheckedByte = 4;

bool has_other_files(const std::string& path) {
  std::error_code failure;
  for (fs::directory_iterator it(folder_of(path), failure), end; !failure && it != end; it.increment(failure))
    if (it->is_directory(failure) || it->path().extension() != ".onnx") return true;
  return false;
}

}  // namespace

std::uint64_t estimated_memory(const BatchModel& model) {
  std::uint64_t data = 0;
  if (has_other_files(model.options.input)) {
    std::vector<Warning> ignored;
    const LoadOptions load = {model.options.input, model.options.load.external_root, 0, true};
    if (const auto loaded = load_model(load, ignored)) data = std::min(loaded->external_data_bytes, kMost);
  }
  const std::uint64_t graph = std::min(model.bytes, kMostOfGraph);
  const std::uint64_t weights = model.bytes - graph + data;
  std::uint64_t out = kProcess + kPerGraphByte * graph + weights + weights / 4;
  const bool runs = model.options.check.seeds > 0 || model.options.check.bisect ||
                    model.options.clean_up.fold == FoldWith::Ort;
  if (runs) out += kRuntime + kPerCheckedByte * (model.bytes + data);
  return out;
}

}  // namespace graphopt
