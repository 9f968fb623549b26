#include "regions/regions.h"

#include <algorithm>
#include <functional>

namespace graphopt {

// Sets `out` to the anchor and all elementwise nodes of its region, which a walk from the anchor finds since
// they are connected. Returns false if that takes more than region_visits nodes or region_edges edges.
bool Regions::collect(DNode region, std::vector<DNode>& out) {
  const std::uint32_t mark = ++epoch_;
  member_.resize(d_.node_count());
  out.clear();
  out.push_back(region);
  member_[region.index()] = mark;
  std::size_t edges = kSearchLimits.region_edges;
  const auto see = [&](DNode m) {
    if (m && d_[m].region == region && member_[m.index()] != mark) {
      member_[m.index()] = mark;
      out.push_back(m);
    }
    return edges-- > 0 && out.size() <= kSearchLimits.region_visits;
  };
  for (std::size_t i = 0; i < out.size(); ++i) {
    const DNode n = out[i];
    for (std::uint32_t k = 0; k < d_[n].in_count; ++k)
      if (const DValue v = d_.in(n, k); v && !see(d_.def(v))) return false;
    for (const DValue v : d_.outs(n))
      for (DUse u = v ? d_.first_use(v) : DUse{}; u; u = d_.next_use(u))
        if (!see(d_.user(u))) return false;
  }
  return true;
}

// Returns whether the quotient stays acyclic if e joins the region: no path of nodes and whole regions leaves
// the union of the two and comes back to it. Returns false, too, if a limit stops the check. A long check
// takes a shortcut (see below) with which it may miss a path; region_list.cpp dissolves the cycle that
// results.
bool Regions::acyclic(DNode e, DNode region) {
  // If e reads the region, a path from e back to it would be a cycle without the join, too, so there is none.
  // Only a path from the region to e is left to search, and its last edge enters e from outside the region:
  // if e reads nothing outside, there is no such path. The same holds with the directions exchanged. This
  // answers for chains, where a search for each node would take the square of their length.
  bool reads = false, enters = false, read = false, leaves = false;
  for (std::uint32_t k = 0; k < d_[e].in_count; ++k)
    if (const DValue v = d_.in(e, k); v && d_.def(v))
      (region_of(d_.def(v)) == region ? reads : enters) = true;
  for (const DValue v : d_.outs(e))
    for (DUse u = v ? d_.first_use(v) : DUse{}; u; u = d_.next_use(u))
      (region_of(d_.user(u)) == region ? read : leaves) = true;
  if ((reads && !enters) || (read && !leaves)) return true;
  seen_.resize(d_.node_count());
  std::vector<DNode> own, whole;
  const auto stopped = [this] {
    d_.hit_limit(SearchLimit::RegionVisits);
    return false;
  };
  if (!collect(region, own)) return stopped();
  own.push_back(e);
  const std::uint32_t mark = ++epoch_;
  constexpr std::uint32_t kOwn = 0x80000000u;
  std::uint64_t last = 0;
  for (const DNode n : own) {
    seen_[n.index()] = mark | kOwn;
    last = std::max(last, d_[n].key);
  }
  stack_.clear();
  std::size_t visited = 0;
  const auto leave = [&](DNode m) {  // visits the readers of m; returns false at a path back
    for (const DValue v : d_.outs(m))
      for (DUse u = v ? d_.first_use(v) : DUse{}; u; u = d_.next_use(u)) {
        const DNode user = d_.user(u);
        if (seen_[user.index()] == (mark | kOwn)) {
          if (seen_[m.index()] != (mark | kOwn)) return false;
          continue;
        }
        if (seen_[user.index()] == mark) continue;
        seen_[user.index()] = mark;
        stack_.push_back(user);
      }
    return true;
  };
  for (const DNode n : own) leave(n);
  while (!stack_.empty()) {
    const DNode n = stack_.back();
    stack_.pop_back();
    if (++visited > kSearchLimits.region_visits) return stopped();
    const DNode r = region_of(n);
    // Edges lead forward in the order, so a node after all nodes of the union has no path back to it, unless
    // it is in a region with a node before. In a long check only the region's anchor is compared, which is
    // cheaper than to collect the region. A region may also hold nodes upstream of its anchor: if one of them
    // comes before, a path may be missed here.
    if (visited > kSearchLimits.region_visits_in_full && d_[n].key > last && (!r || d_[r].key > last))
      continue;
    whole.assign(1, n);
    if (r && !collect(r, whole)) return stopped();
    for (const DNode m : whole) {
      if (seen_[m.index()] != (mark | kOwn)) seen_[m.index()] = mark;
      if (!leave(m)) return false;
    }
  }
  return true;
}

// Lets n join the first candidate with which the quotient stays acyclic; returns false if there is none.
// Heavy anchors are tried first, then the last ones in order (`last_first`) or the first ones.
bool Regions::join_best(DNode n, bool last_first) {
  if (candidates_.size() > 1)  // mostly there is one, and stable_sort would allocate
    std::ranges::stable_sort(candidates_, [&](DNode a, DNode b) {
      return d_[a].heavy != d_[b].heavy ? d_[a].heavy : last_first ? d_.before(b, a) : d_.before(a, b);
    });
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    const auto end = candidates_.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::find(candidates_.begin(), end, candidates_[i]) == end && acyclic(n, candidates_[i])) {
      d_.set_region(n, candidates_[i]);
      return true;
    }
  }
  return false;
}

