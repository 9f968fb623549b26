// constant-folding: replaces results that are the same in every run by initializers.
//
// Problem: exporters leave computations on constants in the graph (transposed weights, masks, scales) and,
// above all, computations on shapes.
// Method: two rules from every pure node.
//   constant   All operands are constants: the node is evaluated natively (ops/fold.h). Exact kernels give
//              the bits of ONNX Runtime; those that may round otherwise are skipped under --exact.
//   known      Inference knows every element of an integer or boolean result, though operands vary (Shape of
//              a value with fixed dims, a comparison of dims that is decided for all sizes).
// Exact: see above; a folded node is pure, so one evaluation is every evaluation. Lowers: nodes; the file may
// grow by at most --fold-limit bytes per fold (size of the results less the size of constants that nothing
// else reads, once the node and what only it reads are gone), so a small node that makes a huge tensor stays
// a node. Where its reader makes less of it, the reader is folded: the large tensor is computed then, and not
// kept (w - mean(w), of which the variance is taken).
// Ends: each rewrite removes a node and makes none.
// Left alone: dequantized constants (they are larger than their source, and runtimes need the pair), but for
// what is quantized again,
// results that are outputs of subgraphs (ONNX Runtime requires that nodes inside compute them), random and
// unknown operators, pinned values; a result with which a runtime would refuse a node at load, though it may
// never run (infer/refused_constants.h); where every bit is promised, operands that a runtime would pack as
// constants (rewrite/constancy.h).
//
//   s = Shape (x)            with x float[2,3]
//   y = Reshape (z, s)       =>      <int64[2] s = {2, 3}>  y = Reshape (z, s)

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "infer/refused_constants.h"
#include "ops/constants.h"
#include "ops/fold.h"
#include "ops/node_facts.h"
#include "passes/pass.h"
#include "rewrite/cost.h"
#include "rewrite/engine.h"
#include "rewrite/freed.h"

namespace graphopt {
namespace {

// Elements visited by one fold; above this the node is left to the runtime.
constexpr std::uint64_t kMaxWork = std::uint64_t{1} << 28;

bool may_fold(const MatchContext& c, NodeId n) {
  const Model& m = c.model;
  switch (m.kind(n)) {
    case OpKind::Constant: return false;
    case OpKind::Opaque:
    case OpKind::FunctionCall: return c.no(n, "nothing is known about the operator");
    case OpKind::DequantizeLinear: return c.no(n, "runtimes need quantization as it is");
    default: break;
  }
  if (facts_of(m, n).purity != Purity::Pure) return c.no(n, "the operator is not known to be pure");
  bool used = false;
  for (const ValueId v : m.outputs(n)) {
    if (!v) continue;
    if (m.is_fixed(v)) return c.no(n, "a result must stay what it is");
    if (m.use_count(v) == 0) continue;
    used = true;
    if (m.value(v).graph != m.main() && m.is_graph_output(v)) return c.no(n, "a body returns the result");
    if (!m.can_become_constant(v)) return c.no(n, "a kernel would be chosen by the constant");
  }
  return used;
}

// Returns the constant that the node reads there; none where it reads something else, or nothing.
TensorId constant_operand(const Model& m, NodeId n, std::size_t slot) {
  return m.constant_of(m.input(n, slot));
}

// Each result that has a use is a tensor.
void make_constants(Model& m, NodeId n, std::span<const TensorId> results) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    const ValueId v = m.output(n, i);
    if (v && m.use_count(v) > 0) m.make_constant(v, results[i]);
  }
}

