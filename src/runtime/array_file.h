// Arrays that NumPy saved, as values for a runtime: .npy (numpy.save) and .npz (numpy.savez).
//
// Source: the NPY format of NumPy, versions 1 to 3 (numpy.lib.format), and for .npz PKWARE's APPNOTE 6.3,
// sections 4.3 and 4.5.3 (ZIP64, which numpy.savez writes). Elements are little-endian booleans, integers,
// floats, complex numbers and texts; arrays in the order of Fortran are turned. Refused, each with what to
// write instead: big-endian elements, Python objects, other structures, compressed entries. What writes
// archives is array_writer.h.
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
// Returns their names only, also of those that cannot be read.
Result<std::vector<std::string>> npz_names(std::string_view bytes, const std::string& file);
// Returns the array of that name, or the only one that is there; the others are not read. `missing`: the kind
// of the error where there is none.
Result<HostValue> read_npz_array(std::string_view bytes, const std::string& file, const std::string& name,
                                 ErrorKind missing = ErrorKind::Input);

}  // namespace graphopt
