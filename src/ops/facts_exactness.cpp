// Which kernels give bits that depend on more than the elements that they read.
//
// Problem: a rewrite that joins, cuts or permutes tensors moves an element to another position in the buffer;
// one that expands a constant selects another loop of the kernel. Kernels compute a vectorized main part and
// a scalar tail, and the two may round differently.
// Method: one table by operator. It was measured with ONNX Runtime's CPU kernels: whole tensors against
// parts, many lengths, with NaN, infinities, both zeros and denormals. A type for which a kernel was not
// measured, or does not exist, counts as dependent, and so does every operator that is not elementwise. Only
// "independent" has to be right: a wrong "dependent" costs a rewrite, a wrong "independent" costs equality of
// bits.
//
// The table is apart from that of facts.cpp because it states what kernels of a runtime do, by element type
// and for all opsets, while a row there states what ONNX defines for a range of opsets and is compared with
// the schemas. tests/unit/facts_tables_test.cpp compares the two.
#include <array>
#include <iterator>

#include "ops/facts.h"
#include "ops/kind_index.h"

namespace graphopt {
namespace {

// Sets of element types, as far as kernels treat them alike.
using Types = std::uint16_t;
constexpr Types kNoType = 0, kBool = 1, kInt32 = 2, kInt64 = 4, kOtherInt = 8, kFloat = 16, kDouble = 32,
                kFloat16 = 64, kOtherFloat = 128, kOther = 256;  // kOther: strings, complex, unknown types
constexpr Types kInts = kInt32 | kInt64 | kOtherInt;
constexpr Types kFloats = kFloat | kDouble | kFloat16 | kOtherFloat;
constexpr Types kAll = kBool | kInts | kFloats | kOther;
constexpr Types kNumbers = kBool | kInts | kFloat | kDouble | kFloat16;

Types type_set(DType t) {
  switch (t) {
    case DType::Bool: return kBool;
    case DType::Int32: return kInt32;
    case DType::Int64: return kInt64;
    case DType::Float: return kFloat;
    case DType::Double: return kDouble;
    case DType::Float16: return kFloat16;
    default: return is_int(t) ? kOtherInt : is_float(t) ? kOtherFloat : kOther;
  }
}

struct Kernel {
  OpKind kind;
  Types by_position = kOther;  // elementwise operators: types whose bits depend on the position
  Types scalars = kNoType;     // types for which a scalar and a vector as second operand give the same bits
  bool by_layout = false;      // scalars and vectors take different paths
  Types along_axis = kNoType;  // AxisWork: types whose bits survive a deformation
  Types turned = kNoType;      // AxisWork: types whose bits survive a Transpose
  bool sums = false;           // AxisWork: another order of the elements rounds otherwise, and nothing else
};

constexpr Kernel position(OpKind kind, Types types) {
  return {.kind = kind, .by_position = static_cast<Types>(types | kOther)};
}
// Two operands. Bools, integers, float32, float64 and float16 were measured.
constexpr Kernel binary(OpKind kind, Types by_position = kOther) {
  return {.kind = kind, .by_position = by_position, .scalars = kNumbers};
}
constexpr Kernel bitwise(OpKind kind) { return {.kind = kind, .scalars = kAll}; }
constexpr Kernel rows(OpKind kind, Types types) {
  return {.kind = kind, .along_axis = types, .turned = types, .sums = true};
}
// Reductions join reduced dims that are neighbours before they compute: a deformation that keeps the groups
// changes nothing. A Transpose changes the order of the elements of a group: it is exact only where the order
// has no effect. float16 and bfloat16 go through float32 by casts that a runtime may omit between two nodes,
// so their bits depend on the neighbouring nodes.
constexpr Kernel reduction(OpKind kind, Types turned, bool sums = true) {
  return {.kind = kind, .along_axis = kBool | kInts | kFloat | kDouble, .turned = turned, .sums = sums};
}

constexpr Kernel kKernels[] = {
    // Elementwise, one operand. float32: they differ by 1 to 32 units in the last place.
    position(OpKind::Acos, kFloats),
    position(OpKind::Acosh, kDouble),
    position(OpKind::Asin, kFloats),
    position(OpKind::Asinh, kDouble),
    position(OpKind::Atan, kFloats),
    position(OpKind::Atanh, kDouble),
    position(OpKind::Celu, kFloats),
    position(OpKind::Cos, kFloats),
    position(OpKind::Cosh, kDouble),
    position(OpKind::Elu, kFloats),
    position(OpKind::Erf, kDouble),
    position(OpKind::Exp, kDouble),
    position(OpKind::Gelu, kDouble),
    position(OpKind::HardSigmoid, kDouble),
    position(OpKind::HardSwish, kDouble),
    position(OpKind::LeakyRelu, kDouble),
    position(OpKind::Log, kFloats),
    position(OpKind::Mish, kFloats),
    position(OpKind::Selu, kFloats),
    position(OpKind::Sigmoid, kDouble),
    position(OpKind::Sin, kFloats),
    position(OpKind::Sinh, kDouble),
    position(OpKind::Softplus, kFloats),
    position(OpKind::Softsign, kDouble),
    position(OpKind::SwiGLU, kAll),  // not measured
    position(OpKind::Swish, kDouble),
    position(OpKind::Tan, kDouble),
    position(OpKind::Tanh, kDouble),
    position(OpKind::ThresholdedRelu, kDouble),
    position(OpKind::BatchNormalization, kFloats),  // not measured
    position(OpKind::Cast, kFloats),                // see cast_position_dependent
    position(OpKind::CastLike, kFloats),
    {.kind = OpKind::Identity, .by_position = kNoType},  // copies bits, whatever their type
    {.kind = OpKind::BitCast, .by_position = kNoType},
    // Elementwise, several operands.
    binary(OpKind::Add),
    binary(OpKind::Div),
    binary(OpKind::Equal),
    binary(OpKind::Greater),
    binary(OpKind::GreaterOrEqual),
    binary(OpKind::Less),
    binary(OpKind::LessOrEqual),
    binary(OpKind::Mul),
    binary(OpKind::PRelu, kDouble | kOther),
    binary(OpKind::Sub),
    bitwise(OpKind::And),
    bitwise(OpKind::BitwiseAnd),
    bitwise(OpKind::BitwiseOr),
    bitwise(OpKind::BitwiseXor),
    bitwise(OpKind::Or),
    bitwise(OpKind::Xor),
    // Max and Min of +0 and -0 depend on the loop; Pow has other loops for scalar exponents; the sign of a
    // zero that Where selects depends on which operands are scalars.
    {.kind = OpKind::Max, .by_position = kFloats | kOther, .scalars = kInts, .by_layout = true},
    {.kind = OpKind::Min, .by_position = kFloats | kOther, .scalars = kInts, .by_layout = true},
    {.kind = OpKind::Pow, .by_position = kInts | kFloats | kOther, .by_layout = true},
    {.kind = OpKind::Where,
     .by_position = kFloats | kOther,
     .scalars = static_cast<Types>(kAll & ~kFloats),
     .by_layout = true},
    // Movement: these may add.
    position(OpKind::ScatterElements, kAll),
    position(OpKind::ScatterND, kAll),
    // Along axes. Whether ReduceMax and ReduceMin see a NaN depends on the order. Rows of Hardmax that
    // contain a NaN differ, so it is not listed.
    rows(OpKind::LayerNormalization, kFloat | kDouble),
    rows(OpKind::LogSoftmax, kFloat),  // in double the last places differ
    rows(OpKind::RMSNormalization, kFloat | kDouble),
    rows(OpKind::Softmax, kFloat | kDouble),
    reduction(OpKind::ReduceL1, kNoType),
    reduction(OpKind::ReduceL2, kNoType),
    reduction(OpKind::ReduceLogSum, kNoType),
    reduction(OpKind::ReduceLogSumExp, kNoType),
    reduction(OpKind::ReduceMax, kBool | kInts, false),
    reduction(OpKind::ReduceMean, kNoType),
    reduction(OpKind::ReduceMin, kBool | kInts, false),
    reduction(OpKind::ReduceProd, kInt32 | kInt64),
    reduction(OpKind::ReduceSum, kInt32),  // int64 is summed in double
    reduction(OpKind::ReduceSumSquare, kNoType),
};

consteval bool listed_once() {
  for (std::size_t i = 0; i < std::size(kKernels); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (kKernels[i].kind == kKernels[j].kind) return false;
  return std::size(kKernels) < 255;
}
static_assert(listed_once(), "an operator is listed twice in kKernels");

constexpr auto kKernelOfKind = index_by_kind(kKernels);

// Returns the operator's row, or one that claims nothing but the defaults.
const Kernel& kernel_of(OpKind kind) {
  static constexpr Kernel kUnlisted{.kind = OpKind::Opaque};
  const auto k = static_cast<std::size_t>(kind);
  const std::uint8_t i = k < kOpKindCount ? kKernelOfKind[k] : std::uint8_t{0};
  return i == 0 ? kUnlisted : kKernels[i - 1];
}

bool contains(Types types, DType t) { return (types & type_set(t)) != 0; }

OpClass class_of(OpKind kind) {
  const OpFacts* newest = nullptr;
  for (const int opset : {kNewestOpset, 5, 1}) {  // the newest of each domain
    newest = &facts(kind, opset);
    if (newest->kind == kind) return newest->cls;
  }
  return OpClass::Barrier;
}

}  // namespace

bool position_dependent(OpKind kind, DType type) {
  switch (class_of(kind)) {
    case OpClass::Unary:
    case OpClass::Nary:
    case OpClass::Conditional:  // operators of other domains were not measured
      return !op_domain(kind).empty() || contains(kernel_of(kind).by_position, type);
    case OpClass::Merge:
    case OpClass::Split:
    case OpClass::Deformation:
    case OpClass::Order: return false;
    case OpClass::Movement:  // operators of other domains may compute
      return !op_domain(kind).empty() || kernel_of(kind).by_position == kAll;
    default: return true;
  }
}

bool cast_position_dependent(DType from, DType to) {
  const auto number = [](DType t) { return is_float(t) || is_int(t) || t == DType::Bool; };
  if (!number(from) || !number(to)) return true;
  // NaN, infinities and values outside the target's range: scalar and vector instructions convert them
  // differently.
  return is_float(from) && !is_float(to);
}

bool axis_work_keeps_bits(OpKind kind, DType type, bool turned) {
  if (class_of(kind) == OpClass::Movement) return true;
  const Kernel& k = kernel_of(kind);
  return contains(turned ? k.turned : k.along_axis, type);
}

bool axis_work_rounds(OpKind kind, DType type) { return kernel_of(kind).sums && is_float(type); }

bool rounds_at_one(OpKind kind) {
  return kind == OpKind::Sigmoid || kind == OpKind::HardSigmoid || kind == OpKind::Softplus ||
         kind == OpKind::Softmax;
}

bool chooses_by_layout(OpKind kind) { return kernel_of(kind).by_layout; }

bool scalar_equals_vector(OpKind kind, DType type) { return contains(kernel_of(kind).scalars, type); }

}  // namespace graphopt
