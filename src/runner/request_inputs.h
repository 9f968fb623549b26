// The inputs of a request from files: where they are, and then the arrays, checked against the types that a
// manifest states.
//
// Problem: a list of requests may name more arrays than memory holds. Method: what names files keeps their
// names only, and the arrays of one request are read when it is its turn.
//
//   given_files({"x=x.npy", "y=all.npz", "more.npz"}, "--inputs")
//     x: the array of x.npy; y: the array y of all.npz, or its only one; and all arrays of more.npz by their
//     names
//
// Read are arrays of NumPy (.npy, stored .npz) and values of ONNX (.pb: a TensorProto, or where the input is
// a sequence or an optional a SequenceProto or an OptionalProto). For element types that NumPy lacks the
// integers of their bits are taken, as runtime/array_writer.h writes them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "deploy/manifest.h"
#include "graphopt/error.h"
#include "runtime/inputs.h"
#include "runtime/stored_file.h"

namespace graphopt::runner {

struct GivenFile {
  std::string input;  // empty: the file is an archive, and each of its arrays is for the input of its name
  std::string file;
};

// Returns what texts of an option name. ErrorKind::Usage for a text of another form.
Result<std::vector<GivenFile>> given_files(const std::vector<std::string>& texts, std::string_view option);

// Reads the arrays and returns them in the order of the network's inputs. Each input has to be there, but for
// those that are optional; elements, ranks and dims that are numbers have to fit its type. Equal names of
// dims are not compared. Up to kMaxErrors errors, each with its file: of kind Usage where an input
// does not fit, Input where a file cannot be read.
Result<std::vector<NamedValue>> load_inputs(const std::vector<GivenFile>& files,
                                            const deploy::Network& network);

// Returns what is wrong with a value for an input or an output of this type ("takes int64, and the file holds
// float"); empty where it fits. Integers of bits become elements of the type.
std::string fit_type(HostValue& value, const deploy::ValueType& type);

// Returns the message that a .pb file holds for a value of this type; none where it cannot be stored so.
std::optional<StoredKind> stored_kind(const deploy::ValueType& type);

}  // namespace graphopt::runner
