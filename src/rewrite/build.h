// New nodes of the standard: what a rule, a repair or a draft adds to a graph is made here.
//
// Problem: parameters were attributes in one opset and are operands in another. A Squeeze has its axes as an
// attribute before opset 13 and as an operand from then on; reductions changed at 18 (ReduceSum at 13), Slice
// at 10, Pad at 11 and 18. A rule that inserts one should not know.
// Method: the fact table knows. A parameter is written as an attribute where the row of the graph's opset has
// that attribute, else as an operand: an initializer of the graph, int64 and of rank 1 unless it is a number
// of the data. Everything is checked before anything is added.
//
//   const Site at{m, m.node(n).graph, n, "parts"};
//   const NodeId split = add_split(at, x, 1, lengths);   // opset 13: Split <axis = 1> (x, parts_split)
//
// Each function returns none, and changes nothing, where the graph's opset cannot say it: no such operator or
// parameter, a negative axis in an opset without them, lists that do not fit together, a number that the type
// cannot say. No operand is older than opset 10, and from opset 9 on every graph can hold a constant of any
// type (Model::can_hold_constant). Element types and extents of the operands are the caller's business: Clip
// of integers before opset 12 is written, and the runtime refuses it. An Emitter (emitter.h) gives sites one
// after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "ir/model.h"

namespace graphopt {

struct Site {
  Model& model;
  GraphId graph;
  NodeId before = {};          // none: at the end
  std::string_view base = {};  // names of new values begin with it
  // Values without definition that the node is to define, none for one that is not wanted; empty: new values.
  std::span<const ValueId> results = {};
  // A value that holds the list already: read where the opset wants an operand, in place of a new
  // initializer. For operators with one list (Split, Reshape, Squeeze, Unsqueeze, reductions).
  ValueId list = {};
  std::string_view name = {};  // of the node; empty: it has none
};

struct IntAttr {
  NameId name;
  std::int64_t value;
};

using Numbers = std::span<const std::int64_t>;

// A node whose operands and attributes have one form in all opsets. `results`: how many, where the site does
// not name them.
NodeId add_operator(const Site& at, OpKind kind, std::span<const ValueId> operands,
                    std::span<const IntAttr> attributes = {}, std::size_t results = 1);

// Returns whether a list (axes, split, shape) is an operand in the graph's opset: what Site::list is for.
bool is_operand(const Model& m, GraphId g, OpKind kind, NameId list);

// A Split with parts of these lengths, which must add up to the extent.
NodeId add_split(const Site& at, ValueId x, std::int64_t axis, Numbers lengths);
// Parts of equal length: the extent must be a multiple.
NodeId add_even_split(const Site& at, ValueId x, std::int64_t axis, std::int64_t parts);

// Numbers, 0 for the operand's dim at the same position, -1 for at most one other.
NodeId add_reshape(const Site& at, ValueId x, Numbers target);

// At least one axis. Those of Unsqueeze are positions in the result.
NodeId add_squeeze(const Site& at, ValueId x, Numbers axes);
NodeId add_unsqueeze(const Site& at, ValueId x, Numbers axes);

// ReduceSum, ReduceMean ...; no axes: over all. None for other operators (ArgMax).
NodeId add_reduction(const Site& at, OpKind kind, ValueId x, Numbers axes, bool keepdims);

struct SliceNumbers {
  Numbers starts, ends;
  Numbers axes = {};   // empty: the first ones
  Numbers steps = {};  // empty: 1
};
NodeId add_slice(const Site& at, ValueId x, const SliceNumbers& numbers);

struct PadNumbers {
  Numbers pads;          // begins of all axes, then ends
  Numbers axes = {};     // empty: all. Before opset 18 they are written as pads of all axes ...
  std::size_t rank = 0;  // ... which needs the rank; 0: unknown
  std::string_view mode = "constant";
  std::optional<double> value = {};  // absent: 0
  DType type = DType::Undefined;     // of x, where a value is given
};
NodeId add_pad(const Site& at, ValueId x, const PadNumbers& numbers);

// An absent bound does not bound. None for a bound that the type cannot say exactly.
NodeId add_clip(const Site& at, ValueId x, DType type, std::optional<double> low, std::optional<double> high);

// In inference mode. The mask is a result only if the site names two.
NodeId add_dropout(const Site& at, ValueId x, float ratio);

// Two results: the entries, and their indices.
NodeId add_top_k(const Site& at, ValueId x, std::int64_t k, std::int64_t axis = -1, bool largest = true,
                 bool sorted = true);

// A constant of rank 0; none where the type cannot say the number exactly, or holds no numbers.
TensorId make_scalar(Model& m, DType type, double number);

}  // namespace graphopt
