// ValueInfoProto and TypeProto: from bytes to an interned type, and back.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "ir/model.h"
#include "onnx/problems.h"
#include "onnx/wire.h"

namespace graphopt {

// The meaning of names of dims. In inputs of the main graph they are symbols that a user can bind; everywhere
// else they are claims of the exporter, and a named dim is treated as unknown.
enum class DimNames : std::uint8_t { Symbols, Claims };

std::string_view value_info_name(Bytes info);
// Returns the type in a ValueInfoProto; unknown() when it has none. A fault when its bytes are broken or
// nested deeper than `depth`.
std::optional<Fault> read_value_info(Model& m, Bytes info, DimNames names, int depth, TypeId& type);
// Makes the input symbols of names that are not expressions, so that expressions can be told from names
// afterwards.
void declare_symbols(Model& m, Bytes info);

// Writes the content of a ValueInfoProto, backward: `old` with the name and, when `type` is given, the
// element type and dims replaced. Dims that are unknown in `type` stay as they are, or become open if
// `keeps_dims` is false. Doc strings, denotations, metadata and unknown fields stay.
void write_value_info(wire::BackwardWriter& w, const Model& m, Bytes old, std::string_view name, TypeId type,
                      bool keeps_dims);

}  // namespace graphopt
