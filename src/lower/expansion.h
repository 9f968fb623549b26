// An expansion: one way to write a node in other operators.
//
// Problem: a device refuses an operator, and takes the ones of which that can be written.
// Method: an expansion is a rule (rewrite/engine.h) of which match() says whether the node can be written so,
// and apply() writes it before the node. Expansions know no devices: the search (lower.h) tries them, one on
// what another wrote too, and keeps what a device supports. They lower no cost by themselves; the search
// ends, since it expands a node at most so often and looks at each node once.
//
// One file per family; expansions.cpp is the one list. The head comment of a file says why its expansions are
// exact, or what they round.
//
//   y = Neg (x)    =>    y = Mul (x, -1)
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "passes/pass.h"
#include "passes/rule_pass.h"
#include "rewrite/emitter.h"

namespace graphopt {

class ExpansionRule : public Rule {
 public:
  // Returns the emitter for what stands in the place of n.
  static Emitter emit(Model& m, NodeId n) {
    return Emitter::before(m, n, std::string(m.text(m.value(m.output(n, 0)).name)));
  }
  // The first result of n, its name and its readers, becomes the result of the node that makes v, which was
  // emitted for n and has no reader.
  static void give_result(Model& m, NodeId n, ValueId v, std::size_t slot = 0);
};

// Returns the nodes that an expansion of root has written: those with ids from `made_from` on, and root where
// it stays, in their order.
std::vector<NodeId> written_nodes(const Model& m, std::size_t made_from, NodeId root);

struct Expansion {
  Exact exact;
  std::unique_ptr<Rule> (*make)();
};

template <class R, Exact kExact> constexpr Expansion expansion() {
  return {kExact, [] { return std::unique_ptr<Rule>(std::make_unique<FreshRule<R>>()); }};
}

// Nodes with more operands or results than this are not written.
inline constexpr std::uint8_t kMostParts = 64;

inline std::optional<std::int64_t> number_of(const Model& m, DimId d) {
  return d ? m.dims.value(d) : std::nullopt;
}

// All expansions. Of one operator the first that a device supports in the end is taken, so the one with fewer
// nodes comes first.
std::vector<Expansion> all_expansions();

// Of one family; each in its file.
std::span<const Expansion> reshape_expansions();
std::span<const Expansion> movement_expansions();
std::span<const Expansion> activation_expansions();
std::span<const Expansion> norm_expansions();
std::span<const Expansion> product_expansions();
std::span<const Expansion> erf_expansions();
std::span<const Expansion> gather_expansions();
std::span<const Expansion> reduction_expansions();
std::span<const Expansion> window_expansions();
std::span<const Expansion> call_expansions();
std::span<const Expansion> logic_expansions();
std::span<const Expansion> layout_expansions();
std::span<const Expansion> arithmetic_expansions();

}  // namespace graphopt
