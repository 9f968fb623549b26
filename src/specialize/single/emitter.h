// New nodes of a graph, and formulas over extents written as nodes.
//
// The operators are those whose form is the same from opset 11 on: where an operator took its parameters as
// attributes or was narrower in its types (Min, Unsqueeze, LessOrEqual), others say the same. Extents are
// int64 lists of one entry, so that joining them needs no more than Concat.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/dim_terms.h"
#include "ir/model.h"

namespace graphopt {

// The first opset that has each of these operators in the form in which they are written.
inline constexpr std::int64_t kDispatchOpset = 11;

class NodeEmitter {
 public:
  NodeEmitter(Model& m, GraphId g) : m_(m), graph_(g) {}

  Model& model() { return m_; }
  GraphId graph() const { return graph_; }
  // Further nodes stand before this one.
  void put_before(NodeId n) { before_ = n; }

  // Names of results begin with `base`. Each returns the only result.
  ValueId add(OpKind kind, std::span<const ValueId> in, std::string_view base);
  ValueId add(OpKind kind, std::initializer_list<ValueId> in, std::string_view base) {
    return add(kind, std::span(in.begin(), in.size()), base);
  }
  ValueId cast(ValueId x, DType to, std::string_view base);
  ValueId concat(std::span<const ValueId> parts, std::int64_t axis, std::string_view base);
  // Over all axes, to rank 0.
  ValueId reduce(OpKind kind, ValueId x, std::string_view base);
  ValueId slice(ValueId x, ValueId starts, ValueId ends, ValueId axes, std::string_view base);
  ValueId pick(ValueId list, std::span<const std::int64_t> positions, std::string_view base);
  // Gather along an axis.
  ValueId gather(ValueId x, ValueId positions, std::int64_t axis, std::string_view base);
  // A list of int64, rank 1: one initializer of the graph for each content.
  ValueId ints(std::span<const std::int64_t> list);
  ValueId ints(std::initializer_list<std::int64_t> list) {
    return ints(std::span(list.begin(), list.size()));
  }
  ValueId constant(TensorId t, std::string_view base) { return m_.add_initializer(graph_, base, t); }

 private:
  void attribute(ValueId result, NameId name, std::int64_t i);

  Model& m_;
  GraphId graph_;
  NodeId before_;
  std::map<std::vector<std::int64_t>, ValueId> lists_;
};

// Writes each formula once. All values are lists of one int64. Calls nest as deep as the pool allows.
class FormulaWriter {
 public:
  // `symbol` returns the value of a symbol, none for one that it does not know; it is asked once.
  FormulaWriter(NodeEmitter& out, DimPool& pool, std::function<ValueId(DimId)> symbol)
      : out_(out), pool_(pool), symbol_(std::move(symbol)) {}

  // Returns none for a formula with another symbol, and where an operand of a call may leave 64 bits.
  ValueId value(DimId d);
  // Returns floor(a / b) in place of a wrong number or a trap also where b is less than 1 or a negative.
  ValueId floor_div(ValueId a, ValueId b, bool nonnegative, bool positive);

 private:
  ValueId factor(const DimFactor& f);
  bool bounded(DimId d) const;
  ValueId known(DimId symbol);

  NodeEmitter& out_;
  DimPool& pool_;
  std::function<ValueId(DimId)> symbol_;
  std::map<DimId, ValueId> known_;
};

}  // namespace graphopt
