#include "numeric/mapped_values.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <set>

#include "mapping/frontier.h"
#include "numeric/paired_inputs.h"
#include "numeric/probe.h"
#include "ops/node_facts.h"
#include "runtime/compare.h"

namespace graphopt {
namespace {

using mapping::ComparedValue;
using mapping::Index;
using mapping::kNone;
using mapping::kSides;
using mapping::Scope;
using mapping::Side;

constexpr std::uint64_t kPortion = std::uint64_t{512} << 20;  // bytes of values of both graphs at once
constexpr double kNoiseFactor = 10, kMostNoise = 0.05;
constexpr double kOtherwise = 3;
constexpr double kQuantized = 0.02;  // models with values of 8 bits: a step more or less changes what follows

struct Compared {
  Index a = 0, b = 0;  // values
  ValueDifference worst;
  double limit = 0;
  bool differs = false;
};

class Comparison {
 public:
  Comparison(const Scope& main, const NumericSide& a, const NumericSide& b, const NumericOptions& options)
      : main_(main), a_(a), b_(b), options_(options) {}

  Result<NumericReport> run() {
    auto runtime = Runtime::open(options_.ort);
    if (!runtime) return runtime.errors();
    out_.runtime = "ONNX Runtime " + (*runtime)->version();
    auto pairs = InputPairs::make(main_, a_, b_, options_.given);
    if (!pairs) return pairs.errors();
    coarsest_ = pairs->coarsest_float();
    rounds_otherwise_ = pairs->round_otherwise();
    is_quantized_ = has_bytes(*main_.a, a_) || has_bytes(*main_.b, b_);
    probes_[0].emplace(*runtime, a_.model, a_.inference, a_.folder);
    probes_[1].emplace(*runtime, b_.model, b_.inference, b_.folder);
    list_values();
    if (outputs_.empty() && inner_.empty())
      return Error{ErrorKind::NotChecked,
                   {a_.model.file, {}, {}, {}, {}},
                   "none of its values that have a counterpart can be compared: random operators make them",
                   "the map itself needs no run: leave out --numeric and --bisect"};
    if (Status found = find_inputs(*pairs); !found) return found.errors();
    if (options_.bisect && !outputs_differ()) {
      out_.compared = done_.size();
      return std::move(out_);
    }
    if (Status compared = compare_all(); !compared) return compared.errors();
    judge();
    if (!options_.bisect)
      if (Status found = find_equal(); !found) return found.errors();
    return std::move(out_);
  }

 private:
  const Side& side(std::size_t s) const { return s == 0 ? *main_.a : *main_.b; }
  const NumericSide& numeric(std::size_t s) const { return s == 0 ? a_ : b_; }

  static bool has_bytes(const Side& side, const NumericSide& of) {
    for (Index i = 0; i < side.size(); ++i)
      for (const Index v : side.outputs(i))
        if (v != kNone)
          if (const DType t = of.inference.dtype(side.value(v)); is_int(t) && bits_of(t) <= 8) return true;
    return false;
  }

  // Bodies and functions, at any depth, included.
  static bool is_random(const Model& m, NodeId node) {
    std::vector<NodeId> open{node};
    std::set<FunctionId> called;
    while (!open.empty()) {
      const NodeId n = open.back();
      open.pop_back();
      if (facts_of(m, n).purity == Purity::Random) return true;
      const auto add = [&](GraphId g) {
        for (NodeId inner = m.first_node(g); inner; inner = m.next_node(inner)) open.push_back(inner);
      };
      for (const Attr& a : m.attrs(n))
        for (const GraphId g : a.graphs) add(g);
      if (const FunctionId f = m.op(n).function; f && called.insert(f).second && m.function(f).body)
        add(m.function(f).body);
    }
    return false;
  }

  // What comes of a random operator says nothing.
  std::vector<bool> random_values(std::size_t s) const {
    const Side& of = side(s);
    std::vector<bool> out(of.value_count());
    for (Index i = 0; i < of.size(); ++i) {
      bool random = !of.op(i).is_transparent && is_random(of.model(), of.op(i).node);
      for (const Index v : of.inputs(i)) random |= v != kNone && out[v];
      for (const Index v : of.outputs(i))
        if (v != kNone) out[v] = random;
    }
    return out;
  }

