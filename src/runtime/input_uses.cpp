// The walk tracks how the input's value is transformed (scaled, shifted, added to something unknown), so that
// "position + 2 is looked up in a table of 514 rows" bounds the position by 512.
//
// It ends at operators that give the value a meaning (kSinks) and at those that compute something else from
// it. Steps are counted: in a model in which a value reaches everything only a part is visited, which can
// only miss a bound; the original then refuses the input and --check tries another.
//
// kSinks and keeps_values() tell which numbers an operator accepts, not what it computes; only --check needs
// them, and an operator that is missing costs at most an input set that the original refuses. So they are not
// columns of the fact table.
#include "runtime/input_uses.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "support/known_names.h"

namespace graphopt {
namespace {

constexpr std::size_t kMaxSteps = 20000;
constexpr std::int64_t kMaxFactor = 1 << 20;

enum class SinkRule : std::uint8_t {
  IndexOnAxis,   // of operand `other`, on the axis attribute
  IndexEach,     // of operand `other`: all its dims (GatherND)
  IndexRows,     // of operand `other`: its first dim
  IndexClass,    // of operand `other`: its dim 1
  Depth,         // the value of operand `other`
  LengthOnAxis,  // of operand `other`, on attribute time_axis, else 0
  KOnAxis,       // TopK
  OwnDims,       // the dims of operand `other`
  OwnDim,        // the dim of operand `other` on the axis attribute
  Plain,         // `meaning` is sufficient
};

struct Sink {
  OpKind kind;
  std::uint8_t slot;
  SinkRule rule;
  std::uint8_t other;
  Meaning meaning;
};

constexpr Sink kSinks[] = {
    {OpKind::Gather, 1, SinkRule::IndexOnAxis, 0, Meaning::Index},
    {OpKind::GatherElements, 1, SinkRule::IndexOnAxis, 0, Meaning::Index},
    {OpKind::Scatter, 1, SinkRule::IndexOnAxis, 0, Meaning::Index},
    {OpKind::ScatterElements, 1, SinkRule::IndexOnAxis, 0, Meaning::Index},
    {OpKind::GatherND, 1, SinkRule::IndexEach, 0, Meaning::Index},
    {OpKind::ScatterND, 1, SinkRule::IndexEach, 0, Meaning::Index},
    {OpKind::OneHot, 0, SinkRule::Depth, 1, Meaning::Index},
    {OpKind::NegativeLogLikelihoodLoss, 1, SinkRule::IndexClass, 0, Meaning::Index},
    {OpKind::SoftmaxCrossEntropyLoss, 1, SinkRule::IndexClass, 0, Meaning::Index},
    {OpKind::MlArrayFeatureExtractor, 1, SinkRule::IndexOnAxis, 0, Meaning::Index},
    {OpKind::RotaryEmbedding, 3, SinkRule::IndexRows, 1, Meaning::Index},
    {OpKind::MsRotaryEmbedding, 1, SinkRule::IndexRows, 2, Meaning::Index},
    {OpKind::MsGatherBlockQuantized, 1, SinkRule::IndexRows, 0, Meaning::Index},
    {OpKind::MsEmbedLayerNormalization, 0, SinkRule::IndexRows, 2, Meaning::Index},
    {OpKind::MsEmbedLayerNormalization, 1, SinkRule::IndexRows, 4, Meaning::Index},
    {OpKind::MsEmbedLayerNormalization, 8, SinkRule::IndexRows, 3, Meaning::Index},
    {OpKind::ReverseSequence, 1, SinkRule::LengthOnAxis, 0, Meaning::Length},
    {OpKind::RNN, 4, SinkRule::LengthOnAxis, 0, Meaning::Length},
    {OpKind::GRU, 4, SinkRule::LengthOnAxis, 0, Meaning::Length},
    {OpKind::LSTM, 4, SinkRule::LengthOnAxis, 0, Meaning::Length},
    {OpKind::TopK, 1, SinkRule::KOnAxis, 0, Meaning::Length},
    {OpKind::Div, 1, SinkRule::Plain, 0, Meaning::Divisor},
    {OpKind::Mod, 1, SinkRule::Plain, 0, Meaning::Divisor},
    {OpKind::Loop, 0, SinkRule::Plain, 0, Meaning::Small},
    {OpKind::Loop, 1, SinkRule::Plain, 0, Meaning::Condition},
    {OpKind::If, 0, SinkRule::Plain, 0, Meaning::Condition},
    {OpKind::Tile, 1, SinkRule::Plain, 0, Meaning::Small},
    {OpKind::Range, 0, SinkRule::Plain, 0, Meaning::AxisZero},
    {OpKind::Range, 1, SinkRule::Plain, 0, Meaning::Small},
    {OpKind::Range, 2, SinkRule::Plain, 0, Meaning::Divisor},
    {OpKind::ConstantOfShape, 0, SinkRule::Plain, 0, Meaning::Small},
    {OpKind::OneHot, 1, SinkRule::Plain, 0, Meaning::Small},
    {OpKind::BitShift, 1, SinkRule::Plain, 0, Meaning::Small},
    {OpKind::HannWindow, 0, SinkRule::Plain, 0, Meaning::Small},
    {OpKind::HammingWindow, 0, SinkRule::Plain, 0, Meaning::Small},
    {OpKind::BlackmanWindow, 0, SinkRule::Plain, 0, Meaning::Small},
    {OpKind::NonMaxSuppression, 2, SinkRule::Plain, 0, Meaning::Small},
    {OpKind::NonMaxSuppression, 3, SinkRule::Plain, 0, Meaning::Probability},
    {OpKind::Pad, 1, SinkRule::Plain, 0, Meaning::AxisZero},
    {OpKind::Slice, 1, SinkRule::Plain, 0, Meaning::AxisZero},
    {OpKind::Slice, 2, SinkRule::OwnDims, 0, Meaning::Dims},
    {OpKind::Slice, 4, SinkRule::Plain, 0, Meaning::Divisor},
    {OpKind::Squeeze, 1, SinkRule::Plain, 0, Meaning::AxisZero},
    {OpKind::Unsqueeze, 1, SinkRule::Plain, 0, Meaning::AxisList},
    {OpKind::CumSum, 1, SinkRule::Plain, 0, Meaning::AxisZero},
    {OpKind::CumProd, 1, SinkRule::Plain, 0, Meaning::AxisZero},
    {OpKind::Split, 1, SinkRule::OwnDim, 0, Meaning::Parts},
    {OpKind::SplitToSequence, 1, SinkRule::OwnDim, 0, Meaning::Parts},
    {OpKind::SequenceAt, 1, SinkRule::Plain, 0, Meaning::AxisZero},
    {OpKind::SequenceErase, 1, SinkRule::Plain, 0, Meaning::AxisZero},
    {OpKind::SequenceInsert, 2, SinkRule::Plain, 0, Meaning::AxisZero},
    {OpKind::Trilu, 1, SinkRule::Plain, 0, Meaning::AxisZero},
    {OpKind::ReduceSum, 1, SinkRule::Plain, 0, Meaning::AxisZero},
    {OpKind::ReduceMean, 1, SinkRule::Plain, 0, Meaning::AxisZero},
    {OpKind::ReduceMax, 1, SinkRule::Plain, 0, Meaning::AxisZero},
    {OpKind::ReduceMin, 1, SinkRule::Plain, 0, Meaning::AxisZero},
    {OpKind::ReduceProd, 1, SinkRule::Plain, 0, Meaning::AxisZero},
    {OpKind::ReduceL1, 1, SinkRule::Plain, 0, Meaning::AxisZero},
    {OpKind::ReduceL2, 1, SinkRule::Plain, 0, Meaning::AxisZero},
    {OpKind::ReduceSumSquare, 1, SinkRule::Plain, 0, Meaning::AxisZero},
    {OpKind::ReduceLogSum, 1, SinkRule::Plain, 0, Meaning::AxisZero},
    {OpKind::ReduceLogSumExp, 1, SinkRule::Plain, 0, Meaning::AxisZero},
    {OpKind::Reshape, 1, SinkRule::OwnDims, 0, Meaning::Dims},
    {OpKind::Expand, 1, SinkRule::OwnDims, 0, Meaning::Dims},
    {OpKind::CenterCropPad, 1, SinkRule::OwnDims, 0, Meaning::Dims},
    {OpKind::Resize, 3, SinkRule::OwnDims, 0, Meaning::Dims},
    {OpKind::Resize, 2, SinkRule::Plain, 0, Meaning::ScaleFactors},
    {OpKind::Upsample, 1, SinkRule::Plain, 0, Meaning::ScaleFactors},
    {OpKind::Sqrt, 0, SinkRule::Plain, 0, Meaning::Positive},
    {OpKind::Log, 0, SinkRule::Plain, 0, Meaning::Positive},
    {OpKind::Acosh, 0, SinkRule::Plain, 0, Meaning::Positive},
    {OpKind::BatchNormalization, 4, SinkRule::Plain, 0, Meaning::Positive},
    {OpKind::QuantizeLinear, 1, SinkRule::Plain, 0, Meaning::Positive},
    {OpKind::DequantizeLinear, 1, SinkRule::Plain, 0, Meaning::Positive},
    {OpKind::Asin, 0, SinkRule::Plain, 0, Meaning::Inside},
    {OpKind::Acos, 0, SinkRule::Plain, 0, Meaning::Inside},
    {OpKind::Atanh, 0, SinkRule::Plain, 0, Meaning::Inside},
    {OpKind::Bernoulli, 0, SinkRule::Plain, 0, Meaning::Probability},
    {OpKind::Dropout, 1, SinkRule::Plain, 0, Meaning::Probability},
};

// Returns true if the values of operand `slot` are in the result, unchanged, in any order.
bool keeps_values(OpKind kind, std::uint32_t slot) {
  switch (kind) {
      // clang-format off
    case OpKind::Concat: case OpKind::Max: case OpKind::Min: case OpKind::SequenceConstruct: return true;
    case OpKind::Where: return slot > 0;
    case OpKind::ScatterElements: case OpKind::ScatterND: case OpKind::Scatter: return slot != 1;
    case OpKind::SequenceInsert: return slot < 2;
    case OpKind::Identity: case OpKind::Cast: case OpKind::CastLike: case OpKind::Unsqueeze:
    case OpKind::Squeeze: case OpKind::Reshape: case OpKind::Flatten: case OpKind::Transpose:
    case OpKind::Expand: case OpKind::Slice: case OpKind::Split: case OpKind::Tile: case OpKind::Gather:
    case OpKind::GatherElements: case OpKind::GatherND: case OpKind::Clip: case OpKind::Relu:
    case OpKind::Abs: case OpKind::Pad: case OpKind::Dropout: case OpKind::Trilu: case OpKind::Floor:
    case OpKind::Ceil: case OpKind::Round: case OpKind::ReduceMax: case OpKind::ReduceMin:
    case OpKind::SplitToSequence: case OpKind::SequenceAt: case OpKind::SequenceErase:
    case OpKind::ConcatFromSequence: case OpKind::Optional: case OpKind::OptionalGetElement:
    case OpKind::DepthToSpace: case OpKind::SpaceToDepth: case OpKind::ReverseSequence:
    case OpKind::CenterCropPad: case OpKind::Compress: case OpKind::TopK:
    case OpKind::Unique: case OpKind::MlArrayFeatureExtractor: return slot == 0;
    // clang-format on
    default: return false;
  }
}

// Logic upstream of a condition: the operands decide it, too.
bool keeps_truth(OpKind kind) {
  return kind == OpKind::Not || kind == OpKind::And || kind == OpKind::Or || kind == OpKind::Xor;
}

// The value during the walk: scale * x + something in [low, high], plus share - 1 unknown numbers.
struct Step {
  ValueId value;
  std::int64_t scale = 1, low = 0, high = 0, share = 1;
  bool moved = false;  // it is no longer the input itself
  auto key() const { return std::make_tuple(value, scale, low, high, share, moved); }
};

class Walk {
 public:
  Walk(const Model& m, const Inference& infer) : m_(m), infer_(infer) {}

