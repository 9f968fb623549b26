// graphopt devices check PROFILE IN, and the table of --list-devices.
#include "graphopt/devices.h"

#include <fmt/format.h>

#include <algorithm>

#include "handlers.h"
#include "output_paths.h"
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
    out += fmt::format("  {:>6}  {:<28} {:<14} {}\n", r.nodes, visible(r.op), word(r.reason),
                       visible(r.example));
}

void add_nodes(std::string& out, const DeviceCheck& check) {
  const auto first = std::ranges::find(check.listed, true, &DeviceCheck::Node::supported);
  if (first != check.listed.begin())
    out += "\nnodes that are refused, those with the fewest failed conditions first\n";
  for (auto it = check.listed.begin(); it != first; ++it)
    out += fmt::format("  {:<32} {:<28} {:<14} {}\n", visible(it->name), visible(it->op), word(it->reason),
                       visible(it->text));
  if (first != check.listed.end()) out += "\nnodes that are supported\n";
  for (auto it = first; it != check.listed.end(); ++it)
    out += fmt::format("  {:<32} {}\n", visible(it->name), visible(it->op));
}

// The second number, and how to get there.
void add_fixed(std::string& out, const DeviceCheck& check) {
  out += fmt::format("with fixed shapes: about {} of {} nodes are supported ({:.1f} %)\n",
                     check.supported_fixed, check.nodes, percent(check.supported_fixed, check.nodes));
  std::string options;
  for (const std::string& option : check.open) options += ' ' + visible(option);
  out += "  open dims:" + options + '\n';
}

std::string text_of(const DeviceCheck& check, bool all) {
  std::string out = fmt::format("{} ({}), profile {} in {}\n", visible(check.device), word(check.kind),
                                visible(check.version), visible(check.profile));
  for (const DeviceListing::Source& s : check.sources) out += "  by " + cited(s) + '\n';
  if (all)
    for (const std::string& note : check.notes) out += "  note: " + visible(note) + '\n';
  out += fmt::format("{}: {} of {} nodes are supported ({:.1f} %)\n", visible(check.model), check.supported,
                     check.nodes, percent(check.supported, check.nodes));
  if (!check.open.empty()) add_fixed(out, check);
  add_refused(out, check);
  if (all) add_nodes(out, check);
  else if (!check.refused.empty()) out += "\n-v lists every node\n";
  for (const std::string& warning : check.warnings) out += "\nwarning: " + visible(warning) + '\n';
  return out;
}

class CheckDevice final : public Verb {
 public:
  void declare(OptionSet& set) override {
    set.take(run_, {"--shape", "--dim", "--dim-names", "--external-root"});
    take_tool_options(set, tool, {"--max-memory", "--timeout", "--json", "--report", "--verbose"});
    set.describe("--verbose", "list every node; refused ones first, by the number of failed conditions");
    set.word("PROFILE", options_.profile);
    set.word("IN", options_.input);
  }

  Status check() override {
    options_.shapes = run_.infer.shapes;
    options_.dims = run_.infer.dims;
    options_.dim_names = run_.load.dim_names;
    options_.external_root = run_.load.external_root;
    if (options_.profile.empty())
      return usage_error("devices check: no profile is named",
                         "graphopt devices check PROFILE IN; graphopt --list-devices lists profiles");
    if (options_.input.empty())
      return usage_error("devices check: no model is named", "graphopt devices check PROFILE IN");
    run_.input = options_.input;
    return check_output_paths(run_, tool);
  }

  const std::string& input() const override { return options_.input; }

  int run(Console& console, bool process_ends) override {
    options_.process_ends = process_ends;
    const Result<DeviceCheck> found =
        attended(*this, "devices check", console, [this] { return check_device(options_); });
    if (!found) return fail(found.errors(), console);
    return tell_result(
        tool, [&] { return to_json(*found); }, [&] { return text_of(*found, tool.verbose > 0); }, console);
  }

 private:
  Options run_;  // what it shares with a run
  DeviceCheckOptions options_;
};

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
      out += fmt::format("{:<20} {:<6} {}\n", visible(d.name), word(d.kind),
                         d.host ? "host: takes every node" : fmt::format("{} rules", d.rules));
      if (d.id != d.name) out += fmt::format("{:<20} id {}\n", "", visible(d.id));
      for (const DeviceListing::Source& s : d.sources) out += fmt::format("{:<20} {}\n", "", cited(s));
    }
    out += fmt::format("{:<20} {}\n", "", visible(d.file));
  }
  return out;
}

extern constinit const VerbEntry check_device_verb = {
    .name = "devices check",
    .words = "PROFILE IN",
    .summary = "what a device takes of a model, and why not all",
    .about =
        "Shows which nodes of a model a device takes, and which condition refuses the others. PROFILE is a "
        "name\n"
        "of --list-devices, or a file: with '/' or ending in .json. IN is judged as it is. A run with "
        "--devices\n"
        "optimizes it first: to see what that run sees, optimize IN yourself and check the result.\n",
    .ending = nullptr,
    .make = []() -> std::unique_ptr<Verb> { return std::make_unique<CheckDevice>(); }};

}  // namespace graphopt::tool