  // Values that correspond and are computed on both sides, in the order of A; outputs first.
  void list_values() {
    const std::vector<bool> random_a = random_values(0), random_b = random_values(1);
    const auto add = [&](std::vector<Compared>& to, Index x, Index y) {
      if (!side(0).is_computed(x) || !side(1).is_computed(y) || random_a[x] || random_b[y]) return;
      to.push_back({.a = x, .b = y, .worst = {}, .limit = 0, .differs = false});
    };
    std::vector<bool> is_output(side(0).value_count());
    for (const auto& [x, y] : main_.ends.outputs) {
      is_output[x] = true;
      add(outputs_, x, y);
    }
    for (Index i = 0; i < side(0).size(); ++i)
      for (const Index x : side(0).outputs(i))
        if (x != kNone && !is_output[x] && main_.mates[x] != kNone) add(inner_, x, main_.mates[x]);
  }

  // The sizes are the first with which both models give their outputs.
  Status find_inputs(const InputPairs& pairs) {
    Error last{ErrorKind::NotChecked,
               {a_.model.file, {}, {}, {}, {}},
               "inputs cannot be made for it: a dimension is negative or unknown, or they are too large",
               "give inputs with --input"};
    for (const Binding& binding : pairs.bindings()) {
      for (auto* list : {&feeds_[0], &feeds_[1], &near_}) list->clear();
      bool drawn = true;
      for (std::uint64_t seed = 0; seed < std::max<std::uint64_t>(1, options_.seeds); ++seed) {
        auto inputs = pairs.draw(binding, seed, coarsest_);
        drawn &= inputs.has_value();
        if (!drawn) break;
        feeds_[0].push_back(std::move(inputs->a));
        feeds_[1].push_back(std::move(inputs->b));
        if (!inputs->near.empty()) near_.push_back(std::move(inputs->near));
      }
      if (!drawn) continue;
      done_ = outputs_;
      const Status ran = compare(done_);
      if (ran) return Done{};
      last = ran.error();
    }
    return last;
  }

  bool outputs_differ() const {
    return std::ranges::any_of(done_, [](const Compared& c) { return c.differs; });
  }

  std::uint64_t bytes_of(const Compared& c) const {
    return probes_[0]->bytes_of(side(0).value(c.a)) + probes_[1]->bytes_of(side(1).value(c.b));
  }

  Status compare_all() {
    bool found = false;
    for (std::size_t begin = 0; begin < inner_.size();) {
      std::size_t end = begin;
      for (std::uint64_t bytes = 0; end < inner_.size() && (end == begin || bytes < kPortion); ++end)
        bytes += bytes_of(inner_[end]) * 3 * feeds_[0].size();
      const std::span<Compared> portion = std::span(inner_).subspan(begin, end - begin);
      if (Status ran = compare(portion); !ran) return ran;
      done_.insert(done_.end(), portion.begin(), portion.end());
      begin = end;
      if (!options_.bisect) continue;
      if (found) break;  // one more portion: it says what is taken back
      found = std::ranges::any_of(portion, [](const Compared& c) { return c.differs; });
    }
    return Done{};
  }

  Status compare(std::span<Compared> values) {
    if (values.empty()) return Done{};
    std::array<std::vector<ValueId>, 2> ids;
    for (const Compared& c : values) {
      ids[0].push_back(side(0).value(c.a));
      ids[1].push_back(side(1).value(c.b));
    }
    std::vector<std::vector<NamedValue>> both = feeds_[0];
    both.insert(both.end(), near_.begin(), near_.end());
    auto of_a = fetch(0, ids[0], both);
    if (!of_a) return of_a.errors();
    auto of_b = fetch(1, ids[1], feeds_[1]);
    if (!of_b) return of_b.errors();
    const std::size_t sets = feeds_[0].size();
    for (std::size_t i = 0; i < values.size(); ++i)
      for (std::size_t k = 0; k < sets; ++k) {
        const HostValue& x = (*of_a)[k][i];
        const HostValue* near = near_.empty() ? nullptr : &(*of_a)[sets + k][i];
        compare(values[i], x, near, (*of_b)[k][i]);
      }
    return Done{};
  }

