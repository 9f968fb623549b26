// map_models(): which operator of one model became which operator of another.
#include "graphopt/map.h"

#include <algorithm>
#include <map>
#include <new>
#include <set>

#include "deploy/network_id.h"
#include "driver/original.h"
#include "driver/reading.h"
#include "infer/infer.h"
#include "ir/attribute_text.h"
#include "ir/type_text.h"
#include "mapping/literal.h"
#include "mapping/map_graphs.h"
#include "mapping/names.h"
#include "numeric/layout.h"
#include "numeric/mapped_values.h"
#include "runtime/given_inputs.h"
#include "shapes/bind.h"
#include "support/json_text.h"

namespace graphopt {
namespace {

using mapping::Index;
using mapping::kNone;
using mapping::kSides;
using mapping::Mapping;
using mapping::Scope;

struct Half {
  Model model;
  std::optional<Inference> inference;
};

Result<std::unique_ptr<Half>> read_half(const std::string& file, const LoadStage::Options& load,
                                        Observer& observer) {
  Result<ReadModel> read = read_for_view(file, load.external_root, load.dim_names);
  if (!read) return read.errors();
  for (const Warning& w : read->warnings) observer.log(LogLevel::Warning, warning_text(w));
  auto out = std::make_unique<Half>();
  out->model = std::move(read->model);
  out->inference.emplace(out->model, InferOptions{});
  out->inference->run();
  return out;
}

Error wrong_pair(const std::string& text, std::string problem, std::string remedy) {
  return {ErrorKind::Usage, {}, "--pair: '" + text + "' " + std::move(problem), std::move(remedy)};
}

Status check_pairs(const std::vector<std::string>& texts, const std::vector<mapping::GivenPair>& pairs) {
  std::array<std::set<NodeId>, 2> seen;
  for (std::size_t i = 0; i < pairs.size(); ++i)
    if (!seen[0].insert(pairs[i].a).second || !seen[1].insert(pairs[i].b).second)
      return wrong_pair(texts[i], "has an operator that another --pair has, too",
                        "give each operator one counterpart");
  return Done{};
}

Result<std::vector<mapping::GivenPair>> read_pairs(const MapOptions& options, const Half& a, const Half& b) {
  std::vector<mapping::GivenPair> out;
  for (const std::string& text : options.pairs) {
    const auto pair = mapping::find_pair(a.model, b.model, text);
    if (!pair)
      return wrong_pair(text, "is not A=B with an operator of each model",
                        "name operators by their results; those of bodies by OWNER/ATTRIBUTE/RESULT");
    out.push_back(*pair);
  }
  if (Status fit = check_pairs(options.pairs, out); !fit) return fit.errors();
  return out;
}

// Makes the report of a mapping.
class Telling {
 public:
  Telling(const Mapping& mapping, const Half& a, const Half& b)
      : mapping_(mapping), halves_{&a, &b}, prefixes_(prefixes_of(mapping)) {
    for (const std::size_t s : kSides) name_operators(s);
  }

  MapReport report() {
    out_.is_one_model = mapping_.is_one_model;
    for (const std::size_t s : kSides) graph(s);
    for (std::size_t i = 0; i < mapping_.scopes.size(); ++i) {
      pairs(i);
      groups(i);
      advice(i);
    }
    count();
    return std::move(out_);
  }

  MapReport::Numeric numeric(const NumericReport& numbers) const {
    MapReport::Numeric out;
    out.runtime = numbers.runtime;
    out.compared = numbers.compared;
    out.diverging = numbers.diverging;
    const Scope& main = mapping_.scopes[0];
    for (const NumericReport::First& first : numbers.first) {
      MapReport::Divergence& d = out.first.emplace_back();
      const Index a = main.a->producer(first.a).op, b = main.b->producer(first.b).op;
      d.a = op(0, 0, a);
      d.b = op(1, 0, b);
      d.region_a = ops(0, 0, first.region_a);
      d.region_b = ops(1, 0, first.region_b);
      d.max_abs = first.difference.max_abs;
      d.max_rel = first.difference.max_rel;
      d.cosine = first.difference.cosine;
      d.problem = first.difference.problem;
      d.attributes = attributes(main.a->op(a).node, main.b->op(b).node);
    }
    return out;
  }

