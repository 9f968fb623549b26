#include "hoist/search.h"

#include <algorithm>
#include <functional>

#include "hoist/cost.h"
#include "hoist/draft_build.h"
#include "hoist/draft_write.h"
#include "hoist/elements.h"
#include "hoist/moves.h"
#include "hoist/tidy.h"

namespace graphopt {
namespace {

MoveCost plain(const Cost& c) { return {c.compute, c.free, c.deform}; }

class Search {
 public:
  Search(PassContext& c, Draft& d, const MoveKinds& kinds, SearchResult& result)
      : c_(c), d_(d), kinds_(kinds), result_(result), cost_(d) {
    options_.relaxed = c.options.level >= 3;
    explain_ = c.moves && std::ranges::count(c.moves->explain, c.journal.pass()) > 0;
  }

  // Whether anything was kept.
  bool run() {
    cost_.start();
    const std::uint64_t kept = result_.kept;
    attempt("clean-up", d_.first(), true, [&](Refusal&) {
      for (DNode n = d_.first(); n; n = d_[n].next) d_.touch(n);
      return true;
    });
    for (bool changed = true; changed && !stopped_;) {
      const std::uint64_t before = result_.kept;
      refused_.clear();
      sweep();
      changed = result_.kept > before;
    }
    if (explain_) c_.moves->refused.insert(c_.moves->refused.end(), refused_.begin(), refused_.end());
    result_.refused += refused_count_;
    return result_.kept > kept;
  }

 private:
  std::vector<DNode> nodes_of(std::initializer_list<Part> parts) const {
    std::vector<DNode> out;
    for (DNode n = d_.first(); n; n = d_[n].next)
      if (!d_[n].host && std::ranges::count(parts, d_[n].part) > 0) out.push_back(n);
    return out;
  }

  void sweep() {
    refused_count_ = 0;
    if (kinds_.merge) {
      for (const DNode n : nodes_of({Part::Concat, Part::Split})) {
        if (!d_[n].alive || stopped_) continue;
        const bool concat = d_[n].part == Part::Concat;
        attempt(concat ? "merge" : "split", n, false, [&](Refusal& why) {
          return concat ? merge_concat(d_, n, options_, why) : merge_split(d_, n, options_, why);
        });
      }
    }
    if (kinds_.common) {
      for (const DNode n : nodes_of({Part::Gather}))
        if (d_[n].alive && !stopped_) attempt("tiles", n, false, [&](Refusal& why) { return unbind(d_, n, why); }, true);
      for (const DNode n : nodes_of({Part::Concat, Part::Split})) {
        const bool concat = d_[n].part == Part::Concat;
        for (const Part what : {Part::Transpose, Part::Deform}) {
          if (!d_[n].alive || stopped_) break;
          const std::string_view kind = what == Part::Transpose ? "transpose" : concat ? "common-concat" : "common-split";
          attempt(kind, n, false, [&](Refusal& why) {
            return concat ? common_concat(d_, n, what, why) : common_split(d_, n, what, why);
          });
        }
      }
    }
    if (kinds_.rebase)
      for (const DNode n : nodes_of({Part::Deform, Part::Transpose})) rebase_at(n);
  }

  // Down: the cluster that consumes the border; up: the one that feeds it.
  void rebase_at(DNode n) {
    const std::string_view turn = d_[n].part == Part::Transpose ? "transpose" : "";
    if (!d_.shape(d_.out(n))) {
      // Nothing can be said; --explain names the place when something elementwise reads it.
      for (DUse u = d_.first_use(d_.out(n)); u; u = d_.next_use(u))
        if (d_[d_.user(u)].part == Part::Elementwise) {
          attempt("serial-backward", n, false, [](Refusal& why) {
            why = Refusal::ShapeUnknown;
            return false;
          });
          break;
        }
    }
    if (d_[n].alive && !stopped_) {
      std::vector<DNode> consumers;
      for (DUse u = d_.first_use(d_.out(n)); u; u = d_.next_use(u)) consumers.push_back(d_.user(u));
      for (const DNode m : consumers) {
        if (!d_[n].alive || !d_[m].alive || d_[m].part != Part::Elementwise || d_[m].host || stopped_) continue;
        if (!reads_in_full(m, d_.out(n))) continue;
        attempt(turn.empty() ? "serial-backward" : turn, n, false,
                [&](Refusal& why) { return rebase(d_, n, m, Direction::Down, options_, why); });
      }
    }
    if (!d_[n].alive || stopped_) return;
    const DNode p = d_.def(d_.in(n, 0));
    if (!p || !d_[p].alive || d_[p].part != Part::Elementwise || d_[p].host) return;
    attempt(turn.empty() ? "serial-forward" : turn, n, false,
            [&](Refusal& why) { return rebase(d_, n, p, Direction::Up, options_, why); });
  }

