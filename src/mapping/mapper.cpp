#include "mapping/mapper.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <tuple>
#include <unordered_map>

#include "mapping/alignment.h"
#include "mapping/assignment.h"
#include "mapping/calibration.h"
#include "mapping/colours.h"
#include "mapping/literal.h"
#include "mapping/percolation.h"
#include "mapping/scores.h"
#include "mapping/twins.h"
#include "mapping/uncross.h"
#include "mapping/value_numbers.h"
#include "mapping/view.h"

namespace graphopt::mapping {
namespace {

// A score as a number from 0 to 1; the one from which pairs are proposed is a half.
double as_share(double score) { return 1 / (1 + std::exp(3.0 - score)); }

constexpr std::size_t kMostInBlock = 256;  // operators of a block that are assigned; more are not guessed

class Mapper {
 public:
  Mapper(const Side& a, const Side& b, const Ends& ends, const MapOptions& options, Labels& labels)
      : matching_(a, b),
        view_(matching_),
        ends_(ends),
        weights_(options.weights),
        names_(options.names),
        shapes_(have_shapes(a, b)),
        labels_(labels),
        scores_(matching_, view_, ends_, options.weights, options.names),
        alignment_(matching_, ends_, scores_, shapes_) {}

  // Adds pairs that the user gives. They hold unless a constant says that one of them is another operator.
  void add_given(const std::vector<GivenPair>& given, std::vector<Mapping::Refused>& refused) {
    if (given.empty()) return;
    std::array<std::unordered_map<NodeId, Index>, 2> ops;
    for (const std::size_t s : kSides)
      for (Index i = 0; i < matching_.side(s).size(); ++i) ops[s].emplace(matching_.side(s).op(i).node, i);
    const std::vector<GivenPair> by_constants = weights_ ? pairs_of_constants() : std::vector<GivenPair>();
    for (const GivenPair& pair : given) {
      const auto a = ops[0].find(pair.a), b = ops[1].find(pair.b);
      if (a == ops[0].end() || b == ops[1].end()) continue;  // of other graphs
      const auto other = std::ranges::find_if(
          by_constants, [&](const GivenPair& known) { return (known.a == pair.a) != (known.b == pair.b); });
      if (other != by_constants.end()) refused.push_back({pair, other->a, other->b});
      else if (matching_.add(a->second, b->second, 1.0, Why::Given))
        given_.emplace_back(a->second, b->second);
    }
  }

  // Adds what a run said of values: producers of equal ones are pairs where they are of one family, those of
  // unequal ones are none.
  void add_known(const MapOptions& options) {
    if (options.equal.empty() && options.unequal.empty()) return;
    std::array<std::unordered_map<ValueId, Index>, 2> values;
    for (const std::size_t s : kSides)
      for (Index v = 0; v < matching_.side(s).value_count(); ++v)
        if (matching_.side(s).is_computed(v)) values[s].emplace(matching_.side(s).value(v), v);
    const auto for_each = [&](const std::vector<std::pair<ValueId, ValueId>>& all, const auto& f) {
      for (const auto& [x, y] : all) {
        const auto a = values[0].find(x), b = values[1].find(y);
        if (a == values[0].end() || b == values[1].end()) continue;
        f(a->second, b->second, matching_.side(0).producer(a->second), matching_.side(1).producer(b->second));
      }
    };
    for_each(options.unequal, [&](Index x, Index y, Use a, Use b) {
      known_.unequal.emplace(x, y);
      if (a.slot == b.slot) matching_.exclude(a.op, b.op);
    });
    for_each(options.equal, [&](Index x, Index y, Use a, Use b) {
      known_.equal.emplace_back(x, y);
      if (a.slot == b.slot && matching_.side(0).op(a.op).family == matching_.side(1).op(b.op).family &&
          matching_.add(a.op, b.op, 0.95, Why::Values))
        given_.emplace_back(a.op, b.op);
    });
  }

  void run() {
    Seeds seeds = given_;
    append(seeds, certain());
    std::vector<Colours> near;
    for (const unsigned radius : {1U, 2U, 3U}) near.push_back(colours(radius));
    scores_.set_colours(std::move(near));
    Seeds proposals = next_to_ends();
    if (names_) append(proposals, equal_names());
    percolate(matching_, view_, scores_, alignment_, seeds, proposals);
    add_late_colours();
    add_aligned();
    add_blocks();
    uncross(matching_);
  }

  bool have_one_name(const Pair& p) const {
    const Operator& x = matching_.side(0).op(p.a);
    return names_ && x.name != kNone && !x.has_number_for_name && x.name == matching_.side(1).op(p.b).name;
  }

