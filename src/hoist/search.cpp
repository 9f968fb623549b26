#include "hoist/search.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <memory>
#include <utility>

#include "hoist/draft/canonicalize.h"
#include "hoist/draft/draft_build.h"
#include "hoist/draft/draft_store.h"
#include "hoist/draft/draft_write.h"
#include "hoist/draft/elementwise.h"
#include "hoist/moves/moves.h"
#include "hoist/search_limits.h"

namespace graphopt {
namespace {

MoveCost plain(const Cost& c) { return {c.compute, c.free, c.deform}; }

class Search {
 public:
  // With `tell_only` nothing is kept: the graph is looked at for the sake of --explain.
  Search(PassContext& c, PricedDraft& d, const MoveKinds& kinds, SearchResult& result, bool tell_only)
      : c_(c), d_(d.draft), kinds_(kinds), result_(result), cost_(d.cost), tell_only_(tell_only) {
    options_.relaxed = c.options.level >= 3 && !c.options.exact;
    explain_ = c.moves && std::ranges::count(c.moves->explain, c.journal.pass()) > 0;
  }

  // Whether anything was kept. `fresh`: the draft was not searched before.
  bool run(bool fresh) {
    visits_left_ = kSearchLimits.cluster_visits + kSearchLimits.cluster_visits_per_node * d_.node_count();
    const std::uint64_t kept = result_.kept;
    const Cost first = cost_.cost();
    look_over();
    if (fresh && !tell_only_)
      attempt("clean-up", d_.first(), Only::NotDearer, [&](Refusal&) {
        for (const DNode n : sorted_nodes(unsettled_, [](DNode) { return true; })) d_.touch(n);
        return true;
      });
    // The first sweep looks at everything, the others around what the last one changed. What that misses is
    // found by the next run of the search, which there always is after one that kept something.
    bool changed = true;
    for (bool whole = true; changed && !stopped_; whole = false) {
      const std::uint64_t before = result_.kept;
      refused_.clear();
      recent_ = std::exchange(changed_, {});
      sweep(whole);
      // Pairs wait until a run keeps nothing: what single moves bring together is cleaned up by other passes
      // first.
      if (kinds_.rebase && !stopped_ && result_.kept == kept) sweep_pairs();
      changed = result_.kept > before;
    }
    if (explain_) c_.moves->refused.insert(c_.moves->refused.end(), refused_.begin(), refused_.end());
    result_.refused += refused_count_;
    if (c_.moves) {
      tell_cost(first);
      tell_limits();
    }
    return result_.kept > kept;
  }

 private:
  void tell_cost(const Cost& first) {
    std::vector<GraphCost>& told = c_.moves->costs;
    const std::uint32_t graph = d_.graph().index();
    auto it = std::ranges::find(told, graph, &GraphCost::graph);
    if (it == told.end())
      it = told.insert(
          told.end(),
          {graph, std::string(d_.model().text(d_.model().graph(d_.graph()).name)), plain(first), {}});
    it->after = plain(cost_.cost());
  }

  void tell_limits() {
    LimitHits& hits = d_.limit_hits();
    for (std::size_t i = 0; i < hits.times.size(); ++i)
      if (hits.times[i] > 0) c_.moves->add_limit(kSearchLimitNames[i], hits.times[i]);
    hits = {};
  }

  // Most graphs have nothing for some kinds of moves.
  void look_over() {
    for (std::uint32_t i = 0; i < d_.node_count(); ++i) {
      const DraftNode& node = d_[DNode{i}];
      has_.blocks |= node.work == AxisWork::Blocks;
      has_.work_along |= node.work != AxisWork::None && node.work != AxisWork::Blocks;
      has_.slices |= is_slice(d_, DNode{i});
      if (node.node_class != NodeClass::Elementwise || d_[d_.out(DNode{i})].use_count == 0)
        unsettled_.push_back(DNode{i});
    }
  }
  // May something still start from n?
  bool open(DNode n) const { return d_[n].alive && !stopped_; }