 private:
  static const mapping::Side& side(const Scope& scope, std::size_t s) { return s == 0 ? *scope.a : *scope.b; }
  MapReport::Graph& graph_of(std::size_t s) { return s == 0 ? out_.a : out_.b; }

  // A result of the main graph may have the name that an operator of a body gets, and two names may be one as
  // text: the later one gets another.
  void name_operators(std::size_t s) {
    std::set<std::string> taken, taken_by_values;
    const auto unique = [](std::set<std::string>& among, const std::string& name) {
      std::string out = name;
      for (std::size_t n = 2; !among.insert(out).second; ++n) out = name + "#" + std::to_string(n);
      return out;
    };
    for (std::size_t i = 0; i < mapping_.scopes.size(); ++i) {
      const mapping::Side& of = side(mapping_.scopes[i], s);
      const std::string& prefix = prefixes_[s][i];
      std::vector<std::string>& names = names_[s].emplace_back();
      for (Index k = 0; k < of.size(); ++k)
        names.push_back(unique(taken, utf8_text(prefix + name_of(of, k))));
      std::vector<std::string>& values = value_names_[s].emplace_back(of.value_count());
      for (const Index v : of.outer()) values[v] = utf8_text(std::string(of.name(v)));
      for (Index v = 0; v < of.value_count(); ++v)
        if (values[v].empty() && !of.constant(v))
          values[v] = unique(taken_by_values, utf8_text(prefix + std::string(of.name(v))));
    }
  }

  const std::string& op(std::size_t s, std::size_t scope, Index i) const { return names_[s][scope][i]; }
  std::vector<std::string> ops(std::size_t s, std::size_t scope, const std::vector<Index>& all) const {
    std::vector<std::string> out;
    for (const Index i : all) out.push_back(op(s, scope, i));
    return out;
  }

  // Inference numbers the dims that it does not know as it meets them, in the order of the file: they are
  // "?".
  static std::string type_of(const Half& half, ValueId v, const std::set<DimId>& known) {
    const Type& type = half.inference->type_of(v);
    if (type.kind != TypeKind::Tensor || !type.has_rank)
      return type_text(half.model, half.inference->type(v));
    std::string out = std::string(dtype_name(type.elem)) + "[";
    for (std::size_t i = 0; i < type.dims.size(); ++i) {
      const DimId d = type.dims[i];
      const bool is_known = d && std::ranges::all_of(half.model.dims.symbols_of(d),
                                                     [&](DimId symbol) { return known.contains(symbol); });
      out += (i == 0 ? "" : ",") + (is_known ? half.model.dims.print(d) : "?");
    }
    return out + "]";
  }

  void graph(std::size_t s) {
    MapReport::Graph& out = graph_of(s);
    const Half& half = *halves_[s];
    out.file = half.model.file;
    const std::vector<DimId> symbols = input_symbols(half.model);
    const std::set<DimId> known(symbols.begin(), symbols.end());
    out.network = NetworkIds(half.model).network(StatedTypes(half.model, {}));
    for (std::size_t i = 0; i < mapping_.scopes.size(); ++i) {
      const mapping::Side& x = side(mapping_.scopes[i], s);
      if (i == 0) {
        out.operators = x.size();
        out.constants = x.constants().size();
      }
      for (Index k = 0; k < x.size(); ++k) {
        const NodeId n = x.op(k).node;
        const ValueId result = half.model.output_count(n) == 0 ? ValueId() : half.model.output(n, 0);
        out.nodes.push_back({op(s, i, k), operator_name(half.model, half.model.node(n).op),
                             result ? type_of(half, result, known) : "", x.op(k).depth});
      }
    }
  }

  MapReport::Value value(std::size_t scope, Index x, Index y) const {
    const Scope& of = mapping_.scopes[scope];
    MapReport::Value out;
    out.a = value_names_[0][scope][x];
    out.b = value_names_[1][scope][y];
    out.layout = channel_layout(dims(0, *of.a, x), dims(1, *of.b, y));
    return out;
  }