  InputUses from(ValueId input) {
    push({.value = input});
    for (std::size_t steps = 0; !todo_.empty() && steps < kMaxSteps; ++steps) {
      const Step step = todo_.front();
      todo_.pop_front();
      for (UseId u = m_.first_use(step.value); u; u = m_.next_use(u)) visit(step, m_.user(u), m_.slot(u));
    }
    return std::move(found_);
  }

 private:
  void push(const Step& step) {
    if (!step.value || step.scale > kMaxFactor || step.share > 8) return;
    if (seen_.insert(step.key()).second) todo_.push_back(step);
  }

  void push_to(Step step, ValueId to) {
    step.value = to;
    push(step);
  }

  void visit(const Step& step, NodeId n, std::uint32_t slot) {
    if (m_.is_return(n)) return leave(step, n, slot);
    const OpKind kind = m_.kind(n);
    for (const Sink& sink : kSinks)
      if (sink.kind == kind && sink.slot == slot) meet(step, n, sink);
    known_keys(n);
    if (enter(step, n, slot)) return;
    if (kind == OpKind::Add || kind == OpKind::Sub || kind == OpKind::Mul ||
        (kind == OpKind::Div && slot == 0))
      return calculate(step, n, slot);
    if (kind == OpKind::Cast && infer_.dtype(step.value) == DType::String) note(Meaning::NumericText);
    if (!keeps_values(kind, slot) && !keeps_truth(kind)) return;
    Step next = step;
    next.moved = next.moved || (kind != OpKind::Identity && kind != OpKind::Cast);
    for (const ValueId out : m_.outputs(n)) push_to(next, out);
  }

