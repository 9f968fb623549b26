// The literal method: operators of two graphs are paired by the positions that they take in two matrices.
//
// Problem: a plain method, whose steps are easy to follow, is wanted to compare the default one with
// (map_graphs.h). Names and the order of operators in the file do not count.
// Notions. The footprint matrix of a graph has a row and a column for each operator; an entry is 1 if the
// operator of the row feeds the one of the column. Operators are homogeneous if they have one type and
// results of the same dims. Those of both graphs are a homogeneous partition; operators whose type and dims
// are in one graph only are the mixed partition. Pseudo-operators, which feed nothing and read nothing, make
// both sides of a partition equally large, so that both matrices have the same positions. The homogeneous
// depth of an operator is the largest number of operators of its partition before it on a way that leads to
// it.
// Method: within a homogeneous partition operators stand in order of homogeneous depth, then in canonical
// order, then pseudo-operators. The similarity of an operator of A and one of B is the cosine of their
// feature vectors, each of which is a row and a column of a footprint matrix. A round puts A's operators of
// each partition in the order that has the greatest sum of similarities at equal positions, and similarities
// are computed again. At the end, operators at one position of a homogeneous partition are a pair. For those
// of the mixed partition the most similar ones of B's part of it are advice.
// Choices: the direction of an edge has no sign, since rows and columns both count. Of orders with equal sums
// the one is taken in which more operators stay. A round that changes nothing is the last one. The mixed
// partition is in canonical order.
// Why it ends: there are options.rounds rounds at most. Without that bound it may go on forever: where the
// beginnings of two equal branches are crossed with their ends, each half follows the other one in every
// round.
// Cost: N^2 similarities are kept, where N counts positions. Vectors are sparse: a round takes a step for
// each edge of A and each neighbour at the other end's position, and looks at the similarities once. An
// assignment is cubic; operators that are similar to nothing of each other are assigned apart.
//
//   A: p = Relu (x)  y = Add (p, x)    B: u = Relu (x)  v = Relu (u)  y = Add (v, x)    (equal dims)
//   Relu: p, pseudo | u, v.  Add: y | y.  p feeds what v feeds, so that p moves: pseudo, p | u, v.
//   Pairs: p and v, y and y.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "mapping/matching.h"

namespace graphopt::mapping {

inline constexpr std::size_t kMostLiteral = 3000;  // operators of either side; the caller refuses more

struct LiteralOptions {
  std::size_t rounds = 10, top_k = 3;
};

struct LiteralMapping {
  std::vector<Pair> pairs;  // in the order of A's operators; the confidence is the similarity
  // Of operators of the mixed partition, in the same order. One that nothing of B's part of it is similar to
  // has none.
  std::vector<Advice> advice;
  std::size_t rounds = 0;  // with the last one, which may have changed nothing
};

// Returns how much memory the matrices take.
std::uint64_t literal_bytes(const Side& a, const Side& b);

// Both sides have the same Labels.
LiteralMapping map_literally(const Side& a, const Side& b, const LiteralOptions& options);

}  // namespace graphopt::mapping
