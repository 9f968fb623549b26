// The table of fold kernels, and what is checked for all of them.
//
// A row gives the oldest opset whose meaning the kernel implements, the operand whose element type counts,
// and for which types the result is Exact or Rounds. Which types are Exact was found by running ONNX Runtime
// (tests/equal/fold_against_ort.py repeats it); a type that is in neither set is not folded.
//
// The rows are not columns of the fact table, which holds no functions. What that table states is read from
// it (is_pure); tests/unit/facts_tables_test.cpp checks that every operator with a kernel is pure there.
#include "ops/fold.h"

#include <algorithm>
#include <array>

#include "ops/facts.h"
#include "ops/fold_kernel.h"
#include "ops/kind_index.h"

namespace graphopt {
namespace folding {
namespace {

using Types = std::uint32_t;

constexpr Types set_of(std::initializer_list<DType> types) {
  Types s = 0;
  for (const DType t : types) s |= Types{1} << static_cast<unsigned>(t);
  return s;
}

constexpr Types kInts = set_of({DType::Int8, DType::Int16, DType::Int32, DType::Int64, DType::UInt8,
                                DType::UInt16, DType::UInt32, DType::UInt64});
constexpr Types kSigned = set_of({DType::Int8, DType::Int16, DType::Int32, DType::Int64});
constexpr Types kUnsigned = kInts & ~kSigned;
constexpr Types kIndex = set_of({DType::Int32, DType::Int64});
constexpr Types kFloat = set_of({DType::Float});
constexpr Types kIeee = set_of({DType::Float, DType::Double});
// At best Rounds for float16 if the kernel rounds: on a CPU ONNX Runtime computes chains of such nodes in
// float32 and rounds once, at their end, so folding a node of the chain rounds once more.
constexpr Types kHalf = set_of({DType::Float16});
constexpr Types kBrain =
    set_of({DType::BFloat16});  // ONNX Runtime has no kernel to compare with: at best Rounds
constexpr Types kFloats = kIeee | kHalf | kBrain;
constexpr Types kQuantized = set_of({DType::Int8, DType::UInt8, DType::Int16, DType::UInt16});
constexpr Types kBool = set_of({DType::Bool});
constexpr Types kString = set_of({DType::String});
constexpr Types kMovable =
    kInts | kFloats | kBool | kString |
    set_of({DType::Complex64, DType::Complex128, DType::Float8E4M3FN, DType::Float8E4M3FNUZ,
            DType::Float8E5M2, DType::Float8E5M2FNUZ, DType::Float8E8M0});
constexpr Types kAny = 0xFFFFFFFEu;
constexpr Types kNone = 0;

struct Row {
  OpKind kind;
  std::uint8_t since;
  std::uint8_t typed;  // operand whose element type selects the kernel
  Types exact;
  Types rounds;
  Kernel kernel;
  // Bit i: operand i, though the operator requires it. The kernel asks for it itself.
  std::uint8_t may_lack = 0;
  // Returns true if these attributes make the result Rounds for the types in `exact`; null: none do.
  bool (*rounds_by)(const Attributes&) = nullptr;
};

constexpr Row kRows[] = {
    {OpKind::Border, 0, 0, kAny, kNone, fold_identity},
    {OpKind::Identity, 1, 0, kAny, kNone, fold_identity},
    {OpKind::Reshape, 5, 0, kAny, kNone, fold_reshape},
    {OpKind::Flatten, 1, 0, kAny, kNone, fold_flatten},
    {OpKind::Squeeze, 1, 0, kAny, kNone, fold_squeeze},
    {OpKind::Unsqueeze, 1, 0, kAny, kNone, fold_unsqueeze},
    {OpKind::BitCast, 26, 0, kMovable & ~kString, kNone, fold_bit_cast},
    {OpKind::Shape, 1, 0, kAny, kNone, fold_shape},
    {OpKind::Size, 1, 0, kAny, kNone, fold_size},
    {OpKind::Constant, 1, 0, kAny, kNone, fold_constant},
    {OpKind::ConstantOfShape, 9, 0, kIndex, kNone, fold_constant_of_shape},
    {OpKind::EyeLike, 9, 0, kAny, kNone, fold_eye_like},
    {OpKind::Range, 11, 0, set_of({DType::Int16, DType::Int32, DType::Int64}) | kIeee, kNone, fold_range},

    {OpKind::Transpose, 1, 0, kMovable, kNone, fold_transpose},
    {OpKind::Slice, 1, 0, kMovable, kNone, fold_slice},
    {OpKind::Concat, 4, 0, kMovable, kNone, fold_concat},
    {OpKind::Split, 2, 0, kMovable, kNone, fold_split},
    {OpKind::Expand, 8, 0, kMovable, kNone, fold_expand},
    {OpKind::Tile, 6, 0, kMovable, kNone, fold_tile},
    {OpKind::Pad, 2, 0, kMovable & ~kString, kNone, fold_pad},
    {OpKind::Where, 9, 1, kMovable, kNone, fold_where},
    {OpKind::Trilu, 14, 0, kMovable & ~kString, kNone, fold_trilu},
    {OpKind::DepthToSpace, 1, 0, kMovable & ~kString, kNone, fold_depth_to_space},
    {OpKind::SpaceToDepth, 1, 0, kMovable & ~kString, kNone, fold_space_to_depth},
    {OpKind::ReverseSequence, 10, 0, kMovable, kNone, fold_reverse_sequence},

    {OpKind::Gather, 1, 0, kMovable, kNone, fold_gather},
    {OpKind::GatherElements, 11, 0, kMovable, kNone, fold_gather_elements},
    {OpKind::GatherND, 11, 0, kMovable, kNone, fold_gather_nd},
    {OpKind::Scatter, 9, 0, kMovable, kNone, fold_scatter_elements},
    {OpKind::ScatterElements, 11, 0, kMovable, kNone, fold_scatter_elements},
    {OpKind::ScatterND, 11, 0, kMovable, kNone, fold_scatter_nd},
    {OpKind::Compress, 9, 0, kMovable, kNone, fold_compress},
    {OpKind::NonZero, 9, 0, kInts | kFloats | kBool, kNone, fold_non_zero},
    {OpKind::OneHot, 9, 2, kMovable, kNone, fold_one_hot},

    {OpKind::Cast, 6, 0, kInts | kFloats | kBool, kNone, fold_cast},
    {OpKind::CastLike, 15, 0, kInts | kFloats | kBool, kNone, fold_cast_like},

    {OpKind::QuantizeLinear, 10, 0, set_of({DType::Float}), kNone, fold_quantize},
    {OpKind::DequantizeLinear, 10, 0, kQuantized, kNone, fold_dequantize},

    {OpKind::Add, 7, 0, kInts | kIeee, kHalf | kBrain, fold_arithmetic},
    {OpKind::Sub, 7, 0, kInts | kIeee, kHalf | kBrain, fold_arithmetic},
    {OpKind::Mul, 7, 0, kInts | kIeee, kHalf | kBrain, fold_arithmetic},
    {OpKind::Div, 7, 0, kInts | kIeee, kHalf | kBrain, fold_arithmetic},
    {OpKind::Mod, 10, 0, kInts | kIeee, kNone, fold_arithmetic},
    {OpKind::Pow, 7, 0, kIndex, kFloats, fold_pow},
    {OpKind::Sum, 8, 0, kIeee, kNone, fold_arithmetic},
    {OpKind::Min, 8, 0, kInts | kIeee | kHalf, kBrain, fold_min_max},
    {OpKind::Max, 8, 0, kInts | kIeee | kHalf, kBrain, fold_min_max},
    {OpKind::BitShift, 11, 0, kUnsigned, kNone, fold_bits},
    {OpKind::BitwiseAnd, 18, 0, kInts, kNone, fold_bits},
    {OpKind::BitwiseOr, 18, 0, kInts, kNone, fold_bits},
    {OpKind::BitwiseXor, 18, 0, kInts, kNone, fold_bits},

    {OpKind::Equal, 7, 0, kInts | kFloats | kBool | kString, kNone, fold_compare},
    {OpKind::Less, 7, 0, kInts | kFloats, kNone, fold_compare},
    {OpKind::LessOrEqual, 12, 0, kInts | kFloats, kNone, fold_compare},
    {OpKind::Greater, 7, 0, kInts | kFloats, kNone, fold_compare},
    {OpKind::GreaterOrEqual, 12, 0, kInts | kFloats, kNone, fold_compare},
    {OpKind::And, 7, 0, kBool, kNone, fold_logic},
    {OpKind::Or, 7, 0, kBool, kNone, fold_logic},
    {OpKind::Xor, 7, 0, kBool, kNone, fold_logic},
    {OpKind::Not, 1, 0, kBool, kNone, fold_logic},
    {OpKind::IsNaN, 9, 0, kFloats, kNone, fold_is_nan_inf},
    {OpKind::IsInf, 10, 0, kFloats, kNone, fold_is_nan_inf},

    {OpKind::Neg, 6, 0, kSigned | kIeee | kHalf, kBrain, fold_unary},
    {OpKind::Abs, 6, 0, kInts | kIeee | kHalf, kBrain, fold_unary},
    {OpKind::Sign, 9, 0, kInts | kIeee, kNone, fold_unary},
    {OpKind::Floor, 6, 0, kIeee | kHalf, kBrain, fold_unary},
    {OpKind::Ceil, 6, 0, kIeee | kHalf, kBrain, fold_unary},
    {OpKind::Round, 11, 0, kIeee | kHalf, kBrain, fold_unary},
    {OpKind::Sqrt, 6, 0, kIeee, kHalf | kBrain, fold_unary},
    {OpKind::Reciprocal, 6, 0, kIeee, kHalf | kBrain, fold_unary},
    {OpKind::Relu, 6, 0, kSigned | kIeee | kHalf, kBrain, fold_unary},
    {OpKind::BitwiseNot, 18, 0, kInts, kNone, fold_unary},
    {OpKind::Clip, 6, 0, kInts | kIeee | kHalf, kBrain, fold_clip},
    {OpKind::Exp, 6, 0, kNone, kFloats, fold_unary},
    {OpKind::Log, 6, 0, kNone, kFloats, fold_unary},
    {OpKind::Tanh, 6, 0, kNone, kFloats, fold_unary},
    {OpKind::Sigmoid, 6, 0, kNone, kFloats, fold_unary},
    {OpKind::Erf, 9, 0, kNone, kFloats, fold_unary},
    {OpKind::Sin, 7, 0, kNone, kFloats, fold_unary},
    {OpKind::Cos, 7, 0, kNone, kFloats, fold_unary},
    {OpKind::Tan, 7, 0, kNone, kFloats, fold_unary},
    {OpKind::Asin, 7, 0, kNone, kFloats, fold_unary},
    {OpKind::Acos, 7, 0, kNone, kFloats, fold_unary},
    {OpKind::Atan, 7, 0, kNone, kFloats, fold_unary},
    {OpKind::Sinh, 9, 0, kNone, kFloats, fold_unary},
    {OpKind::Cosh, 9, 0, kNone, kFloats, fold_unary},
    {OpKind::Asinh, 9, 0, kNone, kFloats, fold_unary},
    {OpKind::Acosh, 9, 0, kNone, kFloats, fold_unary},
    {OpKind::Atanh, 9, 0, kNone, kFloats, fold_unary},

    // The operators' functions, which stand for missing kernels, give another zero of a double (LeakyRelu
    // with alpha = 0), and have constants of float (HardSwish). ONNX Runtime computes a Shrink of doubles in
    // float.
    {OpKind::LeakyRelu, 6, 0, kFloat, kFloats & ~kFloat, fold_by_comparison},
    {OpKind::PRelu, 7, 0, kFloat, kFloats & ~kFloat, fold_p_relu},
    {OpKind::ThresholdedRelu, 10, 0, kFloat, kFloats & ~kFloat, fold_by_comparison},
    {OpKind::Shrink, 9, 0, kFloat, kHalf | kBrain, fold_by_comparison},
    {OpKind::Elu, 6, 0, kNone, kFloats, fold_activation},
    {OpKind::Selu, 6, 0, kNone, kFloats, fold_activation},
    {OpKind::Celu, 12, 0, kNone, kFloats, fold_activation},
    {OpKind::HardSigmoid, 6, 0, kNone, kFloats, fold_activation},
    {OpKind::HardSwish, 14, 0, kNone, kFloat | kHalf | kBrain, fold_activation},
    {OpKind::Softplus, 1, 0, kNone, kFloats, fold_activation},
    {OpKind::Softsign, 1, 0, kNone, kFloats, fold_activation},
    {OpKind::Mish, 18, 0, kNone, kFloats, fold_activation},
    {OpKind::Gelu, 20, 0, kNone, kFloats, fold_activation},
    {OpKind::Swish, 24, 0, kNone, kFloats, fold_activation},

    {OpKind::ReduceSum, 1, 0, kInts, kFloats, fold_reduce},
    {OpKind::ReduceProd, 1, 0, kInts, kFloats, fold_reduce},
    {OpKind::ReduceMean, 1, 0, kInts, kFloats, fold_reduce},
    {OpKind::ReduceMax, 1, 0, kInts, kFloats, fold_reduce},
    {OpKind::ReduceMin, 1, 0, kInts, kFloats, fold_reduce},
    {OpKind::ReduceSumSquare, 1, 0, kInts, kFloats, fold_reduce},
    {OpKind::ReduceL1, 1, 0, kInts, kFloats, fold_reduce},
    {OpKind::ArgMax, 1, 0, kInts | kIeee, kNone, fold_arg_reduce},
    {OpKind::ArgMin, 1, 0, kInts | kIeee, kNone, fold_arg_reduce},
    {OpKind::CumSum, 11, 0, kIndex, kFloats, fold_cum_sum},
    {OpKind::TopK, 10, 0, kInts | kIeee, kNone, fold_top_k},

    {OpKind::Softmax, 1, 0, kNone, kFloats, fold_softmax},
    {OpKind::LogSoftmax, 1, 0, kNone, kFloats, fold_softmax},
    {OpKind::MaxPool, 1, 0, set_of({DType::Int8, DType::UInt8}) | kIeee | kHalf, kBrain, fold_max_pool},
    {OpKind::GlobalMaxPool, 1, 0, kIeee | kHalf, kBrain, fold_max_pool},
    {OpKind::AveragePool, 1, 0, kNone, kFloats, fold_average_pool},
    {OpKind::GlobalAveragePool, 1, 0, kNone, kFloats, fold_average_pool},
    {OpKind::Resize, 10, 0, kInts | kFloats | kBool, kNone, fold_resize, 0, sums_in_resize},
    {OpKind::Upsample, 9, 0, kInts | kFloats | kBool, kNone, fold_resize, 0, sums_in_resize},
    {OpKind::Conv, 1, 0, kNone, kIeee | kHalf, fold_conv},
    {OpKind::MatMul, 1, 0, kNone, kIeee, fold_mat_mul},
    {OpKind::BatchNormalization, 9, 0, kNone, kIeee, fold_batch_normalization, 0b11000},
};

constexpr auto kRowOfKind = index_by_kind(kRows);

const Row* row_of(OpKind kind) {
  const std::size_t k = static_cast<std::size_t>(kind);
  const std::uint8_t i = k < kOpKindCount ? kRowOfKind[k] : std::uint8_t{0};
  return i == 0 ? nullptr : &kRows[i - 1];
}

// Returns true if the operator table confirms what folding requires of an operator.
bool is_pure(const Row& row, std::int64_t opset, std::size_t operand_count) {
  if (opset < row.since || opset > kNewestOpset) return false;
  const OpFacts& f = facts(row.kind, static_cast<int>(opset));
  return f.kind == row.kind && !f.deprecated && f.purity == Purity::Pure && operand_count >= f.min_inputs &&
         (f.max_inputs == 255 || operand_count <= f.max_inputs);
}

bool in_set(Types types, DType t) {
  const unsigned number = static_cast<unsigned>(t);
  return number < 32 && ((types >> number) & 1u) != 0;
}

FoldExactness exactness_of(const Row& row, DType type, const Attributes& attributes) {
  if (in_set(row.exact, type)) {
    const bool rounds = row.rounds_by != nullptr && row.rounds_by(attributes);
    return rounds ? FoldExactness::Rounds : FoldExactness::Exact;
  }
  return in_set(row.rounds, type) ? FoldExactness::Rounds : FoldExactness::No;
}

// Returns with which exactness the kernel folds these operands. type_of(i) is Undefined for an absent one.
template <class TypeOf>
FoldExactness exactness_of(const Row* row, std::int64_t opset, const Attributes& attributes,
                           std::size_t operands, TypeOf type_of) {
  if (row == nullptr || !is_pure(*row, opset, operands)) return FoldExactness::No;
  if (operands == 0) return row->kind == OpKind::Constant ? FoldExactness::Exact : FoldExactness::No;
  return row->typed < operands ? exactness_of(*row, type_of(row->typed), attributes) : FoldExactness::No;
}

bool all_known(const Attributes& a) {
  return std::ranges::all_of(a.written, [&](const Attr& attr) {
    return !attr.ref && find_attribute(a.row, a.model.text(attr.name)) != nullptr;
  });
}

// Returns the operand as kernels read it; nothing when its payload is broken.
std::optional<Operand> open(const Tensor* t) {
  Operand o;
  if (t == nullptr) return o;
  if (!t->ready || t->elements < 0) return std::nullopt;
  const std::optional<std::int64_t> count = element_count(t->dims);
  if (!count || *count != t->elements || t->dims.size() > kMaxRank) return std::nullopt;
  if (t->dtype == DType::String) {
    if (t->owned == nullptr || static_cast<std::int64_t>(t->owned->strings.size()) != *count)
      return std::nullopt;
    o.strings = &t->owned->strings;
  } else {
    if (raw_size(t->dtype, static_cast<std::uint64_t>(t->elements)) != t->raw.size()) return std::nullopt;
    o.data = t->raw.data();
  }
  o.tensor = t;
  o.dtype = t->dtype;
  o.dims = t->dims;
  o.elements = t->elements;
  return o;
}

Folded run_kernel(const Row& row, FoldRun run, std::span<const Tensor* const> operands) {
  const std::size_t required = facts(row.kind, run.opset).min_inputs;
  std::vector<Operand> opened;
  opened.reserve(operands.size());
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const std::optional<Operand> o = open(operands[i]);
    const bool may_lack = i < 8 && (row.may_lack >> i & 1) != 0;
    if (!o || (i < required && !*o && !may_lack)) return {FoldRefusal::BadOperands, FoldExactness::No, {}};
    if (o->strings != nullptr)
      for (const std::string& s : *o->strings)
        run.longest_string = std::max<std::uint64_t>(run.longest_string, s.size());
    opened.push_back(*o);
  }
  run.operands = opened;
  const FoldRefusal refusal = row.kernel(run);
  if (refusal != FoldRefusal::None) return {refusal, FoldExactness::No, {}};
  return {FoldRefusal::None, FoldExactness::No, std::move(run.results)};
}

}  // namespace
}  // namespace folding

