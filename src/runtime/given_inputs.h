// Arrays of the user's own, in files of NumPy (.npy, .npz) and of ONNX (.pb).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graphopt/error.h"
#include "runtime/inputs.h"
#include "runtime/stored_file.h"

namespace graphopt {

// Returns the array for the input `name` of a file's bytes: the array of a .npy file, of a .npz file the one
// of that name or the only one, the value of a .pb file, which is of that kind. `file` is its place, and its
// name decides. ErrorKind::Input, but `missing` where an archive has no such array.
Result<HostValue> read_array(std::string_view bytes, const std::string& file, const std::string& name,
                             StoredKind kind = StoredKind::Tensor, ErrorKind missing = ErrorKind::Input);

// `texts` as in CheckStage::Options::inputs. Files are read whole. ErrorKind::Usage for a text of another
// form, ErrorKind::Input for a file that holds no array. `option`: the one that has them, for messages.
Result<GivenInputs> read_given_inputs(const std::vector<std::string>& texts, std::string_view option);

}  // namespace graphopt
