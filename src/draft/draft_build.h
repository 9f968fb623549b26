// Makes the draft of a graph: node classes, shapes, canonical order (ir/canonical_order.h).
#pragma once

#include <vector>

#include "draft/draft.h"
#include "ir/canonical_order.h"
#include "rewrite/context.h"

namespace graphopt {

// One builder serves all graphs of a model: its scratch arrays are as large as the model.
class DraftBuilder {
 public:
  explicit DraftBuilder(const PassContext& c) : c_(c), order_(c.model) {}

  // Returns whether the graph has a node that a move could start from: a deformation, Transpose, Concat,
  // Split, Slice, Gather, DepthToSpace or SpaceToDepth. With `merges`: a Concat or a Split whose first two
  // branches have like operators.
  // Making a draft costs more than this check.
  bool worth_it(GraphId g, bool merges) const;
  // Returns the draft of g; absorbed nodes and regions are not set yet (CostKeeper::start()). Uses the memory
  // of `spare`, whose content is lost.
  Draft build(GraphId g, Draft* spare = nullptr);

 private:
  void read_node(Draft& d, NodeId n);
  void classify(Draft& d, DraftNode& node);
  void read_deformation(Draft& d, DraftNode& node) const;
  void read_transpose(Draft& d, DraftNode& node) const;
  void read_concat_or_split(const Draft& d, DraftNode& node) const;
  void read_slice(const Draft& d, DraftNode& node) const;
  void read_gather(const Draft& d, DraftNode& node) const;
  DValue value_of(Draft& d, ValueId v);
  void mark_shape_computations(Draft& d) const;
  void find_fixed_operands();

  const PassContext& c_;
  struct ValueEntry {
    DValue value;
    std::uint32_t serial = 0;  // of the draft that it is a value of
  };
  struct TypeFacts {
    ShapeId shape;
    DType dtype = DType::Undefined;
    std::uint32_t serial = 0;  // of the draft that it is a shape of
  };
  const TypeFacts& facts_of_type(Draft& d, TypeId type);
  CanonicalOrder order_;           // of the graph at hand
  LargeArray<ValueEntry> values_;  // by ValueId
  std::vector<TypeFacts> types_;   // by TypeId
  std::vector<DValue> in_, out_;   // of the node at hand
  // By ValueId, where every bit is promised, else empty: whether only constants are upstream of the value.
  std::vector<bool> from_constants_;
  std::uint32_t serial_ = 0;
};

}  // namespace graphopt