  // In order. By id first: that reads the memory from front to back.
  template <class Nodes, class Wanted>
  std::vector<DNode> sorted_nodes(const Nodes& nodes, Wanted wanted) const {
    std::vector<std::pair<std::uint64_t, DNode>> found;
    for (const DNode n : nodes)
      if (d_[n].alive && wanted(n)) found.push_back({d_[n].key, n});
    std::ranges::sort(found);
    std::vector<DNode> out(found.size());
    std::ranges::transform(found, out.begin(), &std::pair<std::uint64_t, DNode>::second);
    return out;
  }
  // What a sweep starts from: everything, or what was near a move in the last sweep or in this one.
  std::vector<DNode> nodes_of(std::initializer_list<NodeClass> parts, bool whole) {
    const auto wanted = [&](DNode n) {
      return !d_[n].shape_only && std::ranges::find(parts, d_[n].node_class) != parts.end();
    };
    if (whole) {
      list_borders();
      return sorted_nodes(borders_, wanted);
    }
    std::vector<DNode> out;
    for (const auto* list : {&recent_, &changed_})
      std::ranges::copy_if(*list, std::back_inserter(out), [&](DNode n) { return d_[n].alive && wanted(n); });
    std::ranges::sort(out, [this](DNode a, DNode b) { return d_.before(a, b); });
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
  }
  // What is made while a candidate is tried may be undone; between candidates nothing is.
  void list_borders() {
    for (; listed_ < d_.node_count(); ++listed_)
      if (d_[DNode{listed_}].node_class != NodeClass::Elementwise) borders_.push_back(DNode{listed_});
  }

  // Remembers the places around a kept move: what was touched, and the nodes whose region was looked at.
  void remember_surroundings() {
    constexpr std::uint32_t kMost = kSearchLimits.neighbours;
    d_.clear_marks();
    const auto add = [this](DNode n) {
      if (n && d_[n].alive && d_[n].node_class != NodeClass::Elementwise &&
          d_[n].node_class != NodeClass::Other && d_.mark(n))
        changed_.push_back(n);
    };
    const auto around = [&](DNode n) {
      if (!d_[n].alive) return;
      add(n);
      for (std::uint32_t k = 0; k < std::min(d_[n].real_in, kMost); ++k)
        if (const DValue v = d_.in(n, k)) add(d_.def(v));
      std::uint32_t seen = 0;
      for (const DValue v : d_.outs(n))
        for (DUse u = v ? d_.first_use(v) : DUse{}; u && seen < kMost; u = d_.next_use(u), ++seen)
          add(d_.user(u));
    };
    for (const DNode n : d_.touched()) around(n);
    for (const DNode n : cost_.regrown()) around(n);
  }

  void sweep(bool whole) {
    refused_count_ = 0;
    if (kinds_.merge) sweep_merges(whole);
    if (kinds_.common) {
      sweep_pieces(whole);
      sweep_common(whole);
    }
    if (kinds_.rebase) {
      sweep_borders(nodes_of({NodeClass::Deformation, NodeClass::Transpose}, whole), !whole);
      sweep_ways(whole);
    }
  }

  void sweep_merges(bool whole) {
    for (const DNode n : nodes_of({NodeClass::Concat, NodeClass::Split}, whole)) {
      if (!open(n)) continue;
      const bool concat = d_[n].node_class == NodeClass::Concat;
      attempt(concat ? "merge" : "split", n, Only::Cheaper, [&](Refusal& why) {
        return concat ? merge_concat(d_, n, options_, why) : merge_split(d_, n, options_, why);
      });
    }
  }

