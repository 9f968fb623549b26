// Arrays that NumPy saved, as values for a runtime: .npy (numpy.save) and .npz (numpy.savez).
//
// Source: the NPY format of NumPy, versions 1 to 3 (numpy.lib.format), and for .npz PKWARE's APPNOTE 6.3,
// sections 4.3 and 4.5.3 (ZIP64, which numpy.savez writes). Elements are little-endian booleans, integers,
// floats, complex numbers and texts; arrays in the order of Fortran are turned. Refused, each with what to
// write instead: big-endian elements, Python objects, other structures, compressed entries.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graphopt/error.h"
#include "runtime/host_value.h"
#include "runtime/inputs.h"

namespace graphopt {

// Returns the array of a .npy file's bytes. ErrorKind::Input; `file` is its place.
Result<HostValue> read_npy(std::string_view bytes, const std::string& file);

// Returns the arrays of a .npz file's bytes by their names, in the order of the file.
Result<std::vector<NamedValue>> read_npz(std::string_view bytes, const std::string& file);

}  // namespace graphopt
