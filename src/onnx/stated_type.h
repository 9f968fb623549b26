// The type that a saved model states of a value, as a reader of the file finds it.
//
// Problem: the IR does not know all of it: a name of a dim on an output or an inner value is a claim of the
// exporter, which inference does not believe, but which stays in the file. A manifest and the id of a network
// must say what the file says.
// Method: the writer's own function makes the bytes of the value's entry, and these are read.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "ir/model.h"
#include "onnx/writer.h"

namespace graphopt {

using StatedDim = std::variant<std::monostate, std::int64_t, std::string>;  // open, a number, a name

// The fields by kind as in Type (ir/types.h), with the text of names. Unknown: the file states nothing.
struct StatedType {
  TypeKind kind = TypeKind::Unknown;
  DType elem = DType::Undefined;
  bool has_rank = false;
  std::vector<StatedDim> dims;
  std::vector<StatedType> inner;  // one, of sequences, optionals and maps
};

class StatedTypes {
 public:
  // `written`: as in SaveOptions; of several entries for one value the first counts.
  StatedTypes(const Model& m, std::span<const TypeOverride> written);
  StatedType of(ValueId v) const;

 private:
  const Model& m_;
  std::vector<TypeOverride> written_;  // by value; no value: nothing is written in place of the file's
};

}  // namespace graphopt
