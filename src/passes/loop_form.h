// What the operands, results and body of a Loop or Scan have to do with each other.
//
// Problem: the initial value of a loop-carried value, the body's input, what the body returns for it and the
// node's result stand at four different positions, and Loop and Scan count differently.
// Method: one record with the positions at which each list begins. It exists only for nodes that are what the
// standard describes: nothing about another one may be concluded.
#pragma once

#include <cstddef>
#include <optional>

#include "ir/model.h"

namespace graphopt {

struct LoopForm {
  GraphId body;
  bool scan = false;         // Scan; else Loop
  std::size_t carried = 0;   // values carried from one iteration to the next
  std::size_t scan_in = 0;   // operands of a Scan that are sliced; they follow the carried ones
  std::size_t scan_out = 0;  // results with an entry per iteration; they follow the carried ones
  std::size_t first_operand = 0, first_input = 0, first_return = 0;  // of the carried values

  ValueId initial(const Model& m, NodeId n, std::size_t i) const { return m.input(n, first_operand + i); }
  ValueId input(const Model& m, std::size_t i) const { return m.graph_inputs(body)[first_input + i]; }
  ValueId returned(const Model& m, std::size_t i) const { return m.graph_output(body, first_return + i); }
};

// Of a Loop or Scan. Returns nothing for a node with attributes that are not known, without its body or with
// absent operands, and where the numbers of operands, results, inputs and outputs do not fit. A Scan is one
// of opset 9 or later: before, it worked on a batch.
std::optional<LoopForm> loop_form(const Model& m, NodeId n);

// Returns true if something needs a result of a node: a consumer, or what names it from outside of the graph.
inline bool is_read(const Model& m, ValueId v) { return v && (m.use_count(v) > 0 || m.value(v).pinned); }

// Returns what the value `v` is a copy of: looks through the Identity nodes of its own graph.
ValueId copied_value(const Model& m, ValueId v);

}  // namespace graphopt
