// What the fuzz targets share: loading from memory, saving to memory, and what must hold of any input.
//
// A target is one function, fuzz(bytes), and LLVMFuzzerTestOneInput around it. With libFuzzer that is all;
// compiled with GRAPHOPT_REPLAY the file gets a main() instead, which needs no clang:
//   replay_passes FILE...        runs the target on files
//   replay_passes --stream       runs it on records of the standard input: four bytes of length, the least
//                                first, then the bytes. It answers each with one byte, so that whoever feeds
//                                it knows where it ended
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graphopt/error.h"
#include "ir/model.h"
#include "ir/verify.h"
#include "onnx/reader.h"
#include "runtime/saved_for_runtime.h"

namespace graphopt::fuzz {

// What the target found wrong with graphopt. Ends the process, as libFuzzer wants it.
[[noreturn]] inline void defect(std::string_view what) {
  std::fprintf(stderr, "defect: %.*s\n", static_cast<int>(what.size()), what.data());
  std::abort();
}

inline void require(bool holds, std::string_view what) {
  if (!holds) defect(what);
}

// Errors say which file, what is wrong and what to do, and blame nobody but the input.
// `kind`: what is wrong with the input, where memory is enough.
inline void check_errors(const Errors& errors, ErrorKind kind = ErrorKind::Input) {
  require(!errors.empty() && errors.size() <= kMaxErrors, "no errors, or too many");
  for (const Error& e : errors) {
    require(e.kind == kind || e.kind == ErrorKind::Limit, "not the input's error: " + to_string(e));
    require(!e.place.file.empty() && !e.what.empty() && !e.remedy.empty(),
            "an error that does not say enough: " + to_string(e));
  }
}

inline void check_model(const Model& model) {
  if (const auto broken = verify(model)) defect(to_string(*broken));
}

// The model; nothing when the bytes are refused in the right way.
inline std::optional<Model> load(std::string_view bytes) {
  std::vector<Warning> warnings;
  Result<Model> model = load_model_from_memory(std::string(bytes), "input", "/nonexistent", warnings);
  if (!model) {
    check_errors(model.errors());
    return std::nullopt;
  }
  check_model(*model);
  return *std::move(model);
}

inline std::string saved(const Model& model) {
  SavedForRuntime memory;
  const Status done = memory.save(model, {}, "/nonexistent");
  if (!done) defect("not saved: " + to_string(done.error()));
  return std::string(memory.source().bytes);
}

// What was saved must load, and then be saved as the same bytes.
inline void check_round_trip(const Model& model) {
  const std::string first = saved(model);
  const std::optional<Model> again = load(first);
  require(again.has_value(), "what was saved does not load");
  require(saved(*again) == first, "what was saved is saved differently");
}

}  // namespace graphopt::fuzz

void fuzz(std::string_view bytes);

#ifdef GRAPHOPT_REPLAY
namespace graphopt::fuzz {

inline int replay_stream() {
  std::string bytes;
  unsigned char head[4];
  while (std::fread(head, 1, 4, stdin) == 4) {
    std::size_t size = 0;
    for (unsigned i = 0; i < 4; ++i) size |= static_cast<std::size_t>(head[i]) << (8 * i);
    bytes.resize(size);
    if (std::fread(bytes.data(), 1, size, stdin) != size) return 1;
    ::fuzz(bytes);
    if (std::fputc('.', stdout) == EOF || std::fflush(stdout) != 0) return 1;
  }
  return 0;
}

}  // namespace graphopt::fuzz

int main(int count, char** words) {
  if (count == 2 && std::string_view(words[1]) == "--stream") return graphopt::fuzz::replay_stream();
  for (int i = 1; i < count; ++i) {
    std::ifstream file(words[i], std::ios::binary);
    if (!file) {
      std::fprintf(stderr, "%s cannot be read\n", words[i]);
      return 1;
    }
    fuzz(std::string(std::istreambuf_iterator<char>(file), {}));
  }
  return 0;
}
#else
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz({reinterpret_cast<const char*>(data), size});
  return 0;
}
#endif
