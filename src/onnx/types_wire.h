// ValueInfoProto and TypeProto: from bytes to an interned type, and back.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "ir/model.h"
#include "onnx/problems.h"
#include "onnx/wire.h"

namespace graphopt {

// The names of dims on inputs of the main graph, where they are symbols that a user can bind. Everywhere else
// they are claims of the exporter, and a named dim is treated as unknown. Elements of sequences and maps are
// no inputs in this sense: their dims differ from element to element.
struct InputDimNames {
  bool expressions = true;  // false: each name is only a name
  // The dims of inputs that are tensors, which every run has. A name that is an expression over these is
  // believed to be that expression; any other is a symbol of exactly that text.
  std::unordered_set<std::string_view> alone;

  void collect(Bytes info);  // adds the names in a ValueInfoProto
};

std::string_view value_info_name(Bytes info);
// Returns the element type that a field of its number holds; Undefined for a number out of range.
DType element_type(const wire::Field& f);
// Returns the type in a ValueInfoProto; unknown() when it has none. A fault when its bytes are broken or
// nested deeper than `depth`. `names`: null where they are claims.
std::optional<Fault> read_value_info(Model& m, Bytes info, const InputDimNames* names, int depth,
                                     TypeId& type);
// Calls `see` for each dim_param that is not empty. nested: the tensor is inside a sequence, a map or an
// optional, or it is sparse.
using SeeDimName = std::function<void(std::string_view name, std::size_t axis, bool nested)>;
void for_each_dim_name(Bytes info, const SeeDimName& see);

// Writes the content of a ValueInfoProto, backward: `old` with the name and, when `type` is given, the
// element type and dims replaced. Dims that are unknown in `type` stay as they are, or become open if
// `keeps_dims` is false. Doc strings, denotations, metadata and unknown fields stay.
void write_value_info(wire::BackwardWriter& w, const Model& m, Bytes old, std::string_view name, TypeId type,
                      bool keeps_dims);

}  // namespace graphopt
