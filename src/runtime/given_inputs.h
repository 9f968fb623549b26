// The files that --check-input names.
#pragma once

#include <string>
#include <vector>

#include "graphopt/error.h"
#include "runtime/inputs.h"

namespace graphopt {

// `texts` as in CheckStage::Options::inputs. Files are read whole. ErrorKind::Usage for a text of another
// form, ErrorKind::Input for a file that holds no array.
Result<GivenInputs> read_given_inputs(const std::vector<std::string>& texts);

}  // namespace graphopt
