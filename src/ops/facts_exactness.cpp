// Which elementwise kernels give bits that depend on more than the elements they read.
//
// Problem: a rewrite that joins or cuts tensors, or permutes them, gives an element another place in the
// buffer; one that expands a constant gives a kernel another loop. Kernels compute a vectorized main part and
// a scalar tail, and the two may round differently. The lists were measured with ONNX Runtime's CPU kernels:
// whole tensors against parts, many lengths, with NaN, infinities, both zeros and denormals. A type for which
// a kernel was not measured, or does not exist, counts as dependent; so does every operator that is not
// elementwise. Only a yes has to be right here: a wrong "depends" costs a rewrite, a wrong "does not" costs
// equality of bits.
#include "ops/facts.h"

namespace graphopt {
namespace {

// clang-format off: lists of operators

// Differ by 1 to 32 units in the last place in float32, and in the types that go through it.
bool depends_as_float(OpKind kind) {
  switch (kind) {
    case OpKind::Acos: case OpKind::Asin: case OpKind::Atan: case OpKind::Celu: case OpKind::Cos:
    case OpKind::Elu: case OpKind::Log: case OpKind::Mish: case OpKind::Selu: case OpKind::Sin:
    case OpKind::Softplus:
      return true;
    default:
      return false;
  }
}

// Differ in double, or have no kernel for it that could be measured.
bool depends_as_double(OpKind kind) {
  switch (kind) {
    case OpKind::Cos: case OpKind::Exp: case OpKind::Log: case OpKind::Sigmoid: case OpKind::Sin:
    case OpKind::Swish: case OpKind::Tanh:
      return true;
    case OpKind::Acos: case OpKind::Acosh: case OpKind::Asin: case OpKind::Asinh: case OpKind::Atan:
    case OpKind::Atanh: case OpKind::Celu: case OpKind::Cosh: case OpKind::Elu: case OpKind::Erf:
    case OpKind::Gelu: case OpKind::HardSigmoid: case OpKind::HardSwish: case OpKind::LeakyRelu:
    case OpKind::Mish: case OpKind::PRelu: case OpKind::Selu: case OpKind::Sinh: case OpKind::Softplus:
    case OpKind::Softsign: case OpKind::Tan: case OpKind::ThresholdedRelu:
      return true;
    default:
      return false;
  }
}

// Copies bits, whatever their type.
bool only_copies(OpKind kind) {
  switch (kind) {
    case OpKind::Identity: case OpKind::BitCast:
      return true;
    default:
      return false;
  }
}

// clang-format on

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
    case OpClass::Conditional: break;
    case OpClass::Merge:
    case OpClass::Split:
    case OpClass::Deformation:
    case OpClass::Order: return false;
    case OpClass::Movement:  // those of other domains may compute; a scatter may add
      return op_domain(kind) != "" || kind == OpKind::ScatterElements || kind == OpKind::ScatterND;
    default: return true;
  }
  if (only_copies(kind)) return false;
  if (op_domain(kind) != "" || kind == OpKind::SwiGLU) return true;  // not measured
  if (type == DType::Bool) return false;
  if (is_int(type)) return kind == OpKind::Pow;
  if (!is_float(type)) return true;  // strings and complex numbers
  switch (kind) {
    case OpKind::Max:
    case OpKind::Min:  // of +0 and -0
    case OpKind::Pow:
    case OpKind::Where:               // by broadcast layout; Where in the sign of a zero
    case OpKind::BatchNormalization:  // not measured
    case OpKind::Cast:
    case OpKind::CastLike: return true;
    default: return type == DType::Double ? depends_as_double(kind) : depends_as_float(kind);
  }
}

bool cast_position_dependent(DType from, DType to) {
  const auto number = [](DType t) { return is_float(t) || is_int(t) || t == DType::Bool; };
  if (!number(from) || !number(to)) return true;
  // NaN, infinities and what the target cannot hold: scalar and vector instructions convert them differently.
  return is_float(from) && !is_float(to);
}

bool axis_work_keeps_bits(OpKind kind, DType type, bool turned) {
  if (class_of(kind) == OpClass::Movement) return true;
  // float16 and bfloat16 go through float32 by casts that a runtime may leave out between two nodes: what
  // comes out depends on the nodes around.
  const bool number = type == DType::Float || type == DType::Double || is_int(type) || type == DType::Bool;
  // clang-format off
  switch (kind) {
    case OpKind::LogSoftmax:                         // in double, last places differ
      return type == DType::Float;
    case OpKind::Softmax:
      return type == DType::Float || type == DType::Double;
    case OpKind::Hardmax:                            // rows that hold a NaN differ
      return false;
    case OpKind::LayerNormalization: case OpKind::RMSNormalization:
      return type == DType::Float || type == DType::Double;
    // Reductions join reduced dims that are neighbours before they compute: a deformation that keeps the
    // groups changes nothing. A Transpose changes the order: only where that has no effect, int64 sums
    // (summed in double) not among them.
    case OpKind::ReduceMax: case OpKind::ReduceMin:
      return turned ? is_int(type) || type == DType::Bool : number;
    case OpKind::ReduceProd:
      return turned ? type == DType::Int32 || type == DType::Int64 : number;
    case OpKind::ReduceSum:
      return turned ? type == DType::Int32 : number;
    case OpKind::ReduceL1: case OpKind::ReduceL2: case OpKind::ReduceLogSum: case OpKind::ReduceLogSumExp:
    case OpKind::ReduceMean: case OpKind::ReduceSumSquare:
      return !turned && number;
    default:
      return false;
  }
  // clang-format on
}

bool chooses_by_layout(OpKind kind) {
  return kind == OpKind::Pow || kind == OpKind::Where || kind == OpKind::Max || kind == OpKind::Min;
}

bool scalar_equals_vector(OpKind kind, DType type) {
  // clang-format off
  switch (kind) {
    case OpKind::And: case OpKind::BitwiseAnd: case OpKind::BitwiseOr: case OpKind::BitwiseXor:
    case OpKind::Or: case OpKind::Xor:
      return true;
    case OpKind::Where:  // the sign of a selected zero depends on which operands are scalars
      return !is_float(type);
    case OpKind::Max: case OpKind::Min:
      return is_int(type);  // of +0 and -0, the answer depends on the loop
    case OpKind::Add: case OpKind::Div: case OpKind::Equal: case OpKind::Greater: case OpKind::GreaterOrEqual:
    case OpKind::Less: case OpKind::LessOrEqual: case OpKind::Mul: case OpKind::PRelu: case OpKind::Sub:
      return is_int(type) || type == DType::Bool || type == DType::Float || type == DType::Double ||
             type == DType::Float16;
    default:
      return false;  // Pow has paths of its own for scalar exponents; the others were not measured
  }
  // clang-format on
}

}  // namespace graphopt
