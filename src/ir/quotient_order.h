// A topological order of groups of nodes, kept while groups are joined.
//
// Problem: regions and parts are groups of nodes, and a device executes a group at once. So the quotient, the
// graph in which each group is one node, must have no cycle. To search the whole graph before each join would
// take the square of its size.
// Method: every group has a position in a topological order of the quotient. A path from a to b through a
// third group runs through positions between theirs alone, so join() walks downstream of a and upstream of b
// within that window; if the walks do not meet the other end, it joins the two and gives the window's
// positions out anew: upstream of b, the joined group, downstream of a. (Pearce and Kelly, "A dynamic
// topological sort algorithm for directed acyclic graphs", JEA 11, 2006, for contraction instead of insertion
// of edges.)
// Ends: order() dissolves groups in cycles into nodes, and a graph of nodes has no cycle; a join lowers the
// number of groups.
//
// `Graph` describes the nodes by dense ids:
//   using Node = Id<...>;
//   std::size_t node_count() const;                        ids are below it
//   void each_node(F f) const;                             f(Node), in a topological order
//   bool each_consumer(Node n, F see) const;               see(Node) for each edge, until it returns false;
//   bool each_producer(Node n, F see) const;               returns whether all edges were seen
//   std::uint64_t key(Node n) const;                       of two possible orders, the least key comes first
//   void edges_exceeded() const;                           a limit stopped a join
//
//   a -> b -> c, groups {a}, {b}, {c}: join(a, c) returns false, join(a, b) returns true
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <span>
#include <utility>
#include <vector>

