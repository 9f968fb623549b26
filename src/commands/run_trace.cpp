// The trace of a run (run_figures.h). Events are written one by one: there may be a million.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "commands/run_figures.h"
#include "support/json_text.h"

namespace graphopt {
namespace {

using runner::TraceEvent;
using Index = execution::Index;

std::string json_string(std::string_view text) {
  return Json(std::string(text)).dump(-1, ' ', false, Json::error_handler_t::replace);
}

class TraceText {
 public:
  explicit TraceText(const std::vector<RunNetwork>& networks) {
    text_ = "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [";
    std::optional<TraceEvent::Time> begin;
    for (const RunNetwork& n : networks)
      if (n.trace && (!begin || n.trace->begin() < *begin)) begin = n.trace->begin();
    begin_ = begin.value_or(TraceEvent::Time());
    for (const RunNetwork& n : networks)
      if (n.trace) add(n);
    text_ += "\n]}\n";
  }
  std::string take() { return std::move(text_); }

 private:
  double micros(TraceEvent::Time time) const {
    return std::chrono::duration<double, std::micro>(time - begin_).count();
  }
  void event(std::string_view fields) {
    text_ += is_first_ ? "\n{" : ",\n{";
    is_first_ = false;
    text_ += fields;
    text_ += '}';
  }
  void name(std::string_view what, std::size_t process, std::size_t thread, std::string_view name) {
    event(fmt::format(R"("ph": "M", "name": "{}", "pid": {}, "tid": {}, "args": {{"name": {}}})", what,
                      process, thread, json_string(name)));
  }

  void add(const RunNetwork& n) {
    const std::vector<deploy::Device>& devices = n.manifest.devices;
    const std::size_t first = processes_, requests = first + devices.size();
    processes_ = requests + 1;
    for (std::size_t d = 0; d < devices.size(); ++d) {
      name("process_name", first + d, 0, devices[d].id);
      for (std::size_t w = 0; w < n.engine->workers(static_cast<Index>(d)); ++w)
        name("thread_name", first + d, w, fmt::format("worker {}", w));
      name("thread_name", first + d, copies(n, d), "loads and stores");
    }
    name("process_name", requests, 0, "requests");
    std::map<execution::Sequence, std::pair<TraceEvent::Time, TraceEvent::Time>> spans;
    for (const TraceEvent& e : n.trace->events()) {
      add(n, e, first + e.device);
      const auto [span, is_new] = spans.try_emplace(e.request, e.begin, e.end);
      if (is_new) continue;
      span->second.first = std::min(span->second.first, e.begin);
      span->second.second = std::max(span->second.second, e.end);
    }
    // Requests overlap: each has a thread of its own among those that ran at once.
    std::vector<TraceEvent::Time> ends;
    std::vector<std::pair<TraceEvent::Time, execution::Sequence>> order;
    for (const auto& [request, span] : spans) order.emplace_back(span.first, request);
    std::ranges::sort(order);
    for (const auto& [begin, request] : order) {
      auto lane = std::ranges::find_if(ends, [&](TraceEvent::Time end) { return end <= begin; });
      if (lane == ends.end()) lane = ends.insert(ends.end(), TraceEvent::Time());
      *lane = spans[request].second;
      slice(fmt::format("request {}", request), "request", requests,
            static_cast<std::size_t>(lane - ends.begin()), begin, *lane, {});
    }
    if (n.trace->left_out() > 0)
      event(fmt::format(
          R"("ph": "i", "s": "g", "name": "{} events are left out", "pid": {}, "tid": 0, "ts": {:.3f})",
          n.trace->left_out(), requests, micros(n.trace->events().back().end)));
  }

  // The thread of a device's copies: that behind its workers.
  static std::size_t copies(const RunNetwork& n, std::size_t device) {
    return n.engine->workers(static_cast<Index>(device));
  }

  void add(const RunNetwork& n, const TraceEvent& e, std::size_t process) {
    const bool in_parts = e.way == execution::Way::Devices;
    const runner::Stages& model = in_parts ? n.engine->model(e.model) : n.engine->whole();
    const std::string args =
        fmt::format(R"(, "args": {{"request": {}, "model": {}}})", e.request, json_string(model.file));
    if (e.kind == TraceEvent::Kind::Run) {
      slice(model.ids[e.what], "run", process, e.worker, e.begin, e.end, args);
      return;
    }
    const std::string_view what = e.kind == TraceEvent::Kind::Load ? "load" : "store";
    slice(fmt::format("{} {}", what, model.named.values[e.what].name), what, process, copies(n, e.device),
          e.begin, e.end, args);
  }

  void slice(std::string_view name, std::string_view category, std::size_t process, std::size_t thread,
             TraceEvent::Time begin, TraceEvent::Time end, std::string_view args) {
    event(fmt::format(
        R"("ph": "X", "name": {}, "cat": "{}", "pid": {}, "tid": {}, "ts": {:.3f}, "dur": {:.3f}{})",
        json_string(name), category, process, thread, micros(begin),
        std::chrono::duration<double, std::micro>(end - begin).count(), args));
  }

  TraceEvent::Time begin_;
  std::string text_;
  std::size_t processes_ = 0;
  bool is_first_ = true;
};

}  // namespace

std::string trace_text(const std::vector<RunNetwork>& networks) { return TraceText(networks).take(); }

}  // namespace graphopt
