// The report of run_manifest() as JSON.
#include "driver/json.h"
#include "graphopt/run.h"

namespace graphopt {
namespace {

Json or_null(const std::optional<std::uint64_t>& number) { return number ? Json(*number) : Json(nullptr); }

Json check_json(const std::optional<RunReport::Check>& check) {
  if (!check) return nullptr;
  return {{"compared", check->compared}, {"different", check->different}};
}

Json network_json(const RunReport::Network& n) {
  Json out;
  out["manifest"] = n.manifest;
  out["id"] = n.id;
  out["in_flight"] = n.in_flight;
  out["sessions"] = n.sessions;
  Json& models = out["models"] = Json::array();
  for (const RunReport::Model& m : n.models) models.push_back({{"file", m.file}, {"requests", m.requests}});
  Json& devices = out["devices"] = Json::array();
  for (const RunReport::Device& d : n.devices)
    devices.push_back({{"id", d.id},
                       {"workers", d.workers},
                       {"runs", d.runs},
                       {"busy", d.busy},
                       {"peak", or_null(d.peak)},
                       {"planned_peak", or_null(d.planned_peak)},
                       {"budget", or_null(d.budget)},
                       {"loaded_bytes", d.loaded_bytes},
                       {"stored_bytes", d.stored_bytes},
                       {"waits", d.waits},
                       {"spills", d.spills},
                       {"failures", d.failures}});
  Json& subgraphs = out["subgraphs"] = Json::array();
  for (const RunReport::Subgraph& s : n.subgraphs)
    subgraphs.push_back({{"model", s.model},
                         {"id", s.id},
                         {"device", s.device},
                         {"runs", s.runs},
                         {"mean", s.mean},
                         {"max", s.longest}});
  return out;
}

}  // namespace

std::string to_json(const RunReport& r) {
  Json out;
  out["format_number"] = kJsonFormat;
  out["runtime"] = r.runtime;
  out["mode"] = word(r.mode);
  out["requests"] = {
      {"all", r.requests},           {"done", r.done},           {"by_fallback", r.by_fallback},
      {"failed", r.failed},          {"timed_out", r.timed_out}, {"retries", r.retries},
      {"interrupted", r.interrupted}};
  out["seconds"] = {{"load", r.load_seconds}, {"run", r.run_seconds}};
  Json& latency = out["latency"] = nullptr;
  if (r.latency)
    latency = {{"p50", r.latency->p50},
               {"p90", r.latency->p90},
               {"p99", r.latency->p99},
               {"max", r.latency->longest}};
  Json& networks = out["networks"] = Json::array();
  for (const RunReport::Network& n : r.networks) networks.push_back(network_json(n));
  out["checks"] = {{"sequential", check_json(r.sequential)},
                   {"whole", check_json(r.whole)},
                   {"test_data", check_json(r.test_data)}};
  out["files"] = r.files;
  Json& problems = out["problems"] = Json::array();
  for (const RunReport::Problem& p : r.problems)
    problems.push_back({{"request", p.request},
                        {"status", static_cast<int>(p.error.kind)},
                        {"what", p.error.what},
                        {"remedy", p.error.remedy}});
  return json_text(out);
}

}  // namespace graphopt