bool has_fold_kernel(OpKind kind) { return folding::row_of(kind) != nullptr; }

namespace {

template <class TypeOf>
FoldExactness exactness_at(const Model& m, NodeId n, std::size_t operands, TypeOf type_of) {
  const folding::Row* row = folding::row_of(m.kind(n));
  if (row == nullptr || !attributes_known(m, n)) return FoldExactness::No;
  const Attributes attributes{m, facts(m.kind(n), static_cast<int>(m.opset(n))), m.attrs(n)};
  return folding::exactness_of(row, m.opset(n), attributes, operands, type_of);
}

}  // namespace

FoldExactness fold_exactness(const Model& m, NodeId n, std::span<const TensorId> operands) {
  return exactness_at(m, n, operands.size(), [&](std::size_t i) {
    return operands[i] ? m.tensor(operands[i]).dtype : DType::Undefined;
  });
}

Folded fold(const Model& m, NodeId n, std::span<const TensorId> operands, const FoldLimits& limits) {
  if (fold_exactness(m, n, operands) == FoldExactness::No)
    return {FoldRefusal::NotFoldable, FoldExactness::No, {}};
  std::vector<const Tensor*> tensors;
  tensors.reserve(operands.size());
  for (const TensorId t : operands) {
    if (t) m.unpack(t);
    tensors.push_back(t ? &m.tensor(t) : nullptr);
  }
  return fold(m, n, tensors, limits);
}

