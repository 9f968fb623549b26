// One side of a mapping: the operators of a graph and the values between them, as flat arrays.
//
// Problem: two exporters write one computation with other names, in another order, with constants in other
// places and with nodes that do nothing. Method: operators are numbered in canonical order (ir/
// canonical_order.h), so that neither names nor the order of the file count. Constants are no operators:
// initializers, Constant nodes, and Identity of a constant. What an operator is, its attributes and shapes
// are labels that both sides share. Operators that several spell alike are of one family (ops/families.h).
// Memory: some hundred bytes for each operator; weights are hashed once, and not kept.
//
//   w = Constant ()  y = Add (x, w)    =>    one operator, Add, whose second operand is a constant
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "infer/infer.h"
#include "ir/canonical_order.h"
#include "ir/model.h"
#include "mapping/labels.h"

namespace graphopt::mapping {

struct Use {
  Index op = 0, slot = 0;
  friend auto operator<=>(const Use&, const Use&) = default;
};

// A constant that operators read.
struct Constant {
  Index content = kNone;  // label of type, dims and elements
  Index shape = kNone;    // label of the dims
  std::int64_t elements = 0;
  TensorId tensor;         // none: a Constant node without one
  bool is_index = false;   // one integer
  bool is_strong = false;  // floats, several of them and not all equal: its content says which it is
};

// Types that one tool may write for another one.
enum class ValueClass : std::uint8_t { Unknown, Floats, Integers, Booleans, Others };

struct Operator {
  NodeId node;
  OpKind kind = OpKind::Opaque;
  Index type = kNone;    // label of the operator's domain and name
  Index family = kNone;  // label; operators of one family may stand for each other
  Index shape = kNone;   // label of the dims of its results, open dims alike
  Index attributes = kNone;
  Index name = kNone;  // label of the name of its first result that has one
  Index depth = 0;     // operators on the longest way from the inputs
  double place = 0;    // its depth, as a share of the greatest one
  Index main = kNone;  // label of the dims of its largest constant, if that has 8 elements at least
  std::int64_t main_elements = 0;
  ValueClass values = ValueClass::Unknown;  // of its first result
  bool has_number_for_name = false;
  bool commutes = false;        // its first two operands
  bool is_transparent = false;  // result 0 is operand 0
  bool combines = false;        // ops/families.h
  bool only_deforms = false;    // the same elements in other dims or another type
  bool has_shape = false;       // the dims of its first result are numbers
};

// A model, and what its sides share while they are made: arrays as large as the model.
struct Subject {
  Subject(const Model& m, const Inference& i)
      : model(m), inference(i), order(m), order_of_bodies(m), numbers(m.value_count(), kNone) {}
  const Model& model;
  const Inference& inference;
  CanonicalOrder order, order_of_bodies;
  std::vector<Index> numbers;  // by ValueId; kNone between two sides
  // Of results of Identity of a constant: that constant. Bodies read them, too.
  std::unordered_map<ValueId, TensorId> aliases;
};

class Side {
 public:
  // `labels` is that of both sides. The model outlives it.
  Side(Subject& subject, GraphId graph, Labels& labels);

  const Model& model() const { return *model_; }
  GraphId graph() const { return graph_; }
  std::size_t size() const { return operators_.size(); }
  const Operator& op(Index i) const { return operators_[i]; }

  // Values that the graph has or reads are numbered in the order in which operators meet them.
  ValueId value(Index v) const { return values_[v]; }
  std::string_view name(Index v) const { return model_->text(model_->value(values_[v]).name); }
  std::span<const Index> inputs(Index op) const { return slice(inputs_, input_begin_, op); }
  // The same, but what reads an operator of its own kind and attributes, as a Concat does of a Concat, has
  // the operands of that one in its place. Of an operator that is_nested(), its own.
  std::span<const Index> flat_inputs(Index op) const {
    return flat_at_[op] == kNone ? inputs(op) : slice(flat_, flat_begin_, flat_at_[op]);
  }
  // Another operator has its operands among its flat ones.
  bool is_nested(Index op) const { return is_nested_[op]; }
  std::span<const Index> outputs(Index op) const {
    return slice(outputs_, output_begin_, op);
  }  // kNone: unused
  std::span<const Index> attributes(Index op) const { return slice(attributes_, attribute_begin_, op); }
  // Slots are those of flat operands. What a nested operator reads has two uses for it: in that operator, and
  // in the one around it.
  std::span<const Use> uses(Index value) const {
    return std::span(uses_).subspan(use_begin_[value], use_begin_[value + 1] - use_begin_[value]);
  }
  bool is_computed(Index value) const { return producer_[value].op != kNone; }
  // The operator that makes a value, and which of its results it is. Precondition: is_computed().
  Use producer(Index value) const { return producer_[value]; }
  const Constant* constant(Index value) const {
    return constant_[value] == kNone ? nullptr : &constants_[constant_[value]];
  }
  std::span<const Constant> constants() const { return constants_; }
  std::span<const Index> graph_inputs() const { return graph_inputs_; }    // values
  std::span<const Index> graph_outputs() const { return graph_outputs_; }  // the same
  std::span<const Index> outer() const { return outer_; }  // values of graphs around it; no constants
  std::size_t value_count() const { return values_.size(); }

  // The dims of the first result; an open dim is -1. Empty where has_shape() and the rank is 0.
  std::span<const std::int64_t> dims(Index op) const { return slice(dims_, dim_begin_, op); }
  bool has_rank(Index op) const { return has_rank_[op]; }
  // Elements of the first result; none where a dim is open, or there are more than 2^62.
  std::optional<std::int64_t> elements(Index op) const;

 private:
  template <class T>
  static std::span<const T> slice(const std::vector<T>& of, const std::vector<Index>& begin, Index i) {
    return std::span(of).subspan(begin[i], begin[i + 1] - begin[i]);
  }
  Index number(Subject& subject, ValueId v);
  void number_operators(Subject& subject, Labels& labels);
  void add_operator(Subject& subject, NodeId n, Labels& labels);
  void add_constant(Index value, NodeId node, TensorId tensor, Subject& subject, Labels& labels);
  void find_outer();
  void flatten();
  void add_uses();
  void add_depths();
  Index shape_label(Index op, const Inference& inference, Labels& labels);

  const Model* model_;
  GraphId graph_;
  std::vector<ValueId> values_;
  std::vector<Operator> operators_;
  std::vector<Index> inputs_, outputs_, attributes_;
  std::vector<Index> input_begin_{0}, output_begin_{0}, attribute_begin_{0}, dim_begin_{0};
  std::vector<std::int64_t> dims_;
  std::vector<bool> has_rank_;
  std::vector<Use> producer_, uses_;
  std::vector<bool> is_nested_;
  std::vector<Index> flat_at_, flat_,
      flat_begin_{0};  // by operator: its list of flat operands, if it has one
  std::vector<Index> use_begin_, constant_;
  std::vector<Constant> constants_;
  std::vector<Index> graph_inputs_, graph_outputs_, outer_;
};

}  // namespace graphopt::mapping
