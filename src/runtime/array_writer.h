// Values of a runtime as an archive of NumPy (.npz), which numpy.load and array_file.h read.
//
// What NumPy has no form for is written in another one:
//
//   bfloat16, floats of 8 bits,   the unsigned integers of their bits (array_bits.h)
//   elements of 2, 4 or 6 bits
//   texts                         unicode (<U) where all of them are UTF-8, else bytes (|S); one that ends in
//                                 a zero byte is an error, since NumPy drops it
//   a sequence x                  x[0], x[1], ...; one without elements has no array
//   a map x                       x.keys and x.values
//   an empty optional             no array
//
// Entries are stored, not compressed (zip_writer.h): equal values give equal bytes. All texts of an array
// take the room of the longest one, as NumPy has it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "graphopt/error.h"
#include "runtime/inputs.h"
#include "runtime/zip_writer.h"
#include "support/file.h"

namespace graphopt {

// The values that are not in the archive as they are, by name.
struct ArchiveNotes {
  std::vector<std::string> bits;    // arrays, also those of sequences and maps: integers of their bits
  std::vector<std::string> apart;   // sequences and maps
  std::vector<std::string> absent;  // empty optionals
};

struct ArchiveOptions {
  bool force = false;   // as in OutputFile::create
  bool lasting = true;  // false: as OutputFile::need_not_last()
  ZipLimits limits = {};
};

// Writes the archive, which appears whole or not at all. ErrorKind::Output, also for two arrays of one name
// and for an array that NumPy cannot have (above 64 dims).
Result<ArchiveNotes> write_npz(const std::string& path, std::span<const NamedValue> values,
                               const ArchiveOptions& options = {});
// Writes into a file that is empty; the caller commits it.
Result<ArchiveNotes> write_npz(OutputFile& to, std::span<const NamedValue> values, ZipLimits limits = {});

}  // namespace graphopt