// Folds a node, together with what it needs of results that would be too large to keep.
class LargeResults {
 public:
  void note(NodeId n) {
    if (n.index() >= noted_.size()) noted_.resize(n.index() + 1);
    noted_[n.index()] = true;
  }
  // What a QuantizeLinear makes of a constant that is dequantized for it is a constant of its type, as small
  // as before. Nothing else is folded behind one.
  void note_dequantized(const Model& m, NodeId n) {
    if (m.kind(n) == OpKind::DequantizeLinear) note(n);
  }
  bool may_fold_behind(const Model& m, NodeId n, NodeId def) const {
    return is_noted(def) && (m.kind(def) != OpKind::DequantizeLinear || m.kind(n) == OpKind::QuantizeLinear);
  }
  bool is_noted(NodeId n) const { return n && n.index() < noted_.size() && noted_[n.index()]; }

  // Refused where an operand is neither a constant nor noted, or where too much would have to be computed.
  Folded fold(const MatchContext& c, NodeId n, std::uint64_t max_result_bytes) {
    const Model& m = c.model;
    made_.clear();
    std::vector<NodeId> needed{n};
    for (std::size_t i = 0; i < needed.size(); ++i)
      for (std::size_t k = 0; k < m.input_count(needed[i]); ++k) {
        const ValueId v = m.input(needed[i], k);
        if (!v || constant_operand(m, needed[i], k) || is_written_alone(m, needed[i], k)) continue;
        const NodeId def = m.value(v).def;
        if (!may_fold_behind(m, needed[i], def) || !m.alive(def) || m.node(def).graph != m.node(n).graph)
          return refused(FoldRefusal::NotFoldable);
        if (std::ranges::find(needed, def) == needed.end()) needed.push_back(def);
        if (needed.size() > kMost) return refused(FoldRefusal::TooBig);
      }
    if (will_be_larger(c, n, max_result_bytes)) return refused(FoldRefusal::TooBig);
    std::ranges::sort(needed, [&m](NodeId a, NodeId b) { return m.before(a, b); });
    std::uint64_t left = kMostBytes;
    for (const NodeId q : needed) {
      Folded results = evaluate_one(c, q, q == n ? max_result_bytes : left);
      if (q == n || !results) return results;
      for (const Tensor& t : results.results) left -= std::min<std::uint64_t>(left, t.raw.size());
      made_.push_back({q, std::move(results)});
    }
    return refused(FoldRefusal::NotFoldable);
  }

  static Folded refused(FoldRefusal why) { return {why, FoldExactness::No, {}}; }

  // The first result of a kernel that writes an operand does not read that (ops/facts.h, Writes). Others that
  // read the operand may find what was written: then the node stays.
  static bool is_written_alone(const Model& m, NodeId n, std::size_t slot) {
    const ValueId v = m.input(n, slot);
    return slot < 64 && (m.node(n).overwrites >> slot & 1) != 0 && m.use_count(v) == 1 && !m.value(v).pinned;
  }

 private:
  static constexpr std::size_t kMost = 16;  // nodes
  // Of results that are not kept, together.
  static constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 26;

  // Inference mostly knows the size before anything is computed.
  static bool will_be_larger(const MatchContext& c, NodeId n, std::uint64_t most) {
    for (const ValueId y : c.model.outputs(n))
      if (y && c.model.use_count(y) > 0 && value_bytes(c.model, c.infer, y).value_or(0) > most) return true;
    return false;
  }

  Folded evaluate_one(const MatchContext& c, NodeId n, std::uint64_t max_result_bytes) {
    const Model& m = c.model;
    std::vector<const Tensor*> operands;
    for (std::size_t k = 0; k < m.input_count(n); ++k) {
      const ValueId v = m.input(n, k);
      const TensorId t = constant_operand(m, n, k);
      operands.push_back(nullptr);
      if (t) {
        m.unpack(t);
        operands.back() = &m.tensor(t);
      } else if (v && !is_written_alone(m, n, k)) {
        const auto made = std::ranges::find(made_, m.value(v).def, &Made::node);
        operands.back() = &made->folded.results[m.value(v).def_slot];
      }
    }
    Folded done = graphopt::fold(
        m, n, operands, {.max_result_bytes = max_result_bytes, .max_work = kMaxWork, .only_read = true});
    if (done.exactness == FoldExactness::Rounds && keeps_bits(c.options.strictness))
      return refused(FoldRefusal::NotFoldable);
    return done;
  }

