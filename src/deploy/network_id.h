// The id of a network: a hash of what a graph computes, and of the names by which it is asked.
//
// Problem: a manifest has to say which model it is about, and two parts that are equal up to inner names can
// share one compiled engine. A hash of the file would change with names, with the order of nodes and with the
// place of the weights.
// Method: the graph is written as text in which nothing inner has a name: nodes in the order of a depth-first
// walk from the outputs, each with references to what it reads (an input by its position, a result by the
// number of its node and its position, an initializer by the SHA-256 of its type, dims and values). SHA-256
// of that text is the id. docs/manifest.md has the text's form, so that other programs can make the id. Ends:
// each live node is written once; bodies nest as deep as the reader allows.
//
//   x -> Relu -> y   has the id of   x -> Relu -> y with other node names, in a model with dead nodes
#pragma once

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "ir/model.h"
#include "ir/part.h"
#include "onnx/stated_type.h"

namespace graphopt {

// Hashes of payloads by the bytes that they view, for models that share weights. It holds no bytes: those of
// the models must outlive it.
class PayloadHashes {
 public:
  // Returns the place of the hash of a tensor with these bytes; empty where it is not known yet.
  std::string& of(const Tensor& t, Bytes raw) { return hashes_[{raw.data(), raw.size(), t.dtype, t.dims}]; }

 private:
  std::map<std::tuple<const char*, std::size_t, DType, std::vector<std::int64_t>>, std::string> hashes_;
};

// Makes ids of one model and of its parts; payloads are hashed once. The model must not change meanwhile.
class NetworkIds {
 public:
  // `shared`: hashes that other models made, and will make; null: none.
  explicit NetworkIds(const Model& m, PayloadHashes* shared = nullptr);
  ~NetworkIds();

  // Returns "sha256:" and 64 digits. Names of inputs and outputs of the model and of symbols in their types
  // are part of it; names inside, doc strings, metadata, value_info, the producer, the IR version and the
  // place of the weights are not.
  // `types`: what OUT states of its inputs.
  std::string network(const StatedTypes& types);
  // Returns the same of a part, without the names of its inputs and outputs: they are known by their
  // positions. So equal parts at two places of a model have one id.
  std::string content(const ModelPart& part, const StatedTypes& types);

 private:
  struct State;
  std::unique_ptr<State> s_;
};

}  // namespace graphopt
