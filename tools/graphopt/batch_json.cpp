// Lines of JSON of a batch: those that users get, and those between its processes.
#include <array>
#include <nlohmann/json.hpp>

#include "batch_text.h"
#include "graphopt/version.h"

namespace graphopt::tool {
namespace {

using Json = nlohmann::ordered_json;

std::string line(const Json& j) { return j.dump(-1, ' ', false, Json::error_handler_t::replace); }

Json to_json(const Error& e) {
  return {static_cast<int>(e.kind),
          e.place.file,
          e.place.graph,
          e.place.node,
          e.place.op,
          e.place.slot,
          e.what,
          e.remedy};
}

Error error_of(const Json& j) {
  return {static_cast<ErrorKind>(j[0].get<int>()),
          {j[1].get<std::string>(), j[2].get<std::string>(), j[3].get<std::string>(), j[4].get<std::string>(),
           j[5].get<std::string>()},
          j[6].get<std::string>(),
          j[7].get<std::string>()};
}

Json number_or_null(std::uint64_t number) { return number == 0 ? Json() : Json(number); }

}  // namespace

std::string model_json(const BatchModel& model, const BatchOutcome& outcome) {
  const BatchResult& r = outcome.result;
  const bool known = outcome.state == BatchState::UpToDate;
  Json out = {{"name", model.name},
              {"input", model.options.input},
              {"output", model.options.output},
              {"state", state_text(outcome.state)},
              {"status", known ? model.status : r.status},
              {"why", model.why},
              {"estimated_memory", number_or_null(outcome.estimated_memory)},
              {"peak_memory", number_or_null(outcome.peak_memory)}};
  if (known) {
    out["before"] = {{"nodes", model.figures.nodes_before}, {"bytes", model.figures.bytes_before}};
    out["after"] = {{"nodes", model.figures.nodes_after}, {"bytes", model.figures.bytes_after}};
    out["errors"] = Json::array();
    if (!model.error.empty())
      out["errors"].push_back({{"status", model.status},
                               {"place", to_string(Place{model.options.input, {}, {}, {}, {}})},
                               {"what", model.error}});
    return line(out) + '\n';
  }
  const Json report = Json::parse(r.report, nullptr, false);
  if (report.is_object()) out.update(report);
  return line(out) + '\n';
}

std::string plan_json(const BatchModel& model) {
  return line({{"name", model.name},
               {"input", model.options.input},
               {"output", model.options.output},
               {"state", model.why.empty() ? "up to date" : "to do"},
               {"why", model.why}}) +
         '\n';
}

std::string batch_json(const std::vector<BatchOutcome>& outcomes, const BatchTotals& totals) {
  std::array<std::size_t, 5> of_state{};
  for (const BatchOutcome& o : outcomes) ++of_state[static_cast<std::size_t>(o.state)];
  Json stale = Json::array();
  for (const StaleOutput& s : totals.stale) stale.push_back({{"name", s.name}, {"input", s.input}});
  const auto count = [&](BatchState state) { return of_state[static_cast<std::size_t>(state)]; };
  const Json whole = {{"format_number", 1},
                      {"version", version()},
                      {"models", outcomes.size()},
                      {"optimized", count(BatchState::Optimized)},
                      {"up_to_date", count(BatchState::UpToDate)},
                      {"copied", count(BatchState::Copied)},
                      {"failed", count(BatchState::Failed)},
                      {"not_done", count(BatchState::NotDone)},
                      {"deleted", totals.deleted},
                      {"stale", stale},
                      {"status", totals.status},
                      {"interrupted", totals.interrupted},
                      {"jobs", totals.jobs},
                      {"seconds", totals.seconds}};
  return line({{"batch", whole}}) + '\n';
}

std::string to_text(const BatchRequest& r) {
  return line({r.model, r.error ? to_json(*r.error) : Json(), r.process});
}

BatchRequest read_request(const std::string& text) {
  const Json j = Json::parse(text);
  BatchRequest out{j[0].get<std::size_t>(), std::nullopt, j[2].get<std::int64_t>()};
  if (!j[1].is_null()) out.error = error_of(j[1]);
  return out;
}

std::string to_text(const BatchAnswer& a) {
  const BatchResult& r = a.result;
  Json errors = Json::array();
  for (const Error& e : r.errors) errors.push_back(to_json(e));
  return line({r.status, r.copied, errors, r.warnings, r.figures.nodes_before, r.figures.nodes_after,
               r.figures.bytes_before, r.figures.bytes_after, r.report, r.seconds, a.peak_memory});
}

BatchAnswer read_answer(const std::string& text) {
  const Json j = Json::parse(text);
  BatchAnswer out;
  BatchResult& r = out.result;
  r.status = j[0].get<int>();
  r.copied = j[1].get<bool>();
  for (const Json& e : j[2]) r.errors.push_back(error_of(e));
  r.warnings = j[3].get<std::vector<std::string>>();
  r.figures = {j[4].get<std::uint64_t>(), j[5].get<std::uint64_t>(), j[6].get<std::uint64_t>(),
               j[7].get<std::uint64_t>()};
  r.report = j[8].get<std::string>();
  r.seconds = j[9].get<double>();
  out.peak_memory = j[10].get<std::uint64_t>();
  return out;
}

}  // namespace graphopt::tool
