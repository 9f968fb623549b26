// The one list of passes, in the order of --list-passes, which is the order of the pipeline. A comment gives
// the reason for a pass's position; docs/passes.md prints it after "It runs", and the groups as headings
// (tools/packaging/passes_page.py).

#include <algorithm>

#include "passes/pass.h"

namespace graphopt {

extern const PassInfo constants_to_initializers, drop_identity, constant_folding, inline_if, drop_noop,
    cancel_quantization, merge_repeats, scatter_blocks, constant_shapes, merge_initializers,
    common_subexpressions, drop_unused_outputs, dead_code, aggregate_elementwise, compose, hoist_reshape,
    raise_gemm, neutral_elements, zero_states, sequence_idioms, merge_tables, merge_matmuls, reduce_keepdims,
    fold_affine, batch_products, resolve_types, compose_selections, signed_zeros, merge_reductions,
    merge_factors, select_parts, share_rows, fold_pads, merge_bounds, compose_layouts, simplify_loops,
    simplify_if, inline_functions, sequence_values, unroll_loops, loop_invariants, raise_activations,
    raise_norms, raise_shuffles, merge_slices, least_rank;

namespace {

constexpr const PassInfo* kPasses[] = {
    // Group: Dead code, constants and functions
    &dead_code,  // first, since dead users block rewrites, and dead nodes would be merged with live ones
    &inline_functions,           // early, so that the passes that follow see the nodes of the bodies
    &constants_to_initializers,  // early, since the passes that follow expect initializers
    &drop_identity,              // before folding and merging, which compare operands by identity
    &constant_folding,           // before the passes that require constant operands or conditions

    // Group: Branches and loops
    &inline_if,        // directly after folding, which makes its condition a constant
    &simplify_if,      // after inline-if, on the conditions that are not constant
    &simplify_loops,   // after folding, which makes conditions constant
    &unroll_loops,     // after simplify-loops, which finds conditions that stay true
    &loop_invariants,  // after unroll-loops, on the loops that stay

    // Group: Types and sequences
    &resolve_types,    // after folding, which may decide more types
    &sequence_values,  // after folding, which makes positions constants
    &sequence_idioms,  // after sequence-values, on the sequences that stay

    // Group: Nodes and shapes that are redundant
    &drop_noop,            // after folding, which makes its operands constants
    &cancel_quantization,  // next to drop-noop: a pair of quantizations that does nothing
    &zero_states,          // after folding, which makes zeros constants
    &reduce_keepdims,      // after drop-noop: only deformations that change dims are left
    &merge_reductions,     // after reduce-keepdims: fewer deformations lie between reductions
    &constant_shapes,  // before common-subexpressions, which then need not visit the chains that it removes

    // Group: The same thing twice
    &merge_initializers,  // before common-subexpressions: equal operands become the same operand
    &common_subexpressions,

    // Group: Data movements in a row
    &compose,          // after common-subexpressions, so that equal movements are one node, and none of two
                       // movements has a second reader that is its copy
    &compose_layouts,  // next to compose, and after common-subexpressions for the same reason
    &compose_selections,  // next to compose, and after common-subexpressions for the same reason
    &merge_repeats,       // before the searches, which move the Reshape away from its Expand
    &scatter_blocks,      // next to compose-selections, which knows assignments to all of a tensor
    &merge_slices,        // after compose, which makes Splits of Slices
    &drop_unused_outputs,

    // Group: Fused operators and weights
    &merge_bounds,  // after folding, which makes bounds constants, and before the searches, which move
                    // operators that limit a value away from each other
    &fold_pads,     // after merging and removal, so that all readers of a Pad are windows without indices,
                    // and before fold-affine: a scale upstream of the Pad is then next to the Conv
    &raise_norms,   // before the searches, which then move one node instead of nine
    &raise_activations,  // before the searches, which then move one node instead of eight, and before
                         // merge-factors and fold-affine, which would fold some of its constants elsewhere
    &merge_factors,      // before fold-affine, which then finds one factor
    &fold_affine,   // after folding and removal, so that parameters are constants, and the two nodes adjacent
    &merge_tables,  // before the searches: deformations are still next to their Gathers
    &merge_matmuls,  // before aggregate-elementwise, which moves elementwise nodes downstream of the products
                     // across the Split

    // Group: Searches
    &aggregate_elementwise,  // on a clean graph: the nodes that it merges need not be compared again
    &hoist_reshape,

    // Group: After the searches
    &neutral_elements,  // after the searches, which merge branches of the same operators: without its factor
                        // of
                        // 1 a branch would differ from the others
    &select_parts,      // after the searches, which recognize Slices and Gathers that tile a value
    &signed_zeros,      // after the searches, for the reason of neutral-elements
    &share_rows,        // after the searches, which move the Reshapes that it looks for
    &batch_products,    // after the searches: a Reshape that another one cancels costs less than an Add
    &raise_shuffles,    // after the searches: its parts may cancel with other movements
    &least_rank,        // after the searches and raise-shuffles, which find more where each axis is written
    &raise_gemm,        // last: an Add in a Gemm is no elementwise node any more, which searches could merge
};

}  // namespace

std::span<const PassInfo* const> all_passes() { return kPasses; }

const PassInfo* find_pass(std::string_view name) {
  const auto it = std::ranges::find(kPasses, name, [](const PassInfo* p) { return p->name; });
  return it == std::end(kPasses) ? nullptr : *it;
}

}  // namespace graphopt