  // A value may be there with channels last; not what leaves the graph with the same dims, and not the result
  // of an operator whose attributes are others: of a Transpose these are the layout.
  Layouts layouts_of(const Compared& c) const {
    const mapping::Operator& x = side(0).op(side(0).producer(c.a).op);
    const mapping::Operator& y = side(1).op(side(1).producer(c.b).op);
    if (x.type == y.type && x.attributes != y.attributes && x.only_deforms) return Layouts::None;
    return is_output(c) ? Layouts::OtherDims : Layouts::Channels;
  }

  void compare(Compared& c, const HostValue& x, const HostValue* near, const HostValue& y) {
    // One graph rounds at each operator to what the other one does not: more than two runs of one would.
    const double by_type = default_tolerance(coarsest_) * (rounds_otherwise_ ? kOtherwise : 1);
    double limit = options_.tolerance.value_or(
        is_float(x.dtype) ? std::max(by_type, is_quantized_ ? kQuantized : 0) : 0);
    if (!options_.tolerance && near) {
      const ValueDifference noise = difference_of(x, *near, limit, Layouts::None);
      if (noise.layout.empty() && noise.problem.empty())
        limit = std::max({limit, std::min(kMostNoise, kNoiseFactor * noise.max_rel), 2 * noise.max_rel});
      if (!noise.problem.empty()) limit = 2;  // other extents or NaN after a rounding: nothing is known
    }
    ValueDifference far = difference_of(x, y, limit, layouts_of(c));
    // What is rounded to integers may fall to the other side where the graphs round otherwise.
    if (!options_.tolerance && !is_float(x.dtype) && rounds_otherwise_) far.is_comparable = false;
    const bool is_step = !options_.tolerance && is_int(x.dtype) && bits_of(x.dtype) <= 8 && far.max_abs <= 1;
    const bool differs =
        far.is_comparable && ((!far.problem.empty() && limit < 2) || (far.max_rel > limit && !is_step));
    if (differs < c.differs || (differs == c.differs && far.max_rel < c.worst.max_rel)) return;
    c.worst = std::move(far);
    c.limit = limit;
    c.differs = differs;
  }

  Result<std::vector<std::vector<HostValue>>> fetch(std::size_t s, const std::vector<ValueId>& values,
                                                    const std::vector<std::vector<NamedValue>>& feeds) {
    auto out = probes_[s]->run(values, feeds);
    if (out) return out;
    Error e = out.error();
    return Error{ErrorKind::NotChecked,
                 {numeric(s).model.file, {}, {}, {}, {}},
                 out_.runtime + " does not run it: " + e.what,
                 "the map itself needs no run: leave out --numeric and --bisect"};
  }

  std::vector<ComparedValue> states(const std::vector<bool>& is_left_out) const {
    std::vector<ComparedValue> out;
    for (std::size_t i = 0; i < done_.size(); ++i)
      if (is_left_out.empty() || !is_left_out[i]) out.push_back({done_[i].a, done_[i].b, done_[i].differs});
    return out;
  }

  NumericReport::ValuePair ids(const Compared& c) const { return {side(0).value(c.a), side(1).value(c.b)}; }

  void judge() {
    std::erase_if(done_, [](const Compared& c) { return !c.worst.is_comparable; });
    out_.compared = done_.size();
    const bool agree =
        std::ranges::none_of(done_, [&](const Compared& c) { return c.differs && is_output(c); });
    std::vector<bool> is_left_out(done_.size());
    const mapping::Frontier frontier = find_frontier(side(0), side(1), states({}));
    for (std::size_t i = 0; i < done_.size(); ++i) is_left_out[i] = done_[i].differs && agree;
    for (const std::size_t i : frontier.taken_back) is_left_out[i] = true;
    for (std::size_t i = 0; i < done_.size(); ++i) {
      if (is_left_out[i]) out_.unequal.push_back(ids(done_[i]));
      else if (done_[i].differs) ++out_.diverging;
      else if (!done_[i].worst.layout.empty())
        out_.layouts.emplace_back(side(0).value(done_[i].a), done_[i].worst.layout);
    }
    out_.compared -= out_.unequal.size();
    if (agree) return;
    const std::vector<ComparedValue> kept = states(is_left_out);
    std::vector<std::size_t> first = frontier.first;
    std::erase_if(first, [&](std::size_t i) { return is_left_out[i]; });
    // Where pairs cross, each value has one that differs above it in one of the graphs.
    if (first.empty())
      for (std::size_t i = 0; i < done_.size(); ++i)
        if (done_[i].differs && !is_left_out[i] &&
            (first.empty() || side(0).producer(done_[i].a) < side(0).producer(done_[first.front()].a)))
          first.assign(1, i);
    for (const std::size_t i : first) {
      out_.first.push_back({done_[i].a, done_[i].b, done_[i].worst,
                            mapping::region_of(side(0), 0, done_[i].a, kept),
                            mapping::region_of(side(1), 1, done_[i].b, kept)});
    }
  }

