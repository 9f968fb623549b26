// The descriptor of a stage, and the list of all (list.cpp). A stage is one file, which holds its descriptor,
// what it does, and its part of the report as JSON; docs/adding-a-stage.md is the walk-through.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string_view>

#include "graphopt/optimize.h"

namespace graphopt {

class Run;    // driver/run.h
struct Work;  // driver/run.h

struct StageEntry {
  Stage stage;
  std::string_view name;      // in the report and on the terminal
  bool needs_types = false;   // infer runs before it
  bool edits_nodes = false;   // the model that is saved may have other nodes than the file
  bool writes_files = false;  // files that outlive the run: from its begin on the run is not interrupted

  bool (*wanted)(const Options&);
  // What the options alone can refuse is refused before the first stage runs. Null: nothing.
  Status (*prepare)(Run&) = nullptr;
  // Works on run.work, and tells run.report and run.observer. After an error the run ends.
  Status (*run)(Run&);
  // What it does to a model, once more and without telling: for --bisect, which makes the model again with
  // fewer rewrites. Null: nothing.
  Status (*repeat)(Run&, Work&) = nullptr;
  // Writes the stage's fields, all of them in every report: null where the stage has nothing to say. They
  // follow those of the stages before it. A null pointer: it has none.
  void (*to_json)(const Report&, nlohmann::ordered_json&) = nullptr;
};

std::span<const StageEntry* const> all_stages();
bool is_wanted(Stage stage, const Options& options);
// Returns true if a stage with this property is wanted.
bool any_wanted(const Options& options, bool StageEntry::* property);

}  // namespace graphopt