Folded fold(const Model& m, NodeId n, std::span<const Tensor* const> operands, const FoldLimits& limits) {
  using namespace folding;
  const FoldExactness exactness = exactness_at(m, n, operands.size(), [&](std::size_t i) {
    return operands[i] != nullptr ? operands[i]->dtype : DType::Undefined;
  });
  if (exactness == FoldExactness::No) return {FoldRefusal::NotFoldable, FoldExactness::No, {}};
  const int opset = static_cast<int>(m.opset(n));
  FoldRun run{.attributes = {m, facts(m.kind(n), opset), m.attrs(n)},
              .kind = m.kind(n),
              .opset = opset,
              .operands = {},
              .bytes_left = limits.max_result_bytes,
              .work_left = limits.max_work,
              .longest_string = 0,
              .results = std::vector<Tensor>(m.output_count(n)),
              .unwanted = {}};
  for (const ValueId v : m.outputs(n))
    run.unwanted.push_back(!v || (limits.only_read && m.use_count(v) == 0));
  Folded done = run_kernel(*row_of(m.kind(n)), std::move(run), operands);
  if (done) done.exactness = exactness;
  return done;
}

Folded evaluate(const Model& m, const Operation& operation, std::span<const Tensor* const> operands,
                const FoldLimits& limits) {
  using namespace folding;
  const Attributes attributes{m, facts(operation.kind, static_cast<int>(operation.opset)),
                              operation.attributes};
  const FoldExactness exactness = exactness_of(
      row_of(operation.kind), operation.opset, attributes, operands.size(),
      [&](std::size_t i) { return operands[i] != nullptr ? operands[i]->dtype : DType::Undefined; });
  if (exactness == FoldExactness::No) return {FoldRefusal::NotFoldable, FoldExactness::No, {}};
  const int opset = static_cast<int>(operation.opset);
  FoldRun run{.attributes = {m, facts(operation.kind, opset), operation.attributes},
              .kind = operation.kind,
              .opset = opset,
              .operands = {},
              .bytes_left = limits.max_result_bytes,
              .work_left = limits.max_work,
              .longest_string = 0,
              .results = std::vector<Tensor>(operation.results),
              .unwanted = {}};
  if (!all_known(run.attributes)) return {FoldRefusal::NotFoldable, FoldExactness::No, {}};
  Folded done = run_kernel(*row_of(operation.kind), std::move(run), operands);
  if (done) done.exactness = exactness;
  return done;
}

