// The report of map_models() as JSON: share/graphopt/schemas/map.schema.json.
#include <cmath>

#include "graphopt/map.h"
#include "support/json_text.h"

namespace graphopt {
namespace {

// Shares and scores with as many digits as they mean.
Json share(double x) { return std::round(x * 1e4) / 1e4; }

Json share_of(std::uint64_t part, std::uint64_t all) {
  return share(all == 0 ? 0 : static_cast<double>(part) / static_cast<double>(all));
}

Json graph_json(const MapReport::Graph& g) {
  Json nodes = Json::array();
  for (const MapReport::Operator& o : g.nodes)
    nodes.push_back({{"depth", o.depth}, {"name", o.name}, {"op", o.op}, {"type", o.type}});
  return {{"constants", g.constants},
          {"file", g.file},
          {"network", g.network},
          {"nodes", std::move(nodes)},
          {"operators", g.operators}};
}

Json value_json(const MapReport::Value& v) {
  Json layout = nullptr;
  if (!v.layout.empty()) layout = v.layout;
  return Json::array({v.a, v.b, std::move(layout)});
}

Json pair_json(const MapReport::Pair& p) {
  Json values = Json::array();
  for (const MapReport::Value& v : p.values) values.push_back(value_json(v));
  return {{"a", p.a},
          {"b", p.b},
          {"confidence", share(p.confidence)},
          {"raw_confidence", share(p.raw)},
          {"values", std::move(values)},
          {"why", p.why}};
}

Json group_json(const MapReport::Group& g) {
  Json values = Json::array();
  if (g.value) values = {g.value->a, g.value->b};
  return {{"a", g.a}, {"b", g.b}, {"kind", word(g.kind)}, {"values", std::move(values)}, {"why", g.why}};
}

Json divergence_json(const MapReport::Divergence& d) {
  Json attributes = Json::object();
  for (const auto& [name, a, b] : d.attributes)
    attributes[name] =
        Json::array({a.empty() ? Json(nullptr) : Json(a), b.empty() ? Json(nullptr) : Json(b)});
  return {{"a", d.a},
          {"attributes", std::move(attributes)},
          {"b", d.b},
          {"cosine", json_number(d.cosine)},
          {"max_abs", json_number(d.max_abs)},
          {"max_rel", json_number(d.max_rel)},
          {"problem", d.problem.empty() ? Json(nullptr) : Json(d.problem)},
          {"region", {{"a", d.region_a}, {"b", d.region_b}}}};
}

Json numeric_json(const MapReport::Numeric& n) {
  Json first = Json::array();
  for (const MapReport::Divergence& d : n.first) first.push_back(divergence_json(d));
  return {{"compared", n.compared},
          {"diverging", n.diverging},
          {"first", std::move(first)},
          {"runtime", n.runtime}};
}

Json summary_json(const MapReport& r) {
  const auto shares = [](const MapReport::Graph& g) -> Json {
    const std::uint64_t all = g.nodes.size();
    return {{"alone", share_of(g.alone, all)},
            {"in_groups", share_of(g.in_groups, all)},
            {"in_pairs", share_of(g.in_pairs, all)}};
  };
  Json why = Json::object();
  for (const auto& [reason, count] : r.reasons) why[reason] = count;
  return {{"a", shares(r.a)}, {"b", shares(r.b)}, {"why", std::move(why)}};
}

}  // namespace

// Keys are in alphabetical order.
std::string to_json(const MapReport& r) {
  Json out;
  out["a"] = graph_json(r.a);
  Json& advice = out["advice"] = Json::array();
  for (const MapReport::Advice& one : r.advice) {
    Json top = Json::array();
    for (const auto& [b, score] : one.top) top.push_back(Json::array({b, share(score)}));
    advice.push_back({{"a", one.a}, {"top", std::move(top)}});
  }
  out["b"] = graph_json(r.b);
  out["format"] = "graphopt.map";
  Json& groups = out["groups"] = Json::array();
  for (const MapReport::Group& g : r.groups) groups.push_back(group_json(g));
  out["method"] = word(r.method);
  out["numeric"] = r.numeric ? numeric_json(*r.numeric) : Json(nullptr);
  Json& pairs = out["pairs"] = Json::array();
  for (const MapReport::Pair& p : r.pairs) pairs.push_back(pair_json(p));
  out["summary"] = summary_json(r);
  out["verdict"] = r.is_one_model ? "one model" : "not one model";
  out["version"] = "1.0";
  return json_text(out);
}

}  // namespace graphopt