  // Gathers and Slices that take an axis apart.
  void sweep_pieces(bool whole) {
    for (const DNode n : nodes_of({NodeClass::Gather}, whole))
      if (open(n)) attempt("tiles", n, Only::NoMoreNodes, [&](Refusal& why) { return unbind(d_, n, why); });
    if (!has_.slices) return;
    for (const DNode n : nodes_of({NodeClass::Concat}, whole))
      if (open(n))
        attempt("tiles", n, Only::NoMoreNodes, [&](Refusal& why) { return join_strides(d_, n, why); });
    for (const DNode n : nodes_of({NodeClass::Slice, NodeClass::Other}, whole))
      if (open(n) && is_slice(d_, n))
        attempt("tiles", n, Only::NoMoreNodes,
                [&](Refusal& why) { return split_strides(d_, n, options_, why); });
  }

  void sweep_common(bool whole) {
    for (const DNode n : nodes_of({NodeClass::Concat, NodeClass::Split}, whole)) {
      const bool concat = d_[n].node_class == NodeClass::Concat;
      for (const NodeClass what : {NodeClass::Transpose, NodeClass::Deformation}) {
        if (!open(n)) break;
        const std::string_view kind = what == NodeClass::Transpose ? "transpose"
                                      : concat                     ? "common-concat"
                                                                   : "common-split";
        attempt(kind, n, Only::Cheaper, [&](Refusal& why) {
          return concat ? common_concat(d_, n, what, why) : common_split(d_, n, what, why);
        });
      }
    }
  }

  // Past operators that work along axes.
  void sweep_ways(bool whole) {
    if (has_.work_along) {
      for (const DNode n : nodes_of({NodeClass::Deformation, NodeClass::Transpose}, whole))
        for (const Direction direction : {Direction::Up, Direction::Down})
          if (open(n))
            attempt("through", n, Only::Cheaper,
                    [&](Refusal& why) { return pass_through(d_, n, direction, options_, why); });
      for (const DNode n : nodes_of({NodeClass::Concat}, whole))
        for (const NodeClass what : {NodeClass::Transpose, NodeClass::Deformation})
          if (open(n))
            attempt("through", n, Only::Cheaper,
                    [&](Refusal& why) { return pass_to_concat(d_, n, what, options_, why); });
    }
    if (!has_.blocks) return;
    for (const DNode n : nodes_of({NodeClass::Other}, whole))
      if (open(n) && d_[n].work == AxisWork::Blocks)
        attempt("blocks", n, Only::Cheaper,
                [&](Refusal& why) { return cancel_blocks(d_, n, options_, why); });
  }

  // Two moves of which the first alone does not pay, tried when no single one does.
  void sweep_pairs() {
    for (const DNode n : nodes_of({NodeClass::Deformation, NodeClass::Transpose}, true)) {
      if (open(n) && d_[n].node_class == NodeClass::Deformation) fork_at(n);
      for (const Direction direction : {Direction::Down, Direction::Up})
        if (open(n)) chain_at(n, direction);
    }
  }

  // Each cluster that a deformation feeds frees its nodes for one deformation more; with the last one the
  // deformation goes.
  void fork_at(DNode n) {
    const DValue y = d_.out(n);
    if (d_[y].live_out || d_[y].use_count < 2) return;
    if (d_[y].use_count > kSearchLimits.fork_consumers) {
      d_.hit_limit(SearchLimit::ForkConsumers);
      refuse("fork", n, Refusal::Limit);
      return;
    }
    std::vector<DNode> consumers;
    for (DUse u = d_.first_use(y); u; u = d_.next_use(u))
      if (std::ranges::find(consumers, d_.user(u)) == consumers.end()) consumers.push_back(d_.user(u));
    if (consumers.size() < 2 || !std::ranges::all_of(consumers, [&](DNode m) { return consumes(m, n); }))
      return;
    attempt("fork", n, Only::TwoForOne, [&](Refusal& why) {
      return std::ranges::all_of(consumers, [&](DNode m) {
        return !consumes(m, n) ||
               rebase_around(n, m, Direction::Down, why);  // an earlier one's cluster may hold m
      });
    });
  }

