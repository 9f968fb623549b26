// What graphopt knows about operators: one table, one row per operator (and per opset range where the meaning
// that a row states changes). Passes and analyses ask this table; nothing else tells operators apart.
//
// Sources: the ONNX operator schemas (every row is compared with them by tests/unit/facts_schema_test.cpp),
// the classes of methods/rewrites.md part a, the pad-state rules of methods/buckets.md 3.4.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

#include "ir/op_kind.h"
#include "ir/types.h"

namespace graphopt {

// Classes of methods/rewrites.md, part a.
enum class OpClass : std::uint8_t {
  Unary,        // E1: elementwise, one data operand
  Nary,         // E2: elementwise, n operands that broadcast
  Conditional,  // E3: elementwise under a condition on attributes or operands
  Merge,        // M
  Split,        // S
  Deformation,  // D: same elements, same row-major order, other dims
  Order,        // T: elements change places
  Heavy,        // H
  Anchor,       // A
  Movement,     // V
  Barrier,      // B; also every operator that the table does not know
};

enum class Broadcast : std::uint8_t {
  None,          // operands do not broadcast
  Multi,         // all operands, NumPy rules
  OneWay,        // later operands to the first (PRelu's slope)
  FixedScalars,  // operands after the first are scalars by definition (Clip from opset 11)
  LegacyAxis,    // before opset 7: only with the attributes broadcast and axis
};

// How an operand is used. A node's operand i has roles[min(i, size - 1)] where the last one is variadic.
enum class Role : std::uint8_t {
  Data,      // its elements go into the elements of the outputs
  Index,     // integers that choose elements (Gather's indices, OneHot's, ScatterND's)
  Shape,     // output dims depend on its values (Reshape's shape, Slice's starts, Range's limits, TopK's k)
  Param,     // a small parameter by nature (scales, zero points, axes that do not change dims, Clip's bounds)
  Weight,    // usually a constant tensor: Conv and Gemm weights and biases, recurrences
  TypeOnly,  // only its element type or shape is looked at (CastLike, RandomNormalLike)
  Control,   // decides what is executed (If's cond, Loop's trip count)
};

enum class AxisIn : std::uint8_t { None, Attribute, AttributeList, Operand, OperandList };

// Where an axis stands and how it is written.
struct AxisFact {
  AxisIn in = AxisIn::None;
  std::uint8_t operand = 0;  // for Operand, OperandList
  std::int8_t fallback = 0;  // when the attribute or operand is absent
  // An absent one stands for all axes (reductions, Compress: the flattened operand), for all unit dims
  // (Squeeze), or for as many axes from the first as the other operands have entries (Slice, Pad).
  bool absent_means_all = false;
  bool negative = false;  // negative values count from the end in this version
};

// How an operator works along axes, for moves that carry deformations and Transposes past it
// (hoist/pass_through.cpp): on the axes that it does not work along, it treats each entry alike and keeps
// extents and order.
enum class AxisWork : std::uint8_t {
  None,    // not known to be of that kind
  Rows,    // each row along `axis` by itself, to a row of the same extent (Softmax from opset 13)
  Suffix,  // the block of all axes from `axis` on by itself; further operands are aligned with its end
           // (LayerNormalization)
  Reduce,  // `axes` become 1, or go (keepdims)
  Slice,   // pieces of `axes`
  Gather,  // entries of `axis`, by the indices in operand 1
  Pad,     // entries added or cut at the ends of axes
  Expand,  // dims of 1 repeated
  Blocks,  // DepthToSpace and SpaceToDepth: axes are cut and joined; nothing passes but their inverse
};

// What a padded input dim does to the true part of the outputs (methods/buckets.md 3.4 in short form).
enum class PadRule : std::uint8_t {
  Elementwise,   // nothing: an element of the output sees one element of each operand
  ByAxis,        // depends on which axis is padded, and where: layouts move, axes are joined, cut or indexed
  NeedsNeutral,  // harmless on other axes; on an axis that is summed or searched the pad must be neutral
  Shape,         // only dims are read: the true extent has to be known
  Opaque,        // no rule
};

enum class Purity : std::uint8_t {
  Pure,         // a function of operands and attributes
  Random,       // two equal nodes are two draws
  ControlFlow,  // as pure as its bodies
  Unknown,      // opaque: never moved, merged, folded; dropped only when unused and of a standard domain
};

using AttrDefaultValue =
    std::variant<std::monostate, std::int64_t, float, std::string_view, std::span<const std::int64_t>,
                 std::span<const float>, std::span<const std::string_view>>;

enum class AttrType : std::uint8_t {
  // clang-format off
  Int, Float, String, Ints, Floats, Strings, Tensor, Graph, SparseTensor, TypeProto, Tensors, Graphs
  // clang-format on
};

struct AttrFact {
  std::string_view name;
  AttrType type;
  bool required = false;
  AttrDefaultValue fallback = {};  // monostate: no default
};

struct OpFacts {
  OpKind kind;
  std::string_view domain;  // "" is ai.onnx
  std::string_view name;
  std::uint16_t since;  // first opset of `domain` with the meaning that this row states
  OpClass cls;
  Purity purity;
  Broadcast broadcast;
  std::uint8_t min_inputs;  // as the schema says; trailing optional operands excluded
  std::uint8_t max_inputs;  // 255: variadic
  std::uint8_t min_outputs;
  std::uint8_t max_outputs;  // 255: variadic
  std::span<const Role> roles;
  std::span<const AttrFact> attributes;
  AxisFact axis;
  AxisWork work;
  PadRule pad;
  bool shape_from_values;    // output dims depend on operand values other than constants-by-definition
  bool commutative;          // the first two operands may be swapped, bit for bit
  bool deprecated;           // exists no more from `since` on
  std::string_view because;  // a few words that can be checked against the operator's ONNX text
};

// The row that holds for `kind` at `opset` of its domain; Opaque's row when the operator is not there, or
// the opset is newer than the table. One that was removed gives its deprecated row, which is a barrier.
const OpFacts& facts(OpKind kind, int opset);

// The kind of a name; OpKind::Opaque when the table does not know it. "ai.onnx" is "".
OpKind op_kind(std::string_view domain, std::string_view name);
std::string_view op_name(OpKind kind);    // "Conv"
std::string_view op_domain(OpKind kind);  // "" or "com.microsoft"

// All rows, sorted by kind and since.
std::span<const OpFacts> all_facts();

// The fact about one attribute of a row; null when the operator has no such attribute.
const AttrFact* find_attribute(const OpFacts& row, std::string_view name);

// Role of operand `slot`.
Role role_of(const OpFacts& row, std::size_t slot);

// Newest opset of the default domain that the table was compared with.
inline constexpr int kNewestOpset = 28;

// --- questions that need a type (methods/rewrites.md b7) ---------------------------------------------------
// Elementwise kernels whose result for an element depends, bit for bit, on where it stands in the tensor
// (vectorized main loop and scalar tail differ): Cos, Log, Max and Min of +-0, Pow with a scalar exponent ...
// `type` is the element type of the first data operand. A Cast is judged by its source alone (see below for
// both types). Max and Min say yes for all floating types: with a constant operand free of zeros they are
// not. Operators that compute anything but one element from one element of each operand say yes, too.
bool position_dependent(OpKind kind, DType type);
bool cast_position_dependent(DType from, DType to);
// May its kernels take another path by which operands are scalars or vectors? Whether a node's do, its
// operands tell.
bool chooses_by_layout(OpKind kind);
// Do scalar and vector second operands give the same bits?
bool scalar_equals_vector(OpKind kind, DType type);
// Does an operator that works along axes (AxisWork) give the same bits for each element when a deformation in
// front of it goes behind it (`turned` false: each row or reduced group keeps its elements and their order),
// or a Transpose (true: the axes stand elsewhere, and the elements of a reduced group come in another order)?
bool axis_work_keeps_bits(OpKind kind, DType type, bool turned);

}  // namespace graphopt