  struct Made {
    NodeId node;
    Folded folded;
  };
  std::vector<bool> noted_;  // by NodeId
  std::vector<Made> made_;   // in the present fold
};

class FoldConstant final : public Rule {
 public:
  explicit FoldConstant(RefusedConstants& refused) : refused_constants_(refused) {}

  std::string_view name() const override { return "constant"; }
  std::span<const OpKind> roots() const override { return {}; }

  bool match(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    large_.note_dequantized(m, n);
    if (m.input_count(n) == 0 || !may_fold(c, n)) return false;
    operands_.clear();
    bool behind_large = false;
    for (std::size_t i = 0; i < m.input_count(n); ++i) {
      const ValueId v = m.input(n, i);
      const TensorId t = constant_operand(m, n, i);
      if (v && !t && !LargeResults::is_written_alone(m, n, i)) {
        if (!large_.may_fold_behind(m, n, m.value(v).def)) return c.no(n, "an operand is no constant");
        behind_large = true;
      }
      operands_.push_back(t);
    }
    if (!behind_large) {
      const FoldExactness exactness = fold_exactness(m, n, operands_);
      if (exactness == FoldExactness::No)
        return c.no(n, "graphopt does not compute this operator (--fold ort may)");
      if (exactness == FoldExactness::Rounds && keeps_bits(c.options.strictness))
        return c.no(n, "it may be rounded otherwise");
    }
    refused_ = {};
    folded_ = large_.fold(c, n, c.options.fold_limit);
    if (folded_.refusal == FoldRefusal::TooBig)
      folded_ = large_.fold(c, n, bytes_freed_with(m, n) + c.options.fold_limit);
    if (folded_.refusal == FoldRefusal::NotFoldable && behind_large)
      return c.no(n, "an operand is no constant");
    if (folded_.refusal == FoldRefusal::TooBig) ++too_big, large_.note(n);
    if (folded_.refusal == FoldRefusal::BadOperands || folded_.refusal == FoldRefusal::NaN) refused_ = n;
    if (folded_ && breaks_a_reader(c, n)) return c.no(n, "a node that reads the result would not load");
    return covers_uses(m, n) ||
           c.no(n, folded_.refusal == FoldRefusal::TooBig        ? "the result is larger than --fold-limit"
                   : folded_.refusal == FoldRefusal::BadOperands ? "the operator does not accept its operands"
                   : folded_.refusal == FoldRefusal::NaN
                       ? "an operand holds a NaN, and kernels differ in what they make of it"
                       : "a result cannot be computed or written");
  }

  void apply(PassContext& c, NodeId n) override {
    std::vector<TensorId> results;
    for (Tensor& t : folded_.results)
      results.push_back(t.dtype == DType::Undefined ? TensorId{} : c.model.add_tensor(std::move(t)));
    make_constants(c.model, n, results);
  }

  // The last node visited, if its operator does not accept its constant operands: a runtime may refuse the
  // model there.
  NodeId refused() const { return refused_; }

  std::uint64_t too_big = 0;

 private:
  // If a result with a use were missing, the node would stay, and this match would repeat without end. Where
  // folding was refused all are missing, and one at least has a use (may_fold).
  bool covers_uses(const Model& m, NodeId n) const {
    for (std::size_t i = 0; i < m.output_count(n); ++i) {
      const ValueId v = m.output(n, i);
      if (!v || m.use_count(v) == 0) continue;
      if (i >= folded_.results.size() || folded_.results[i].dtype == DType::Undefined) return false;
      if (!m.can_hold_constant(m.node(n).graph, folded_.results[i].dtype)) return false;
    }
    return true;
  }

