// Problem: whether a move pays shows only after the clean-up that it makes possible, and one move makes
// others possible or impossible.
// Method: each candidate is carried out on a draft of the graph, canonicalized, priced, and undone unless it
// is kept (attempt()). Candidates start from nodes, in canonical order (sweep()); the first sweep starts from
// all nodes, each later one from those near what the last one changed. The model is changed once, at the end.
// Exact: as each move (hoist/moves).
// Lowers (C', F + D), see cost.h.
// Ends: a sweep that keeps nothing is the last one, and a move is kept only if the cost falls; the one
// `clean-up` per draft may keep it.
#include "hoist/search.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "draft/draft_build.h"
#include "draft/draft_state.h"
#include "draft/draft_support.h"
#include "draft/draft_write.h"
#include "draft/search_limits.h"
#include "hoist/moves/canonicalize.h"
#include "hoist/moves/conditions.h"
#include "hoist/moves/moves.h"
#include "hoist/search_memory.h"

namespace graphopt {
namespace {

MoveCost plain(const Cost& c) { return {c.compute, c.free, c.deform, c.apart, c.nodes()}; }

class Search {
 public:
  // With `explain_only` nothing is kept: candidates are tried for the reasons that --explain prints.
  Search(PassContext& c, PricedDraft& d, const MoveKinds& kinds, SearchResult& result, bool explain_only)
      : c_(c), d_(d.draft), kinds_(kinds), result_(result), cost_(d.cost), explain_only_(explain_only) {
    options_.strictness = c.options.strictness;
    explain_ = c.refusals && c.refusals->explains(c.journal.pass());
    if (const SearchMemory* memory = SearchMemory::of(c)) moves_ = memory->moves;
  }

  // Returns whether anything was kept. `fresh`: the draft was not searched before.
  bool run(bool fresh) {
    visits_left_ = kSearchLimits.cluster_visits + kSearchLimits.cluster_visits_per_node * d_.node_count();
    const std::uint64_t kept = result_.kept;
    const Cost first = cost_.cost();
    scan();
    if (fresh && !explain_only_)
      attempt("clean-up", d_.first(), Only::NotDearer, [&](MoveRefusal&) {
        for (const DNode n : sorted_nodes(unsettled_, [](DNode) { return true; })) d_.touch(n);
        return true;
      });
    // The first sweep starts from every node, each later one from nodes near the changes of the one before.
    // What these miss is found by the next run of the search: after a run that kept something there is one.
    bool changed = true;
    for (bool whole = true; changed && !stopped_; whole = false) {
      const std::uint64_t before = result_.kept;
      refused_.clear();
      recent_ = std::exchange(changed_, {});
      sweep(whole);
      // Pairs are tried only in a run of the search that has kept nothing yet, its clean-up included: after a
      // run that kept something the other passes run first, and clean up what single moves brought together.
      if (kinds_.rebase && !stopped_ && result_.kept == kept) sweep_pairs();
      changed = result_.kept > before;
    }
    if (explain_) c_.refusals->refused.insert(c_.refusals->refused.end(), refused_.begin(), refused_.end());
    result_.refused += refused_count_;
    if (moves_ != nullptr) {
      record_cost(first);
      record_limits();
    }
    return result_.kept > kept;
  }

 private:
  void record_cost(const Cost& first) {
    std::vector<GraphCost>& costs = moves_->costs;
    const std::uint32_t graph = d_.graph().index();
    auto it = std::ranges::find(costs, graph, &GraphCost::graph);
    if (it == costs.end())
      it = costs.insert(
          costs.end(),
          {graph, std::string(d_.model().text(d_.model().graph(d_.graph()).name)), plain(first), {}});
    it->after = plain(cost_.cost());
  }

  void record_limits() {
    LimitHits& hits = d_.limit_hits();
    for (std::size_t i = 0; i < hits.times.size(); ++i)
      if (hits.times[i] > 0) moves_->add_limit(static_cast<SearchLimit>(i), hits.times[i]);
    hits = {};
  }

  // Finds out which kinds of moves the graph has anything for, and what the first clean-up could change.
  void scan() {
    for (std::uint32_t i = 0; i < d_.node_count(); ++i) {
      const DraftNode& node = d_[DNode{i}];
      has_.blocks |= node.work == AxisWork::Blocks;
      has_.work_along |= node.work != AxisWork::None && node.work != AxisWork::Blocks;
      has_.slices |= is_slice(d_, DNode{i});
      if (node.node_class != NodeClass::Elementwise || d_[d_.out(DNode{i})].use_count == 0)
        unsettled_.push_back(DNode{i});
    }
  }
  // Returns whether a candidate may still start from n.
  bool open(DNode n) const { return d_[n].alive && !stopped_; }

