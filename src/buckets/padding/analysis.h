// Whether a model may run on padded inputs.
//
// Problem: a model compiled for the extent S runs data of extent s < S if the inputs are padded. Is what
// comes out, once it is cut, what the model gives for the data itself?
// Method: abstract interpretation over two runs, T on true data with extents e(s), P on padded data with
// extents e(S). For each value: how the true elements lie in the padded tensor (layout.h), and what stands in
// each region of padding (content.h). A rule per operator (the column `pad` of the fact table names it) says
// where true elements of the results come from; if padding can reach one, the result is contaminated, with
// the reason. Extents, and small tensors computed from extents, come from inference: its facts hold in both
// runs. Ends: each node is visited once; bodies of an If whose condition is known are visited in place of the
// node.
//
// Theorem: if no output is contaminated, then for all s in the ranges and all S >= s, with all inputs padded
// as stated, P raises no error that T does not raise, and P[position(i)] = T[i] for every output element, up
// to the order of floating-point sums, where
//   - the model accepts every extent of the ranges (and symbols vary independently);
//   - T has no NaN in any value, and infinities only from constants;
//   - sums and products of finite numbers in padded regions do not overflow, unless their bounds say so; and
//     what of them follows from data and constants alone fits the types that it is cast to;
//   - the listed assumptions hold.
//
//   x: [s] padded with 0    y = ReduceSum(x)      safe: the padding adds 0
//                           y = ReduceMean(x)     contaminated: divides by S
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "buckets/marks/buckets.h"
#include "buckets/padding/constants.h"
#include "buckets/padding/value.h"
#include "graphopt/stages/buckets.h"
#include "infer/infer.h"
#include "ir/model.h"

namespace graphopt {

// What an input is padded with.
struct PadElement {
  enum class Kind : std::uint8_t {
    Number,  // this number
    Finite,  // anything finite
    Any,     // anything, NaN included
  };
  Kind kind = Kind::Number;
  double number = 0;
};

struct PaddedSymbol {
  DimId symbol;  // of the model's inputs
  Range range;   // what is promised of it
};

struct PaddingOptions {
  std::vector<PaddedSymbol> symbols;
  std::map<ValueId, PadElement> pads;                   // of inputs; others are padded with 0
  std::map<ValueId, std::pair<double, double>> values;  // what the true elements of an input are between
  bool last_segment_first = false;                      // of sums of padded extents in inputs
  std::map<ValueId, DimId> lengths;                     // inputs that carry a true extent in both runs
};

struct Assumption {
  BucketAssumption kind = BucketAssumption::MaskDominates;
  NodeId node;
  std::string text;
};

// An index counts up to `reach`, along an axis of `extent` entries: the model runs where no index is outside.
struct IndexLimit {
  NodeId node;
  DimId reach;  // of the greatest index, which occurs, the count up to it
  DimId extent;
};

// Facts about all values of one model under one set of paddings. The model grows symbols and tensors, but no
// node. Both the model and its inference, which has run, must outlive this object.
class PaddingAnalysis {
 public:
  // Analyses of one model may share what they know of its constants.
  PaddingAnalysis(Model& m, const Inference& inference, PaddingOptions options,
                  std::shared_ptr<ConstantFacts> constants = {});

  void run();
  // Before run(): returns true if the input has a padded axis.
  bool is_padded_input(ValueId v) const;
  // After run(): returns true if an axis of an input has several segments that are padded.
  bool has_segments() const;

  // The first contamination that reaches an output; null where all are safe.
  const Contamination* refusal() const;
  const PaddedValue& value(ValueId v) const;
  const Contamination* contamination(const PaddedValue& v) const;
  std::span<const Assumption> assumptions() const { return assumptions_; }
  std::span<const Divisibility> divisibilities() const { return divisibilities_; }
  // What the model accepts apart from the ranges of symbols: whoever promised more is to be told.
  std::span<const IndexLimit> index_limits() const { return index_limits_; }
  const LayoutPool& layouts() const { return layouts_; }
  const ContentMath& math() const { return math_; }
  // Returns true if the extent differs between the runs.
  bool bucketed(DimId d) const;
  // Returns true if it is known to follow from the extents of inputs by one formula, or to be equal, in both
  // runs.
  bool stable(DimId d) const;
  // Returns the extent of the padded run; none where it has no formula.
  DimId in_padded_run(DimId d);
  // Returns the layout of an axis whose extent is d, and whose padding, if it has any, is at its end; none
  // where d has no formula, or may be less in the padded run.
  LayoutId layout_of(DimId d);

 private:
  friend class PaddingContext;
  struct Frame {
    NodeId next;
    NodeId owner;  // the node whose results the body gives
    GraphId graph;
  };

  // Returns true if the extent of the padded run is no less.
  bool grows(DimId d);
  void make_stable(DimId d);
  void start();
  DimId dim_of_input(ValueId v, std::size_t axis) const;
  void seed_input(ValueId v);
  LayoutId input_layout(DimId d);
  void visit(NodeId n);
  bool enter_branch(NodeId n);
  void leave(const Frame& frame);
  void read_constant(ValueId v);
  bool all_identical(NodeId n) const;
  void set_identical(NodeId n);
  bool set_symbolic(ValueId v, NodeId n);
  bool fold(NodeId n);
  ContaminationId inherited(NodeId n) const;
  void contaminate(NodeId n, ContaminationId why);
  ContaminationId add(Contamination c);
  PaddedValue constant_value(TensorId t);
  const PaddedValue& operand(ValueId v);

  std::shared_ptr<ConstantFacts> constants_;
  Model& m_;
  const Inference& inference_;
  PaddingOptions options_;
  DimPool& dims_;
  LayoutPool layouts_;
  ContentMath math_;
  std::vector<PaddedValue> values_;  // by value
  std::vector<bool> known_;          // by value
  std::vector<Contamination> contaminations_;
  std::vector<Assumption> assumptions_;
  std::vector<Divisibility> divisibilities_;
  std::vector<IndexLimit> index_limits_;
  std::vector<std::pair<DimId, DimId>> slack_;  // symbol, symbol + slack
  mutable std::vector<std::uint8_t> kinds_;     // by dim: what bucketed() and stable() found
  std::vector<bool> stable_fresh_;              // by dim of a single symbol
  std::map<DimId, DimId> padded_;
  std::map<DimId, bool> grows_;
  std::vector<Frame> frames_;
};

}  // namespace graphopt