  bool breaks_a_reader(const MatchContext& c, NodeId n) {
    for (std::size_t i = 0; i < folded_.results.size(); ++i) {
      const ValueId v = c.model.output(n, i);
      const Tensor& t = folded_.results[i];
      if (v && t.dtype != DType::String && refused_constants_.refuses({v, t.dtype, t.dims, t.raw}))
        return true;
    }
    return false;
  }

  RefusedConstants& refused_constants_;
  LargeResults large_;
  std::vector<TensorId> operands_;
  Folded folded_;
  NodeId refused_;
};

class FoldKnown final : public Rule {
 public:
  // `constant` is tried before this rule at every node, so a node that it found broken is not folded here
  // either.
  FoldKnown(const FoldConstant& constant, RefusedConstants& refused)
      : constant_(constant), refused_constants_(refused) {}

  std::string_view name() const override { return "known"; }
  std::span<const OpKind> roots() const override { return {}; }

  bool match(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    // may_fold() noted its reason already when the rule `constant` called it, so it is not noted twice.
    if (constant_.refused() == n || !may_fold(c.without_reasons(), n)) return false;
    results_.clear();
    for (const ValueId v : m.outputs(n)) {
      results_.emplace_back();
      if (!v || m.use_count(v) == 0) continue;
      const SymbolicTensor* s = c.infer.symbolic(v);
      const auto numbers = s ? c.infer.integers(v) : std::nullopt;
      const DType type = c.infer.dtype(v);
      // A zero of a floating type has a sign, which inference does not track.
      if (!is_int(type) && type != DType::Bool) return false;
      if (!numbers || s->dtype != c.infer.dtype(v)) return c.no(n, "not all elements are known");
      if (!m.can_hold_constant(m.node(n).graph, s->dtype))
        return c.no(n, "the graph's opset has no constants of this type");
      auto raw = int_payload(s->dtype, *numbers);
      if (!raw) return c.no(n, "the type does not hold one of the numbers");
      if (refused_constants_.refuses({v, s->dtype, s->dims, *raw}))
        return c.no(n, "a node that reads the result would not load");
      results_.back() = {s->dtype, s->dims, std::move(*raw)};
    }
    return true;
  }

  void apply(PassContext& c, NodeId n) override {
    std::vector<TensorId> results;
    for (Known& k : results_)
      results.push_back(k.type == DType::Undefined ? TensorId{}
                                                   : c.model.make_tensor(k.type, k.dims, std::move(k.raw)));
    make_constants(c.model, n, results);
  }

 private:
  struct Known {
    DType type = DType::Undefined;
    std::vector<std::int64_t> dims;
    std::string raw;
  };
  const FoldConstant& constant_;
  RefusedConstants& refused_constants_;
  std::vector<Known> results_;
};

class ConstantFolding final : public Pass {
 public:
  bool run(PassContext& c) override {
    RefusedConstants refused(c.model, c.infer);
    FoldConstant constant(refused);
    FoldKnown known(constant, refused);
    Rule* const rules[] = {&constant, &known};
    const bool changed = apply_rules(c, rules) > 0;
    counters_[0].value += constant.applied;
    counters_[1].value += known.applied;
    counters_[2].value = constant.too_big;  // of the last run: those that stay
    return changed;
  }
  std::span<const Counter> counters() const override { return counters_; }

 private:
  std::array<Counter, 3> counters_{
      {{"folded", "nodes evaluated on constants"},
       {"known", "results that inference knew"},
       {"too-big", "nodes left because the file would grow beyond --fold-limit"}}};
};

}  // namespace

extern constinit const PassInfo constant_folding = {.name = "constant-folding",
                                                    .summary = "evaluate what is the same in every run",
                                                    .exact = Exact::Yes,
                                                    .level = 1,
                                                    .make = make_pass<ConstantFolding>,
                                                    .rounds_from = 2,
                                                    .new_operators = NewOperators::Never};

}  // namespace graphopt