  std::vector<std::int64_t> dims(std::size_t s, const mapping::Side& in, Index v) const {
    std::vector<std::int64_t> out;
    const Half& half = *halves_[s];
    if (half.inference->has_rank(in.value(v)))
      for (const DimId d : half.inference->dims(in.value(v)))
        out.push_back(half.model.dims.value(d).value_or(-1));
    return out;
  }

  // Attributes of two nodes of one operator that are not the same text; bodies are left out.
  std::vector<MapReport::Divergence::Attribute> attributes(NodeId x, NodeId y) const {
    std::map<std::string, std::array<std::string, 2>> all;
    const auto add = [&](std::size_t s, NodeId n) {
      const Model& m = halves_[s]->model;
      for (const Attr& a : m.attrs(n))
        if (a.graphs.empty()) all[std::string(m.text(a.name))][s] = attribute_text(m, a);
    };
    std::vector<MapReport::Divergence::Attribute> out;
    if (operator_name(halves_[0]->model, halves_[0]->model.node(x).op) !=
        operator_name(halves_[1]->model, halves_[1]->model.node(y).op))
      return out;
    add(0, x);
    add(1, y);
    for (const auto& [name, texts] : all)
      if (texts[0] != texts[1]) out.push_back({name, texts[0], texts[1]});
    return out;
  }

  void pairs(std::size_t scope) {
    const Scope& of = mapping_.scopes[scope];
    for (const mapping::Pair& p : of.pairs) {
      MapReport::Pair& out = out_.pairs.emplace_back();
      out.a = op(0, scope, p.a);
      out.b = op(1, scope, p.b);
      out.confidence = p.confidence;
      out.raw = p.raw;
      out.why = word(p.why);
      for (const auto& [x, y] : mapping::results_by_slot(*of.a, p.a, *of.b, p.b))
        if (of.mates[x] == y) out.values.push_back(value(scope, x, y));
    }
  }

  void groups(std::size_t scope) {
    const Scope& of = mapping_.scopes[scope];
    for (const mapping::Group& g : of.groups) {
      MapReport::Group& out = out_.groups.emplace_back();
      out.a = ops(0, scope, g.a);
      out.b = ops(1, scope, g.b);
      out.kind = g.kind;
      if (g.value_a != kNone && g.value_b != kNone) out.value = value(scope, g.value_a, g.value_b);
      out.why = word(g.tie);
    }
  }

  void advice(std::size_t scope) {
    for (const mapping::Advice& advice : mapping_.scopes[scope].advice) {
      MapReport::Advice& out = out_.advice.emplace_back();
      out.a = op(0, scope, advice.a);
      for (const auto& [b, score] : advice.top) out.top.emplace_back(op(1, scope, b), score);
    }
  }

  void count() {
    std::map<std::string, std::uint64_t> reasons;
    std::array<std::set<std::string>, 2> in_pairs, in_groups;
    for (const MapReport::Pair& p : out_.pairs) {
      ++reasons[p.why];
      in_pairs[0].insert(p.a);
      in_pairs[1].insert(p.b);
    }
    for (const MapReport::Group& g : out_.groups)
      if (!g.a.empty() && !g.b.empty()) {
        in_groups[0].insert(g.a.begin(), g.a.end());
        in_groups[1].insert(g.b.begin(), g.b.end());
      }
    for (const std::size_t s : kSides) {
      MapReport::Graph& graph = graph_of(s);
      for (const MapReport::Operator& o : graph.nodes) {
        if (in_pairs[s].contains(o.name)) ++graph.in_pairs;
        else if (in_groups[s].contains(o.name)) ++graph.in_groups;
        else ++graph.alone;
      }
    }
    out_.reasons.assign(reasons.begin(), reasons.end());
  }