  // What an operator that is alone may have become.
  std::vector<Advice> advice(const std::vector<Group>& groups, std::size_t top_k) const {
    std::array<std::vector<Index>, 2> alone;
    for (const Group& g : groups)
      for (const std::size_t s : kSides)
        if ((s == 0 ? g.b : g.a).empty())
          for (const Index op : s == 0 ? g.a : g.b)
            if (!matching_.is_matched(s, op)) alone[s].push_back(op);
    std::unordered_map<Index, std::vector<Index>> by_family;
    for (const Index b : alone[1]) by_family[matching_.side(1).op(b).family].push_back(b);
    std::vector<Advice> out;
    for (const Index a : alone[0]) {
      const auto alike = by_family.find(matching_.side(0).op(a).family);
      if (alike == by_family.end() || top_k == 0) continue;
      Advice one{a, {}};
      const std::size_t tried = std::min(kMostInBlock, alike->second.size());
      for (std::size_t i = 0; i < tried; ++i)
        one.top.emplace_back(alike->second[i], as_share(scores_.of(a, alike->second[i]).total));
      std::ranges::stable_sort(one.top, std::ranges::greater(), &std::pair<Index, double>::second);
      if (one.top.size() > top_k) one.top.resize(top_k);
      out.push_back(std::move(one));
    }
    return out;
  }

  // The pairs in the order of A's operators. What twins make unsure is said: the order of operands without
  // meaning was all that chose between them.
  std::vector<Pair> pairs() {
    for (const Pair& p : matching_.pairs())
      if (p.why == Why::Given || p.why == Why::Values || have_one_name(p)) matching_.set_known(p.a, p.b);
    const auto twins = count_twins(matching_, view_, ends_, weights_, labels_);
    std::vector<Pair> out(matching_.pairs().begin(), matching_.pairs().end());
    for (Pair& p : out) {
      const Twins &of_a = twins[0][p.a], &of_b = twins[1][p.b];
      if (std::max(of_a.operators, of_b.operators) < 2) continue;
      p.confidence = std::min(p.confidence, 1.0 / std::max(of_a.values, of_b.values));
      p.why = Why::Ambiguous;
    }
    for (Pair& p : out) {
      p.raw = p.confidence;
      p.confidence = calibrated(p.why, p.raw);
    }
    std::ranges::sort(out, {}, &Pair::a);
    return out;
  }

  Groups groups() const { return find_groups(matching_, view_, ends_, known_); }

 private:
  Colours colours(unsigned radius) { return colours_of(matching_, view_, ends_, shapes_, radius, labels_); }

  static void append(Seeds& to, const Seeds& more) { to.insert(to.end(), more.begin(), more.end()); }

  Seeds certain() {
    const ValueNumbers numbers =
        number_values(matching_, view_, ends_, weights_ ? Contents::All : Contents::Ignored, labels_);
    Seeds out = match_unique(matching_, numbers.both, 1.0, Why::Cones);
    if (weights_) append(out, match_unique(matching_, constant_keys(), 0.99, Why::Constants));
    append(out, match_unique(matching_, numbers.forward, 0.98, Why::Upstream));
    append(out, match_unique(matching_, numbers.backward, 0.9, Why::Downstream));
    for (const unsigned radius : {4U, 3U, 2U})
      append(out, match_unique(matching_, colours(radius), 0.93 - 0.03 * (4 - radius), Why::Colour));
    return out;
  }

  // By side and operator: family, and the content of the first constant that says which it is.
  std::array<std::vector<Index>, 2> constant_keys() {
    std::array<std::vector<Index>, 2> out;
    for (const std::size_t s : kSides) {
      const Side& side = matching_.side(s);
      for (Index i = 0; i < side.size(); ++i) {
        const auto inputs = side.inputs(i);
        const auto strong = std::ranges::find_if(inputs, [&](Index v) {
          const Constant* c = v == kNone ? nullptr : side.constant(v);
          return c != nullptr && c->is_strong;
        });
        out[s].push_back(strong == inputs.end() ? kNone
                                                : labels_.of(Key(KeyKind::StrongConstant)
                                                                 .add(side.op(i).family)
                                                                 .add(side.constant(*strong)->content)));
      }
    }
    return out;
  }

  // Operators that constants say to be pairs.
  std::vector<GivenPair> pairs_of_constants() {
    Matching alone(matching_.side(0), matching_.side(1));
    std::vector<GivenPair> out;
    for (const auto& [a, b] : match_unique(alone, constant_keys(), 1.0, Why::Constants))
      out.push_back({matching_.side(0).op(a).node, matching_.side(1).op(b).node});
    return out;
  }

  // Names that one operator of each side has.
  Seeds equal_names() const {
    std::array<std::vector<Index>, 2> names;
    for (const std::size_t s : kSides)
      for (Index i = 0; i < matching_.side(s).size(); ++i) names[s].push_back(matching_.side(s).op(i).name);
    Matching alone(matching_.side(0), matching_.side(1));
    return match_unique(alone, names, 1.0, Why::Given);
  }