  // Returns the wanted nodes in canonical order. Keys are collected by id first: that reads memory in
  // sequence.
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
  // Returns the nodes of these classes that a sweep starts from: all of them (`whole`), or those near a move
  // that this sweep or the one before kept.
  std::vector<DNode> nodes_of(std::initializer_list<NodeClass> classes, bool whole) {
    const auto wanted = [&](DNode n) {
      return !d_[n].shape_only && std::ranges::find(classes, d_[n].node_class) != classes.end();
    };
    if (whole) {
      list_starts();
      return sorted_nodes(starts_, wanted);
    }
    std::vector<DNode> out;
    for (const auto* list : {&recent_, &changed_})
      std::ranges::copy_if(*list, std::back_inserter(out), [&](DNode n) { return d_[n].alive && wanted(n); });
    std::ranges::sort(out, [this](DNode a, DNode b) { return d_.before(a, b); });
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
  }
  // Extends starts_ by the nodes made since. Called between candidates, when no node can be undone any more.
  void list_starts() {
    for (; listed_ < d_.node_count(); ++listed_)
      if (d_[DNode{listed_}].node_class != NodeClass::Elementwise) starts_.push_back(DNode{listed_});
  }

  // Remembers where the next sweep starts: at the nodes that a kept move touched, at those whose region was
  // decided anew, and at their neighbours.
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
      sweep_slices(whole);
      sweep_common(whole);
    }
    if (kinds_.rebase) {
      sweep_boundaries(nodes_of({NodeClass::Deformation, NodeClass::Transpose}, whole), !whole);
      sweep_paths(whole);
    }
  }

  void sweep_merges(bool whole) {
    for (const DNode n : nodes_of({NodeClass::Concat, NodeClass::Split}, whole)) {
      if (!open(n)) continue;
      const bool concat = d_[n].node_class == NodeClass::Concat;
      attempt(concat ? "merge" : "split", n, Only::Cheaper, [&](MoveRefusal& why) {
        return concat ? merge_concat(d_, n, options_, why) : merge_split(d_, n, options_, why);
      });
      if (!concat && open(n))
        attempt("pairs", n, Only::Cheaper,
                [&](MoveRefusal& why) { return merge_pairs(d_, n, options_, why); });
    }
  }

  // Gathers and Slices that together cover an axis.
  void sweep_slices(bool whole) {
    for (const DNode n : nodes_of({NodeClass::Gather}, whole))
      if (open(n))
        attempt("tiles", n, Only::NoMoreNodes, [&](MoveRefusal& why) { return unbind(d_, n, why); });
    if (!has_.slices) return;
    for (const DNode n : nodes_of({NodeClass::Concat}, whole))
      if (open(n))
        attempt("tiles", n, Only::NoMoreNodes, [&](MoveRefusal& why) { return join_strides(d_, n, why); });
    for (const DNode n : nodes_of({NodeClass::Slice, NodeClass::Other}, whole))
      if (open(n) && is_slice(d_, n))
        attempt("tiles", n, Only::NoMoreNodes,
                [&](MoveRefusal& why) { return split_strides(d_, n, options_, why); });
  }

  void sweep_common(bool whole) {
    for (const DNode n : nodes_of({NodeClass::Concat, NodeClass::Split}, whole)) {
      const bool concat = d_[n].node_class == NodeClass::Concat;
      for (const NodeClass what : {NodeClass::Transpose, NodeClass::Deformation}) {
        if (!open(n)) break;
        const std::string_view kind = what == NodeClass::Transpose ? "transpose"
                                      : concat                     ? "common-concat"
                                                                   : "common-split";
        attempt(kind, n, Only::Cheaper, [&](MoveRefusal& why) {
          return concat ? common_concat(d_, n, what, why) : common_split(d_, n, what, why);
        });
      }
    }
  }

  // Deformations and Transposes past operators that work along axes.
  void sweep_paths(bool whole) {
    if (has_.work_along) {
      for (const DNode n : nodes_of({NodeClass::Deformation, NodeClass::Transpose}, whole))
        for (const Direction direction : {Direction::Up, Direction::Down})
          if (open(n))
            attempt("through", n, Only::Cheaper,
                    [&](MoveRefusal& why) { return pass_through(d_, n, direction, options_, why); });
      for (const DNode n : nodes_of({NodeClass::Concat}, whole))
        for (const NodeClass what : {NodeClass::Transpose, NodeClass::Deformation})
          if (open(n))
            attempt("through", n, Only::Cheaper,
                    [&](MoveRefusal& why) { return pass_to_concat(d_, n, what, options_, why); });
    }
    if (!has_.blocks) return;
    for (const DNode n : nodes_of({NodeClass::Other}, whole))
      if (open(n) && d_[n].work == AxisWork::Blocks)
        attempt("blocks", n, Only::Cheaper,
                [&](MoveRefusal& why) { return cancel_blocks(d_, n, options_, why); });
  }