namespace graphopt {

// Edges that a join may look at, and edges of a group that is never joined again once a join met them.
struct QuotientLimits {
  std::size_t edges = 0, hub_edges = 0;
};

template <class Graph> class QuotientOrder {
 public:
  using Node = typename Graph::Node;

  // group_of(Node) names the group of a node by one of its members, which names itself.
  template <class GroupOf>
  QuotientOrder(const Graph& graph, QuotientLimits limits, GroupOf group_of)
      : graph_(graph),
        limits_(limits),
        of_(graph.node_count()),
        seen_(graph.node_count()),
        lists_of_(graph.node_count()) {
    graph_.each_node([&](Node n) { of_[n.index()] = group_of(n); });
  }

  // Returns the name of the group that n is in.
  Node of(Node n) {
    while (of_[n.index()] != n) n = of_[n.index()] = of_[of_[n.index()].index()];
    return n;
  }
  // Returns all groups in a topological order of the quotient; of several possible ones, the group whose
  // least key is least. Groups in a cycle, or on a path between two cycles, are dissolved into nodes.
  std::vector<Node> order();
  // Returns the nodes of a group in the order of the graph. Valid after order().
  std::span<const Node> members(Node group) const {
    return std::span(members_).subspan(first_[group.index()], size_[group.index()]);
  }
  std::size_t dissolved() const { return dissolved_; }  // nodes that order() took out of groups, so far
  // Joins two groups; returns false if that would close a cycle, or the check was stopped by its limit.
  // Precondition: order() was called, a != b.
  bool join(Node a, Node b);

 private:
  struct Lists {
    std::vector<Node> exits, entries;  // members that may be read by another group, or read from it
    bool wide = false;                 // it has more than hub_edges edges: it joins no other group
  };
  static constexpr std::uint32_t kNone = 0xFFFFFFFFu;

  void collect();
  template <class Each> void each_reader(Node group, Each each);
  void take_off_paths_to_no_cycle();
  void dissolve_cycles();
  Lists& lists(Node group);
  template <class Neighbours, class Each>
  bool visit(std::vector<Node>& nodes, Node group, Neighbours neighbours, Each each);
  template <class Each>
  bool walk(Node from, std::vector<Node>& found, bool forward, const bool& stop, Each each);
  void reorder(Node merged, std::uint32_t low, std::uint32_t high);

  const Graph& graph_;
  const QuotientLimits limits_;
  std::vector<Node> of_;
  std::vector<Node> members_;                // group by group
  std::vector<std::uint32_t> first_, size_;  // by group, into members_
  std::vector<std::uint32_t> position_;      // by group, in the order of the quotient
  std::vector<std::uint32_t> seen_;          // by group: epochs
  std::uint32_t epoch_ = 0;
  std::size_t steps_ = 0, dissolved_ = 0;
  std::vector<std::uint32_t> lists_of_;  // by group, into lists_, from 1; 0: not made yet
  std::vector<Lists> lists_;
  std::vector<Node> stack_, downstream_, upstream_;  // of join()
};

template <class Graph> void QuotientOrder<Graph>::collect() {
  first_.assign(graph_.node_count(), 0);
  size_.assign(graph_.node_count(), 0);
  std::size_t count = 0;
  graph_.each_node([&](Node n) { ++size_[of(n).index()], ++count; });
  std::uint32_t start = 0;
  graph_.each_node([&](Node n) {
    first_[n.index()] = start;
    start += size_[n.index()];
    size_[n.index()] = 0;
  });
  members_.resize(count);
  graph_.each_node([&](Node n) {
    const std::uint32_t g = of(n).index();
    members_[first_[g] + size_[g]++] = n;
  });
}

// Calls each(g) once for each edge from the group to another one.
template <class Graph> template <class Each> void QuotientOrder<Graph>::each_reader(Node group, Each each) {
  for (const Node n : members(group))
    graph_.each_consumer(n, [&](Node user) {
      if (const Node r = of(user); r != group) each(r);
      return true;
    });
}

template <class Graph> std::vector<typename Graph::Node> QuotientOrder<Graph>::order() {
  for (;;) {
    collect();
    std::vector<std::uint32_t> waiting(graph_.node_count());
    using Entry = std::pair<std::uint64_t, std::uint32_t>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
    const auto push = [&](Node group) {
      std::uint64_t key = ~std::uint64_t{0};
      for (const Node n : members(group)) key = std::min(key, graph_.key(n));
      ready.emplace(key, group.index());
    };
    std::size_t groups = 0;
    graph_.each_node([&](Node n) {
      if (of(n) != n) return;
      ++groups;
      each_reader(n, [&](Node r) { ++waiting[r.index()]; });
    });
    graph_.each_node([&](Node n) {
      if (of(n) == n && waiting[n.index()] == 0) push(n);
    });
    std::vector<Node> out;
    position_.assign(graph_.node_count(), kNone);
    while (!ready.empty()) {
      const Node group{ready.top().second};
      ready.pop();
      position_[group.index()] = static_cast<std::uint32_t>(out.size());
      out.push_back(group);
      each_reader(group, [&](Node r) {
        if (--waiting[r.index()] == 0) push(r);
      });
    }
    if (out.size() == groups) return out;
    take_off_paths_to_no_cycle();
    dissolve_cycles();
  }
}

// Groups without a position are in a cycle or downstream of one. Those that lead to no cycle get one, too,
// from the end: groups of which all readers have positions.
template <class Graph> void QuotientOrder<Graph>::take_off_paths_to_no_cycle() {
  std::vector<std::uint32_t> readers(graph_.node_count());
  const auto open = [&](Node g) { return position_[g.index()] == kNone; };
  graph_.each_node([&](Node n) {
    if (of(n) == n && open(n)) each_reader(n, [&](Node r) { readers[n.index()] += open(r); });
  });
  graph_.each_node([&](Node n) {
    if (of(n) == n && open(n) && readers[n.index()] == 0) stack_.push_back(n);
  });
  while (!stack_.empty()) {
    const Node group = stack_.back();
    stack_.pop_back();
    position_[group.index()] = 0;
    for (const Node n : members(group))
      graph_.each_producer(n, [&](Node producer) {
        const Node g = of(producer);
        if (g != group && open(g) && --readers[g.index()] == 0) stack_.push_back(g);
        return true;
      });
  }
}

template <class Graph> void QuotientOrder<Graph>::dissolve_cycles() {
  graph_.each_node([&](Node n) {  // of() reads of_, so all nodes are collected before it changes
    if (position_[of(n).index()] == kNone && of(n) != n) stack_.push_back(n);
  });
  for (const Node n : stack_) of_[n.index()] = n;
  dissolved_ += stack_.size();
  stack_.clear();
}

template <class Graph> typename QuotientOrder<Graph>::Lists& QuotientOrder<Graph>::lists(Node group) {
  std::uint32_t& at = lists_of_[group.index()];
  if (at == 0) {
    const std::span<const Node> all = members(group);
    lists_.push_back({{all.begin(), all.end()}, {all.begin(), all.end()}});
    at = static_cast<std::uint32_t>(lists_.size());
  }
  return lists_[at - 1];
}

// Calls each(g) for the other groups next to these nodes of a group, and removes nodes that have none from
// the list. Returns false if the limit of edges is reached.
template <class Graph>
template <class Neighbours, class Each>
bool QuotientOrder<Graph>::visit(std::vector<Node>& nodes, Node group, Neighbours neighbours, Each each) {
  bool& wide = lists(group).wide;
  if (wide) {
    graph_.edges_exceeded();
    return false;
  }
  const std::size_t before = steps_;
  for (std::size_t i = 0; i < nodes.size();) {
    bool next_to_other = false;
    const bool whole = neighbours(nodes[i], [&](Node other) {
      if (++steps_ > limits_.edges) return false;
      if (const Node g = of(other); g != group) {
        next_to_other = true;
        each(g);
      }
      return true;
    });
    if (!whole || ++steps_ > limits_.edges) {
      graph_.edges_exceeded();
      wide = steps_ - before > limits_.hub_edges;
      return false;
    }
    if (next_to_other) {
      ++i;
    } else {
      nodes[i] = nodes.back();
      nodes.pop_back();
    }
  }
  return true;
}

// Adds the groups that a walk from `from` reaches to `found`, as far as each(g, at) returns true and until
// `stop` is true. Returns false if a limit stopped it.
template <class Graph>
template <class Each>
bool QuotientOrder<Graph>::walk(Node from, std::vector<Node>& found, bool forward, const bool& stop,
                                Each each) {
  stack_.assign(1, from);
  while (!stack_.empty() && !stop) {
    const Node at = stack_.back();
    stack_.pop_back();
    const auto see = [&](Node g) {
      if (!each(g, at)) return;
      found.push_back(g);
      stack_.push_back(g);
    };
    Lists& of_group = lists(at);
    const bool whole =
        forward
            ? visit(
                  of_group.exits, at, [&](Node n, auto s) { return graph_.each_consumer(n, s); }, see)
            : visit(of_group.entries, at, [&](Node n, auto s) { return graph_.each_producer(n, s); }, see);
    if (!whole) return false;
  }
  return true;
}

template <class Graph> bool QuotientOrder<Graph>::join(Node a, Node b) {
  if (position_[a.index()] > position_[b.index()]) std::swap(a, b);
  const std::uint32_t low = position_[a.index()], high = position_[b.index()];
  const std::uint32_t mark = ++epoch_;
  steps_ = 0;
  downstream_.clear();
  upstream_.clear();
  bool cycle = false;
  const auto inside = [&](Node from) {
    return [&, from](Node g, Node at) {
      if (g == a || g == b) {
        cycle = cycle || at != from;  // a path from a to b through a third group
        return false;
      }
      const std::uint32_t position = position_[g.index()];
      if (cycle || position < low || position > high || seen_[g.index()] == mark) return false;
      seen_[g.index()] = mark;
      return true;
    };
  };
  if (!walk(a, downstream_, true, cycle, inside(a)) || cycle) return false;
  if (!walk(b, upstream_, false, cycle, inside(b)) || cycle) return false;

  (void)lists(a), (void)lists(b);  // both are made before references are taken
  Lists &la = lists(a), &lb = lists(b);
  const bool into_a = la.exits.size() + la.entries.size() >= lb.exits.size() + lb.entries.size();
  Lists &to = into_a ? la : lb, &from = into_a ? lb : la;
  to.exits.insert(to.exits.end(), from.exits.begin(), from.exits.end());
  to.entries.insert(to.entries.end(), from.entries.begin(), from.entries.end());
  from = {};
  const Node merged = into_a ? a : b;
  of_[(into_a ? b : a).index()] = merged;
  reorder(merged, low, high);
  return true;
}

// Gives the positions of all groups that join() visited to them anew, in this order: upstream of b, the
// joined group, downstream of a.
template <class Graph>
void QuotientOrder<Graph>::reorder(Node merged, std::uint32_t low, std::uint32_t high) {
  std::vector<std::uint32_t> positions{low, high};
  const auto by_position = [this](Node x, Node y) { return position_[x.index()] < position_[y.index()]; };
  for (std::vector<Node>* list : {&upstream_, &downstream_}) {
    std::ranges::sort(*list, by_position);
    for (const Node g : *list) positions.push_back(position_[g.index()]);
  }
  std::ranges::sort(positions);
  std::size_t next = 0;
  for (const Node g : upstream_) position_[g.index()] = positions[next++];
  position_[merged.index()] = positions[next];
  next += 2;  // two groups became one, so one position is left over
  for (const Node g : downstream_) position_[g.index()] = positions[next++];
}

}  // namespace graphopt
