#include "mapping/map_graphs.h"

#include <algorithm>
#include <array>
#include <set>
#include <span>

#include "mapping/literal.h"
#include "mapping/mapper.h"
#include "mapping/names.h"
#include "mapping/verdict.h"

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
        // A function that is called twice has one counterpart: that of its first call.
        if (mapped_[0].contains(of_x) || mapped_[1].contains(of_y)) return;
        mapped_[0].insert(of_x);
        mapped_[1].insert(of_y);
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
              add_body(of_x.graphs[k], of_y.graphs[k], body_name(a_.model.text(of_x.name), k),
                       body_name(b_.model.text(of_y.name), k));
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

  void judge() {
    const Verdict verdict = judge_mapping(out_, options_.weights);
    out_.mapped_a = verdict.mapped[0];
    out_.mapped_b = verdict.mapped[1];
    out_.is_one_model = verdict.is_one_model || options_.is_one_model;
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
  std::vector<ValueId> around_;              // by ValueId of A: the value of B that corresponds
  std::array<std::set<GraphId>, 2> mapped_;  // bodies
};

}  // namespace

Mapping map_graphs(const Model& a, const Inference& of_a, const Model& b, const Inference& of_b,
                   const MapOptions& options) {
  return Scopes(a, of_a, b, of_b, options).all();
}

}  // namespace graphopt::mapping
