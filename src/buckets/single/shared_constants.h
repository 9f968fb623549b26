// Constants that several branches read, held once by the main graph.
//
// Problem: each bucket's graph comes with all weights of the model, and with what folding made of them.
// Method: clones share tensors, so the same weight is the same object; what was made anew for each bucket is
// compared by its content, where type and dims are equal. Small constants stay in their branch: they are
// mostly axes and shapes, which tools look for where they are read, and a capture would save nothing.
#pragma once

#include <map>
#include <unordered_map>
#include <vector>

#include "ir/model.h"

namespace graphopt {

class SharedConstants {
 public:
  // Begins with the initializers of the main graph.
  explicit SharedConstants(Model& m);

  // Returns true for one that belongs into the main graph.
  bool is_shared(TensorId t) const;
  // Returns the initializer of the main graph with this content; a new one, named after `base`, where there
  // is none.
  ValueId value_of(TensorId t, std::string_view base);
  // Replaces what bodies hold, as initializers and results of Constant nodes, in all graphs from `first` on.
  void take_from_bodies(std::size_t first);

 private:
  void add(TensorId t, ValueId v);

  using Key = std::pair<DType, std::vector<std::int64_t>>;
  Model& m_;
  std::unordered_map<const Tensor*, ValueId> same_;
  std::map<Key, std::vector<ValueId>> alike_;
};

}  // namespace graphopt
