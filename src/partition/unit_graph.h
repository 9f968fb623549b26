// The graph of atomic units, which all algorithms work on.
//
// Problem: nodes of an atomic group stay together, and with them every node on a path between two of them;
// two groups that reach each other are one. Method: groups are contracted; each strongly connected component
// of what results is a unit (Tarjan, iterative). A node outside all of them is a unit of its own. Units are
// numbered by their least rank, so that a tie is broken by taking the lesser unit, whatever the numbers of
// the nodes are. Ends: each edge is looked at once.
#pragma once

#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

#include "partition/problem.h"
#include "partition/result.h"

namespace graphopt::partition {

struct UnitGraph {
  Index host = 0;
  std::vector<Index> unit_of;           // by node
  Rows members;                         // by unit: nodes in order of rank
  Rows producers, consumers;            // by unit: other units, each once, ascending
  std::vector<Index> color;             // by unit: the device that it goes to; moves raise it
  std::vector<Index> set_of;            // by unit: the row of `sets` with its devices
  Rows sets;                            // devices, ascending, without the host
  std::vector<Index> order;             // a topological order
  std::vector<Index> depth;             // by unit: edges of the longest path that ends in it
  std::vector<Index> by_depth;          // units by depth, then number: the canonical topological order
  std::vector<std::uint8_t> connected;  // by device: it takes only connected subgraphs

  // Values that more than one unit has to do with.
  std::vector<Index> value_producer;
  std::vector<std::uint64_t> value_bytes;
  Rows value_readers;  // other units than the producer, each once

  std::size_t size() const { return color.size(); }
  std::size_t edge_count() const { return producers.item_count(); }
  // Returns the first device after `device` that takes the unit; the host takes all.
  Index next_device(Index unit, Index device) const {
    for (const Index d : sets[set_of[unit]])
      if (d > device) return d;
    return host;
  }
  bool any_connected() const {
    for (const std::uint8_t c : connected)
      if (c != 0) return true;
    return false;
  }
};

// Precondition: check(problem) found nothing.
UnitGraph make_units(const Problem& problem, const Options& options);

// Groups of units, numbered from 0 in any way.
using Labels = std::vector<Index>;
Labels singles(const UnitGraph& graph);  // each unit a group of its own

// What a partition is chosen by; the least is best.
struct Score {
  Index accelerators = 0, groups = 0;
  std::uint64_t border_bytes = 0, transfers = 0;
  friend bool operator<(const Score& a, const Score& b) {
    return std::tie(a.accelerators, a.groups, a.border_bytes) <
           std::tie(b.accelerators, b.groups, b.border_bytes);
  }
};
Score score(const UnitGraph& graph, const Labels& labels);

}  // namespace graphopt::partition