bool Regions::join_producer(DNode n) {
  const ShapeId shape = d_.shape(d_.out(n));
  candidates_.clear();
  if (!shape) return false;
  for (std::uint32_t k = 0; k < d_[n].real_in; ++k) {
    const DValue v = d_.in(n, k);
    const DNode p = v ? d_.def(v) : DNode{};
    if (!p || d_.shape(v) != shape) continue;
    if (const DNode r = region_of(p)) candidates_.push_back(r);
  }
  return join_best(n, true);
}

bool Regions::join_consumer(DNode n) {
  const DValue y = d_.out(n);
  candidates_.clear();
  for (DUse u = d_.first_use(y); u; u = d_.next_use(u)) {
    const DNode m = d_.user(u);
    if (d_.slot(u) >= d_[m].real_in) continue;  // a body reads it, the node does not
    const DNode r = region_of(m);
    if (!r) continue;
    if (d_[m].node_class == NodeClass::Elementwise && (!d_.shape(y) || d_.shape(d_.out(m)) != d_.shape(y)))
      continue;
    candidates_.push_back(r);
  }
  return join_best(n, false);
}

bool Regions::beside_producer(DNode n) const {
  const ShapeId shape = d_.shape(d_.out(n));
  for (std::uint32_t k = 0; shape && k < d_[n].real_in; ++k) {
    const DValue v = d_.in(n, k);
    if (v && d_.shape(v) == shape && d_.def(v) && region_of(d_.def(v))) return true;
  }
  return false;
}

bool Regions::beside_consumer(DNode n) const {
  for (DUse u = d_.first_use(d_.out(n)); u; u = d_.next_use(u))
    if (region_of(d_.user(u))) return true;
  return false;
}

// Lets free nodes join in the order of their keys, least first, each at most once: those next to a region
// (`beside`), then those next to them (`next_of`). Returns whether any joined. A node whose only neighbour on
// that side has just joined can join that region alone, so it need not wait for its key: it is tried at once,
// which walks along chains and uses no heap.
template <class KeyOf, class Beside, class Join, class NextOf>
bool Regions::spread(std::span<const DNode> free, KeyOf key_of, Beside beside, Join join, NextOf next_of) {
  waiting_.clear();
  at_once_.clear();
  state_.resize(d_.node_count());
  const std::uint32_t may = wave_ += 2, queued = may + 1;
  for (const DNode n : free) {
    if (d_[n].region) continue;
    state_[n.index()] = may;
    if (!beside(n)) continue;
    state_[n.index()] = queued;
    waiting_.push_back({key_of(n), n});
  }
  std::ranges::make_heap(waiting_, std::greater{});
  bool grown = false;
  while (!waiting_.empty() || !at_once_.empty()) {
    DNode n;
    if (at_once_.empty()) {
      std::ranges::pop_heap(waiting_, std::greater{});
      n = waiting_.back().second;
      waiting_.pop_back();
    } else {
      n = at_once_.back();
      at_once_.pop_back();
    }
    if (!join(n)) continue;
    grown = true;
    next_of(n, [&](DNode m, bool sure) {
      if (!m || state_[m.index()] != may) return;
      state_[m.index()] = queued;
      if (sure) {
        at_once_.push_back(m);
        return;
      }
      waiting_.push_back({key_of(m), m});
      std::ranges::push_heap(waiting_, std::greater{});
    });
  }
  return grown;
}

