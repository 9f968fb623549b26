#include "mapping/map_graphs.h"

#include <algorithm>
#include <array>
#include <set>
#include <span>

#include "mapping/literal.h"
#include "mapping/mapper.h"
#include "mapping/weight_sketch.h"

namespace graphopt::mapping {
namespace {

class Scopes {
 public:
  Scopes(const Model& a, const Inference& of_a, const Model& b, const Inference& of_b,
         const MapOptions& options)
      : a_(a, of_a), b_(b, of_b), options_(options), around_(a.value_count()) {
    out_.labels = std::make_unique<Labels>();
  }

  Mapping all() {
    add(a_.model.main(), b_.model.main(), {});
    if (out_.too_large > 0) return std::move(out_);
    for (std::size_t i = 0; i < out_.scopes.size(); ++i) add_bodies(i);
    judge();
    refuse_absent();
    return std::move(out_);
  }

 private:
  void add(GraphId a, GraphId b, Scope scope) {
    scope.a = std::make_unique<Side>(a_, a, *out_.labels);
    scope.b = std::make_unique<Side>(b_, b, *out_.labels);
    scope.ends = scope.outer ? find_body_ends(*scope.a, a_.inference, *scope.b, b_.inference, around_)
                             : find_ends(*scope.a, a_.inference, *scope.b, b_.inference);
    if (options_.method == MapMethod::Literal) {
      if (std::max(scope.a->size(), scope.b->size()) > kMostLiteral) {
        if (!scope.outer) out_.too_large = literal_bytes(*scope.a, *scope.b);
        return;
      }
      map_scope_literally(scope, options_);
    } else {
      map_scope(scope, options_, *out_.labels, out_.refused);
    }
    for (Index v = 0; v < scope.mates.size(); ++v)
      if (scope.mates[v] != kNone) around_[scope.a->value(v).index()] = scope.b->value(scope.mates[v]);
    out_.scopes.push_back(std::move(scope));
  }

  void add_bodies(std::size_t at) {
    const std::vector<Pair> owners = out_.scopes[at].pairs;
    for (const Pair& pair : owners) {
      const NodeId x = out_.scopes[at].a->op(pair.a).node, y = out_.scopes[at].b->op(pair.b).node;
      const auto add_body = [&](GraphId of_x, GraphId of_y, std::string_view name_x,
                                std::string_view name_y) {
        if (!mapped_.emplace(of_x, of_y).second) return;
        Scope scope;
        scope.outer = at;
        scope.owners = pair;
        scope.attributes = {std::string(name_x), std::string(name_y)};
        add(of_x, of_y, std::move(scope));
      };
      for (const Attr& of_x : a_.model.attrs(x)) {
        if (of_x.graphs.empty()) continue;
        for (const Attr& of_y : b_.model.attrs(y))
          if (a_.model.text(of_x.name) == b_.model.text(of_y.name))
            for (std::size_t k = 0; k < std::min(of_x.graphs.size(), of_y.graphs.size()); ++k)
              add_body(of_x.graphs[k], of_y.graphs[k], a_.model.text(of_x.name), a_.model.text(of_y.name));
      }
      const GraphId of_x = called(a_.model, x), of_y = called(b_.model, y);
      if (of_x && of_y)
        add_body(of_x, of_y, a_.model.text(a_.model.op(x).type), b_.model.text(b_.model.op(y).type));
    }
  }

  static GraphId called(const Model& m, NodeId n) {
    const FunctionId f = m.op(n).function;
    return f ? m.function(f).body : GraphId();
  }

  // Returns how many operators of a side are in a pair, or in a group with both sides.
  static std::size_t mapped_operators(const Scope& scope, std::size_t s) {
    std::vector<bool> is_mapped(s == 0 ? scope.a->size() : scope.b->size());
    for (const Pair& p : scope.pairs) is_mapped[s == 0 ? p.a : p.b] = true;
    for (const Group& g : scope.groups)
      if (!g.a.empty() && !g.b.empty())
        for (const Index op : s == 0 ? g.a : g.b) is_mapped[op] = true;
    return static_cast<std::size_t>(std::ranges::count(is_mapped, true));
  }

  bool have_equal_weights() const {
    if (!options_.weights) return false;
    constexpr double kLeastResemblance = 0.3;
    WeightSketch a, b;
    for (const Scope& scope : out_.scopes) {
      a.add(*scope.a);
      b.add(*scope.b);
    }
    return WeightSketch::resemblance(a, b) >= kLeastResemblance;
  }

  void judge() {
    std::array<std::size_t, 2> operators{}, mapped{};
    std::size_t pairs = 0;
    for (const Scope& scope : out_.scopes) {
      operators[0] += scope.a->size();
      operators[1] += scope.b->size();
      for (const std::size_t s : kSides) mapped[s] += mapped_operators(scope, s);
      pairs += scope.pairs.size();
    }
    const auto share = [&](std::size_t s) {
      return operators[s] == 0 ? 1.0 : static_cast<double>(mapped[s]) / static_cast<double>(operators[s]);
    };
    out_.mapped_a = share(0);
    out_.mapped_b = share(1);
    // Without a pair the one group from inputs to outputs says nothing, unless both have the same weights.
    const bool is_empty = operators[0] == 0 && operators[1] == 0;
    out_.is_one_model = std::min(out_.mapped_a, out_.mapped_b) >= kLeastMapped &&
                        (is_empty || pairs > 0 || have_equal_weights());
    if (out_.is_one_model) return;
    for (Scope& scope : out_.scopes) {
      scope.groups.clear();
      scope.advice.clear();
    }
  }

  void refuse_absent() {
    for (const GivenPair& pair : options_.given) {
      const auto is_it = [&](const GivenPair& p) { return p.a == pair.a && p.b == pair.b; };
      if (std::ranges::any_of(out_.refused, is_it, &Mapping::Refused::pair)) continue;
      const bool is_there = std::ranges::any_of(out_.scopes, [&](const Scope& scope) {
        return std::ranges::any_of(scope.pairs, [&](const Pair& p) {
          return scope.a->op(p.a).node == pair.a && scope.b->op(p.b).node == pair.b;
        });
      });
      if (!is_there) out_.refused.push_back({pair, {}, {}});
    }
  }

  Subject a_, b_;
  const MapOptions& options_;
  Mapping out_;
  std::vector<ValueId> around_;  // by ValueId of A: the value of B that corresponds
  std::set<std::pair<GraphId, GraphId>> mapped_;
};

}  // namespace

Mapping map_graphs(const Model& a, const Inference& of_a, const Model& b, const Inference& of_b,
                   const MapOptions& options) {
  return Scopes(a, of_a, b, of_b, options).all();
}

}  // namespace graphopt::mapping