  void note(Meaning meaning) { found_.meaning = std::max(found_.meaning, meaning); }

  // --- subgraphs and functions -----------------------------------------------------------------------------
  GraphId body_of(NodeId n) const {
    for (const Attr& a : m_.attrs(n))
      if (a.kind == AttrKind::Graph && !a.graphs.empty()) return a.graphs.front();
    return {};
  }

  void push_input(const Step& step, GraphId g, std::size_t i) {
    const auto inputs = m_.graph_inputs(g);
    if (i < inputs.size()) push_to(step, inputs[i]);
  }

  bool enter(const Step& step, NodeId n, std::uint32_t slot) {
    const OpKind kind = m_.kind(n);
    if (kind == OpKind::FunctionCall) {
      const FunctionId f = m_.op(n).function;
      if (!f) return true;
      const GraphId body = m_.function(f).body;
      std::set<NodeId>& calls = calls_[body];
      if (calls.insert(n).second)
        for (const auto& [step_out, i] : left_[body]) push_to(step_out, m_.output(n, i));
      push_input(step, body, slot);
      return true;
    }
    if (kind != OpKind::Loop && kind != OpKind::Scan && kind != OpKind::SequenceMap) return false;
    const GraphId body = body_of(n);
    const bool with_lengths = kind == OpKind::Scan && m_.opset(n) == 8;  // sequence_lens came first
    if (body && (kind != OpKind::Loop || slot >= 2) && !(with_lengths && slot == 0))
      push_input(step, body, with_lengths ? slot - 1 : slot);
    return true;
  }

