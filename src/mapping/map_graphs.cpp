#include "mapping/map_graphs.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "mapping/alignment.h"
#include "mapping/assignment.h"
#include "mapping/colours.h"
#include "mapping/ends.h"
#include "mapping/percolation.h"
#include "mapping/scores.h"
#include "mapping/value_numbers.h"
#include "mapping/view.h"

namespace graphopt::mapping {
namespace {

constexpr std::size_t kMostInBlock = 256;  // operators of a block that are assigned; more are not guessed

class Mapper {
 public:
  Mapper(const Side& a, const Side& b, Ends ends, bool weights, Labels& labels)
      : matching_(a, b),
        view_(matching_),
        ends_(std::move(ends)),
        weights_(weights),
        shapes_(have_shapes(a, b)),
        labels_(labels),
        scores_(matching_, view_, ends_, weights),
        alignment_(matching_, ends_, scores_, shapes_) {}

  void run() {
    Seeds seeds = certain();
    std::vector<Colours> near;
    for (const unsigned radius : {1U, 2U, 3U}) near.push_back(colours(radius));
    scores_.set_colours(std::move(near));
    percolate(matching_, view_, scores_, alignment_, seeds, next_to_ends());
    add_late_colours();
    add_aligned();
    add_blocks();
  }

  const Matching& matching() const { return matching_; }
  std::vector<Group> groups() const { return find_groups(matching_, view_, ends_); }

 private:
  Colours colours(unsigned radius) { return colours_of(matching_, view_, ends_, shapes_, radius, labels_); }

  static void append(Seeds& to, const Seeds& more) { to.insert(to.end(), more.begin(), more.end()); }

  Seeds certain() {
    const ValueNumbers numbers = number_values(matching_, view_, ends_, weights_, labels_);
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
  const Ends ends_;
  const bool weights_, shapes_;
  Labels& labels_;
  Scores scores_;
  Alignment alignment_;
};

double mapped_share(const Side& side, std::size_t s, const Mapping& mapping) {
  if (side.size() == 0) return 1;
  std::vector<bool> is_mapped(side.size());
  for (const Pair& p : mapping.pairs) is_mapped[s == 0 ? p.a : p.b] = true;
  for (const Group& g : mapping.groups)
    if (!g.a.empty() && !g.b.empty())
      for (const Index op : s == 0 ? g.a : g.b) is_mapped[op] = true;
  return static_cast<double>(std::ranges::count(is_mapped, true)) / static_cast<double>(side.size());
}

}  // namespace

Mapping map_graphs(const Model& a, const Inference& of_a, const Model& b, const Inference& of_b,
                   const MapOptions& options) {
  Mapping out;
  out.labels = std::make_unique<Labels>();
  out.a = std::make_unique<Side>(a, of_a, a.main(), *out.labels);
  out.b = std::make_unique<Side>(b, of_b, b.main(), *out.labels);
  Mapper mapper(*out.a, *out.b, find_ends(*out.a, of_a, *out.b, of_b), options.weights, *out.labels);
  mapper.run();
  const auto pairs = mapper.matching().pairs();
  out.pairs.assign(pairs.begin(), pairs.end());
  std::ranges::sort(out.pairs, {}, &Pair::a);
  out.groups = mapper.groups();
  out.mapped_a = mapped_share(*out.a, 0, out);
  out.mapped_b = mapped_share(*out.b, 1, out);
  // Without a pair the one group from inputs to outputs says nothing.
  const bool is_empty = out.a->size() == 0 && out.b->size() == 0;
  out.is_one_model = (is_empty || !out.pairs.empty()) && std::min(out.mapped_a, out.mapped_b) >= kLeastMapped;
  if (!out.is_one_model) out.groups.clear();
  return out;
}

}  // namespace graphopt::mapping