  // Across a deformation and the Transpose next to it, or the other way round.
  void chain_at(DNode n, Direction direction) {
    const bool down = direction == Direction::Down;
    const DNode next = down ? d_.def(d_.in(n, 0)) : d_.single_user(d_.out(n));
    const DNode member = down ? d_.single_user(d_.out(n)) : d_.def(d_.in(n, 0));
    const NodeClass other =
        d_[n].node_class == NodeClass::Deformation ? NodeClass::Transpose : NodeClass::Deformation;
    if (!d_.is(next, other) || !d_.is(member, NodeClass::Elementwise)) return;
    // In a region already, it is where a runtime may fuse it (a scale in front of a MatMul).
    if (d_[member].region || d_[member].absorbed || (down && !consumes(member, n))) return;
    attempt(down ? "serial-backward" : "serial-forward", n, Only::CheaperAsPair, [&](Refusal& why) {
      if (!rebase_around(n, member, direction, why)) return false;
      canonicalize(d_);  // the border that was crossed meets its inverse
      if (!d_[next].alive || !d_[member].alive) return false;
      return (down ? consumes(member, next) : d_.in(next, 0) == d_.out(member)) &&
             rebase_around(next, member, direction, why);
    });
  }

  bool rebase_around(DNode border, DNode member, Direction direction, Refusal& why) {
    cluster_of(d_, member, cluster_);
    return rebase(d_, border, cluster_, direction, options_, why);
  }

  // Does m, elementwise, read the result of n in full?
  bool consumes(DNode m, DNode n) const {
    return d_.is(m, NodeClass::Elementwise) && reads_in_full(d_, m, d_.out(n));
  }

  // In order. With `follow`, borders that a move makes are looked at, too, as long as they come later: along
  // a chain each move begins where the last one ended, instead of two clusters becoming one in each sweep,
  // over and over.
  void sweep_borders(std::span<const DNode> borders, bool follow) {
    using Placed = std::pair<std::uint64_t, DNode>;
    std::vector<Placed> made;  // a heap, the first in order on top
    for (std::size_t i = 0; (i < borders.size() || !made.empty()) && !stopped_;) {
      DNode n;
      if (made.empty() || (i < borders.size() && d_[borders[i]].key <= made.front().first)) {
        n = borders[i++];
      } else {
        std::ranges::pop_heap(made, std::greater{});
        n = made.back().second;
        made.pop_back();
      }
      if (!d_[n].alive) continue;
      const std::uint64_t key = d_[n].key;
      const std::size_t nodes = d_.node_count();
      rebase_at(n);
      for (std::size_t k = nodes; follow && k < d_.node_count(); ++k) {
        const DraftNode& node = d_[DNode{k}];
        if (!node.alive || node.key <= key ||
            (node.node_class != NodeClass::Deformation && node.node_class != NodeClass::Transpose))
          continue;
        made.push_back({node.key, DNode{k}});
        std::ranges::push_heap(made, std::greater{});
      }
    }
  }

  // Down: the cluster that consumes the border; up: the one that feeds it.
  void rebase_at(DNode n) {
    const std::string_view turn = d_[n].node_class == NodeClass::Transpose ? "transpose" : "";
    if (!d_.shape(d_.out(n))) {
      // Nothing can be said; --explain names the place when something elementwise reads it.
      for (DUse u = d_.first_use(d_.out(n)); u; u = d_.next_use(u))
        if (d_[d_.user(u)].node_class == NodeClass::Elementwise) {
          refuse("serial-backward", n, Refusal::ShapeUnknown);
          break;
        }
    }
    if (open(n)) {
      std::vector<DNode> consumers;
      for (DUse u = d_.first_use(d_.out(n)); u; u = d_.next_use(u)) consumers.push_back(d_.user(u));
      for (const DNode m : consumers) {
        if (!open(n) || !consumes(m, n)) continue;
        rebase_cluster(turn.empty() ? "serial-backward" : turn, n, m, Direction::Down);
      }
    }
    if (!open(n)) return;
    const DNode p = d_.def(d_.in(n, 0));
    if (!d_.is(p, NodeClass::Elementwise)) return;
    rebase_cluster(turn.empty() ? "serial-forward" : turn, n, p, Direction::Up);
  }