  void leave(const Step& step, NodeId ret, std::uint32_t slot) {
    const Graph& g = m_.graph(m_.node(ret).graph);
    if (g.function) {
      left_[m_.node(ret).graph].emplace_back(step, slot);
      for (const NodeId call : calls_[m_.node(ret).graph]) push_to(step, m_.output(call, slot));
    }
    if (!g.owner) return;
    const NodeId owner = g.owner;
    if (m_.kind(owner) == OpKind::Loop) {
      if (slot == 0) return note(Meaning::Condition);
      push_to(step, m_.output(owner, slot - 1));
      // Into the next iteration; but not values that grow with every iteration.
      const bool same = step.scale == 1 && step.low == 0 && step.high == 0 && step.share == 1;
      if (same && slot + 1 < m_.input_count(owner)) push_input(step, m_.node(ret).graph, slot + 1);
      return;
    }
    push_to(step, m_.output(owner, slot));
    if (m_.kind(owner) == OpKind::Scan && step.low == 0 && step.high == 0)
      push_input(step, m_.node(ret).graph, slot);
  }

  // --- arithmetic ------------------------------------------------------------------------------------------
  void calculate(const Step& step, NodeId n, std::uint32_t slot) {
    if (!is_int(infer_.dtype(step.value)) || slot > 1) return;
    const auto other = infer_.integers(m_.input(n, 1 - slot));
    Step next = step;
    next.moved = true;
    const OpKind kind = m_.kind(n);
    if (!other || other->empty()) {
      if (kind != OpKind::Add) return;
      next.share *= 2;
      return push_to(next, m_.output(n, 0));
    }
    const auto [low, high] = std::ranges::minmax(*other);
    if (low < -kMaxFactor * kMaxFactor || high > kMaxFactor * kMaxFactor) return;
    if (kind == OpKind::Add) {
      next.low += low;
      next.high += high;
    } else if (kind == OpKind::Sub) {
      if (slot != 0) return;
      next.low -= high;
      next.high -= low;
    } else if (kind == OpKind::Mul) {
      if (low != high || low < 1 || low > kMaxFactor ||
          std::max(std::abs(next.low), std::abs(next.high)) > kMaxFactor * kMaxFactor)
        return;
      next.scale *= low;
      next.low *= low;
      next.high *= low;
    } else if (low < 1) {  // Div: a quotient is at most its dividend
      return;
    }
    push_to(next, m_.output(n, 0));
  }

  // --- meanings --------------------------------------------------------------------------------------------
  std::int64_t attribute(NodeId n, NameId name, std::int64_t fallback) const {
    const Attr* a = m_.find_attr(n, name);
    return a != nullptr && a->kind == AttrKind::Int ? a->i : fallback;
  }