Folded evaluate(const Model& m, const Operation& operation, std::initializer_list<const Tensor*> operands,
                const FoldLimits& limits) {
  return evaluate(m, operation, std::span(operands.begin(), operands.size()), limits);
}

std::optional<Tensor> unpacked(const Model& m, TensorId t) {
  m.unpack(t);
  if (!m.tensor(t).ready) return std::nullopt;
  return m.tensor(t);
}

namespace {

Tensor int64s(std::vector<std::int64_t> dims, std::span<const std::int64_t> elements) {
  auto payload = std::make_shared<Unpacked>();
  payload->raw.assign(reinterpret_cast<const char*>(elements.data()), elements.size_bytes());
  Tensor t;
  t.dtype = DType::Int64;
  t.dims = std::move(dims);
  t.elements = static_cast<std::int64_t>(elements.size());
  t.raw = payload->raw;
  t.owned = std::move(payload);
  t.ready = true;
  return t;
}

}  // namespace

Tensor int64_tensor(std::span<const std::int64_t> elements) {
  return int64s({static_cast<std::int64_t>(elements.size())}, elements);
}
Tensor int64_tensor(std::int64_t element) { return int64s({}, {&element, 1}); }

Attr int_attribute(NameId name, std::int64_t value) {
  Attr a;
  a.name = name;
  a.kind = AttrKind::Int;
  a.i = value;
  return a;
}

Attr ints_attribute(NameId name, std::span<const std::int64_t> values) {
  Attr a;
  a.name = name;
  a.kind = AttrKind::Ints;
  a.ints = values;
  return a;
}

}  // namespace graphopt
