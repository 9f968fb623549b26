// Saves a Model as a binary ONNX file, with external data where asked for or needed.
//
// What did not change is written as the bytes it was: an unchanged node, tensor or type is a range of the
// input file, and neighbouring ranges are one. Weights go from file to file without passing through memory.
// Fields stand in the order of their numbers, nodes in the order of the graph, so the same model and options
// give the same bytes, and saving a loaded result gives that result again.
//
// The target is replaced in one step when everything is written and durable; until then, and after any error,
// the old file is whole. A data file stands beside the model, named after it and its own content: a new one
// is there before the model that refers to it, an old one of ours is removed after the model that referred to
// it is gone.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "graphopt/error.h"
#include "ir/model.h"

namespace graphopt {

// A type that is written in place of what the file said about a value; dims that it does not know stay as
// they were.
struct TypeOverride {
  ValueId value;
  TypeId type;
};

struct SaveOptions {
  std::string path;  // "-": standard output
  enum class External : std::uint8_t {
    Auto,    // as the input had it; all large tensors when the model would pass 2 GiB
    Always,  // every initializer from external_threshold up
    Never,   // nothing; an error when the model passes 2 GiB
  } external = External::Auto;
  std::uint64_t external_threshold = 1024;  // bytes
  bool force = false;                       // write to a terminal, replace a write-protected file
  std::span<const TypeOverride> types;      // each value at most once
};

struct SavedFiles {
  std::string path;  // as given
  std::uint64_t bytes = 0;
  std::string data_path;         // empty when no data file was written
  std::uint64_t data_bytes = 0;  // external data that the model refers to, written now or kept
  bool data_kept = false;        // it refers to data files that were there already
};

Result<SavedFiles> save_model(const Model& model, const SaveOptions& options);

}  // namespace graphopt