  void rebase_cluster(std::string_view kind, DNode border, DNode member, Direction direction) {
    cluster_of(d_, member, cluster_);
    std::uint64_t visits = 0;
    for (const DNode n : cluster_) visits += 1 + d_[n].in_count + d_[d_.out(n)].use_count;
    if (visits > visits_left_) {
      d_.hit_limit(SearchLimit::ClusterVisits);
      refuse(kind, border, Refusal::Limit);
      return;
    }
    visits_left_ -= visits;
    const bool may_pay = rebase_may_pay(d_, border, cluster_, direction);
    if (!may_pay && !explain_) {
      refuse(kind, border, Refusal::Tie);
      return;
    }
    // Asked for reasons, a move that cannot pay is tried for what else stands against it.
    attempt(kind, border, Only::Cheaper, [&](Refusal& why) {
      const bool done = rebase(d_, border, cluster_, direction, options_, why);
      if (!done || may_pay) return done;
      why = Refusal::Tie;
      return false;
    });
  }

  // When a candidate is kept.
  enum class Only : std::uint8_t {
    Cheaper,        // the cost falls
    CheaperAsPair,  // the same; when not, each move of the pair was told before
    TwoForOne,      // a pair, too: each further deformation frees two nodes (part c)
    NoMoreNodes,    // the cost falls, and the nodes do not become more
    NotDearer,      // the cost does not rise
  };
  bool accepts(Only only, const Cost& before, const Cost& after) const {
    if (only == Only::NotDearer) return !(before < after);
    if (!(after < before) || (c_.options.level < 2 && after.deform > before.deform))
      return false;  // -O1: no new D
    if (only == Only::NoMoreNodes) return after.nodes() <= before.nodes();
    if (only == Only::TwoForOne)
      return after.compute < before.compute || before.free - after.free >= 2 * (after.deform - before.deform);
    return true;
  }

  // Carries a candidate out, and keeps or undoes it.
  template <class Move> void attempt(std::string_view kind, DNode at, Only only, const Move& move) {
    if (!at) return;
    d_.clear_touched();
    Refusal why = Refusal::None;
    const NodeId place = origin_of(at);
    std::string value;
    if (explain_) value = name_of(at);
    const Cost before = cost_.cost();
    d_.limit_hits().last.reset();
    const bool done = move(why);
    if (done) {
      why = Refusal::None;
      canonicalize(d_);
    } else if (why == Refusal::None && d_.limit_hits().last) {
      why = Refusal::Limit;
    }
    bool keep = false;
    if (done && !d_.unchanged()) {
      const Cost after = cost_.price();
      keep = !tell_only_ && accepts(only, before, after);
      if (!keep) why = before < after && after.absorbed < before.absorbed ? Refusal::Absorbed : Refusal::Tie;
      if (keep && !c_.journal.allow(d_.model(), place, kind)) {
        keep = false;
        stopped_ = true;
      }
      if (keep) {
        remember_surroundings();
        cost_.keep();
        d_.commit();
        ++result_.kept;
        if (c_.moves) c_.moves->kept.push_back({c_.journal.pass(), kind, place, plain(before), plain(after)});
      }
    }
    if (!keep) {
      d_.roll_back();
      if (why != Refusal::None && only != Only::CheaperAsPair && only != Only::TwoForOne)
        tell_refusal(kind, why, place, std::move(value));
    }
    d_.clear_touched();
  }

  // A candidate that need not be carried out.
  void refuse(std::string_view kind, DNode at, Refusal why) {
    if (explain_) tell_refusal(kind, why, origin_of(at), name_of(at));
    else ++refused_count_;
  }