  bool is_output(const Compared& c) const {
    return std::ranges::any_of(main_.ends.outputs,
                               [&](const auto& o) { return o.first == c.a && o.second == c.b; });
  }

  // Values that have no counterpart and the same elements as one value of the other graph alone.
  Status find_equal() {
    struct Print {
      Index value = 0;
      Fingerprint print;
    };
    std::array<std::vector<Print>, 2> prints;
    std::vector<bool> has_mate(side(1).value_count());
    for (const Index y : main_.mates)
      if (y != kNone) has_mate[y] = true;
    for (const std::size_t s : kSides) {
      std::vector<Index> open;
      for (Index i = 0; i < side(s).size(); ++i)
        for (const Index v : side(s).outputs(i))
          if (v != kNone && (s == 0 ? main_.mates[v] == kNone : !has_mate[v])) open.push_back(v);
      for (std::size_t begin = 0; begin < open.size();) {
        std::vector<ValueId> values;
        std::size_t end = begin;
        for (std::uint64_t bytes = 0; end < open.size() && (end == begin || bytes < kPortion); ++end) {
          values.push_back(side(s).value(open[end]));
          bytes += probes_[s]->bytes_of(values.back()) * 2;
        }
        const std::vector<std::vector<NamedValue>> feeds{feeds_[s].front()};
        auto results = fetch(s, values, feeds);
        if (!results) return results.errors();
        for (std::size_t i = 0; i < values.size(); ++i)
          if (Fingerprint print = fingerprint_of((*results)[0][i]); print.elements > 0)
            prints[s].push_back({open[begin + i], std::move(print)});
        begin = end;
      }
    }
    const auto by_size = [](const Print& x, const Print& y) {
      return std::tuple(x.print.elements, x.print.sorted.front()) <
             std::tuple(y.print.elements, y.print.sorted.front());
    };
    for (auto& list : prints) std::ranges::stable_sort(list, by_size);
    const double tolerance = options_.tolerance.value_or(default_tolerance(coarsest_)) / 10;
    const auto only_alike = [&](const Print& x, const std::vector<Print>& among) {
      const Print* found = nullptr;
      const double slack =
          tolerance * std::max(std::fabs(x.print.sorted.front()), std::fabs(x.print.sorted.back())) * 2;
      const auto begin = std::ranges::lower_bound(
          among, std::pair(x.print.elements, x.print.sorted.front() - slack), {},
          [](const Print& p) { return std::pair(p.print.elements, p.print.sorted.front()); });
      for (auto y = begin; y != among.end() && y->print.elements == x.print.elements &&
                           y->print.sorted.front() <= x.print.sorted.front() + slack;
           ++y) {
        if (!are_alike(x.print, y->print, tolerance)) continue;
        if (found) return static_cast<const Print*>(nullptr);
        found = &*y;
      }
      return found;
    };
    for (const Print& x : prints[0])
      if (const Print* y = only_alike(x, prints[1]))
        if (only_alike(*y, prints[0]) == &x)
          out_.equal.emplace_back(side(0).value(x.value), side(1).value(y->value));
    return Done{};
  }

  const Scope& main_;
  const NumericSide &a_, &b_;
  const NumericOptions& options_;
  NumericReport out_;
  DType coarsest_ = DType::Undefined;
  bool is_quantized_ = false, rounds_otherwise_ = false;
  std::array<std::optional<Probe>, 2> probes_;
  std::array<std::vector<std::vector<NamedValue>>, 2> feeds_;
  std::vector<std::vector<NamedValue>> near_;
  std::vector<Compared> outputs_, inner_, done_;
};

}  // namespace

Result<NumericReport> compare_mapped(const Scope& main, const NumericSide& a, const NumericSide& b,
                                     const NumericOptions& options) {
  return Comparison(main, a, b, options).run();
}

}  // namespace graphopt
