// Where a repair's new nodes go, and what they are called.
//
// New nodes stand directly before a node, or in front of all nodes of the main graph, one behind the other.
// What stands in front reads inputs and constants alone, and every graph of the model sees it.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "ir/model.h"
#include "rewrite/build.h"

namespace graphopt {

class Emitter {
 public:
  struct IntAttr {
    NameId name;
    std::int64_t value;
  };

  static Emitter in_front(Model& m, std::string base) { return {m, m.main(), {}, std::move(base)}; }
  static Emitter before(Model& m, NodeId n, std::string base) {
    return {m, m.node(n).graph, n, std::move(base)};
  }

  Model& model() const { return m_; }
  std::int64_t opset() const { return m_.opset(graph_, kEmptyName); }

  // Adds a node of the standard with one result, named after the base and `what`.
  ValueId node(OpKind kind, std::span<const ValueId> operands, std::string_view what,
               std::span<const IntAttr> attributes = {});
  ValueId node(OpKind kind, std::initializer_list<ValueId> operands, std::string_view what,
               std::initializer_list<IntAttr> attributes = {}) {
    return node(kind, std::span(operands.begin(), operands.size()), what,
                std::span(attributes.begin(), attributes.size()));
  }
  ValueId cast(ValueId v, DType to, std::string_view what);
  // Constants: an int64 of rank 0 and of rank 1, and a number that its type can say exactly.
  ValueId number(std::int64_t v);
  ValueId numbers(Numbers v);
  ValueId scalar(DType type, double v);
  // Of the functions in rewrite/build.h: calls f(site), which adds a node of one result, and returns that
  // result; none where the opset cannot say it.
  template <class F> ValueId built(std::string_view what, F f) {
    const std::string base = name(what);
    return added(f(Site{.model = m_, .graph = graph_, .before = position(), .base = base}));
  }

 private:
  Emitter(Model& m, GraphId graph, NodeId before, std::string base)
      : m_(m), graph_(graph), before_(before), base_(std::move(base)) {}

  std::string name(std::string_view what) const { return base_ + "_" + std::string(what); }
  NodeId position() const;
  ValueId added(NodeId n);

  Model& m_;
  GraphId graph_;
  NodeId before_;  // none: in front
  NodeId last_;    // of those in front
  std::string base_;
};

}  // namespace graphopt
