// Groups of units and a topological order of their quotient, kept while groups are merged.
//
// Problem: a merge is allowed if no path leads from one of the two groups to the other through a third one. A
// search of the whole graph before each merge would take the square of its size.
// Method: each group has a slot in a topological order. A path between two groups runs through slots between
// theirs alone, so a search from the earlier one stays inside that window; if it does not meet the later one,
// the window is rewritten: what the search did not reach, the merged group, what it reached. (After Pearce
// and Kelly, "A dynamic topological sort algorithm for directed acyclic graphs", JEA 11, 2006.) Ends: a merge
// lowers the number of groups. A search that exceeds its limit refuses the merge, which is sound; limits
// count steps, so results do not depend on the machine.
//
// QuotientOrder of src/ir keeps such an order, too, of nodes and their edges. Here partners are chosen by
// their distance in the order, and a group may have as many edges as the graph, so edges join groups, each
// once.
#pragma once

#include <cstdint>
#include <vector>

#include "partition/unit_graph.h"

namespace graphopt::partition {

// Steps that may still be made: groups and edges that searches look at. Shared by all candidates of a run.
struct Budget {
  std::int64_t steps = 0;
  bool spent() const { return steps <= 0; }
};

class GroupOrder {
 public:
  // Precondition: the quotient over the labels has no cycle. `sequence`: groups in the order of these units,
  // each a group; else of possible orders the one with the least units first.
  GroupOrder(const UnitGraph& graph, const Labels& labels, Budget& budget,
             const std::vector<Index>* sequence = nullptr);

  Index find(Index group) {
    while (up_[group] != group) group = up_[group] = up_[up_[group]];
    return group;
  }
  Index group_of(Index unit) { return find(label_[unit]); }
  Index color(Index group) const { return color_[group]; }
  Index key(Index group) const { return key_[group]; }  // its least unit
  Index size(Index group) const { return size_[group]; }
  bool alive(Index group) const { return up_[group] == group; }

  std::size_t slot_count() const { return sequence_.size(); }
  Index at(std::size_t slot) const { return sequence_[slot]; }  // kNone: empty
  Index slot(Index group) const { return slot_[group]; }

  // The groups that it is read by, or that it reads; each once. Valid until the next call or merge.
  const std::vector<Index>& consumers(Index group) { return tidy(consumers_[group], group); }
  const std::vector<Index>& producers(Index group) { return tidy(producers_[group], group); }

  // Merges b into a; returns false if that would close a cycle or a limit was reached. Precondition: a != b.
  bool merge(Index a, Index b);
  void compact();   // removes empty slots
  Labels labels();  // groups by their order

 private:
  std::vector<Index>& tidy(std::vector<Index>& list, Index group);
  bool search(Index from, Index to, bool forward);
  void rewrite(Index a, Index b, Index low, Index high, bool forward);

  Budget& budget_;
  Labels label_;  // by unit: the group that it was in at first
  std::vector<Index> up_, color_, key_, size_, slot_, sequence_;
  std::vector<std::vector<Index>> consumers_, producers_;
  std::vector<Index> seen_, reached_;  // by group: epochs of tidy() and search()
  Index seen_epoch_ = 0, reached_epoch_ = 0;
  std::size_t reached_count_ = 0;  // by the last search
  std::vector<Index> stack_, before_, after_;
};

// Returns the groups numbered in the topological order of their quotient that takes the group with the least
// unit first; nothing if it has a cycle.
Labels in_order(const UnitGraph& graph, const Labels& labels);

}  // namespace graphopt::partition