  Seeds next_to_ends() const {
    constexpr std::size_t kMostReaders = 32;
    Seeds out;
    for (const auto& [x, y] : ends_.inputs) {
      const auto of_a = view_.uses(0, x), of_b = view_.uses(1, y);
      for (std::size_t i = 0; i < std::min(kMostReaders, of_a.size()); ++i)
        for (std::size_t j = 0; j < std::min(kMostReaders, of_b.size()); ++j)
          out.emplace_back(of_a[i].op, of_b[j].op);
    }
    for (const auto& [x, y] : ends_.outputs)
      for (const Index i : view_.producers(0, x))
        for (const Index j : view_.producers(1, y))
          if (matching_.side(0).op(i).family == matching_.side(1).op(j).family) out.emplace_back(i, j);
    return out;
  }

  // New pairs make colours around them unique.
  void add_late_colours() {
    constexpr int kRounds = 3;
    for (int round = 0; round < kRounds; ++round) {
      Seeds found;
      for (const unsigned radius : {2U, 1U})
        append(found, match_unique(matching_, colours(radius), 0.85, Why::LateColour));
      if (found.empty()) return;
      percolate(matching_, view_, scores_, alignment_, found, {});
    }
  }

  // The best tier of what is aligned; percolation goes on from there.
  void add_aligned() {
    constexpr int kRounds = 4;
    constexpr double kTier = 0.5, kGood = 4.0;
    for (int round = 0; round < kRounds; ++round) {
      const auto aligned = alignment_.proposals();
      double best = kMisfit;
      for (const auto& p : aligned) best = std::max(best, p.score);
      Seeds found;
      for (const auto& p : aligned)
        if (p.score >= std::min(kGood, best - kTier) && matching_.add(p.a, p.b, 0.7, Why::Aligned))
          found.emplace_back(p.a, p.b);
      if (found.empty()) return;
      percolate(matching_, view_, scores_, alignment_, found, {});
    }
  }

  // What is left of operators of one type and one shape.
  void add_blocks() {
    constexpr double kLeastScore = 3.5, kLeastEvidence = 0.8;
    std::map<std::pair<Index, Index>, std::array<std::vector<Index>, 2>> blocks;
    for (const std::size_t s : kSides)
      for (Index i = 0; i < matching_.side(s).size(); ++i)
        if (const Operator& o = matching_.side(s).op(i); !matching_.is_matched(s, i))
          blocks[{o.type, o.shape}][s].push_back(i);
    for (const auto& [key, block] : blocks) {
      if (block[0].empty() || block[1].empty() || std::max(block[0].size(), block[1].size()) > kMostInBlock)
        continue;
      // As many rows as there are columns at most.
      const bool turned = block[0].size() > block[1].size();
      const auto& rows = block[turned ? 1 : 0];
      const auto& columns = block[turned ? 0 : 1];
      const auto pair_of = [&](Index row, Index column) {
        return turned ? std::pair(column, row) : std::pair(row, column);
      };
      std::vector<std::vector<Score>> scores;
      std::vector<std::vector<double>> gains;
      for (const Index row : rows) {
        scores.emplace_back();
        gains.emplace_back();
        for (const Index column : columns) {
          const auto [a, b] = pair_of(row, column);
          scores.back().push_back(scores_.of(a, b));
          gains.back().push_back(scores.back().back().total);
        }
      }
      const auto assigned = best_assignment(gains);
      for (std::size_t r = 0; r < rows.size(); ++r) {
        const Score& score = scores[r][assigned[r]];
        const auto [a, b] = pair_of(rows[r], columns[assigned[r]]);
        if (score.total >= kLeastScore && score.evidence > kLeastEvidence)
          matching_.add(a, b, 0.5, Why::Block);
      }
    }
  }

  Matching matching_;
  const View view_;
  const Ends& ends_;
  const bool weights_, names_, shapes_;
  Labels& labels_;
  Scores scores_;
  Alignment alignment_;
  Seeds given_;
  KnownValues known_;
};

}  // namespace

void map_scope(Scope& scope, const MapOptions& options, Labels& labels,
               std::vector<Mapping::Refused>& refused) {
  Mapper mapper(*scope.a, *scope.b, scope.ends, options, labels);
  mapper.add_given(options.given, refused);
  mapper.add_known(options);
  mapper.run();
  scope.pairs = mapper.pairs();
  Groups groups = mapper.groups();
  scope.groups = std::move(groups.all);
  scope.advice = mapper.advice(scope.groups, options.top_k);
  scope.mates = std::move(groups.mates);
}

void map_scope_literally(Scope& scope, const MapOptions& options) {
  LiteralMapping found =
      map_literally(*scope.a, *scope.b, {.rounds = options.rounds, .top_k = options.top_k});
  scope.pairs = std::move(found.pairs);
  scope.advice = std::move(found.advice);
  scope.mates.assign(scope.a->value_count(), kNone);
  for (const Pair& p : scope.pairs) {
    for (const auto& [x, y] : results_by_slot(*scope.a, p.a, *scope.b, p.b)) scope.mates[x] = y;
  }
}

}  // namespace graphopt::mapping
