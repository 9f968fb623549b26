// The fact table: what every operator means, one row per operator (and per opset range where the meaning that
// a row states changes). Passes and analyses read this table instead of comparing names. The tables by
// operator that are apart from it are listed in docs/adding-an-operator.md, with the reasons.
//
// Sources: the ONNX operator schemas (every row is compared with them by tests/unit/facts_schema_test.cpp)
// and measurements with ONNX Runtime, where a comment says so.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

#include "ir/op_kind.h"
#include "ir/types.h"

namespace graphopt {

// The role of an operator in hoisting (docs/hoisting.md, "Elements and classes").
enum class OpClass : std::uint8_t {
  Unary,        // elementwise, one data operand
  Nary,         // elementwise, n operands that broadcast
  Conditional,  // elementwise under a condition on attributes or operands
  Merge,        // joins tensors along an axis: Concat
  Split,        // cuts a tensor along an axis: Split
  Deformation,  // same elements, same row-major order, other dims
  Order,        // permutes the elements: Transpose
  Heavy,        // anchors that dominate run time: convolutions, matrix products, normalizations with weights
  Anchor,       // other compute operators: reductions, pooling, recurrences, resampling
  Movement,     // copies elements to other places: Slice, Gather, Pad, Expand
  Barrier,      // never moved or crossed; also every operator without a row in the table
};

// Returns true for operators whose results are elements of their operands, unchanged, in the same or other
// places. Rewrites remove such a node where the dims prove that it changes nothing.
constexpr bool only_moves(OpClass c) {
  return c == OpClass::Merge || c == OpClass::Split || c == OpClass::Deformation || c == OpClass::Order ||
         c == OpClass::Movement;
}

enum class Broadcast : std::uint8_t {
  None,          // operands do not broadcast
  Multi,         // all operands, NumPy rules
  OneWay,        // later operands to the first (PRelu's slope)
  FixedScalars,  // operands after the first are scalars by definition (Clip from opset 11)
  LegacyAxis,    // before opset 7: only with the attributes broadcast and axis
};

// How an operand is used. A node's operand i has roles[min(i, size - 1)] where the last one is variadic.
enum class Role : std::uint8_t {
  Data,      // its elements are computed into the elements of the outputs
  Index,     // integers that choose elements (Gather's indices, OneHot's, ScatterND's)
  Shape,     // output dims depend on its values (Reshape's shape, Slice's starts, Range's limits, TopK's k)
  Param,     // a small parameter by nature (scales, zero points, axes that do not change dims, Clip's bounds)
  Weight,    // usually a constant tensor: Conv and Gemm weights and biases, recurrences
  TypeOnly,  // only its element type or shape is read (CastLike, RandomNormalLike)
  Control,   // decides what is executed (If's cond, Loop's trip count)
};

enum class AxisIn : std::uint8_t { None, Attribute, AttributeList, Operand, OperandList };

// Where a node's axes are written, and how.
struct AxisFact {
  AxisIn in = AxisIn::None;
  std::uint8_t operand = 0;  // for Operand, OperandList
  std::int8_t fallback = 0;  // when the attribute or operand is absent
  // What an absent list means: all axes (reductions, Compress: the flattened operand), all dims of extent 1
  // (Squeeze), or as many axes from the first as the other operands have entries (Slice, Pad).
  bool absent_means_all = false;
  bool negative = false;  // negative values count from the end in this version
};

// How an operator works along axes, for the moves that carry deformations and Transposes past it
// (docs/hoisting.md). Along its other axes it treats all entries alike and keeps extents and order.
enum class AxisWork : std::uint8_t {
  None,    // no such structure is known
  Rows,    // each row along `axis` is computed alone, to a row of the same extent (Softmax from opset 13)
  Suffix,  // each block of all axes from `axis` on is computed alone; further operands are aligned with the
           // last axes (LayerNormalization)
  Reduce,  // `axes` become 1, or are removed (keepdims)
  Slice,   // slices of `axes`
  Gather,  // entries of `axis`, chosen by the indices in operand 1
  Pad,     // entries added or removed at both ends of axes
  Expand,  // dims of 1 are repeated
  Blocks,  // DepthToSpace and SpaceToDepth: axes are cut and joined; only their inverse cancels them
};

// How padding an input at the end of an axis acts on the true part of the results: the rule of analysis that
// an operator has (docs/buckets.md, src/buckets/padding). Operators of one rule differ in their numbers
// alone.
enum class PadRule : std::uint8_t {
  Elementwise,  // an element of the result reads one element of each operand, broadcast
  Division,     // the same, and an integer divisor of 0 may end the program
  Clip,
  Cast,
  Dropout,
  Extents,  // reads extents alone: Shape, Size
  // Whole axes, and elements in other places:
  // clang-format off
  Transpose, Squeeze, Unsqueeze, Expand, ConstantOfShape, Range, Tile, EyeLike, Trilu, Reshape, Concat, Split,
  Slice, Pad, DepthSpace, ReverseSequence, Resize, CenterCropPad, BitCast,
  // Elements chosen by numbers:
  Gather, GatherElements, GatherND, Scatter, TensorScatter, OneHot, NonZero, GridSample,
  // Sums and searches along axes, where padding must hold something neutral:
  Reduce, Softmax, ArgExtreme, TopK, Cumulative, MatMul, Gemm, Einsum, Convolution, TransposedConvolution,
  Pool, GlobalPool, LpNormalization, DynamicQuantize, Loss,
  // Rows that are computed apart, whose own axes must not be padded:
  Normalization, SkipNormalization, BatchNormalization, Recurrent, Quantize, Attention, RotaryEmbedding,
  Apart,
  // clang-format on
  Opaque,  // nothing is known: no operand may be padded
};

enum class Purity : std::uint8_t {
  Pure,         // a function of operands and attributes
  Random,       // two equal nodes are two draws
  ControlFlow,  // as pure as its bodies
  Unknown,      // never moved, merged or folded; erased only when unused and of a standard domain
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

inline constexpr std::uint8_t kVariadic = 255;  // as a greatest number of operands or results

// Which results a node may do without: ONNX Runtime loads and runs it with these left out, in any choice,
// and gives the others bit for bit. tests/equal/optional_results.py learns that and compares it with the
// table; where it found no case that runs, all results stay. A schema may allow more: the number of results
// can select a kernel that rounds otherwise, or a runtime can want all of them.
struct LeaveOut {
  std::uint8_t results = 0;           // bit i: result i
  std::uint32_t unless_operands = 0;  // bit i: no result may be left out of a node with operand i
  bool all_or_none = false;           // those of `results` that a node has go together
};

// The operands whose memory ONNX Runtime's kernel writes, in a node with attribute `if_set` other than 0: it
// gives a result the memory of an operand, even that of an initializer or of the caller, which the next run
// then finds changed (tests/equal/written_operands.py).
// A kernel that writes operands computes other results than the first from them; the first does not read
// them.
struct Writes {
  std::uint8_t operands = 0;  // bit i: operand i
  std::string_view if_set = {};
};

struct OpFacts {
  OpKind kind;
  std::string_view domain;  // "" is ai.onnx
  std::string_view name;
  std::uint16_t since;  // first opset of `domain` with the meaning that this row gives
  OpClass cls;
  Purity purity;
  Broadcast broadcast;
  std::uint8_t min_inputs;  // as in the schema, without trailing optional operands
  std::uint8_t max_inputs;  // or kVariadic
  std::uint8_t min_outputs;
  std::uint8_t max_outputs;  // or kVariadic
  LeaveOut leave_out;
  std::span<const Role> roles;
  std::span<const AttrFact> attributes;
  AxisFact axis;
  AxisWork work;
  PadRule pad;
  bool shape_from_values;  // output dims depend on values of data operands
  bool commutative;        // the first two operands may be swapped, bit for bit
  // onnx infers its types through the operator's function body, to which attributes with a default are not
  // handed down inside of another function: such a node must stay outside of functions.
  bool inferred_by_body;
  // onnx's inference takes the name of an operand's extent for that of a result's, which may be another one.
  // A runtime shares memory between values whose extents have one name (tests/equal/inferred_names.py).
  bool misnames_extents;
  // Kernels run it on operands that onnx's inference refuses as soon as it knows their ranks: the length of
  // Resize's sizes may be open, and a Flatten before opset 11 may count its axis from the end.
  bool kernel_takes_more;
  // ONNX Runtime infers its types with a function of its own, which refuses an axis that the operand does not
  // have; onnx's takes any.
  bool runtime_refuses_axis;
  Writes writes;
  bool deprecated;           // removed from the domain at opset `since`
  std::string_view because;  // the reason, short, in terms of the operator's ONNX text
};

// Returns the row of `kind` at `opset` of its domain; Opaque's row when the operator does not exist there, or
// the opset is newer than the table. A removed operator gets its deprecated row, which is a barrier.
const OpFacts& facts(OpKind kind, int opset);

// Returns the kind of an operator's name; OpKind::Opaque when it has no row. "ai.onnx" is "".
OpKind op_kind(std::string_view domain, std::string_view name);
std::string_view op_name(OpKind kind);    // "Conv"
std::string_view op_domain(OpKind kind);  // "" or "com.microsoft"

// All rows, sorted by kind and since.
std::span<const OpFacts> all_facts();

// Returns the fact about one attribute of a row; null when the operator has no such attribute.
const AttrFact* find_attribute(const OpFacts& row, std::string_view name);

// Returns the role of operand `slot`.
Role role_of(const OpFacts& row, std::size_t slot);

// The newest opset of the default domain that the table was compared with.
inline constexpr int kNewestOpset = 28;

// --- exactness by element type (docs/hoisting.md, "Exactness") ---------------------------------------------
// Returns true if an elementwise kernel's result for an element depends, bit for bit, on the element's
// position in the tensor (vectorized main loop and scalar tail differ): Cos, Log, Max and Min of +-0, Pow
// with a scalar exponent ... `type` is the element type of the first data operand. For a Cast it is the
// source type (see below for both types). Max and Min return true for all floating types, although with a
// constant operand without zeros they do not depend on the position. Operators that are not elementwise
// return true.
bool position_dependent(OpKind kind, DType type);
bool cast_position_dependent(DType from, DType to);
// Returns true if the operator has kernels that compute in different ways for scalar and vector operands.
// Which way a node's kernel takes follows from its operands.
bool chooses_by_layout(OpKind kind);
// Returns true if a scalar and a vector as second operand give the same bits.
bool scalar_equals_vector(OpKind kind, DType type);
// Returns true if kernels round to a unit in the last place at 1, however small the result is: a sum with 1,
// or with a half, is on the way.
bool rounds_at_one(OpKind kind);
// For an operator that works along axes (AxisWork): returns true if each element keeps its bits when a
// deformation moves from upstream to downstream of it (`turned` false: each row or reduced group keeps its
// elements and their order), or a Transpose does (`turned` true: the axes change places, and the elements of
// a reduced group are visited in another order).
bool axis_work_keeps_bits(OpKind kind, DType type, bool turned);
// Returns true if such a move changes nothing but roundings: the kernel adds or multiplies floats. An
// infinity or NaN may come of a sum that overflows in one of both orders.
bool axis_work_rounds(OpKind kind, DType type);

// What a runtime does with an operand when it loads a model, if the operand is a constant then. The bits of
// the result may depend on it (facts_packed.cpp).
enum class Packing : std::uint8_t {
  None,    // nothing: a constant and a computed operand give the same bits
  Weight,  // packs it; also a constant of the graph directly around that of the node
  Reading  // chooses the kernel by it, or nothing is known; the graph in which the constant stands may count
};
// Returns what is done with operand `slot`, whose element type is `type` (Undefined: unknown).
Packing packing_of(OpKind kind, std::size_t slot, DType type);
// Returns false if packing_of() returns None for each operand and type.
bool packs_operands(OpKind kind);

}  // namespace graphopt
