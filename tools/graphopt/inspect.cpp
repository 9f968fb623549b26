// graphopt inspect IN [--json]
#include "graphopt/inspect.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "handlers.h"
#include "verbs.h"

namespace graphopt::tool {
namespace {

std::string join(const std::vector<std::string>& parts) {
  std::string out;
  for (const std::string& part : parts) out += (out.empty() ? "" : ", ") + part;
  return out;
}

void heading(std::string& out, std::string_view text) { out += fmt::format("\n{}\n", text); }

void add_values(std::string& out, std::string_view title, const std::vector<Inspection::Value>& values) {
  if (values.empty()) return;
  heading(out, fmt::format("{} ({})", title, values.size()));
  for (const Inspection::Value& v : values) {
    out += fmt::format("  {:<32} {}{}\n", visible(v.name), visible(v.type),
                       v.has_default ? "  (has a default)" : "");
  }
}

void add_operators(std::string& out, const ModelFigures& figures) {
  std::vector<std::pair<std::string, std::uint64_t>> operators(figures.operators.begin(),
                                                               figures.operators.end());
  std::stable_sort(operators.begin(), operators.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  heading(out, fmt::format("operators ({} nodes, {} subgraphs, {} Constant nodes, {} initializers)",
                           figures.nodes, figures.subgraphs, figures.constants, figures.initializers));
  for (const auto& [name, n] : operators) out += fmt::format("  {:<32} {:>8}\n", visible(name), n);
}

void add_regions(std::string& out, const RegionsStage::Report& regions) {
  constexpr std::size_t kMost = 20;
  heading(out, fmt::format("regions ({}; {} launches)", regions.regions.size(), regions.launches));
  for (std::size_t i = 0; i < std::min(kMost, regions.regions.size()); ++i) {
    const RegionsStage::Region& r = regions.regions[i];
    std::vector<std::string> members = r.members;
    for (std::string& member : members)
      if (member == r.anchor) member = '[' + member + ']';  // mark the anchor
    out += fmt::format("  {:<32} {}\n", r.anchor.empty() ? "elementwise" : visible(r.kind),
                       visible(join(members)));
  }
  if (regions.regions.size() > kMost)
    out += fmt::format("  ... and {} more; --json has all\n", regions.regions.size() - kMost);
}

std::string text_of(const Inspection& in) {
  std::string out = fmt::format("{}: {}, IR version {}", visible(in.file), in.format, in.ir_version);
  if (!in.producer.empty())
    out += fmt::format(", made by {} {}", visible(in.producer), visible(in.producer_version));
  out += '\n';
  std::vector<std::string> opsets;
  for (const auto& o : in.opsets) opsets.push_back(fmt::format("{} {}", visible(o.domain), o.version));
  out += fmt::format("  {:<32} {}\n", "opsets", join(opsets));
  out += fmt::format("  {:<32} {} bytes\n", "model file", in.model_bytes);
  if (in.external_bytes > 0) out += fmt::format("  {:<32} {} bytes\n", "external data", in.external_bytes);
  out += fmt::format("  {:<32} {} bytes\n", "weights", in.weight_bytes);
  out += fmt::format("  {:<32} {} values: {} with a rank, {} with dims in numbers and symbols\n",
                     "shapes found", in.shapes.values, in.shapes.ranked, in.shapes.linked);
  add_values(out, "inputs", in.inputs);
  add_values(out, "outputs", in.outputs);
  if (!in.symbols.empty()) {
    heading(out, fmt::format("symbols ({})", in.symbols.size()));
    for (const auto& s : in.symbols)
      out += fmt::format("  {:<32} in {}\n", visible(s.name), visible(join(s.inputs)));
  }
  add_operators(out, in.figures);
  if (!in.functions.empty()) {
    heading(out, fmt::format("functions ({})", in.functions.size()));
    for (const auto& f : in.functions) out += fmt::format("  {:<32} {:>8} nodes\n", visible(f.name), f.nodes);
  }
  add_regions(out, in.regions);
  if (!in.opaque.empty()) {
    heading(out, "operators that graphopt knows nothing about; they stay as they are");
    for (const auto& o : in.opaque) out += fmt::format("  {:<32} {:>8}\n", visible(o.name), o.nodes);
  }
  heading(out, in.problems.empty() ? "problems: none" : fmt::format("problems ({})", in.problems.size()));
  for (const std::string& problem : in.problems) out += "  " + visible(problem) + '\n';
  return out;
}

std::string text_of(const Bucketability& b) {
  std::string out = fmt::format("verdict: {}\n", b.verdict);
  const Bucketability::Refusal& r = b.refused;
  if (!r.reason.empty()) {
    out += r.node.empty() ? std::string() : fmt::format("  node '{}' ({})\n", visible(r.node), visible(r.op));
    out += fmt::format("  {}\n", visible(r.reason));
    if (!r.unrepaired.empty()) out += fmt::format("  not repaired: {}\n", visible(r.unrepaired));
  }
  heading(out, fmt::format("buckets ({})", b.buckets));
  for (const Bucketability::Symbol& s : b.symbols) {
    std::vector<std::string> sizes;
    for (const std::int64_t size : s.sizes) sizes.push_back(std::to_string(size));
    out += fmt::format("  {:<32} {}{}\n", visible(s.name), join(sizes), s.fixed ? "  (exactly)" : "");
  }
  heading(out, fmt::format("padded inputs ({})", b.inputs.size()));
  for (const Bucketability::Input& i : b.inputs) {
    const std::string element = i.pad_class == "any"      ? "anything"
                                : i.pad_class == "finite" ? "anything finite"
                                                          : fmt::format("{}", i.pad);
    out += fmt::format("  {:<32} [{}]  with {}\n", visible(i.name), visible(join(i.layouts)), element);
  }
  if (!b.outputs.empty()) heading(out, fmt::format("outputs ({})", b.outputs.size()));
  for (const Bucketability::Output& o : b.outputs)
    out += fmt::format("  {:<32} [{}]{}\n", visible(o.name), visible(join(o.extents)),
                       o.is_prefix ? "" : fmt::format("  lies as [{}]", visible(join(o.layouts))));
  if (!b.constraints.empty()) heading(out, "sizes must satisfy");
  for (const std::string& c : b.constraints) out += fmt::format("  {}\n", visible(c));
  if (!b.assumptions.empty()) heading(out, fmt::format("assumed ({})", b.assumptions.size()));
  for (const Bucketability::Assumption& a : b.assumptions)
    out += fmt::format("  {:<32} {}\n", visible(a.node), visible(a.text));
  if (!b.repairs.empty()) heading(out, fmt::format("repairs ({})", b.repairs.size()));
  for (const Bucketability::Repair& s : b.repairs)
    out += fmt::format("  {:<32} {}: {}\n", visible(s.node), s.kind, visible(s.text));
  if (!b.extra_inputs.empty()) heading(out, fmt::format("inputs that are added ({})", b.extra_inputs.size()));
  for (const Bucketability::ExtraInput& i : b.extra_inputs)
    out += fmt::format("  {:<32} int64 []  the true extent of {}\n", visible(i.name), visible(i.symbol));
  return out;
}

int tell_bucketability(const Command& command, Console& console) {
  BucketableOptions options = command.buckets;
  options.model = command.inspect;
  const Result<Bucketability> b = bucketable(options);
  stop_watchdog();
  console.finish();
  if (!b) return fail(b.errors(), console);
  const Status written = write_stdout(command.json ? to_json(*b) : text_of(*b));
  return written ? 0 : fail(written.errors(), console);
}

}  // namespace

int run_inspect(const Command& command, Console& console) {
  if (command.tool.timeout > 0) start_watchdog(command.tool.timeout, command.inspect.input);
  console.begin("inspect");
  if (command.bucketable) return tell_bucketability(command, console);
  const Result<Inspection> inspection = inspect(command.inspect);
  stop_watchdog();
  console.finish();
  if (!inspection) return fail(inspection.errors(), console);
  const Status written = write_stdout(command.json ? to_json(*inspection) : text_of(*inspection));
  return written ? 0 : fail(written.errors(), console);
}

}  // namespace graphopt::tool
