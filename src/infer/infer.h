// Types, symbolic shapes and small integer values of every value in a model.
//
// The lattice: a TypeId per value (element type; rank; each dim a DimId: number, expression over symbols, or
// a fresh symbol that stands for one otherwise unknown dim) and, for small tensors of integers (or of exact
// floats in shape arithmetic), the elements as DimIds. A fact holds in every run that the model accepts, for
// all values of input symbols. The file's value_info is compared, never believed (except the element type,
// rank and numbers for results of operators that are not in the table).
//
// The class listens to the model: after rewrites, update() infers again what depends on the changed nodes,
// until nothing changes; `inferred()` counts the values that were (re-)inferred.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "graphopt/error.h"
#include "ir/model.h"

namespace graphopt {

// A small tensor with known elements; none marks an unknown element.
struct SymbolicTensor {
  DType dtype = DType::Int64;      // integers and Bool; Float, Double, ... when all elements are integers
  std::vector<std::int64_t> dims;  // rank 0 or 1 mostly
  std::vector<DimId> elements;     // row-major; Bool: 0 or 1
};

// An input's dim is assumed to be smaller than 2^31. Without a bound no product of dims would be exact in
// int64, and nothing would be known downstream of a Cast of a dim to int32.
inline constexpr std::int64_t kMaxInputExtent = (std::int64_t{1} << 31) - 1;
// A graph input has at most this many elements: 2^48 bytes are the addresses that a process gets, and an
// element has 2 bits or more. Beside an extent that is 0 the others are not bounded by it.
inline constexpr std::int64_t kMaxInputElements = std::int64_t{1} << 50;

struct InferOptions {
  struct DimRange {
    std::string symbol;
    Range range;
  };
  std::vector<DimRange> ranges;  // --dim SYMBOL=LOW..HIGH (a single value: low = high)
  struct InputShape {
    std::string input;
    std::vector<std::int64_t> dims;
  };  // --shape; -1 keeps a dim
  std::vector<InputShape> shapes;
  std::size_t max_elements = 1024;  // of a symbolic tensor
};

// A claim of the file that contradicts inference.
struct FalseClaim {
  ValueId value;
  std::string declared, inferred;
};

class Inference final : public Listener {
 public:
  Inference(Model& model, InferOptions options);
  ~Inference() override;

  void run();     // infers everything, once
  void update();  // infers what changed since
  // Infers these nodes, which a trial of the model has added or changed, and no reader of them. A node comes
  // after the producers of its operands. The end of the trial settles the rest: readers are visited by the
  // next update(), or facts are again those from before.
  void infer_in_trial(std::span<const NodeId> nodes);
  // States the type of a value that the trial has made, after infer_in_trial().
  void assume_in_trial(ValueId v, TypeId type);
  // Compares what is known with a new inference from scratch. Returns a fact of either that the other
  // refutes, as an Internal error; none if no run accepts the model, since all facts hold then. Facts that
  // only one of both has are no difference. Nothing that is known changes.
  std::optional<Error> verify();

  TypeId type(ValueId v) const;          // TypePool::unknown() when nothing is known
  const Type& type_of(ValueId v) const;  // the record of that type
  // Returns the dims of a tensor value whose rank is known; empty otherwise (has_rank tells scalars apart).
  std::span<const DimId> dims(ValueId v) const;
  bool has_rank(ValueId v) const;
  DType dtype(ValueId v) const;
  const SymbolicTensor* symbolic(ValueId v) const;  // null when not known
  // Returns all elements of v if all are numbers (constants included, up to max_elements).
  std::optional<std::vector<std::int64_t>> integers(ValueId v) const;
  bool same_shape(ValueId a, ValueId b) const;  // true if proven
  std::uint64_t inferred() const;
  const InferOptions& options() const;
  std::uint64_t changes() const;  // how often a type that was known became another
  std::span<const FalseClaim> false_claims() const;

  void node_added(NodeId n) override;
  void node_changed(NodeId n) override;
  void node_erased(NodeId n) override;
  void value_replaced(ValueId old_value, ValueId new_value) override;
  void value_became_constant(ValueId v) override;
  void trial_begun() override;
  void trial_kept() override;
  void trial_undone() override;

  struct State;  // src/infer/state.h; private to src/infer

 private:
  std::unique_ptr<State> s_;
};

}  // namespace graphopt
