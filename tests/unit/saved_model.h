// Models that unit tests read from ONNX text, and what the writer makes of models.
#pragma once

#include <gtest/gtest.h>
#include <onnx/defs/parser.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "onnx/reader.h"
#include "onnx/writer.h"

namespace graphopt {

// `text`: a whole model, with its header.
inline onnx::ModelProto parse_model(const std::string& text) {
  onnx::ModelProto m;
  onnx::OnnxParser parser(text);  // it keeps a view
  const onnx::Common::Status s = parser.Parse(m);
  EXPECT_TRUE(s.IsOK()) << s.ErrorMessage();
  return m;
}

inline Model loaded(const onnx::ModelProto& m) {
  std::vector<Warning> warnings;
  Result<Model> out = load_model_from_memory(m.SerializeAsString(), "m.onnx", ".", warnings);
  EXPECT_TRUE(out.ok()) << (out.ok() ? "" : to_string(out.error()));
  return out.ok() ? *std::move(out) : Model();
}

// Returns the bytes of the file that the writer makes, in a folder that is gone afterwards.
inline std::string saved_bytes(const Model& m, SaveOptions options = {}) {
  namespace fs = std::filesystem;
  fs::path folder;
  for (int i = 0; folder.empty() || !fs::create_directory(folder); ++i)  // false: another test has it
    folder =
        fs::path(testing::TempDir()) / ("graphopt-" + std::to_string(::getpid()) + "-" + std::to_string(i));
  options.path = (folder / "out.onnx").string();
  const Result<SavedFiles> saved = save_model(m, options);
  EXPECT_TRUE(saved.ok()) << (saved.ok() ? "" : to_string(saved.error()));
  std::stringstream bytes;
  bytes << std::ifstream(options.path, std::ios::binary).rdbuf();
  EXPECT_EQ(saved.ok() ? saved->bytes : 0, bytes.str().size());
  fs::remove_all(folder);
  return bytes.str();
}

}  // namespace graphopt
