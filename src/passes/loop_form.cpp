#include "passes/loop_form.h"

#include <algorithm>

#include "ops/attributes.h"
#include "support/known_names.h"

namespace graphopt {
namespace {

// A list with an entry for each scan operand or result, or none.
bool fits(const Model& m, NodeId n, NameId name, std::size_t count) {
  if (!has_attr(m, n, name)) return true;
  const auto list = ints_attr(m, n, name);
  return list && list->size() == count;
}

}  // namespace

std::optional<LoopForm> loop_form(const Model& m, NodeId n) {
  const bool scan = m.kind(n) == OpKind::Scan;
  if ((scan && m.opset(n) < 9) || !attributes_known(m, n)) return {};
  const Attr* a = m.find_attr(n, names::body);
  if (a == nullptr || a->graphs.size() != 1) return {};
  LoopForm f;
  f.body = a->graphs[0];
  f.scan = scan;
  f.first_operand = f.first_input = scan ? 0 : 2;
  f.first_return = scan ? 0 : 1;
  f.carried = m.input_count(n) - f.first_operand;
  if (scan) {
    const auto sliced = int_attr(m, n, names::num_scan_inputs);
    if (!sliced || *sliced < 1 || static_cast<std::uint64_t>(*sliced) > f.carried) return {};
    f.scan_in = static_cast<std::size_t>(*sliced);
    f.carried -= f.scan_in;
  }
  if (m.output_count(n) < f.carried) return {};
  f.scan_out = m.output_count(n) - f.carried;
  const auto inputs = m.graph_inputs(f.body);
  if (inputs.size() != f.first_input + f.carried + f.scan_in ||
      m.graph_output_count(f.body) != f.first_return + f.carried + f.scan_out)
    return {};
  for (std::size_t i = f.first_operand; i < m.input_count(n); ++i)
    if (!m.input(n, i)) return {};
  for (const ValueId v : inputs)
    if (m.value(v).is_initializer || m.value(v).pinned) return {};
  if (scan && (!fits(m, n, names::scan_input_axes, f.scan_in) ||
               !fits(m, n, names::scan_input_directions, f.scan_in) ||
               !fits(m, n, names::scan_output_axes, f.scan_out) ||
               !fits(m, n, names::scan_output_directions, f.scan_out)))
    return {};
  return f;
}

ValueId copied_value(const Model& m, ValueId v) {
  while (!m.is_fixed(v)) {
    const NodeId def = m.value(v).def;
    if (!def || m.kind(def) != OpKind::Identity || !m.input(def, 0)) break;
    if (m.value(m.input(def, 0)).graph != m.value(v).graph) break;
    v = m.input(def, 0);
  }
  return v;
}

}  // namespace graphopt