// Lets nodes join, alternately next to producers and next to consumers, until none joins. Leaves in `free`
// those that joined no region.
void Regions::grow(std::vector<DNode>& free) {
  const auto one_producer = [this](DNode n) {
    std::size_t found = 0;
    for (std::uint32_t k = 0; k < d_[n].in_count && found < 2; ++k)
      found += d_.in(n, k) && d_.def(d_.in(n, k));
    return found == 1;
  };
  for (bool first = true, grown = true; grown; first = false) {
    grown = spread(
        free, [this](DNode n) { return d_[n].key; }, [this](DNode n) { return beside_producer(n); },
        [this](DNode n) { return join_producer(n); },
        [&](DNode n, auto add) {
          for (DUse u = d_.first_use(d_.out(n)); u; u = d_.next_use(u))
            add(d_.user(u), one_producer(d_.user(u)));
        });
    if (!grown && !first) break;  // no region has grown
    grown = spread(
        free, [this](DNode n) { return ~d_[n].key; }, [this](DNode n) { return beside_consumer(n); },
        [this](DNode n) { return join_consumer(n); },
        [this](DNode n, auto add) {
          for (std::uint32_t k = 0; k < d_[n].real_in; ++k)
            if (const DValue v = d_.in(n, k)) add(d_.def(v), d_[v].use_count == 1);
        });
    std::erase_if(free, [this](DNode n) { return d_[n].region.valid(); });
  }
}

void Regions::start() {
  free_.clear();
  for (std::uint32_t i = 0; i < d_.node_count(); ++i)
    if (d_.is(DNode{i}, NodeClass::Elementwise)) free_.push_back(DNode{i});
  grow(free_);
}

void Regions::update(std::span<const DNode> touched) {
  area_.clear();
  seen_.resize(d_.node_count());
  const std::uint32_t mark = ++epoch_;
  const auto see = [&](DNode n) {
    if (!d_.is(n, NodeClass::Elementwise) || seen_[n.index()] == mark) return;
    seen_[n.index()] = mark;
    area_.push_back(n);
  };
  for (const DNode n : touched) see(n);
  // If an anchor is gone, all nodes of its region are decided anew, however many they are. Its neighbours
  // were touched when it went.
  for (std::size_t i = 0; i < area_.size(); ++i) {
    const DNode n = area_[i], r = d_[n].region;
    if (!r || d_[r].alive) continue;
    const auto see_member = [&](DNode m) {
      if (m && d_[m].region == r) see(m);
    };
    for (std::uint32_t k = 0; k < d_[n].in_count; ++k)
      if (const DValue v = d_.in(n, k)) see_member(d_.def(v));
    for (DUse u = d_.first_use(d_.out(n)); u; u = d_.next_use(u)) see_member(d_.user(u));
  }
  for (const DNode n : touched) {
    if (area_.size() >= kSearchLimits.region_update) break;
    if (!d_[n].alive || d_[n].node_class == NodeClass::Elementwise) continue;
    if (d_[n].in_count > kSearchLimits.region_update) continue;  // most of its operands are what they were
    for (std::uint32_t k = 0; k < d_[n].in_count; ++k)
      if (const DValue v = d_.in(n, k)) see(d_.def(v));
    for (const DValue v : d_.outs(n)) {
      if (!v || d_[v].use_count > kSearchLimits.region_update) continue;  // so are most of its readers
      for (DUse u = d_.first_use(v); u; u = d_.next_use(u)) see(d_.user(u));
    }
  }
  // Without a region next to the area none can grow into it.
  if (std::ranges::none_of(
          area_, [this](DNode n) { return d_[n].region || beside_producer(n) || beside_consumer(n); }))
    return;
  for (std::size_t i = 0; i < area_.size(); ++i) {
    if (area_.size() >= kSearchLimits.region_update) {
      d_.hit_limit(SearchLimit::RegionUpdate);
      break;
    }
    const DNode n = area_[i];
    const DValue y = d_.out(n);
    for (std::uint32_t k = 0; k < d_[n].real_in; ++k)
      if (const DValue v = d_.in(n, k); v && d_.def(v) && d_.shape(v) == d_.shape(y)) see(d_.def(v));
    for (DUse u = d_.first_use(y); u; u = d_.next_use(u))
      if (const DNode m = d_.user(u); d_.is(m, NodeClass::Elementwise) && d_.shape(d_.out(m)) == d_.shape(y))
        see(m);
  }
  for (const DNode n : area_) d_.set_region(n, {});
  free_ = area_;
  grow(free_);
}

std::string Regions::difference() {
  std::vector<DNode> found;
  std::vector<bool> connected(d_.node_count(), false);
  for (DNode n = d_.first(); n; n = d_[n].next) {
    if (region_of(n) != n || !collect(n, found)) continue;  // too large to collect: its nodes are not checked
    for (const DNode m : found) connected[m.index()] = true;
  }
  for (DNode n = d_.first(); n; n = d_[n].next) {
    const DNode r = d_[n].region;
    if (!r) continue;
    const std::string at = "node " + std::to_string(n.index()) + ": ";
    if (!d_[r].alive || region_of(r) != r) return at + "the anchor of its region is gone";
    if (!d_.is(n, NodeClass::Elementwise)) return at + "it is in a region, and not elementwise";
    if (!connected[n.index()] && collect(r, found)) return at + "it is not connected with its region";
  }
  return {};
}

}  // namespace graphopt
