// See schedule_reader.h.
#include "deploy/schedule_reader.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

#include "deploy/make_schedule.h"
#include "support/json_scan.h"

namespace graphopt::deploy {

using Json = JsonWalk::Json;
using Path = JsonWalk::Path;
using Read = JsonWalk::Read;

Read ScheduleReader::schedule() {
  return [this](const Json& j, const Path& path) {
    Schedule& s = to_.schedule.emplace();
    values_ = Ids(member_of(j, "values"), "value", "values");
    const auto group = [this](const Json& v, const Path& at, schedule::Group& g, std::size_t) {
      const auto count = [this, &v](const Json& number, const Path& to) {
        std::uint64_t readers = 0;
        walk_.to_count(readers, 2)(number, to);
        const std::size_t known = entries_of(member_of(v, "back")).size();
        if (number.is_number_integer() && readers != known)
          walk_.problem(to, "found " + std::to_string(readers),
                        "allowed: " + std::to_string(known) + ", the number of subgraphs in \"back\"");
      };
      walk_.object(v, at,
                   {{"front", walk_.to_reference(g.front, names_.subgraphs), true},
                    {"back", walk_.to_references(g.back, names_.subgraphs), true},
                    {"reference_count", count, true},
                    {"parallel", walk_.to_references(g.parallel, names_.subgraphs), true}});
    };
    const auto value = [this](const Json& v, const Path& at, ScheduledValue& to, std::size_t i) {
      const auto name = [&](const Json& text, const Path& place) {
        walk_.to_text(to.name, false)(text, place);
        if (values_.find(to.name).value_or(i) != i) walk_.twice(place, to.name, "name each value once");
      };
      const auto from = [&](const Json& id, const Path& place) {
        if (!id.is_null()) walk_.to_reference(to.from.emplace(), names_.subgraphs)(id, place);
      };
      walk_.object(v, at,
                   {{"value", name, true},
                    {"from", from, true},
                    {"to", walk_.to_references(to.to, names_.subgraphs), true},
                    {"reference_count", walk_.to_count(to.reference_count), true},
                    {"size", walk_.to_size(to.size), true},
                    {"first", walk_.to_integer(to.first, -1), true},
                    {"last", walk_.to_integer(to.last, -1), true}});
    };
    const auto device = [this](const Json& v, const Path& at, DeviceMemory& d, std::size_t) {
      memory(v, at, d);
    };
    walk_.object(j, path,
                 {{"groups", walk_.to_list(s.groups, "objects", group), true},
                  {"values", walk_.to_list(s.values, "objects", value), true},
                  {"memory", walk_.to_list(s.memory, "objects", device), true},
                  {"throughput", [this](const Json& v, const Path& at) { throughput(v, at); }}});
  };
}

void ScheduleReader::memory(const Json& j, const Path& path, DeviceMemory& d) {
  const auto peak_at = [&](const Json& id, const Path& at) {
    if (!id.is_null()) walk_.to_reference(d.peak_at, names_.subgraphs)(id, at);
  };
  const auto spill = [this](const Json& v, const Path& at, Spill& s, std::size_t) {
    walk_.object(v, at,
                 {{"value", walk_.to_reference(s.value, values_), true},
                  {"at", walk_.to_reference(s.at, names_.subgraphs), true}});
  };
  const auto spills = [&](const Json& v, const Path& at) {
    if (!v.is_null()) walk_.to_list(d.spills.emplace(), "objects", spill)(v, at);
  };
  walk_.object(j, path,
               {{"device", walk_.to_reference(d.device, names_.devices), true},
                {"weight_bytes", walk_.to_count(d.weight_bytes), true},
                {"peak", walk_.to_count_or_null(d.peak), true},
                {"peak_at", peak_at, true},
                {"budget", walk_.to_count_or_null(d.budget), true},
                {"spills", spills, true}});
}

void ScheduleReader::throughput(const Json& j, const Path& path) {
  schedule::Throughput& t = to_.schedule->throughput.emplace();
  t.load_ns.resize(names_.devices.size());
  const auto loads = [&](const Json& v, const Path& at) {
    walk_.members(v, at, [&](const std::string& name, const Json& ns, const Path& to) {
      if (const auto d = names_.devices.find(name)) walk_.to_count(t.load_ns[*d])(ns, to);
      else walk_.unknown(to, name, names_.devices);
    });
  };
  walk_.object(j, path,
               {{"load_ns", loads, true},
                {"critical_path_ns", walk_.to_count(t.critical_path_ns), true},
                {"bottleneck", walk_.to_reference(t.bottleneck, names_.devices), true},
                {"limit_percent", walk_.to_count(t.limit_percent, 100), true},
                {"window", walk_.to_count(t.window, 1), true}});
}

void ScheduleReader::check(const Path& path) {
  if (!to_.schedule) return;
  const Schedule& found = *to_.schedule;
  std::map<std::string, Size> sizes;
  for (const ScheduledValue& v : found.values) sizes[v.name] = v.size;
  ScheduleFigures figures;
  figures.size_of = [&sizes](const std::string& name) {
    const auto at = sizes.find(name);
    return at == sizes.end() ? Size{} : at->second;
  };
  figures.budgets.resize(names_.devices.size());
  for (const DeviceMemory& d : found.memory) figures.budgets[d.device] = d.budget;
  figures.run_ns.resize(to_.subgraphs.size());
  const Schedule known = make_schedule(to_, names_.devices.size(), figures);
  const auto compare = [&](std::string_view key, const auto& list, const auto& wanted,
                           const std::string& remedy) {
    const Path at = json_path(path, key);
    if (list.size() != wanted.size())
      walk_.problem(at, "found " + std::to_string(list.size()) + " entries",
                    "allowed: " + std::to_string(wanted.size()) + ", " + remedy);
    for (std::size_t i = 0; i < std::min(list.size(), wanted.size()); ++i)
      if (!(list[i] == wanted[i]))
        walk_.problem(json_path(at, i), "this does not follow from the subgraphs and their order",
                      "write " + remedy);
  };
  compare("groups", found.groups, known.groups, "one for each subgraph that several others read");
  compare("values", found.values, known.values,
          "one for each input of the network that is read, then one for each output of a subgraph");
  compare("memory", found.memory, known.memory, "one for each device that has a subgraph");
}

}  // namespace graphopt::deploy
