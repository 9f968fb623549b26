// Operators that work along axes: which axes of operand 0, and how they are written back to the model.
//
// The draft keeps the axes in the node's `list`, counted from the start: for a Slice, Pad or Expand in the
// order of its entries, for a normalization of a block all axes of the block, for the others those that it
// names. On all other axes the operator treats every entry alike and keeps extents and order; the move
// `through` (moves/pass_through.cpp) relies on that.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "draft/draft.h"

namespace graphopt {

// Sets work, list and drops of `node`, the draft's node of `n` with these operands and results, if the axes
// are known.
void read_axis_work(Draft& d, NodeId n, std::span<const DValue> in, std::span<const DValue> out,
                    DraftNode& node);

// Makes an initializer of these numbers, with a name that ends in the text.
using Int64s = std::function<ValueId(std::span<const std::int64_t>, std::string_view)>;
// Writes the axes of a node with axes_rewritten to the model's node, whose operand 0 is up to date.
void write_axis_work(const Draft& d, DNode n, Model& m, NodeId node, const Int64s& int64s);

}  // namespace graphopt
