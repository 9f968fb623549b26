// What a run needs at most, by the sizes of its files. Measured on 45 exports of 0.1 to 120 MB: a process
// needs some 20 MiB of its own, some 8 times the part of the model that is not weights, and the maps of the
// weights, which are read when they are written; with --check ONNX Runtime holds two models and their
// activations.
#include <filesystem>
#include <system_error>

#include "graphopt/batch.h"
#include "onnx/reader.h"
#include "support/file.h"

namespace graphopt {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint64_t kProcess = 32 * kMiB, kRuntime = 192 * kMiB;
constexpr std::uint64_t kMostOfGraph = 16 * kMiB;  // a larger file has weights inside
constexpr std::uint64_t kPerGraphByte = 10, kPerWeightByte = 2, kPerCheckedByte = 6;

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
    if (const auto loaded = load_model(load, ignored)) data = loaded->external_data_bytes;
  }
  const std::uint64_t graph = std::min(model.bytes, kMostOfGraph);
  std::uint64_t out = kProcess + kPerGraphByte * graph + kPerWeightByte * (model.bytes - graph + data);
  const bool runs = model.options.check.seeds > 0 || model.options.check.bisect ||
                    model.options.clean_up.fold == FoldWith::Ort;
  if (runs) out += kRuntime + kPerCheckedByte * (model.bytes + data);
  return out;
}

}  // namespace graphopt