  bool reads_in_full(DNode m, DValue v) const {
    if (!d_.shape(v) || d_.shape(d_.out(m)) != d_.shape(v)) return false;
    for (std::uint32_t k = 0; k < d_[m].real_in; ++k)
      if (d_.in(m, k) == v && operand_kind(d_.model(), d_[m].origin, k) != Operand::Fixed) return true;
    return false;
  }

  // Carries a candidate out; keeps it when the cost falls (or does not rise, for the first clean-up).
  void attempt(std::string_view kind, DNode at, bool even, const std::function<bool(Refusal&)>& move,
               bool never_more_nodes = false) {
    if (!at) return;
    d_.clear_touched();
    Refusal why = Refusal::None;
    const NodeId place = origin_of(at);
    std::string value;
    if (explain_) value = name_of(at);
    const Cost before = cost_.cost();
    const bool done = move(why);
    if (done) {
      why = Refusal::None;
      tidy(d_);
    }
    const bool changed = !d_.unchanged();
    bool keep = false;
    if (done && changed) {
      const Cost after = cost_.price();
      keep = after < before || (even && !(before < after));
      if (keep && c_.options.level < 2 && !even && after.deform > before.deform) keep = false;   // -O1: no new D
      if (keep && never_more_nodes && after.nodes() > before.nodes()) keep = false;
      if (!keep) why = before < after && after.absorbed < before.absorbed ? Refusal::Absorbed : Refusal::Tie;
      if (keep && !c_.journal.allow(d_.model(), place, kind)) {
        keep = false;
        stopped_ = true;
      }
      if (keep) {
        cost_.keep();
        d_.commit();
        ++result_.kept;
        if (c_.moves)
          c_.moves->kept.push_back({std::string(c_.journal.pass()), kind, place_of(d_.model(), place), plain(before), plain(after)});
      }
    }
    if (!keep) {
      d_.roll_back();
      if (why != Refusal::None) {
        ++refused_count_;
        if (explain_)
          refused_.push_back({std::string(c_.journal.pass()), kind, refusal_text(d_.in_function && why == Refusal::ShapeUnknown ? Refusal::Function : why), place_of(d_.model(), place), std::move(value)});
      }
    }
    d_.clear_touched();
  }

  // A node of the model near n.
  NodeId origin_of(DNode n) const {
    for (DNode at = n; at;) {
      if (d_[at].origin) return d_[at].origin;
      DNode next;
      for (std::uint32_t k = 0; k < d_[at].in_count && !next; ++k) next = d_.in(at, k) ? d_.def(d_.in(at, k)) : DNode{};
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
  CostKeeper cost_;
  MoveOptions options_;
  bool explain_ = false, stopped_ = false;
  std::uint64_t refused_count_ = 0;
  std::vector<RefusedMove> refused_;
};

}  // namespace

SearchResult search_moves(PassContext& c, const MoveKinds& kinds) {
  SearchResult result;
  // Targets of Reshapes would be Constant nodes there, which hold floats only (Constant before opset 9).
  if (c.model.ir_version < 4 && c.model.opset(c.model.main(), NameId{std::uint32_t{0}}) < 9) return result;
  DraftBuilder builder(c);
  if (c.moves) std::erase_if(c.moves->refused, [&](const RefusedMove& r) { return r.pass == c.journal.pass(); });
  const bool explain = c.moves && std::ranges::count(c.moves->explain, c.journal.pass()) > 0;
  const bool merges = !kinds.common && !kinds.rebase && !explain;
  for (std::uint32_t g = 0; g < c.model.graph_count(); ++g) {
    const GraphId graph{g};
    if (!c.model.graph(graph).alive || !builder.worth_it(graph, merges) || c.journal.exhausted()) continue;
    Draft d = builder.build(graph);
    if (Search(c, d, kinds, result).run()) write_draft(d, c.model);
  }
  // Values from many places changed at once: from the start is less work than from each of them, and sharper.
  if (result.kept > 0) c.infer.run();
  return result;
}

}  // namespace graphopt