  // Pairs of moves of which the first alone does not pay; tried when no single move does.
  void sweep_pairs() {
    for (const DNode n : nodes_of({NodeClass::Deformation, NodeClass::Transpose}, true)) {
      if (open(n) && d_[n].node_class == NodeClass::Deformation) fork_at(n);
      for (const Direction direction : {Direction::Down, Direction::Up}) {
        const DNode member = open(n) ? pair_member(d_, n, direction) : DNode{};
        if (!member) continue;
        attempt(direction == Direction::Down ? "serial-backward" : "serial-forward", n, Only::CheaperAsPair,
                [&](MoveRefusal& why) { return rebase_past_two(d_, n, member, direction, options_, why); });
      }
    }
    if (!kinds_.common) return;
    for (const DNode n : nodes_of({NodeClass::Concat, NodeClass::Split}, true)) {
      if (!open(n)) continue;
      const bool concat = d_[n].node_class == NodeClass::Concat;
      attempt(concat ? "common-concat" : "common-split", n, Only::CheaperAsPair, [&](MoveRefusal& why) {
        return concat ? common_concat_past(d_, n, options_, why) : common_split_past(d_, n, options_, why);
      });
    }
  }

  void fork_at(DNode n) {
    MoveRefusal too_many = MoveRefusal::None;
    const std::vector<DNode> consumers = fork_consumers(d_, n, too_many);
    if (too_many != MoveRefusal::None) refuse("fork", n, too_many);
    if (consumers.empty()) return;
    attempt("fork", n, Only::TwoForOne,
            [&](MoveRefusal& why) { return fork(d_, n, consumers, options_, why); });
  }