  DimId dim_of(ValueId v, std::int64_t axis) const {
    if (!v || !infer_.has_rank(v)) return {};
    const auto dims = infer_.dims(v);
    if (axis < 0) axis += static_cast<std::int64_t>(dims.size());
    return axis >= 0 && axis < static_cast<std::int64_t>(dims.size()) ? dims[static_cast<std::size_t>(axis)]
                                                                      : DimId{};
  }

  void bound(const Step& step, DimId limit, bool may_be_negative) {
    if (!limit && !found_.bounds.empty()) return;  // an unknown bound must not replace a known one
    found_.bounds.push_back(
        {limit, step.scale, step.low, step.high, step.share,
         may_be_negative && step.scale == 1 && step.low == 0 && step.high == 0 && step.share == 1});
  }

  void meet(const Step& step, NodeId n, const Sink& sink) {
    const ValueId other = m_.input(n, sink.other);
    const bool scatter = sink.kind == OpKind::Gather || sink.kind == OpKind::GatherElements ||
                         sink.kind == OpKind::GatherND || sink.kind == OpKind::ScatterElements ||
                         sink.kind == OpKind::ScatterND;
    const bool negative = scatter && m_.opset(n) >= 11;
    switch (sink.rule) {
      case SinkRule::IndexOnAxis:
        bound(step,
              dim_of(other, attribute(n, names::axis, sink.kind == OpKind::MlArrayFeatureExtractor ? -1 : 0)),
              negative);
        break;
      case SinkRule::IndexEach: {
        if (!other || !infer_.has_rank(other)) {
          bound(step, {}, false);
          break;
        }
        const auto dims = infer_.dims(other);
        const auto skip =
            static_cast<std::size_t>(std::max<std::int64_t>(0, attribute(n, names::batch_dims, 0)));
        const auto depth = m_.input(n, 1) ? dim_of(m_.input(n, 1), -1) : DimId{};
        const auto count = depth ? m_.dims.value(depth) : std::nullopt;
        for (std::size_t i = skip; i < dims.size() && (!count || i < skip + static_cast<std::size_t>(*count));
             ++i)
          bound(step, dims[i], negative);
        break;
      }
      case SinkRule::IndexRows: bound(step, dim_of(other, 0), false); break;
      case SinkRule::IndexClass: bound(step, dim_of(other, 1), false); break;
      case SinkRule::LengthOnAxis:
        bound(step, dim_of(other, attribute(n, names::time_axis, attribute(n, names::layout, 0))), false);
        break;
      case SinkRule::KOnAxis: bound(step, dim_of(other, attribute(n, names::axis, -1)), false); break;
      case SinkRule::Depth: {
        const SymbolicTensor* depth = infer_.symbolic(other);
        bound(step, depth != nullptr && !depth->elements.empty() ? depth->elements.front() : DimId{}, false);
        break;
      }
      case SinkRule::OwnDims:
        // Only for a shape that is used unchanged; a single element of it gives no information about the
        // others.
        if (step.moved || !other || !infer_.has_rank(other)) return note(Meaning::Small);
        if (found_.dims.empty()) found_.dims.assign(infer_.dims(other).begin(), infer_.dims(other).end());
        break;
      case SinkRule::OwnDim:
        if (step.moved) return note(Meaning::Small);
        found_.dims.assign(1, dim_of(other, attribute(n, names::axis, 0)));
        break;
      case SinkRule::Plain: break;
    }
    note(sink.meaning);
  }

  // Vocabularies of ai.onnx.ml operators.
  void known_keys(NodeId n) {
    switch (m_.kind(n)) {
      case OpKind::MlLabelEncoder:
      case OpKind::MlCategoryMapper:
      case OpKind::MlOneHotEncoder: break;
      default: return;
    }
    for (const Attr& a : m_.attrs(n)) {
      const std::string_view name = m_.text(a.name);
      if (!name.starts_with("keys_") && !name.starts_with("cats_") && !name.starts_with("classes_")) continue;
      for (const Bytes text : a.strings) found_.texts.emplace_back(text);
      found_.keys.insert(found_.keys.end(), a.ints.begin(), a.ints.end());
    }
  }

  const Model& m_;
  const Inference& infer_;
  InputUses found_;
  std::deque<Step> todo_;
  std::set<decltype(Step{}.key())> seen_;
  std::map<GraphId, std::set<NodeId>> calls_;
  std::map<GraphId, std::vector<std::pair<Step, std::uint32_t>>> left_;
};

}  // namespace

InputUses uses_of_input(const Model& model, const Inference& infer, ValueId input) {
  return Walk(model, infer).from(input);
}

}  // namespace graphopt
