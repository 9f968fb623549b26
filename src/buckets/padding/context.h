// One node as its rule reads it (rules.h): operands with what is known of them, attributes with their
// defaults, and results.
//
// A rule states the results and returns true, or calls refuse() and returns false. It is called only when no
// operand is contaminated that is data of the node, so it decides about this node alone. Layouts of axes that
// move come from the operands; extents that a node computes come from inference.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "buckets/padding/analysis.h"
#include "ops/attributes.h"

namespace graphopt {

// What is assumed of scores under an additive mask of -1000 or less.
inline constexpr const char* kMaskDominates =
    "the scores of each row differ by 900 at most, and no row is masked as a whole";

class PaddingContext {
 public:
  PaddingContext(PaddingAnalysis& analysis, NodeId node);

  PaddingAnalysis& a;
  Model& m;
  DimPool& dims;
  LayoutPool& layouts;
  const ContentMath& math;
  const NodeId n;
  const OpKind kind;
  std::int64_t opset() const { return m.opset(n); }

  // --- operands --------------------------------------------------------------------------------------------
  std::size_t input_count() const { return m.input_count(n); }
  bool has(std::size_t i) const { return m.input(n, i).valid(); }
  const PaddedValue& in(std::size_t i) const;  // of an absent operand: not known
  // Elements that are expressions over extents, or numbers, in both runs; nothing where one is not.
  std::optional<std::vector<DimId>> elements(std::size_t i) const;
  std::optional<std::vector<std::int64_t>> numbers(std::size_t i) const;
  std::optional<std::int64_t> number(std::size_t i) const;  // the only one
  // The only element of a constant, or equal ones, of any type; nothing for an integer that is no double.
  std::optional<double> real(std::size_t i) const;
  std::optional<double> splat(std::size_t i) const;
  // Returns the zero point in an operand, 0 for an absent one; NaN, which no content is, where it is not
  // known or differs along an axis.
  double zero_point(std::size_t i) const;
  // Returns the axes of the node, normalized; nothing where they are not known.
  std::optional<std::vector<std::size_t>> axes(std::size_t rank) const;
  std::optional<std::size_t> axis(std::size_t rank) const;  // one
  DimId extent(std::size_t i, std::size_t axis) const { return layouts.extent(in(i).layouts[axis]); }
  bool is_one(DimId d) const { return dims.is_constant(d, 1); }

  // --- attributes, with the defaults of the fact table -----------------------------------------------------
  std::int64_t attr(NameId name, std::int64_t otherwise) const;
  double attr_real(NameId name, double otherwise) const;
  std::string_view attr_text(NameId name, std::string_view otherwise) const;
  std::optional<std::span<const std::int64_t>> attr_list(NameId name) const;

  // --- results ---------------------------------------------------------------------------------------------
  std::size_t output_count() const { return m.output_count(n); }
  bool has_output(std::size_t i) const { return m.output(n, i).valid(); }
  DType output_type(std::size_t i) const;
  std::optional<std::size_t> output_rank(std::size_t i) const;
  // Returns the layouts of a result whose axes are padded at their ends, if at all; nothing where inference
  // has no formula for an extent.
  std::optional<std::vector<LayoutId>> inferred(std::size_t output) const;
  // Returns the layout that an axis of a result has, by its inferred extent; none without a formula.
  LayoutId inferred(std::size_t output, std::size_t axis) const;
  // States that the extents of a result, or one of them, are the same in both runs, for reasons of the rule:
  // they need no formula. The second one returns the layout.
  void make_stable(std::size_t output);
  LayoutId stable_extent(std::size_t output, std::size_t axis);
  // Makes a value whose region R holds f(R).
  template <class F> PaddedValue make(DType type, std::vector<LayoutId> l, F f) const {
    PaddedValue v = blank(type, std::move(l));
    if (std::popcount(v.padded) > kMaxPaddedAxes) return v;
    const bool reads = reads_pads();
    for_each_subset(v.padded, [&](AxisMask region) {
      Content content = f(region);
      content.from_pads = content.from_pads || reads;
      v.contents.push_back(math.held(type, content, region == 0));
    });
    v.contents[0] = ContentMath::without_nan(v.contents[0]);
    v.contents[0].chosen = v.contents[0].from_pads = false;
    return v;
  }
  // The value with its axes moved: axis i of the result is axis from[i] of v; kNew for a new one of extent 1.
  static constexpr std::size_t kNew = ~std::size_t{0};
  PaddedValue moved(const PaddedValue& v, std::span<const std::size_t> from) const;
  bool set(std::size_t output, PaddedValue v);
  // Sets result 0.
  template <class F> bool set_result(std::vector<LayoutId> l, F f) {
    return set(0, make(output_type(0), std::move(l), f));
  }

  // --- refusals --------------------------------------------------------------------------------------------
  struct Blame {
    int axis = -1;
    std::string content = {}, needs = {};
    std::optional<BucketRepair> repair = {};
    std::vector<Contamination::Place> places = {};
    std::string remedy = {};
  };
  bool refuse(std::string reason) { return refuse(std::move(reason), Blame{}); }
  bool refuse(std::string reason, Blame blame);
  // States that a result is contaminated for the reason of the last refuse(), while others are not.
  void contaminate(std::size_t output);
  bool unknown_extent(std::size_t output, std::size_t axis);
  // Returns true if no operand from `first` on is padded; else refuses: `what` they are.
  bool unpadded_from(std::size_t first, std::string_view what);
  // Refuses because padding of these axes of operand i, which holds `content`, would be read; `fill` is what
  // may stand there.
  bool refuse_padding(std::size_t i, AxisMask axes, const Content& content, std::string_view does,
                      double fill);
  const Contamination& refusal() const { return refusal_; }
  void assume(BucketAssumption assumption, std::string text);
  void need_divisible(DimId expression, std::int64_t divisor);
  void note_index(DimId reach, DimId extent) { a.index_limits_.push_back({n, reach, extent}); }

  // --- regions ---------------------------------------------------------------------------------------------
  AxisMask padded_among(const PaddedValue& v, std::span<const std::size_t> axes) const;
  // Returns a content of a region that involves one of `axes` (a mask), and no other axis, which `good`
  // refuses; null where all are good.
  template <class F> const Content* bad_padding(const PaddedValue& v, AxisMask axes, F good) const {
    const Content* found = nullptr;
    for_each_subset(axes & v.padded, [&](AxisMask s) {
      if (s != 0 && !found && !good(v.at(s))) found = &v.at(s);
    });
    return found;
  }
  // The join of the contents of v in the regions base | s, for all subsets s of `axes`.
  Content join_over(const PaddedValue& v, AxisMask base, AxisMask axes) const;
  // The join of all contents of these operands, as far as they are there; 0 without any.
  Content whole(std::span<const std::size_t> operands) const;
  Content whole(std::size_t operand) const { return whole({&operand, 1}); }
  // The same of all operands from `first` on: weights of a node, and other parameters.
  Content weights(std::size_t first) const;
  // "axis 1 (seq)"
  std::string axis_text(const PaddedValue& v, AxisMask axes) const;

 private:
  PaddedValue blank(DType type, std::vector<LayoutId> l) const;
  // Returns true if an operand follows from elements that whoever pads may choose: then all results do,
  // whatever a rule says of them.
  bool reads_pads() const;
  Contamination refusal_;
};

// Returns false after refuse().
using PaddingRule = bool (*)(PaddingContext&);
PaddingRule padding_rule(PadRule rule);  // null: none is known

}  // namespace graphopt
