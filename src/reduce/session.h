// The smallest model so far, and what tries smaller ones.
//
// A candidate goes through what costs nothing before it goes to the user's test: it is written, read again,
// compared by its measure, compared with all that were tried before, and looked at by onnx's checker and
// inference, as far as these accept the original. Where the test ends as it did on the original, the
// candidate becomes the model, with the ids and the inference of the bytes that were tested.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "graphopt/error.h"
#include "infer/infer.h"
#include "ir/model.h"
#include "onnx/conformance.h"
#include "reduce/command.h"
#include "reduce/edit.h"
#include "reduce/measure.h"
#include "support/temporary_folder.h"

namespace graphopt {

// Returns whether the test says of the model in this file what it said of the original. An error ends the
// reduction.
using TestModel = std::function<Result<bool>(const std::string& path)>;

class Session {
 public:
  // `external_root`: as in LoadOptions. Loads the model; nothing is tested yet.
  static Result<std::unique_ptr<Session>> open(const std::string& input, const std::string& external_root,
                                               TemporaryFolder folder, TestModel test,
                                               std::function<bool()> ended);
  ~Session();

  const Model& model() const;
  const Inference& inference() const;
  const Measure& measure() const;
  Edit edit() const { return Edit(model()); }

  // Tests the model as it is written here. False: the test answers otherwise than on the original's file.
  bool survives_saving();
  // Finds out whether what nothing reads may be left out; to be called before all other attempts.
  void drop_unused();
  // Tests the edited model if it is smaller and new, and makes it the model where it passes.
  bool attempt(Edit e);

  bool ended() const { return !failures_.empty() || ended_(); }
  const Errors& failures() const { return failures_; }  // of the test, or of the folder
  std::uint64_t tried() const { return tried_; }
  std::uint64_t invalid() const { return invalid_; }

  // Tests the model once more.
  bool still_passes();
  // Writes the model to its place; it must be called once, at the end.
  Status save(const std::string& output) const;

 private:
  struct State;
  Session(TemporaryFolder folder, TestModel test, std::function<bool()> ended);
  // Returns the model as the writer makes it, read again; null where it cannot be written or read.
  std::unique_ptr<State> written(const Model& m, const Candidate* candidate);
  bool passes(const State& s);

  TemporaryFolder folder_;               // what the test gets
  std::optional<TemporaryFolder> kept_;  // large models
  TestModel test_;
  std::function<bool()> ended_;
  std::unique_ptr<State> now_;
  Conformance conformance_ = Conformance::Broken;  // of the original
  bool keep_unused_ = false;
  std::unordered_set<std::uint64_t> seen_;  // hashes of candidates that were tested
  Errors failures_;
  std::uint64_t tried_ = 0, invalid_ = 0;
};

}  // namespace graphopt
