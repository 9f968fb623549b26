// Operators that work along axes, as the draft sees them: which axes of operand 0, and how they are written
// back.
//
// The draft keeps the axes in the node's `list`, counted from the start: for a Slice, Pad or Expand in the
// order of its entries, for a normalization of a block all axes of the block, for the others those that it
// names. On all other axes the operator treats every entry alike and keeps extents and order; that is what
// pass_through.cpp builds on.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "hoist/draft/draft.h"

namespace graphopt {

// Sets work, list and drops of `node`, the draft's node of `n` with these operands and results, when the axes
// can be told.
void read_axis_work(Draft& d, NodeId n, std::span<const DValue> in, std::span<const DValue> out,
                    DraftNode& node);

// Makes an initializer; the text ends its name.
using Int64s = std::function<ValueId(std::span<const std::int64_t>, std::string_view)>;
// Brings the axes of a carried node to the model's node. Its operand 0 stands already.
void write_axis_work(const Draft& d, DNode n, Model& m, const Int64s& int64s);

}  // namespace graphopt
