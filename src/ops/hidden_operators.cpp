#include "ops/hidden_operators.h"

#include <algorithm>
#include <array>

#include "ops/facts.h"

namespace graphopt {
namespace {

// Returns the operator that a node would have which means the function; Opaque for none.
OpKind hidden_by(const Model& m, FunctionId f) {
  const Function& function = m.function(f);
  // An operator is written without an overload, so that its node calls no function that has one.
  if (function.overload != kEmptyName || !function.body || !m.graph(function.body).alive)
    return OpKind::Opaque;
  return op_kind(m.text(function.domain), m.text(function.name));
}

bool begins_with(std::string_view domain, std::string_view parent) {
  return domain.starts_with(parent) && (domain.size() == parent.size() || domain[parent.size()] == '.');
}

}  // namespace

bool is_domain_of_runtimes(std::string_view domain) {
  constexpr std::array<std::string_view, 3> kParents{"ai.onnx", "com.microsoft", "com.ms"};
  return domain.empty() ||
         std::ranges::any_of(kParents, [&](std::string_view p) { return begins_with(domain, p); });
}

FunctionId hidden_operator(const Model& m) {
  for (std::size_t i = 0; i < m.function_count(); ++i) {
    const OpKind kind = hidden_by(m, FunctionId{i});
    if (kind != OpKind::Opaque && op_domain(kind).empty()) return FunctionId{i};
  }
  return {};
}

bool is_hidden(const Model& m, OpKind kind) {
  if (kind == OpKind::Opaque) return false;
  for (std::size_t i = 0; i < m.function_count(); ++i)
    if (hidden_by(m, FunctionId{i}) == kind) return true;
  return false;
}

}  // namespace graphopt
