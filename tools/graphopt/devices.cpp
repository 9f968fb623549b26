// graphopt devices check PROFILE IN, and the table of --list-devices.
#include "graphopt/devices.h"

#include <fmt/format.h>

#include <algorithm>

#include "handlers.h"
#include "verbs.h"

namespace graphopt::tool {
namespace {

std::string cited(const DeviceListing::Source& s) {
  return visible(s.document) + (s.version.empty() ? "" : ", version " + visible(s.version));
}

double percent(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 100.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

void add_refused(std::string& out, const DeviceCheck& check) {
  if (check.refused.empty()) return;
  out += fmt::format("\nrefused ({}), by operator and reason\n", check.nodes - check.supported);
  for (const DeviceCheck::Refused& r : check.refused)
    out += fmt::format("  {:>6}  {:<28} {:<14} {}\n", r.nodes, visible(r.op), r.reason, visible(r.example));
}

void add_nodes(std::string& out, const DeviceCheck& check) {
  const auto first = std::ranges::find(check.listed, true, &DeviceCheck::Node::supported);
  if (first != check.listed.begin())
    out += "\nnodes that are refused, those with the fewest failed conditions first\n";
  for (auto it = check.listed.begin(); it != first; ++it)
    out += fmt::format("  {:<32} {:<28} {:<14} {}\n", visible(it->name), visible(it->op), it->reason,
                       visible(it->text));
  if (first != check.listed.end()) out += "\nnodes that are supported\n";
  for (auto it = first; it != check.listed.end(); ++it)
    out += fmt::format("  {:<32} {}\n", visible(it->name), visible(it->op));
}

std::string text_of(const DeviceCheck& check, bool all) {
  std::string out = fmt::format("{} ({}), profile {} in {}\n", visible(check.device), check.kind,
                                visible(check.version), visible(check.profile));
  for (const DeviceListing::Source& s : check.sources) out += "  by " + cited(s) + '\n';
  out += fmt::format("{}: {} of {} nodes are supported ({:.1f} %)\n", visible(check.model), check.supported,
                     check.nodes, percent(check.supported, check.nodes));
  add_refused(out, check);
  if (all) add_nodes(out, check);
  else if (!check.refused.empty()) out += "\n-v lists every node\n";
  for (const std::string& warning : check.warnings) out += "\nwarning: " + visible(warning) + '\n';
  return out;
}

}  // namespace

std::string devices_text(const std::vector<DeviceListing>& devices) {
  if (devices.empty())
    return "no device profiles were found, neither in ../share/graphopt/devices next to the program nor in\n"
           "$XDG_CONFIG_HOME/graphopt/devices (~/.config/graphopt/devices)\n";
  std::string out;
  for (const DeviceListing& d : devices) {
    if (!d.problem.empty()) {
      out += fmt::format("{:<20} cannot be used: {}\n", visible(d.name), visible(d.problem));
    } else {
      out += fmt::format("{:<20} {:<6} {}\n", visible(d.name), d.kind,
                         d.host ? "host: takes every node" : fmt::format("{} rules", d.rules));
      if (d.id != d.name) out += fmt::format("{:<20} id {}\n", "", visible(d.id));
      for (const DeviceListing::Source& s : d.sources) out += fmt::format("{:<20} {}\n", "", cited(s));
    }
    out += fmt::format("{:<20} {}\n", "", visible(d.file));
  }
  return out;
}

int run_check_device(const Command& command, Console& console) {
  if (command.tool.timeout > 0) start_watchdog(command.tool.timeout, command.device.input);
  console.begin("devices check");
  const Result<DeviceCheck> check = check_device(command.device);
  stop_watchdog();
  console.finish();
  if (!check) return fail(check.errors(), console);
  const Status written = write_stdout(command.json ? to_json(*check) : text_of(*check, command.all));
  return written ? 0 : fail(written.errors(), console);
}

}  // namespace graphopt::tool
