// See why.h.
#include "rewrite/why.h"

#include "ops/facts.h"

namespace graphopt {

std::string Why::text(const Model& m, NodeId root) const {
  if (!known_) return {};
  const auto named = [&m](NodeId n, ValueId v) {
    return "'" + std::string(v ? m.text(m.value(v).name) : std::string_view()) + "' (" +
           std::string(m.text(m.op(n).type)) + ")";
  };
  const auto& [node, value, reason, wanted, attribute, matched, operand] = miss_;
  std::string out;
  if (!node) out = "'" + std::string(value ? m.text(m.value(value).name) : std::string_view()) + "': ";
  else if (!operand && node == root) out = "";
  else if (!operand) out = named(node, value ? value : m.output(node, 0)) + ": ";
  else if (value) {
    out = "'" + std::string(m.text(m.value(value).name)) + "', read by " + named(node, m.output(node, 0)) +
          ": ";
  } else {
    out = "an operand of " + named(node, m.output(node, 0)) + ": ";
  }
  if (wanted != OpKind::Opaque) return out + "expected " + std::string(op_name(wanted));
  out += reason;
  if (attribute) out += " attribute '" + std::string(m.text(attribute)) + "'";
  return out;
}

}  // namespace graphopt
