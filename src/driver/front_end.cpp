// Functions for front ends other than the run: passes, near names, and the hooks for their signal handlers.
#include "graphopt/optimize.h"
#include "passes/pass.h"
#include "support/file.h"
#include "support/nearest.h"

namespace graphopt {

std::vector<PassDescription> list_passes() {
  std::vector<PassDescription> out;
  for (const PassInfo* pass : all_passes()) {
    out.push_back({pass->name, pass->summary, pass->exact == Exact::Yes, pass->level});
  }
  return out;
}

std::string suggest_names(std::string_view word, std::span<const std::string> names, std::string_view kind) {
  return suggest(word, names, kind);
}

void discard_unfinished_output() noexcept { remove_temporary_files(); }

const char* mapped_file_at(const void* address) noexcept { return image_path_at(address); }

}  // namespace graphopt
