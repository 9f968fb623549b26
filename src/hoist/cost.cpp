// Problem: the cost of a whole graph takes as long to count as the graph is large, and a search prices many
// candidates.
// Method: each node has one share in the cost: C', F and C', D, absorbed, or nothing. price() decides anew
// which of the touched nodes and their successors are absorbed, and which region the elementwise nodes around
// them are in (Regions::update). Then it exchanges the shares of these nodes in the total.
// Exact: it changes no value. A share depends on the node's class, `absorbed` and `region` alone, so nodes
// that were not visited keep theirs. A region is decided anew for SearchLimits::region_update nodes at most.
// Ends: whether a node is absorbed depends on nodes upstream of it only, and the graph has no cycle.
#include "hoist/cost.h"

#include "rewrite/cost.h"

namespace graphopt {

CostKeeper::Share CostKeeper::share(DNode n) const {
  const DraftNode& node = d_[n];
  if (!node.alive || node.shape_only) return kNothing;
  if (node.node_class == NodeClass::Deformation) return kDeform;
  if (node.node_class != NodeClass::Elementwise) return kCompute;
  if (node.absorbed) return kAbsorbed;
  if (!node.region) return kFree;
  return d_[node.region].heavy ? kCompute : kApart;
}

void CostKeeper::add(Cost& c, Share s, std::int64_t sign) {
  if (s == kCompute || s == kApart || s == kFree) c.compute += sign;
  if (s == kApart || s == kFree) c.apart += sign;
  if (s == kFree) c.free += sign;
  if (s == kDeform) c.deform += sign;
  if (s == kAbsorbed) c.absorbed += sign;
}

namespace {

// A draft, as epilogue_operand() reads it.
class EpilogueView {
 public:
  using Node = DNode;
  using Value = DValue;
  explicit EpilogueView(const Draft& d) : d_(d) {}

  bool elementwise(DNode n) const { return d_.is(n, NodeClass::Elementwise); }
  std::size_t operand_count(DNode n) const { return d_[n].real_in; }
  DValue operand(DNode n, std::size_t i) const { return d_.in(n, i); }
  bool constant(DValue v) const { return d_.constant(v); }
  bool single_use(DValue v) const { return d_.single_use(v); }
  bool shaped_like_result(DValue v, DNode n) const {
    return d_.shape(v) && d_.shape(v) == d_.shape(d_.out(n));
  }

 private:
  const Draft& d_;
};

}  // namespace

// Returns whether a runtime would execute n in the epilogue of a heavy anchor: its producer is the anchor, or
// absorbed itself.
bool CostKeeper::absorbed_now(DNode n) const {
  const DValue v = epilogue_operand(EpilogueView(d_), n);
  const DNode p = v ? d_.def(v) : DNode{};
  return p &&
         ((d_[p].heavy && d_[v].slot == 0) || (d_[p].node_class == NodeClass::Elementwise && d_[p].absorbed));
}

void CostKeeper::update_absorbed() {
  work_ = changed_;
  while (!work_.empty()) {
    const DNode n = work_.back();
    work_.pop_back();
    if (!d_[n].alive) continue;
    const bool now = absorbed_now(n);
    const bool changed = now != d_[n].absorbed;
    if (changed) {
      d_.set_absorbed(n, now);
      changed_.push_back(n);
    }
    // If a value had a single use before it gained another one, that use is the first of its list.
    for (const DValue v : d_.outs(n))
      if (v && d_.first_use(v)) {
        const DNode user = d_.user(d_.first_use(v));
        if (d_[user].node_class == NodeClass::Elementwise && d_[user].absorbed != absorbed_now(user))
          work_.push_back(user);
      }
  }
}

void CostKeeper::start() {
  for (std::uint32_t i = 0; i < d_.node_count(); ++i)  // the ids of a new draft ascend along every path
    if (absorbed_now(DNode{i})) d_.set_absorbed(DNode{i}, true);
  regions_.start();
  counted_.assign(d_.node_count(), kNothing);
  for (std::uint32_t i = 0; i < d_.node_count(); ++i) {
    const Share s = share(DNode{i});
    counted_[i] = s;
    add(total_, s, 1);
  }
  priced_ = total_;
  d_.commit();
  d_.clear_touched();
}

Cost CostKeeper::price() {
  changed_.assign(d_.touched().begin(), d_.touched().end());
  update_absorbed();
  regions_.update(changed_);
  counted_.resize(d_.node_count(), kNothing);
  seen_.resize(d_.node_count(), 0);
  ++epoch_;
  priced_ = total_;
  const auto recount = [&](DNode n) {
    if (seen_[n.index()] == epoch_) return;
    seen_[n.index()] = epoch_;
    add(priced_, static_cast<Share>(counted_[n.index()]), -1);
    add(priced_, share(n), 1);
  };
  for (const DNode n : changed_) recount(n);
  for (const DNode n : regions_.updated()) recount(n);
  return priced_;
}

void CostKeeper::keep() {
  for (const DNode n : changed_) counted_[n.index()] = share(n);
  for (const DNode n : regions_.updated()) counted_[n.index()] = share(n);
  total_ = priced_;
}

std::string CostKeeper::difference() {
  const auto at = [](DNode n) { return "node " + std::to_string(n.index()) + ": "; };
  Cost fresh;
  for (std::uint32_t i = 0; i < d_.node_count(); ++i) {
    const DNode n{i};
    if (d_[n].alive && d_[n].absorbed != absorbed_now(n))
      return at(n) + (d_[n].absorbed ? "it is no longer absorbed" : "it is absorbed now");
    const Share s = share(n);
    if ((i < counted_.size() ? static_cast<Share>(counted_[i]) : kNothing) != s)
      return at(n) + "its share in the cost is old";
    add(fresh, s, 1);
  }
  if (fresh.compute != total_.compute || fresh.apart != total_.apart || fresh.free != total_.free ||
      fresh.deform != total_.deform || fresh.absorbed != total_.absorbed)
    return "the cost is not the sum of the nodes' shares";
  return regions_.difference();
}

}  // namespace graphopt
