// Values that ONNX stores in files (.pb), as values for a runtime (onnx/value_wire.h).
#pragma once

#include <string>
#include <string_view>

#include "graphopt/error.h"
#include "onnx/value_wire.h"
#include "runtime/host_value.h"
#include "runtime/inputs.h"

namespace graphopt {

// Returns the value, with the name that the file gives it (may be empty). `file` is its place.
// ErrorKind::Input.
Result<NamedValue> read_stored(std::string_view bytes, const std::string& file,
                               StoredKind kind = StoredKind::Tensor);

}  // namespace graphopt
