// Where a row of new nodes goes, and what they are called. build.h makes them.
//
// They are at the end of a graph, directly before a node, or in front of all nodes of the main graph, one
// after the other. What is in front reads inputs and constants alone, and every graph of the model sees it.
// Names begin with the base.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/model.h"
#include "rewrite/build.h"

namespace graphopt {

class Emitter {
 public:
  static Emitter in_front(Model& m, std::string base) {
    return {m, m.main(), Where::Front, {}, std::move(base)};
  }
  static Emitter before(Model& m, NodeId n, std::string base) {
    return {m, m.node(n).graph, Where::Before, n, std::move(base)};
  }
  static Emitter at_end(Model& m, GraphId g, std::string base) {
    return {m, g, Where::End, {}, std::move(base)};
  }

  Model& model() const { return m_; }
  GraphId graph() const { return graph_; }
  std::int64_t opset() const { return m_.opset(graph_, kEmptyName); }
  // Further nodes come before this one.
  void put_before(NodeId n) {
    where_ = Where::Before;
    before_ = n;
  }

  // Adds a node with add_operator and returns its result, named after the base and `what`.
  ValueId node(OpKind kind, std::span<const ValueId> operands, std::string_view what,
               std::span<const IntAttr> attributes = {});
  ValueId node(OpKind kind, std::initializer_list<ValueId> operands, std::string_view what,
               std::initializer_list<IntAttr> attributes = {}) {
    return node(kind, std::span(operands.begin(), operands.size()), what,
                std::span(attributes.begin(), attributes.size()));
  }
  ValueId cast(ValueId v, DType to, std::string_view what);
  ValueId concat(std::span<const ValueId> parts, std::int64_t axis, std::string_view what);
  // Over all axes, to rank 0.
  ValueId reduce(OpKind kind, ValueId x, std::string_view what);
  ValueId slice(ValueId x, ValueId starts, ValueId ends, ValueId axes, std::string_view what);
  ValueId pick(ValueId list, Numbers positions, std::string_view what);
  // Gather along an axis.
  ValueId gather(ValueId x, ValueId positions, std::int64_t axis, std::string_view what);
  // Constants: an int64 of rank 0, a list of int64 (one initializer for each content), a number that its type
  // can say exactly, any tensor.
  ValueId number(std::int64_t v);
  ValueId numbers(Numbers v);
  ValueId numbers(std::initializer_list<std::int64_t> v) { return numbers(Numbers(v.begin(), v.size())); }
  ValueId scalar(DType type, double v);
  ValueId constant(TensorId t, std::string_view what) { return m_.add_initializer(graph_, name(what), t); }
  // Of the functions in rewrite/build.h: calls f(site), which adds a node of one result, and returns that
  // result; none where the opset cannot say it.
  template <class F> ValueId built(std::string_view what, F f) {
    const std::string base = name(what);
    return added(f(Site{.model = m_, .graph = graph_, .before = position(), .base = base}));
  }

 private:
  enum class Where : std::uint8_t { End, Front, Before };

  Emitter(Model& m, GraphId graph, Where where, NodeId before, std::string base)
      : m_(m), graph_(graph), where_(where), before_(before), base_(std::move(base)) {}

  std::string name(std::string_view what) const { return base_ + "_" + std::string(what); }
  NodeId position() const;
  ValueId added(NodeId n);

  Model& m_;
  GraphId graph_;
  Where where_;
  NodeId before_;
  NodeId last_;  // of those in front
  std::string base_;
  std::map<std::vector<std::int64_t>, ValueId> lists_;
};

}  // namespace graphopt
