// The one list of passes, in the order of --list-passes, which is the order of the pipeline. Each position
// has a reason.

#include <algorithm>

#include "passes/pass.h"

namespace graphopt {

extern const PassInfo constants_to_initializers, drop_identity, constant_folding, inline_if, drop_noop,
    constant_shapes, merge_initializers, common_subexpressions, drop_unused_outputs, dead_code,
    aggregate_elementwise, hoist_reshape, sequence_idioms, merge_tables, merge_matmuls, reduce_keepdims;

namespace {

constexpr const PassInfo* kPasses[] = {
    &dead_code,  // first: what nobody reads must not count as a reader, nor be what others are merged with
    &constants_to_initializers,  // the others look for initializers
    &drop_identity,              // before folding and merging: they compare operands by identity
    &constant_folding,           // makes the operands that drop_noop and constant_shapes ask for
    &inline_if,                  // right after its condition became a constant
    &sequence_idioms,  // after folding: it asks for constant positions; its Concat and Split of one part go
                       // next
    &drop_noop,
    &reduce_keepdims,     // after drop_noop: what is left of the deformations behind a reduction changes dims
    &constant_shapes,     // frees the chains that common_subexpressions would otherwise walk
    &merge_initializers,  // before common_subexpressions: equal operands become the same operand
    &common_subexpressions,
    &drop_unused_outputs,
    &merge_tables,   // before hoisting: deformations still stand next to their Gathers
    &merge_matmuls,  // before aggregate_elementwise, which takes the elementwise nodes behind the products
                     // over the Split
    &aggregate_elementwise,  // on a graph that is clean: what it merges need not be compared again
    &hoist_reshape,
};

}  // namespace

std::span<const PassInfo* const> all_passes() { return kPasses; }

const PassInfo* find_pass(std::string_view name) {
  const auto it = std::ranges::find(kPasses, name, [](const PassInfo* p) { return p->name; });
  return it == std::end(kPasses) ? nullptr : *it;
}

}  // namespace graphopt
