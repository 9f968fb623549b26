// The mapping of the operators of two models: which one became which.
//
// Problem: two exporters, two versions or an optimizer write one model in two ways; names differ, and
// operators are fused, decomposed, moved or left out. Method: the main graphs are mapped (mapper.h), then the
// bodies of each pair of owners, attribute by attribute, and of each pair of functions that are called; a
// body of owners that are no pair has no counterpart. It ends since each body is mapped once.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graphopt/map_enums.h"
#include "infer/infer.h"
#include "ir/model.h"
#include "mapping/ends.h"
#include "mapping/groups.h"
#include "mapping/matching.h"

namespace graphopt::mapping {

// Operators that the user knows to be a pair.
struct GivenPair {
  NodeId a, b;
};

struct MapOptions {
  MapMethod method = MapMethod::Sparse;
  std::size_t rounds = 10;  // of the literal method, at most
  bool weights = true;      // contents of constants count
  bool names = true;        // equal names of results count
  std::vector<GivenPair> given;
  // Results that are known to be equal, or known to differ, from a run: of A and of B.
  std::vector<std::pair<ValueId, ValueId>> equal, unequal;
  bool is_one_model = false;  // it is known that they are
  std::size_t top_k = 3;      // operators of B that Scope::advice has of each
};

// Two graphs that correspond, and their operators.
struct Scope {
  std::unique_ptr<Side> a, b;
  Ends ends;
  std::vector<Pair> pairs;  // in the order of A's operators
  std::vector<Group> groups;
  std::vector<Advice> advice;
  std::vector<Index> mates;  // by value of A: the value of B that corresponds; kNone: none
  // Of bodies: the scope and the pair of their owners, and by side the attribute or the function.
  std::optional<std::size_t> outer;
  Pair owners;
  std::array<std::string, 2> attributes;
};

struct Mapping {
  std::unique_ptr<Labels> labels;
  std::vector<Scope> scopes;  // the main graphs first, bodies after their owners
  // Shares of the operators of either side that are in a pair or in a group with both sides. There are no
  // groups where the graphs are not one model.
  double mapped_a = 0, mapped_b = 0;
  bool is_one_model = false;
  // Given pairs that do not hold: a constant of one is that of another operator, which is named, too; or no
  // mapping of graphs has both.
  struct Refused {
    GivenPair pair;
    NodeId reads_a, reads_b;  // the operators of A and B that read one constant; none
  };
  std::vector<Refused> refused;
  // Of graphs with more operators than the literal method takes: the bytes of its matrices. The rest is empty
  // then.
  std::uint64_t too_large = 0;
};

// The models and their inferences outlive the result.
Mapping map_graphs(const Model& a, const Inference& of_a, const Model& b, const Inference& of_b,
                   const MapOptions& options);

}  // namespace graphopt::mapping
