// Saves a Model as a binary ONNX file, with external data where requested or required; as text under a name
// that says so (text_form.h), with the same external data.
//
// What did not change is written with its original bytes: an unchanged node, tensor or type is a range of the
// input file, and neighbouring ranges are joined. Weights are copied from file to file without passing
// through memory. Fields are in the order of their numbers, nodes in the order of the graph, so the same
// model and options give the same bytes, and saving a loaded result gives that result again.
//
// The target is replaced in one step when everything is written and durable; until then, and after any error,
// the old file is intact. The data file is next to the model, named after the model and its own content: a
// new one exists before the model that refers to it, an old one of graphopt's is removed after the model that
// referred to it. (A name of the user's choice has no such guarantee: SaveOptions::data_name.)
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "graphopt/error.h"
#include "ir/model.h"
#include "ir/part.h"

namespace graphopt {

// A type that is written in place of what the file states about a value.
struct TypeOverride {
  ValueId value;
  TypeId type;
  bool keeps_dims =
      true;  // dims that are unknown in `type` stay as the file has them; false: they become open
};

struct SaveOptions {
  std::string path;  // "-": standard output
  enum class External : std::uint8_t {
    Auto,    // as in the input; all large tensors when the model would exceed 2 GiB
    Always,  // every initializer above external_threshold
    Never,   // nothing; an error when the model exceeds 2 GiB
  } external = External::Auto;
  std::uint64_t external_threshold = 1024;  // bytes
  // The data file's name, in the folder of `path`; empty: one of graphopt's own (see above). With a name all
  // payloads are in that file, and a file of that name is replaced. A model and its data cannot be replaced
  // in one step: the data come first, so that a crash in between loses nothing. Where both are there already,
  // the old model is removed before, unless it is the one that was read: a missing model is noticed, and one
  // with weights of another may not be. Not for parts of sets.
  std::string data_name;
  bool force = false;                   // write to a terminal, replace a write-protected file
  std::span<const TypeOverride> types;  // each value at most once
  // Only this part is written, as a model of its own: without training info, and without annotations,
  // value_info and `types` of other values. Types of its inputs and outputs that the file does not state
  // belong in `types`.
  const ModelPart* part = nullptr;
};

struct SavedFiles {
  std::string path;  // as given
  std::uint64_t bytes = 0;
  std::string data_path;               // empty when no data file was written
  std::uint64_t data_bytes = 0;        // external data to which the model refers, written now or kept
  std::vector<std::string> kept_data;  // locations of data files that already existed and are referred to
  std::uint64_t kept_bytes = 0;        // of data_bytes: what is in those
};

Result<SavedFiles> save_model(const Model& model, const SaveOptions& options);

}  // namespace graphopt