  // Tries the boundaries in order. With `follow` it also tries those that a move makes, if they come later in
  // the order: along a chain each move then starts where the last one ended. Without it, each sweep would
  // only join two clusters of the chain. The first sweep does not follow: it visits all boundaries of the
  // graph anyway, and the next sweep starts from those that it made.
  void sweep_boundaries(std::span<const DNode> boundaries, bool follow) {
    using Keyed = std::pair<std::uint64_t, DNode>;
    std::vector<Keyed> made;  // a heap, the first in order on top
    for (std::size_t i = 0; (i < boundaries.size() || !made.empty()) && !stopped_;) {
      DNode n;
      if (made.empty() || (i < boundaries.size() && d_[boundaries[i]].key <= made.front().first)) {
        n = boundaries[i++];
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

  // Tries the clusters that read the boundary n (Down), then the one that feeds it (Up).
  void rebase_at(DNode n) {
    const bool transpose = d_[n].node_class == NodeClass::Transpose;
    if (!d_.shape(d_.out(n))) {
      // No cluster can have a shape that is unknown; --explain names the place if an elementwise node reads
      // it.
      for (DUse u = d_.first_use(d_.out(n)); u; u = d_.next_use(u))
        if (d_[d_.user(u)].node_class == NodeClass::Elementwise) {
          refuse("serial-backward", n, MoveRefusal::ShapeUnknown);
          break;
        }
    }
    if (open(n)) {
      std::vector<DNode> consumers;
      for (DUse u = d_.first_use(d_.out(n)); u; u = d_.next_use(u)) consumers.push_back(d_.user(u));
      for (const DNode m : consumers) {
        if (!open(n) || !consumes_in_full(d_, m, n)) continue;
        rebase_cluster(transpose ? "transpose" : "serial-backward", n, m, Direction::Down);
      }
    }
    if (!open(n)) return;
    const DNode p = d_.def(d_.in(n, 0));
    if (!d_.is(p, NodeClass::Elementwise)) return;
    rebase_cluster(transpose ? "transpose" : "serial-forward", n, p, Direction::Up);
  }

  void rebase_cluster(std::string_view kind, DNode boundary, DNode member, Direction direction) {
    cluster_of(d_, member, cluster_);
    std::uint64_t visits = 0;
    for (const DNode n : cluster_) visits += 1 + d_[n].in_count + d_[d_.out(n)].use_count;
    if (visits > visits_left_) {
      d_.hit_limit(SearchLimit::ClusterVisits);
      refuse(kind, boundary, MoveRefusal::Limit);
      return;
    }
    visits_left_ -= visits;
    const bool may_pay = rebase_may_pay(d_, boundary, cluster_, direction);
    if (!may_pay && !explain_) {
      refuse(kind, boundary, MoveRefusal::NoGain);
      return;
    }
    // For --explain a move that cannot pay is tried all the same: another reason may forbid it.
    attempt(kind, boundary, Only::Cheaper, [&](MoveRefusal& why) {
      const bool done = rebase(d_, boundary, cluster_, direction, options_, why);
      if (!done || may_pay) return done;
      why = MoveRefusal::NoGain;
      return false;
    });
  }

  // The condition under which a candidate is kept.
  enum class Only : std::uint8_t {
    Cheaper,        // the cost falls
    CheaperAsPair,  // the same, of a pair: its refusal is not recorded, since those of the single moves are
    TwoForOne,      // of a fork, which moves up to SearchLimits::fork_consumers clusters: the cost falls, and
                    // C' falls or each new deformation takes two nodes out of F; refusals as for a pair
    NoMoreNodes,    // the cost falls, and there are not more nodes
    NotDearer,      // the cost does not rise
  };
  bool accepts(Only only, const Cost& before, const Cost& after) const {
    if (only == Only::NotDearer) return !(before < after);
    if (!(after < before) || (c_.options.strictness == Strictness::Plain && after.deform > before.deform))
      return false;  // -O1: no new D
    if (after.nodes() > before.nodes() && !saves_launches(before, after)) return false;
    if (only == Only::NoMoreNodes) return after.nodes() <= before.nodes();
    if (only == Only::TwoForOne)
      return after.compute < before.compute || before.free - after.free >= 2 * (after.deform - before.deform);
    return true;
  }

  // Carries a candidate out, and keeps it if `only` holds, else undoes it.
  template <class Move> void attempt(std::string_view kind, DNode at, Only only, const Move& move) {
    if (!at) return;
    d_.clear_touched();
    MoveRefusal why = MoveRefusal::None;
    const NodeId place = origin_of(at);
    std::string value;
    if (explain_) value = name_of(at);
    const Cost before = cost_.cost();
    if (c_.check && !state_) state_.emplace(d_);
    d_.limit_hits().last.reset();
    const bool done = move(why);
    if (done) {
      why = MoveRefusal::None;
      canonicalize(d_);
    } else if (why == MoveRefusal::None && d_.limit_hits().last) {
      why = MoveRefusal::Limit;
    }
    bool keep = false;
    if (done && !d_.unchanged()) {
      const Cost after = cost_.price();
      keep = !explain_only_ && accepts(only, before, after);
      if (!keep)
        why =
            before < after && after.absorbed < before.absorbed ? MoveRefusal::Absorbed : MoveRefusal::NoGain;
      if (keep && c_.support != nullptr && !suits_devices(move)) {
        keep = false;
        why = MoveRefusal::Devices;
      }
      if (keep && !c_.journal.allow(d_.model(), place, kind)) {
        keep = false;
        stopped_ = true;
      }
      if (keep) {
        remember_surroundings();
        cost_.keep();
        d_.commit();
        state_.reset();
        if (c_.check) check(kind, place, "a kept move", cost_.difference());
        ++result_.kept;
        if (moves_ != nullptr)
          moves_->kept.push_back({c_.journal.pass(), kind, place, plain(before), plain(after)});
      }
    }
    if (!keep) {
      d_.roll_back();
      if (c_.check) check(kind, place, "an undone move", state_->difference(d_));
      if (why != MoveRefusal::None && only != Only::CheaperAsPair && only != Only::TwoForOne)
        record_refusal(kind, why, place, std::move(value));
    }
    d_.clear_touched();
  }

  // Returns whether the devices of the run support what the move, which was carried out and priced, makes of
  // nodes that they support. It is carried out once more between: the draft is as it was, and then is as now.
  template <class Move> bool suits_devices(const Move& move) {
    SupportChange change(*c_.support);
    const std::vector<DNode> touched(d_.touched().begin(), d_.touched().end());
    const auto alive = [&](std::size_t nodes) {
      std::vector<DNode> out;
      for (const DNode n : touched)
        if (n.index() < nodes && d_[n].alive) out.push_back(n);
      std::ranges::sort(out);
      return out;
    };
    const std::vector<DNode> now = alive(d_.node_count());
    const std::vector<DeviceSet> now_by = supporting(d_, now, c_);
    d_.roll_back();
    const std::vector<DNode> then = alive(d_.node_count());
    const std::vector<DeviceSet> then_by = supporting(d_, then, c_);
    d_.clear_touched();
    MoveRefusal none = MoveRefusal::None;
    move(none);
    canonicalize(d_);
    cost_.price();
    std::size_t k = 0;
    for (std::size_t i = 0; i < then.size(); ++i) {
      for (; k < now.size() && now[k] < then[i]; ++k) change.written(now_by[k]);
      if (k < now.size() && now[k] == then[i]) change.stays(then_by[i], now_by[k++]);
      else change.removed(then_by[i]);
    }
    for (; k < now.size(); ++k) change.written(now_by[k]);
    return change.suits();
  }

  // Records what --verify-each found after a candidate.
  void check(std::string_view kind, NodeId place, std::string_view after, const std::string& broken) {
    if (broken.empty() || c_.check->broken) return;
    c_.check->broken = Error{ErrorKind::Internal,
                             place_of(d_.model(), place),
                             std::string(after) + " '" + std::string(kind) + "': " + broken,
                             {}};
  }

  // Refuses a candidate without carrying it out.
  void refuse(std::string_view kind, DNode at, MoveRefusal why) {
    if (explain_) record_refusal(kind, why, origin_of(at), name_of(at));
    else ++refused_count_;
  }

  void record_refusal(std::string_view kind, MoveRefusal why, NodeId place, std::string value) {
    ++refused_count_;
    if (!explain_) return;
    if (d_.in_function && why == MoveRefusal::ShapeUnknown) why = MoveRefusal::Function;
    const std::optional<SearchLimit> limit = d_.limit_hits().last;
    refused_.push_back({std::string(c_.journal.pass()), kind, std::string(refusal_text(why)),
                        place_of(d_.model(), place), std::move(value),
                        why == MoveRefusal::Limit ? limit : std::nullopt, place});
  }

  // Returns the node of the model that n is or, for a new node, one upstream of it.
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
  const bool explain_only_;
  bool explain_ = false, stopped_ = false;
  std::optional<DraftState> state_;  // with --verify-each: the draft without the candidate that is tried
  std::uint64_t refused_count_ = 0;
  std::uint64_t visits_left_ = 0;
  MoveLog* moves_ = nullptr;  // null: moves are not recorded
  std::vector<RefusedCandidate> refused_;
  std::vector<DNode> recent_, changed_;  // nodes near moves kept by the sweep before, and by this one
  std::vector<DNode> cluster_;
  std::vector<DNode> unsettled_;  // nodes that the first clean-up could change
  std::vector<DNode> starts_;     // all nodes with an id below listed_ that are not elementwise
  std::uint32_t listed_ = 0;
};

}  // namespace

SearchResult search_moves(PassContext& c, const MoveKinds& kinds) {
  SearchResult result;
  DraftBuilder builder(c);
  if (c.refusals)
    std::erase_if(c.refusals->refused, [&](const RefusedCandidate& r) { return r.pass == c.journal.pass(); });
  const bool explain = c.refusals && c.refusals->explains(c.journal.pass());
  SearchMemory* memory = SearchMemory::of(c);
  DraftStore* drafts = memory != nullptr ? &memory->drafts : nullptr;
  const bool merges = !kinds.common && !kinds.rebase;
  for (std::uint32_t g = 0; g < c.model.graph_count(); ++g) {
    const GraphId graph{g};
    if (!c.model.graph(graph).alive || c.journal.exhausted()) continue;
    if (!c.model.can_hold_constant(graph, DType::Int64)) continue;  // new Reshapes need targets
    auto d = drafts ? drafts->take(graph) : nullptr;
    const bool fresh = !d;
    bool explain_only = false;  // a graph not worth a search does not change, with --explain or without
    if (fresh) {
      explain_only = !builder.worth_it(graph, merges);
      if (explain_only && !(explain && builder.worth_it(graph, false))) continue;
      const auto spare = drafts ? drafts->spare() : nullptr;
      d = std::make_unique<PricedDraft>(builder.build(graph, spare ? &spare->draft : nullptr));
      d->cost.start();
    }
    const bool kept = Search(c, *d, kinds, result, explain_only).run(fresh);
    if (kept) write_draft(d->draft, c.model);
    if (!drafts) continue;
    if (kept || explain_only) drafts->retire(std::move(d));
    else drafts->keep(std::move(d));
  }
  // Values in many places changed at once: one inference from the start is less work than one from each of
  // them, and finds more.
  if (result.kept > 0) c.infer.run();
  return result;
}

}  // namespace graphopt
