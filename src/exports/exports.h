// The forms of a partitioned model for other programs (--emit), written with the set of its files.
//
// Problem: an export is of use only with the OUT, or the manifest, that it was made for, and a run can end at
// any moment. Method: what can be refused is refused before anything is written; all of them are written
// under hidden names before OUT and the manifest are replaced, and get their own names right after, while no
// other run can write the set. A run that ends between the two leaves older exports: each says by a SHA-256
// what it belongs to (docs/exports.md). Exports that a run does not ask for are removed: they would belong to
// nothing.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "exports/form.h"
#include "graphopt/error.h"
#include "onnx/set_writer.h"

namespace graphopt {

class Exports {
 public:
  explicit Exports(const ExportSource& source) : source_(source) {}

  // Refuses what no export can say of this model, and what stands in the way.
  Status plan();
  // Writes them, of what was saved and the text of the manifest; nothing has its name yet.
  Status stage(const SavedSet& saved, std::string_view manifest);
  // Gives them their names, and removes those that are not asked for. The manifest has its name.
  Status place();
  // What was written; after place().
  std::vector<SaveStage::File> files() const;

 private:
  const ExportSource& source_;
  std::vector<std::unique_ptr<ExportForm>> wanted_, stale_;
};

}  // namespace graphopt
