// A model that gives values inside of it: in ONNX Runtime, its optimizations off.
//
// Problem: all values of a large model at once may not fit into memory. Method: values are fetched in
// portions, each by a model of its own: the operators that they need, with them as outputs. The model itself
// does not change.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "graphopt/error.h"
#include "infer/infer.h"
#include "ir/model.h"
#include "ir/part.h"
#include "runtime/inputs.h"
#include "runtime/ort.h"
#include "runtime/saved_for_runtime.h"

namespace graphopt {

class Probe {
 public:
  // `folder`: of the model's external data. All outlive it.
  Probe(std::shared_ptr<Runtime> runtime, const Model& model, const Inference& inference, std::string folder);

  // Runs what these results of nodes of the main graph need, once for each set of inputs. Returns by set and
  // value; ErrorKind::NotChecked where ONNX Runtime does not load or run it.
  Result<std::vector<std::vector<HostValue>>> run(std::span<const ValueId> values,
                                                  std::span<const std::vector<NamedValue>> feeds);
  // Bytes of a value; dims that are open count as kOpenDim.
  std::uint64_t bytes_of(ValueId v) const;
  static constexpr std::uint64_t kOpenDim = 32;

 private:
  ModelPart part_of(std::span<const ValueId> values) const;

  std::shared_ptr<Runtime> runtime_;
  const Model& model_;
  const Inference& inference_;
  const std::string folder_;
  PartMaker parts_;
};

}  // namespace graphopt
