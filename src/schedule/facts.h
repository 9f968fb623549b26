// What an order of subgraphs says of them: which may run at once, and how long values are needed.
//
// Source: parallel node groups of a front node and at least two back nodes that read it; the front's result
// is counted down by each back and given up at zero. Here a node is a subgraph. Linear in subgraphs, values
// and their readers; parallel() of a group in the subgraphs between its backs.
#pragma once

#include <vector>

#include "schedule/problem.h"

namespace graphopt::schedule {

// Returns the order in which of all subgraphs that are ready the first of the problem is next; shorter than
// the problem where subgraphs read each other in a circle. O(n log n).
Order file_order(const Problem& p);
// Returns the place of each subgraph in an order of all.
std::vector<Index> places_of(const Order& order);

// A subgraph and those that read its results.
struct Group {
  Index front = 0;
  std::vector<Index> back;      // at least two, ascending; as many hold the front's results
  std::vector<Index> parallel;  // those of `back` that need no other of it
  friend bool operator==(const Group&, const Group&) = default;
};
// Returns one group for each subgraph that several others read, in the order.
std::vector<Group> groups(const Problem& p, const Order& order);

// How long a value is needed. Places are those of the order: -1 before it, its length after it.
struct Lifetime {
  std::uint64_t reference_count = 0;  // its readers, and one more where it is an output of the network
  std::int64_t first = -1;            // the place at which it is made
  std::int64_t last = -1;             // the place of its last reader; at least `first`
};
std::vector<Lifetime> lifetimes(const Problem& p, const Order& order);  // by value

}  // namespace graphopt::schedule