  void tell_refusal(std::string_view kind, Refusal why, NodeId place, std::string value) {
    ++refused_count_;
    if (!explain_) return;
    if (d_.in_function && why == Refusal::ShapeUnknown) why = Refusal::Function;
    const std::optional<SearchLimit> limit = d_.limit_hits().last;
    refused_.push_back({std::string(c_.journal.pass()), kind, refusal_text(why), place_of(d_.model(), place),
                        std::move(value),
                        why == Refusal::Limit && limit ? limit_name(*limit) : std::string_view{}});
  }

  // A node of the model near n.
  NodeId origin_of(DNode n) const {
    for (DNode at = n; at;) {
      if (d_[at].origin) return d_[at].origin;
      DNode next;
      for (std::uint32_t k = 0; k < d_[at].in_count && !next; ++k)
        next = d_.in(at, k) ? d_.def(d_.in(at, k)) : DNode{};
      at = next;
    }
    return d_.model().first_node(d_.graph());
  }
  std::string name_of(DNode n) const {
    const ValueId v = d_[n].out_count > 0 && d_.out(n) ? d_[d_.out(n)].origin : ValueId{};
    return v ? std::string(d_.model().text(d_.model().value(v).name)) : std::string{};
  }

  PassContext& c_;
  Draft& d_;
  const MoveKinds& kinds_;
  SearchResult& result_;
  CostKeeper& cost_;
  MoveOptions options_;
  struct {
    bool slices = false, work_along = false, blocks = false;
  } has_;
  const bool tell_only_;
  bool explain_ = false, stopped_ = false;
  std::uint64_t refused_count_ = 0;
  std::uint64_t visits_left_ = 0;
  std::vector<RefusedMove> refused_;
  std::vector<DNode> recent_, changed_;  // near moves that the sweep before kept, and this one
  std::vector<DNode> cluster_;
  std::vector<DNode> unsettled_;  // at the start: what a clean-up could change
  std::vector<DNode> borders_;    // all but the elementwise ones, as far as they are listed
  std::uint32_t listed_ = 0;
};

}  // namespace

SearchResult search_moves(PassContext& c, const MoveKinds& kinds) {
  SearchResult result;
  // Targets of Reshapes would be Constant nodes there, which hold floats only (Constant before opset 9).
  if (c.model.ir_version < 4 && c.model.opset(c.model.main(), NameId{std::uint32_t{0}}) < 9) return result;
  DraftBuilder builder(c);
  if (c.moves)
    std::erase_if(c.moves->refused, [&](const RefusedMove& r) { return r.pass == c.journal.pass(); });
  const bool explain = c.moves && std::ranges::count(c.moves->explain, c.journal.pass()) > 0;
  const bool merges = !kinds.common && !kinds.rebase;
  for (std::uint32_t g = 0; g < c.model.graph_count(); ++g) {
    const GraphId graph{g};
    if (!c.model.graph(graph).alive || c.journal.exhausted()) continue;
    auto d = c.drafts ? c.drafts->take(graph) : nullptr;
    const bool fresh = !d;
    bool tell_only =
        false;  // what is not worth a search is not changed, whether reasons are asked for or not
    if (fresh) {
      tell_only = !builder.worth_it(graph, merges);
      if (tell_only && !(explain && builder.worth_it(graph, false))) continue;
      const auto spare = c.drafts ? c.drafts->spare() : nullptr;
      d = std::make_unique<PricedDraft>(builder.build(graph, spare ? &spare->draft : nullptr));
      d->cost.start();
    }
    const bool kept = Search(c, *d, kinds, result, tell_only).run(fresh);
    if (kept) write_draft(d->draft, c.model);
    if (!c.drafts) continue;
    if (kept || tell_only) c.drafts->retire(std::move(d));
    else c.drafts->keep(std::move(d));
  }
  // Values from many places changed at once: from the start is less work than from each of them, and sharper.
  if (result.kept > 0) c.infer.run();
  return result;
}

}  // namespace graphopt
