// Branches of an If that a runtime may refuse to merge.
//
// Problem: before opset 11 a runtime that loads a model wants the branches of an If to agree on rank and
// extents, as far as it knows them. Branches that give results of other shapes are right all the same: a run
// takes one of them. While the runtime does not know one shape it has nothing to refuse; a fold, a node that
// goes, or a type that is written makes it known. There are no sequences yet behind which it could be hidden
// (rewrite/hide_types.h).
// Method: results whose shapes contradict each other, as inference knows them, are found, and those that a
// rewrite may make known later: a shape may become known if it follows from what may become a constant, or
// from a node with bodies. This overestimates what passes can do, so branches that are not found stay merged.
#pragma once

#include <span>

#include "infer/infer.h"
#include "support/known_names.h"

namespace graphopt {

// Returns whether an If before opset 11 has branches that contradict each other, or that may do so when more
// is known. Linear in the model; at once where there is no such If. Inference is up to date.
bool branches_may_disagree(const Model& m, const Inference& infer);

// Returns whether the node is an If whose branches have to agree.
bool merges_branches(const Model& m, NodeId n);

// Returns whether the model has such a node.
bool has_merged_branches(const Model& m);

// Calls f(a, b) for each result of an If, which its branches give as a and b.
template <class F> void each_merged(const Model& m, NodeId n, F f) {
  const Attr* yes = m.find_attr(n, names::then_branch);
  const Attr* no = m.find_attr(n, names::else_branch);
  if (!yes || !no || yes->graphs.size() != 1 || no->graphs.size() != 1) return;
  const GraphId g = yes->graphs[0], h = no->graphs[0];
  for (std::size_t k = 0; k < m.graph_output_count(g) && k < m.graph_output_count(h); ++k)
    if (m.graph_output(g, k) && m.graph_output(h, k)) f(m.graph_output(g, k), m.graph_output(h, k));
}

// Returns false if a runtime refuses to merge the branches of an If. By value: what it infers of the
// branches' results, and what the file declares of them.
bool are_merged(const Model& m, NodeId n, std::span<const TypeId> types, std::span<const TypeId> declared);

}  // namespace graphopt
