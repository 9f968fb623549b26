// The version of the standard that last changed an operator.
#pragma once

#include <cstdint>
#include <string_view>

namespace graphopt {

// Returns the greatest version of the domain, up to the imported one, in which the operator's schema changed
// (its since_version): 11 for Conv in opset 17. 0 when onnx has no such operator by then. Domain "" is
// ai.onnx. Linear in onnx's schemas, some thousand: callers keep the answer.
int schema_version(std::string_view domain, std::string_view name, std::int64_t imported);

}  // namespace graphopt