  const Mapping& mapping_;
  std::array<const Half*, 2> halves_;
  std::array<std::vector<std::string>, 2> prefixes_;
  // By side and scope: of operators, and of values that are no constants.
  std::array<std::vector<std::vector<std::string>>, 2> names_, value_names_;
  MapReport out_;
};

std::string node_text(const Model& m, NodeId n) {
  for (const ValueId v : m.outputs(n))
    if (v && !m.text(m.value(v).name).empty()) return "'" + std::string(m.text(m.value(v).name)) + "'";
  return "an operator";
}

Errors refusals(const Mapping& mapping, const MapOptions& options,
                const std::vector<mapping::GivenPair>& given, const Half& a, const Half& b) {
  Errors out;
  for (const Mapping::Refused& refused : mapping.refused) {
    if (out.size() == kMaxErrors) break;
    std::string text;
    for (std::size_t i = 0; i < given.size(); ++i)
      if (given[i].a == refused.pair.a && given[i].b == refused.pair.b) text = options.pairs[i];
    out.push_back(refused.reads_a
                      ? wrong_pair(text,
                                   "cannot be: " + node_text(a.model, refused.reads_a) + " of A and " +
                                       node_text(b.model, refused.reads_b) +
                                       " of B read the same constant, which no other operator reads",
                                   "give another pair, or --no-weights")
                      : wrong_pair(text,
                                   "cannot be: their graphs do not correspond, or one of them is a constant",
                                   "give the pair of their owners first"));
  }
  return out;
}

Mapping map_halves(const Half& a, const Half& b, const mapping::MapOptions& how) {
  return mapping::map_graphs(a.model, *a.inference, b.model, *b.inference, how);
}

Result<NumericReport> compare_numbers(const Mapping& mapping, const MapOptions& options,
                                      const GivenInputs& given, const Half& a, const Half& b) {
  return compare_mapped(mapping.scopes[0], {a.model, *a.inference, data_folder(options.first)},
                        {b.model, *b.inference, data_folder(options.second)},
                        {.bisect = options.bisect && !options.numeric,
                         .tolerance = options.tolerance,
                         .given = given,
                         .seeds = options.seeds,
                         .ort = options.ort});
}

Result<MapReport> map_files(const MapOptions& options, Observer& observer) {
  auto a = read_half(options.first, options.load, observer);
  if (!a) return a.errors();
  auto b = read_half(options.second, options.load, observer);
  if (!b) return b.errors();
  auto given = read_pairs(options, **a, **b);
  if (!given) return given.errors();
  mapping::MapOptions how = {.method = options.method,
                             .rounds = static_cast<std::size_t>(options.rounds),
                             .weights = options.weights,
                             .names = options.names,
                             .given = *given,
                             .equal = {},
                             .unequal = {},
                             .is_one_model = false,
                             .top_k = options.top_k};
  Mapping mapping = map_halves(**a, **b, how);
  if (mapping.too_large > 0)
    return Error{ErrorKind::Usage,
                 {},
                 "--method literal: its matrices would take " + std::to_string(mapping.too_large >> 20) +
                     " MiB; it takes " + std::to_string(mapping::kMostLiteral) + " operators at most",
                 "use --method sparse"};
  if (!mapping.refused.empty()) return refusals(mapping, options, *given, **a, **b);
  std::optional<NumericReport> numbers;
  if ((options.numeric || options.bisect) && mapping.is_one_model) {
    const Result<GivenInputs> inputs = read_given_inputs(options.inputs, "--input");
    if (!inputs) return inputs.errors();
    auto compared = compare_numbers(mapping, options, *inputs, **a, **b);
    if (!compared) return compared.errors();
    numbers = *std::move(compared);
    // What the numbers say changes the map, and the map what is compared.
    if (!numbers->equal.empty() || !numbers->unequal.empty()) {
      how.equal = numbers->equal;
      how.unequal = numbers->unequal;
      how.is_one_model = true;  // numbers do not take that back
      mapping = map_halves(**a, **b, how);
      compared = compare_numbers(mapping, options, *inputs, **a, **b);
      if (!compared) return compared.errors();
      numbers = *std::move(compared);
    }
  }
  Telling telling(mapping, **a, **b);
  MapReport out = telling.report();
  out.method = options.method;
  if (numbers) out.numeric = telling.numeric(*numbers);
  return out;
}

}  // namespace

Result<MapReport> map_models(const MapOptions& options, Observer& observer) {
  try {
    return map_files(options, observer);
  } catch (const std::bad_alloc&) {
    return out_of_memory(options.first);
  }
}

}  // namespace graphopt
