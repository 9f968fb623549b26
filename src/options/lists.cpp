// What front ends list: passes, levels, near names; and the hooks for their signal handlers.
#include "graphopt/optimize.h"
#include "passes/pass.h"
#include "support/file.h"
#include "support/nearest.h"

namespace graphopt {

std::vector<PassDescription> list_passes() {
  std::vector<PassDescription> out;
  for (const PassInfo* pass : all_passes()) {
    const bool exact = pass->exact == Exact::Yes;
    out.push_back({pass->name, pass->summary, exact, pass->level, exact ? pass->rounds_from : pass->level});
  }
  return out;
}

std::span<const LevelDescription> list_levels() {
  static constexpr LevelDescription kLevels[] = {
      {"-O0", "no pass runs: the model is loaded and saved"},
      {"-O1", "bit-exact rewrites only (exception: float16 on some CPUs)"},
      {"-O2", "default: floats may round differently, as when a sum is reordered"},
      {"-O3", "rounds more, and assumes that indices are inside their tables (nothing else is assumed)"},
      {"--exact", "leaves out every rewrite of -O2 and -O3 that rounds or assumes something"},
  };
  return kLevels;
}

std::string suggest_names(std::string_view word, std::span<const std::string> names, std::string_view kind) {
  return suggest(word, names, kind);
}

void discard_unfinished_output() noexcept { remove_temporary_files(); }

const char* mapped_file_at(const void* address) noexcept { return image_path_at(address); }

}  // namespace graphopt
