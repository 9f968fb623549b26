// The one list of passes, in the order of --list-passes, which is the order of the pipeline. Each position
// has a reason.

#include <algorithm>

#include "passes/pass.h"

namespace graphopt {

extern const PassInfo constants_to_initializers, drop_identity, constant_folding, inline_if, drop_noop,
    constant_shapes, merge_initializers, common_subexpressions, drop_unused_outputs, dead_code,
    aggregate_elementwise, compose, hoist_reshape, raise_gemm, neutral_elements, zero_states, sequence_idioms,
    merge_tables, merge_matmuls, reduce_keepdims, fold_affine, batch_products, resolve_types,
    compose_selections, signed_zeros, merge_reductions, merge_factors, select_parts, share_rows, fold_pads,
    merge_bounds, compose_layouts, simplify_loops, simplify_if, inline_functions, sequence_values,
    unroll_loops, loop_invariants, raise_activations, raise_norms, raise_shuffles, merge_slices;

namespace {

constexpr const PassInfo* kPasses[] = {
    &dead_code,  // first: dead users would block rewrites, and dead nodes would be merged with live ones
    &inline_functions,           // early: what it makes is like any other node to all that follow
    &constants_to_initializers,  // the others expect initializers
    &drop_identity,              // before folding and merging, which compare operands by identity
    &constant_folding,           // makes the operands that drop_noop and constant_shapes require
    &inline_if,                  // directly after its condition became a constant
    &simplify_if,                // on what has no constant condition
    &simplify_loops,             // after folding, which makes conditions constant
    &unroll_loops,               // after simplify_loops, which finds conditions that stay true
    &loop_invariants,            // after unroll_loops: only loops that stay
    &resolve_types,              // after folding, which may decide more types
    &sequence_values,            // after folding, which gives it constant positions
    &sequence_idioms,            // on the sequences that are left
    &drop_noop,
    &zero_states,         // after folding, which makes zeros constants
    &reduce_keepdims,     // after drop_noop: only deformations that change dims are left
    &merge_reductions,    // after reduce_keepdims: fewer deformations lie between
    &constant_shapes,     // erases the chains that common_subexpressions would otherwise visit
    &merge_initializers,  // before common_subexpressions: equal operands become the same operand
    &common_subexpressions,
    &compose,  // after common_subexpressions: equal movements are one, and no second reader keeps a pair
               // apart
    &compose_layouts,     // beside compose, for the same reason
    &compose_selections,  // beside compose, for the same reason
    &merge_slices,        // after compose, which makes Splits of Slices
    &drop_unused_outputs,
    &merge_bounds,  // after folding, which makes bounds constants, and before the searches, which move limits
                    // apart
    &fold_pads,     // after merging and removal, so that all readers of a Pad are windows without indices;
                    // before fold_affine: a scale upstream of the Pad is then next to the Conv
    &raise_norms,   // before the searches, which then move one node and not nine
    &raise_activations,  // before the searches, which then move one node and not eight, and before
                         // merge_factors and fold_affine, which would take its numbers apart
    &merge_factors,      // before fold_affine, which then finds one factor
    &fold_affine,        // after folding and removal: parameters are constants, and nothing lies between
    &merge_tables,       // before hoisting: deformations are still next to their Gathers
    &merge_matmuls,  // before aggregate_elementwise, which moves elementwise nodes downstream of the products
                     // across the Split
    &aggregate_elementwise,  // on a clean graph: the nodes that it merges need not be compared again
    &hoist_reshape,
    &neutral_elements,  // after the searches: one neutral operand among branches would tell them apart
    &select_parts,      // after the searches, which know Slices and Gathers that tile a value
    &signed_zeros,      // beside neutral_elements, for the same reason
    &share_rows,        // after the searches, which move the Reshapes that it looks for
    &batch_products,    // after the searches: a Reshape that another one cancels costs less than an Add
    &raise_shuffles,    // after the searches: its parts may cancel with other movements
    &raise_gemm,        // last: an Add in a Gemm is no elementwise node any more, which searches could merge
};

}  // namespace

std::span<const PassInfo* const> all_passes() { return kPasses; }

const PassInfo* find_pass(std::string_view name) {
  const auto it = std::ranges::find(kPasses, name, [](const PassInfo* p) { return p->name; });
  return it == std::end(kPasses) ? nullptr : *it;
}

}  // namespace graphopt
