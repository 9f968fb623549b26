// The facts about all values, recorded to be compared after a pass (--verify-each).
#pragma once

#include <optional>
#include <vector>

#include "graphopt/error.h"
#include "infer/infer.h"
#include "ir/model.h"

namespace graphopt {

class FactRecord {
 public:
  FactRecord(const Model& m, const Inference& infer) { take(m, infer); }
  // Compares what is known now with the record, for the values that have the names they had, and records what
  // is known now. Returns two facts about a value that no run satisfies both, as an Internal error; none if
  // no run accepts the model.
  std::optional<Error> compare(Model& m, const Inference& infer);

 private:
  struct Fact {
    ValueId value;
    NameId name;
    TypeId type;
    std::optional<SymbolicTensor> elements;
  };
  void take(const Model& m, const Inference& infer);

  std::vector<Fact> facts_;
};

}  // namespace graphopt
