// Report and Inspection as JSON. The fields come in the order in which they are written here and by
// the stages.
#include "driver/json.h"

#include "driver/regions.h"
#include "driver/stages/stage.h"
#include "graphopt/inspect.h"
#include "graphopt/report.h"

namespace graphopt {
namespace {

Json to(const ModelFigures& f) {
  Json operators = Json::object();
  for (const auto& [name, n] : f.operators) operators[name] = n;
  return {{"nodes", f.nodes},         {"constants", f.constants}, {"initializers", f.initializers},
          {"subgraphs", f.subgraphs}, {"calls", f.calls},         {"bytes", f.bytes},
          {"operators", operators}};
}

Json to(const std::vector<Inspection::Value>& values) {
  Json out = Json::array();
  for (const Inspection::Value& v : values) {
    out.push_back({{"name", v.name}, {"type", v.type}, {"has_default", v.has_default}});
  }
  return out;
}

}  // namespace

Json report_json(const Report& r) {
  Json out;
  out["format_number"] = kJsonFormat;
  out["version"] = r.version;
  out["input"] = r.input;
  out["output"] = r.output;
  out["before"] = to(r.before);
  out["after"] = to(r.after);
  out["seconds"] = r.seconds;
  Json& stages = out["stages"] = Json::array();
  for (const Report::StageTime& t : r.stages)
    stages.push_back({{"name", stage_name(t.stage)}, {"seconds", t.seconds}});
  Json& limits = out["limits"] = Json::array();
  for (const Report::Limit& l : r.limits) limits.push_back({{"name", word(l.limit)}, {"times", l.times}});
  for (const StageEntry* stage : all_stages())
    if (stage->to_json) stage->to_json(r, out);
  out["warnings"] = r.warnings;
  Json& errors = out["errors"] = Json::array();
  for (const Error& e : r.errors)
    errors.push_back({{"status", static_cast<int>(e.kind)},
                      {"place", to_string(e.place)},
                      {"what", e.what},
                      {"remedy", e.remedy}});
  return out;
}

std::string to_json(const Report& r) { return json_text(report_json(r)); }

std::string to_json(const Inspection& in) {
  Json out = {{"format_number", kJsonFormat},
              {"file", in.file},
              {"format", word(in.format)},
              {"ir_version", in.ir_version},
              {"producer", in.producer},
              {"producer_version", in.producer_version},
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
  Json& data_files = out["data_files"] = Json::array();
  for (const auto& f : in.data_files)
    data_files.push_back({{"path", f.path}, {"file", f.file}, {"bytes", f.bytes}});
  out["weight_bytes"] = in.weight_bytes;
  out["parameters"] = in.parameters;
  Json& types = out["weight_types"] = Json::array();
  for (const auto& t : in.weight_types)
    types.push_back({{"type", t.type}, {"tensors", t.tensors}, {"elements", t.elements}, {"bytes", t.bytes}});
  Json& largest = out["largest_weights"] = Json::array();
  for (const auto& w : in.largest)
    largest.push_back({{"name", w.name}, {"type", w.type}, {"bytes", w.bytes}});
  out["multiply_adds"] = in.multiply_adds.empty() ? Json() : Json(in.multiply_adds);
  out["uncounted_nodes"] = in.uncounted;
  Json& functions = out["functions"] = Json::array();
  for (const auto& f : in.functions) functions.push_back({{"name", f.name}, {"nodes", f.nodes}});
  out["regions"] = to_json(in.regions.regions);
  out["launches"] = in.regions.launches;
  out["shapes"] = {{"values", in.shapes.values}, {"ranked", in.shapes.ranked}, {"linked", in.shapes.linked}};
  Json& opaque = out["unknown_operators"] = Json::array();
  for (const auto& o : in.opaque) opaque.push_back({{"name", o.name}, {"nodes", o.nodes}});
  out["problems"] = in.problems;
  return json_text(out);
}

}  // namespace graphopt
