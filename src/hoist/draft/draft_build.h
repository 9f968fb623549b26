// Makes the draft of a graph: parts, shapes, canonical order (rewrite/canonical_order.h).
#pragma once

#include <vector>

#include "hoist/draft/draft.h"
#include "rewrite/canonical_order.h"
#include "rewrite/context.h"

namespace graphopt {

// One builder serves all graphs of a model: its scratch arrays are as large as the model.
class DraftBuilder {
 public:
  explicit DraftBuilder(const PassContext& c) : c_(c), order_(c.model) {}

  // Does the graph hold anything that a move could start from (D, T, Concat, Split, Slice)? With `merges`: a
  // Concat or a Split whose first two branches look alike. A draft costs more than this look.
  bool worth_it(GraphId g, bool merges) const;
  // Costs of nodes and regions are not set yet (see cost.h). In the memory of a draft that is not needed any
  // more, if there is one.
  Draft build(GraphId g, Draft* spare = nullptr);

 private:
  void read_node(Draft& d, NodeId n);
  DValue value_of(Draft& d, ValueId v);
  void mark_hosts(Draft& d) const;

  const PassContext& c_;
  struct Drafted {
    DValue value;
    std::uint32_t serial = 0;  // of the draft that it is a value of
  };
  struct TypeFacts {
    ShapeId shape;
    DType dtype = DType::Undefined;
    std::uint32_t serial = 0;  // of the draft that it is a shape of
  };
  const TypeFacts& facts_of_type(Draft& d, TypeId type);
  CanonicalOrder order_;          // of the graph at hand
  LargeArray<Drafted> values_;    // by ValueId
  std::vector<TypeFacts> types_;  // by TypeId
  std::vector<DValue> in_, out_;  // of the node at hand
  std::uint32_t serial_ = 0;
};

}  // namespace graphopt
