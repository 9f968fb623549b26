// Report and Inspection as JSON. Fields keep the order in which the structs have them; text that is not UTF-8
// (names in models may be anything) has its wrong bytes replaced.
#include <nlohmann/json.hpp>

#include "graphopt/inspect.h"
#include "graphopt/report.h"

namespace graphopt {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFormat = 1;  // of both; grows when a field changes its meaning or goes away

std::string dump(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n'; }

// JSON has no infinities and no NaN.
Json number(double d) {
  if (d != d) return "nan";
  if (d > 1.7976931348623157e308) return "inf";
  if (d < -1.7976931348623157e308) return "-inf";
  return d;
}

Json to(const ModelFigures& f) {
  Json operators = Json::object();
  for (const auto& [name, n] : f.operators) operators[name] = n;
  return {{"nodes", f.nodes},         {"constants", f.constants}, {"initializers", f.initializers},
          {"subgraphs", f.subgraphs}, {"calls", f.calls},         {"bytes", f.bytes},
          {"operators", operators}};
}

Json to(const Report::PassFigures& p) {
  Json counters = Json::object();
  for (const auto& [name, n] : p.counters) counters[name] = n;
  return {{"name", p.name},
          {"runs", p.runs},
          {"rewrites", p.rewrites},
          {"seconds", p.seconds},
          {"counters", counters}};
}

Json to(const Report::Check& c) {
  Json outputs = Json::array();
  for (const Report::Difference& d : c.outputs) {
    outputs.push_back({{"output", d.output},
                       {"max_abs", number(d.max_abs)},
                       {"max_rel", number(d.max_rel)},
                       {"noise", number(d.noise)},
                       {"random", d.random},
                       {"ok", d.ok},
                       {"problem", d.problem}});
  }
  return {{"verdict", c.verdict},
          {"runtime", c.runtime},
          {"runs", c.runs},
          {"skipped", c.skipped},
          {"outputs", outputs}};
}

Json to(const std::vector<Report::Region>& regions) {
  const auto text = [](const std::string& s) { return s.empty() ? Json(nullptr) : Json(s); };
  Json out = Json::array();
  for (const Report::Region& r : regions) {
    out.push_back({{"id", r.id}, {"members", r.members}, {"anchor", text(r.anchor)}, {"kind", text(r.kind)}});
    if (!r.function.empty()) out.back()["function"] = r.function;
  }
  return out;
}

Json to(const std::vector<Inspection::Value>& values) {
  Json out = Json::array();
  for (const Inspection::Value& v : values) {
    out.push_back({{"name", v.name}, {"type", v.type}, {"has_default", v.has_default}});
  }
  return out;
}

}  // namespace

std::string to_json(const Report& r) {
  Json out = {{"format_number", kFormat}, {"version", r.version}, {"input", r.input},    {"output", r.output},
              {"before", to(r.before)},   {"after", to(r.after)}, {"seconds", r.seconds}};
  Json& phases = out["phases"] = Json::array();
  for (const Report::Phase& p : r.phases) phases.push_back({{"name", p.name}, {"seconds", p.seconds}});
  Json& passes = out["passes"] = Json::array();
  for (const Report::PassFigures& p : r.passes) passes.push_back(to(p));
  const auto cost = [](const Report::Cost& c) {
    return Json{{"compute", c.compute}, {"free", c.free}, {"deform", c.deform}};
  };
  Json& moves = out["moves"] = Json::array();
  for (const Report::Move& m : r.moves) {
    moves.push_back({{"pass", m.pass},
                     {"kind", m.kind},
                     {"place", m.place},
                     {"before", cost(m.before)},
                     {"after", cost(m.after)}});
  }
  Json& costs = out["costs"] = Json::array();
  for (const Report::GraphCost& c : r.costs)
    costs.push_back({{"graph", c.graph}, {"before", cost(c.before)}, {"after", cost(c.after)}});
  Json& explain = out["explain"] = Json::array();
  for (const Report::Refused& e : r.explain) {
    explain.push_back(
        {{"pass", e.pass}, {"kind", e.kind}, {"reason", e.reason}, {"place", e.place}, {"value", e.value}});
    if (!e.limit.empty()) explain.back()["limit"] = e.limit;
  }
  Json& limits = out["limits"] = Json::array();
  for (const Report::Limit& l : r.limits) limits.push_back({{"name", l.name}, {"times", l.times}});
  out["region_form"] = r.regions ? Json(r.regions->form) : Json(nullptr);
  out["regions"] = r.regions ? to(r.regions->regions) : Json(nullptr);
  out["launches"] = r.regions ? Json(r.regions->launches) : Json(nullptr);
  out["rounds"] = r.rounds;
  out["rewrites"] = r.rewrites;
  out["stopped"] = r.stopped;
  Json& inference = out["inference"] = nullptr;
  if (r.inference) {
    inference = {{"values", r.inference->values},
                 {"inferred", r.inference->inferred},
                 {"again", r.inference->again},
                 {"again_per_rewrite", r.inference->again_per_rewrite}};
  }
  Json& claims = out["false_claims"] = Json::array();
  for (const Report::WrongClaim& c : r.false_claims) {
    claims.push_back({{"value", c.value}, {"declared", c.declared}, {"inferred", c.inferred}});
  }
  out["check"] = r.check ? to(*r.check) : Json(nullptr);
  Json& files = out["files"] = Json::array();
  for (const Report::File& f : r.files) files.push_back({{"path", f.path}, {"bytes", f.bytes}});
  out["warnings"] = r.warnings;
  return dump(out);
}

std::string to_json(const Inspection& in) {
  Json out = {{"format_number", kFormat}, {"file", in.file},
              {"format", in.format},      {"ir_version", in.ir_version},
              {"producer", in.producer},  {"producer_version", in.producer_version},
              {"graph", in.graph}};
  Json& opsets = out["opsets"] = Json::object();
  for (const auto& o : in.opsets) opsets[o.domain] = o.version;
  out["inputs"] = to(in.inputs);
  out["outputs"] = to(in.outputs);
  Json& symbols = out["symbols"] = Json::array();
  for (const auto& s : in.symbols) symbols.push_back({{"name", s.name}, {"inputs", s.inputs}});
  out["figures"] = to(in.figures);
  out["model_bytes"] = in.model_bytes;
  out["external_bytes"] = in.external_bytes;
  out["weight_bytes"] = in.weight_bytes;
  Json& functions = out["functions"] = Json::array();
  for (const auto& f : in.functions) functions.push_back({{"name", f.name}, {"nodes", f.nodes}});
  out["regions"] = to(in.regions.regions);
  out["launches"] = in.regions.launches;
  out["shapes"] = {{"values", in.shapes.values}, {"ranked", in.shapes.ranked}, {"linked", in.shapes.linked}};
  Json& opaque = out["unknown_operators"] = Json::array();
  for (const auto& o : in.opaque) opaque.push_back({{"name", o.name}, {"nodes", o.nodes}});
  out["problems"] = in.problems;
  return dump(out);
}

}  // namespace graphopt
