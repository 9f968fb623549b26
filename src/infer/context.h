// One node as its inference rule reads it: operands with the known facts about them, attributes with their
// defaults, and results.
//
// A rule reads and then states each result once. What it does not state is unknown. Dims given as none become
// fresh symbols of that result. A rule must be correct for all operands that the operator accepts; where an
// operand makes the operator fail it may state anything, since no run can contradict it.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "infer/state.h"
#include "ops/facts.h"
#include "support/known_names.h"

namespace graphopt {

using Dims = std::vector<DimId>;
using Ints = std::vector<std::int64_t>;

class NodeContext {
 public:
  NodeContext(Inference::State& state, NodeId node);

  Inference::State& s;
  Model& m;
  DimPool& dims;
  const NodeId n;
  const OpKind kind;
  int opset() const;  // of the node's domain

  // --- operands --------------------------------------------------------------------------------------------
  std::size_t input_count() const { return m.input_count(n); }
  std::size_t output_count() const { return m.output_count(n); }
  ValueId in(std::size_t i) const { return m.input(n, i); }
  bool has(std::size_t i) const { return in(i).valid(); }
  bool has_output(std::size_t i) const { return m.output(n, i).valid(); }
  TypeId type_id(std::size_t i) const;  // unknown() for an absent operand
  const Type& type(std::size_t i) const { return m.types[type_id(i)]; }
  bool is_tensor(std::size_t i) const { return type(i).kind == TypeKind::Tensor; }
  DType elem(std::size_t i) const { return type(i).elem; }
  bool ranked(std::size_t i) const {
    const Type& t = type(i);
    return t.kind == TypeKind::Tensor && t.has_rank;
  }
  // Both are empty and 0 when the rank is not known, so a rule that wants one axis or more need not ask.
  std::span<const DimId> shape(std::size_t i) const {
    return ranked(i) ? std::span<const DimId>(type(i).dims) : std::span<const DimId>{};
  }
  std::int64_t rank(std::size_t i) const { return static_cast<std::int64_t>(shape(i).size()); }
  const SymbolicTensor* sym(std::size_t i) const;
  std::optional<Ints> ints(std::size_t i) const;            // all elements as numbers
  std::optional<std::int64_t> scalar(std::size_t i) const;  // the only element, as a number
  // Returns the dims that an operand of axis 0 alone contains; nothing when its length is unknown. Unknown
  // elements are none.
  std::optional<Dims> shape_operand(std::size_t i) const;

  // --- attributes ------------------------------------------------------------------------------------------
  const Attr* attr(NameId name) const;  // references of functions resolved; null when absent
  const Attr* attr(std::string_view name) const;
  std::int64_t attr_int(NameId name, std::int64_t fallback) const;
  std::int64_t attr_int(std::string_view name, std::int64_t fallback) const;
  std::optional<std::int64_t> maybe_int(NameId name) const;
  std::optional<Ints> attr_ints(NameId name) const;
  std::string_view attr_string(NameId name, std::string_view fallback) const;

  // --- dims ------------------------------------------------------------------------------------------------
  DimId constant(std::int64_t v) { return dims.constant(v); }
  std::optional<std::int64_t> value(DimId d) const { return dims.value(d); }
  bool is_one(DimId d) const { return dims.is_constant(d, 1); }
  DimId broadcast(DimId a, DimId b);  // none when unknown
  // Broadcasts by NumPy's rules. Returns false when the rank of the result is unknown, which does not happen.
  Dims broadcast(std::span<const DimId> a, std::span<const DimId> b);
  // Returns true if b is 0 in every run in which a is 0.
  bool zero_with(DimId a, DimId b);
  // Returns true if d is 0 in no run.
  bool never_zero(DimId d);
  // Returns what is d where d is not 0, and `other` where it is: d + other * (1 - min(1, d)), or something
  // simpler. d is never negative. None where that is unknown.
  DimId unless_zero(DimId d, DimId other);
  // States that, if every run computes this node. It does not matter whether the node only moves elements:
  // that an operand is empty where another is proves of no node that it changes nothing.
  void zero_implies(DimId a, DimId b);
  // Returns true if d is never negative in a run: its range excludes it, or d is an extent of a result that
  // every run computes.
  bool never_negative(DimId d) const;
  // Returns true if what this node requires of its operands may be believed of other values
  // (docs/architecture.md, "Facts about values").
  bool asserts() const { return s.asserts(n); }
  // States that two dims are equal in every run, if asserts().
  void same(DimId a, DimId b);
  // States that a symbol whose range begins with 0 is at least 1 in every run, if asserts().
  void positive(DimId symbol);
  // Returns the axis counted from the start; nothing when it is out of range.
  static std::optional<std::size_t> axis(std::int64_t a, std::int64_t rank);

  // --- results ---------------------------------------------------------------------------------------------
  void set(std::size_t i, TypeId type, SymbolicTensor* symbolic = nullptr);
  void tensor(std::size_t i, DType elem);  // rank unknown
  // States that result i has the element type of the operand, if that is known.
  void elem_only(std::size_t i, std::size_t operand);
  void tensor(std::size_t i, DType elem, std::span<const DimId> d, SymbolicTensor* symbolic = nullptr);
  // States a small tensor of known elements; its type follows from it.
  void symbolic(std::size_t i, SymbolicTensor t);
  // Returns the symbol of this slot of a result, the same one at each call; none for a node without results.
  DimId fresh(std::size_t output, std::uint32_t slot, Range range = {});
  void finish();  // results not stated become unknown

 private:
  DimId broadcast_symbols(DimId a, DimId b);
  DimId at_zero(DimId a, DimId b);
  DimId zero_count(DimId d);
  void not_zero_where_unlike(DimId a, DimId b);
  std::uint64_t stated_ = 0;  // bits for the first 64 results
  std::vector<bool> stated_more_;
};

using InferenceRule = void (*)(NodeContext&);
// Returns the rule of an operator; null: onnx's function is used.
InferenceRule rule_for(OpKind kind);

}  // namespace graphopt
