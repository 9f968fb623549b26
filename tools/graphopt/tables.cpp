// The tables printed at the end of a run.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "console.h"

namespace graphopt::tool {
namespace {

struct Unit {
  const char* name;
  double bytes;
};

// Returns the largest unit in which this many bytes are at least 10 of it: three digits are then told.
Unit unit_of(std::uint64_t bytes) {
  constexpr Unit kUnits[] = {{"TiB", 0x1p40}, {"GiB", 0x1p30}, {"MiB", 0x1p20}, {"KiB", 0x1p10}};
  for (const Unit& unit : kUnits)
    if (static_cast<double>(bytes) >= 10 * unit.bytes) return unit;
  return {"B", 1};
}

std::string in_unit(std::uint64_t bytes, const Unit& unit) {
  return fmt::format("{:.{}f}", static_cast<double>(bytes) / unit.bytes, unit.bytes > 1 ? 1 : 0);
}

// The unit of a column: that of its smallest number that is not zero.
class ColumnUnit {
 public:
  void add(std::uint64_t bytes) {
    if (bytes > 0 && (smallest_ == 0 || bytes < smallest_)) smallest_ = bytes;
  }
  Unit unit() const { return unit_of(smallest_); }
  std::string text(std::uint64_t bytes) const { return in_unit(bytes, unit()); }
  std::string title(std::string_view name) const { return fmt::format("{}, {}", name, unit().name); }

 private:
  std::uint64_t smallest_ = 0;
};

std::string change_text(std::uint64_t before, std::uint64_t after) {
  if (before == after) return "";
  return after > before ? fmt::format("+{}", after - before) : fmt::format("-{}", before - after);
}

struct Row {
  std::string name;
  std::uint64_t before = 0, after = 0;
  std::uint64_t distance() const { return before > after ? before - after : after - before; }
};

void add_row(std::string& out, const std::string& name, std::uint64_t before, std::uint64_t after) {
  out += fmt::format("  {:<32}{:>12}{:>12}{:>12}\n", name, before, after, change_text(before, after));
}

// The size of the files, in one unit; `after` 0: nothing was written. A change that is small beside the files
// has a unit of its own: "-84.3 KiB", not "-0.1".
void add_size_row(std::string& out, std::uint64_t before, std::uint64_t after) {
  ColumnUnit unit;
  unit.add(before);
  unit.add(after);
  const std::uint64_t by = after > before ? after - before : before - after;
  const std::string by_text = unit_of(by).bytes < unit.unit().bytes ? size_text(by) : unit.text(by);
  const std::string change = after == 0 || by == 0 ? "" : (after > before ? "+" : "-") + by_text;
  out += fmt::format("  {:<32}{:>12}{:>12}{:>12}\n", unit.title("size"), unit.text(before),
                     after == 0 ? "" : unit.text(after), change);
}

// Operators of both models, largest change first.
std::vector<Row> operator_rows(const Report& report, bool all) {
  std::map<std::string, Row> rows;
  for (const auto& [name, n] : report.before.operators) rows[name].before = n;
  for (const auto& [name, n] : report.after.operators) rows[name].after = n;
  std::vector<Row> out;
  for (auto& [name, row] : rows) {
    if (!all && row.before == row.after) continue;
    row.name = name;
    out.push_back(row);
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Row& a, const Row& b) { return a.distance() > b.distance(); });
  return out;
}

// Where the result went. Stages other than save write files, too.
std::string target_text(const Report& report) {
  if (!report.output.empty()) return visible(report.output);
  const std::vector<SaveStage::File>& files = report.save.files;
  if (files.empty()) return "no model is written (no -o)";
  return visible(files.front().path) +
         (files.size() > 1 ? fmt::format(" and {} more", files.size() - 1) : "");
}

}  // namespace

std::string size_text(std::uint64_t bytes) {
  const Unit unit = unit_of(bytes);
  return in_unit(bytes, unit) + ' ' + unit.name;
}

std::string before_after_table(const Report& report, bool all_operators) {
  std::string out = fmt::format("graphopt: {} -> {}, {:.3f} s\n", visible(report.input), target_text(report),
                                report.seconds);
  out += fmt::format("  {:<32}{:>12}{:>12}{:>12}\n", "", "before", "after", "change");
  add_row(out, "nodes", report.before.nodes, report.after.nodes);
  constexpr std::size_t kRows = 16;  // leaves the rest of the screen to earlier output
  const std::vector<Row> rows = operator_rows(report, all_operators);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!all_operators && i == kRows) {
      out += fmt::format("    and {} more (-v shows all)\n", rows.size() - i);
      break;
    }
    add_row(out, "  " + visible(rows[i].name), rows[i].before, rows[i].after);
  }
  if (report.before.constants + report.after.constants > 0) {
    add_row(out, "Constant nodes", report.before.constants, report.after.constants);
  }
  add_row(out, "initializers", report.before.initializers, report.after.initializers);
  add_size_row(out, report.before.bytes, report.after.bytes);
  if (const auto& fold = report.clean_up.fold; fold && fold->refused.empty())
    out += fmt::format("  {:<32}{:>12}  in place of {} nodes\n", "constants made by --fold ort",
                       fold->constants, fold->nodes);
  if (all_operators && !report.limits.empty()) {
    out += "  limits of the search that were met:";
    for (const Report::Limit& l : report.limits)
      out += fmt::format("{} {} ({} time{})", &l == report.limits.data() ? "" : ",", word(l.limit), l.times,
                         l.times == 1 ? "" : "s");
    out += '\n';
  }
  return out;
}

std::string files_table(const Report& report, bool all) {
  const std::vector<SaveStage::File>& files = report.save.files;
  ColumnUnit unit;
  for (const SaveStage::File& f : files) unit.add(f.bytes);
  constexpr std::size_t kRows = 12, kMost = 100;  // a longer path does not make the column wider
  std::size_t width = 54;
  for (std::size_t i = 0; i < files.size() && (all || i < kRows); ++i)
    if (const std::size_t length = visible(files[i].path).size(); length <= kMost)
      width = std::max(width, length);
  std::string out =
      files.empty() ? "" : fmt::format("  {:<{}}{:>12}\n", "written", width + 2, unit.title("size"));
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (!all && i == kRows) {
      out += fmt::format("    and {} more (-v shows all)\n", files.size() - i);
      break;
    }
    out += fmt::format("    {:<{}}{:>12}\n", visible(files[i].path), width, unit.text(files[i].bytes));
  }
  const SaveStage::KeptData& kept = report.save.kept;
  if (kept.locations.empty()) return out;
  std::string names;
  for (const std::string& location : kept.locations) names += (names.empty() ? "" : ", ") + visible(location);
  return out + fmt::format("  {} of weights stay in {}: keep {} next to the model\n", size_text(kept.bytes),
                           names, kept.locations.size() == 1 ? "it" : "them");
}

std::string partition_table(const PartitionStage::Report& p, bool all) {
  std::string out = fmt::format(
      "graphopt: {} subgraph{} (algorithm {}); lower bound for this assignment: {}\n", p.subgraphs.size(),
      p.subgraphs.size() == 1 ? "" : "s", word(p.algorithm), p.proven ? p.subgraphs.size() : p.switches);
  std::uint64_t nodes = 0;
  for (const PartitionStage::Device& d : p.devices) nodes += d.nodes;
  const bool works = !p.devices.empty() && p.devices[0].work.has_value();
  out += fmt::format("  {:<32}{:>12}{:>12}{:>12}{}\n", "device", "subgraphs", "nodes", "of nodes",
                     works ? "   of multiply-adds" : "");
  for (const PartitionStage::Device& d : p.devices)
    out += fmt::format("  {:<32}{:>12}{:>12}{:>11.1f}%{}\n", visible(d.id) + (d.host ? " (host)" : ""),
                       d.subgraphs, d.nodes,
                       nodes == 0 ? 0.0 : 100.0 * static_cast<double>(d.nodes) / static_cast<double>(nodes),
                       d.work ? fmt::format("{:>18.1f}%", 100.0 * *d.work) : "");
  out += fmt::format("  {:<32}{:>12}{:>24}\n", "values across borders", p.border_values,
                     p.border_values == 0 ? ""
                     : p.border_bytes     ? size_text(*p.border_bytes)
                                          : "total size unknown");
  if (p.run_ns && p.host_ns)
    out += fmt::format("  {:<32}{:>12}  {} on the host alone\n", "estimated time of a run",
                       time_text(*p.run_ns), time_text(*p.host_ns));
  constexpr std::size_t kRows = 12;
  if (!p.refused.empty()) out += fmt::format("  {:<32}{:>12}  {}\n", "refused", "nodes", "why, of the first");
  for (std::size_t i = 0; i < p.refused.size(); ++i) {
    if (!all && i == kRows) {
      out += fmt::format("    and {} more (-v shows all)\n", p.refused.size() - i);
      break;
    }
    const PartitionStage::Refused& r = p.refused[i];
    out += fmt::format("    {:<30}{:>12}  {}\n", visible(r.device + ": " + r.op), r.count, visible(r.detail));
  }
  if (!p.moved.empty()) out += fmt::format("  {:<32}{:>12}  {}\n", "moved to a lower device", "nodes", "why");
  for (const PartitionStage::Moved& m : p.moved)
    out += fmt::format("    {:<30}{:>12}  {}\n", visible(m.from + " -> " + m.to), m.count, word(m.reason));
  return out;
}

std::string lowered_table(const LowerStage::Report& lowered) {
  std::string out;
  if (!lowered.lowered.empty()) out += fmt::format("  {:<32}{:>12}  {}\n", "lowered", "nodes", "written as");
  for (const LowerStage::Lowered& l : lowered.lowered)
    out += fmt::format("    {:<30}{:>12}  {}, {} node{}\n", visible(l.device + ": " + l.op), l.nodes,
                       l.expansion, l.written, l.written == 1 ? "" : "s");
  if (!lowered.narrowed.empty())
    out += fmt::format("  {:<32}{:>12}  {}\n", "int32 in place of int64", "nodes", "values");
  for (const LowerStage::Narrowed& n : lowered.narrowed)
    out += fmt::format("    {:<30}{:>12}  {}, with {} Cast{}\n", visible(n.device), n.nodes, n.values,
                       n.casts, n.casts == 1 ? "" : "s");
  return out;
}

std::string plan_table(const PartitionStage::Report& p) {
  std::string out = fmt::format("  {:<10}{:<22}{:>8}{:>10}{:>8}  {}\n", "subgraph", "device", "nodes",
                                "received", "sent", "first node");
  for (const PartitionStage::Subgraph& s : p.subgraphs)
    out += fmt::format("  {:<10}{:<22}{:>8}{:>10}{:>8}  {}\n", s.id, visible(s.device), s.nodes, s.inputs,
                       s.outputs, visible(s.first));
  return out;
}

namespace {

// Returns the share of the observed lengths that a bucket takes, in percent. Symbols vary independently, so
// shares of several histograms multiply.
double share_of(const Report& report, const SpecializeStage::Model& bucket) {
  double share = 100;
  for (const SpecializeStage::Waste& w : report.specialize->waste)
    for (std::size_t k = 0; k < bucket.sizes.size(); ++k) {
      const Bucketability::Symbol& s = report.buckets->symbols[k];
      if (s.name != w.symbol || w.observed == 0) continue;
      const auto at = static_cast<std::size_t>(std::ranges::find(s.sizes, bucket.sizes[k]) - s.sizes.begin());
      if (at < w.by_size.size())
        share *= static_cast<double>(w.by_size[at]) / static_cast<double>(w.observed);
    }
  return share;
}

}  // namespace

std::string bucket_table(const Report& report, bool all) {
  const Bucketability& decision = *report.buckets;
  const SpecializeStage::Report& buckets = *report.specialize;
  const bool has_devices = report.partition.has_value();
  std::string sizes;
  for (const Bucketability::Symbol& s : decision.symbols)
    sizes += (sizes.empty() ? "" : ",") + visible(s.name);
  std::string out =
      fmt::format("graphopt: {} bucket{}; padding is {} to be harmless\n", buckets.models.size(),
                  buckets.models.size() == 1 ? "" : "s",
                  decision.verdict == BucketVerdict::Refused ? "not known" : word(decision.verdict));
  const bool has_shares = !buckets.waste.empty();
  ColumnUnit file, peak;
  for (const SpecializeStage::Model& m : buckets.models) {
    file.add(m.bytes);
    peak.add(m.peak_bytes.value_or(0));
  }
  const bool has_files = std::ranges::any_of(buckets.models, [](const auto& m) { return m.bytes > 0; });
  out += fmt::format("  {:<32}{:>12}{}{:>18}{}{}\n", "bucket: " + sizes, "nodes",
                     has_files ? fmt::format("{:>12}", file.title("file")) : "", peak.title("peak memory"),
                     has_devices ? "   subgraphs" : "", has_shares ? "     lengths" : "");
  constexpr std::size_t kRows = 16;
  for (std::size_t i = 0; i < buckets.models.size(); ++i) {
    if (!all && i == kRows) {
      out += fmt::format("    and {} more (-v shows all)\n", buckets.models.size() - i);
      break;
    }
    const SpecializeStage::Model& m = buckets.models[i];
    std::string at;
    for (const std::int64_t size : m.sizes) at += (at.empty() ? "" : ",") + std::to_string(size);
    out += fmt::format("  {:<32}{:>12}{}{:>18}{}{}\n", "  " + at, m.nodes,
                       has_files ? fmt::format("{:>12}", file.text(m.bytes)) : "",
                       m.peak_bytes ? peak.text(*m.peak_bytes) : "open dims",
                       has_devices ? fmt::format("{:>12}", m.subgraphs) : "",
                       has_shares ? fmt::format("{:>11.1f}%", share_of(report, m)) : "");
  }
  for (const SpecializeStage::Waste& w : buckets.waste)
    if (w.elements > 0)
      out += fmt::format(
          "  {:<32}{:>+11.1f}%  on top of {} observed lengths\n", "padding of " + visible(w.symbol),
          100.0 * (static_cast<double>(w.padded_elements) / static_cast<double>(w.elements) - 1), w.observed);
  return out;
}

std::string check_table(const CheckStage::Report& check) {
  const bool moved = std::ranges::any_of(check.outputs, [](const auto& d) { return !(d.max_abs == 0); });
  std::string out = fmt::format(
      "graphopt: check: {}{}, {} run{}{}, {}\n", word(check.verdict),
      check.verdict == CheckVerdict::Same && moved ? " within the tolerance" : "", check.runs,
      check.runs == 1 ? "" : "s",
      check.bucket_runs == 0 ? "" : fmt::format(", {} in buckets", check.bucket_runs), check.runtime);
  out += fmt::format("  {:<32}{:>12}{:>12}\n", "output", "max abs", "max rel");
  for (const CheckStage::Difference& d : check.outputs) {
    out += fmt::format("  {:<32}{:>12.3g}{:>12.3g}", visible(d.output), d.max_abs, d.max_rel);
    if (d.random) out += "  random: type and shape only";
    if (d.noise > 0 && !d.random)
      out += fmt::format("  {}the original against itself: {:.3g}", d.unsteady ? "unsteady, " : "", d.noise);
    if (!d.problem.empty()) out += "  " + visible(d.problem);
    out += '\n';
  }
  if (check.skipped > 0)
    out += fmt::format("  {} input sets were left out: the original does not run on them\n", check.skipped);
  return out;
}

namespace {

// Returns whether an item of Options::explain names the pass: "PASS", "all", or one of them with ":NODE".
bool names_pass(const std::string& item, const std::string& pass) {
  const std::string name = item.substr(0, item.find(':'));
  return name == pass || name == "all";
}

// A table whose columns are as wide as what they hold; the last one ends the line.
using Lines = std::vector<std::vector<std::string>>;

std::string in_columns(const Lines& lines, std::size_t indent) {
  constexpr std::size_t kMost = 40;  // a longer text does not make the others' column wider
  std::vector<std::size_t> widths;
  for (const auto& line : lines) {
    widths.resize(std::max(widths.size(), line.size()));
    for (std::size_t i = 0; i < line.size(); ++i)
      if (line[i].size() <= kMost) widths[i] = std::max(widths[i], line[i].size());
  }
  std::string out;
  for (const auto& line : lines) {
    out.append(indent, ' ');
    for (std::size_t i = 0; i + 1 < line.size(); ++i) out += fmt::format("{:<{}}  ", line[i], widths[i]);
    out += line.back() + '\n';
  }
  return out;
}

// What a move changed in the cost of docs/hoisting.md; a clean-up may remove what costs nothing.
std::string cost_text(const CleanUpStage::Move& m) {
  std::string out;
  const auto add = [&out](std::string_view what, std::int64_t before, std::int64_t after) {
    if (before != after) out += fmt::format("{}{} {} -> {}", out.empty() ? "" : ", ", what, before, after);
  };
  add("computing nodes", m.before.compute, m.after.compute);
  add("lone elementwise nodes", m.before.free, m.after.free);
  add("reshapes", m.before.deform, m.after.deform);
  return out.empty() ? "unchanged" : out;
}

// Searches give their reasons in one word, rules in a sentence.
bool has_words(const Report& report, const std::string& pass) {
  return std::ranges::any_of(report.clean_up.explain, [&pass](const CleanUpStage::Refused& e) {
    return e.pass == pass && e.reason.find(' ') == std::string::npos;
  });
}

// The candidates of one pass. Kept moves are shown where all nodes are asked for.
std::string explain_pass(const Report& report, const std::string& pass, bool all_nodes) {
  constexpr std::size_t kIndent = 4;
  Lines lines;
  for (const CleanUpStage::Move& m : report.clean_up.moves)
    if (m.pass == pass && all_nodes) lines.push_back({m.kind, visible(m.place), cost_text(m)});
  std::string out;
  if (!lines.empty()) {
    lines.insert(lines.begin(), {"kept", "at", "cost"});
    out += in_columns(lines, kIndent);
  }
  lines.clear();
  for (const CleanUpStage::Refused& e : report.clean_up.explain)
    if (e.pass == pass)
      lines.push_back({e.kind, visible(e.op), visible(e.node.empty() ? e.value : e.node),
                       visible(e.reason) + (e.limit ? ": " + std::string(word(*e.limit)) : "")});
  if (!lines.empty()) {
    const char* reason = has_words(report, pass) ? "reason (docs/hoisting.md explains each)" : "reason";
    lines.insert(lines.begin(), {"refused", "operator", "node", reason});
    out += in_columns(lines, kIndent);
  }
  return out;
}

}  // namespace

std::string explain_table(const Report& report, const std::vector<std::string>& asked) {
  std::string out;
  const auto explain = [&](const std::string& pass) {
    bool named = false, all_nodes = false;
    for (const std::string& item : asked) {
      if (!names_pass(item, pass)) continue;
      named = true;
      all_nodes |= item.find(':') == std::string::npos;
    }
    const std::string lines = named ? explain_pass(report, pass, all_nodes) : "";
    if (!lines.empty()) out += fmt::format("  {}\n", pass) + lines;
  };
  for (const CleanUpStage::PassFigures& pass : report.clean_up.passes) explain(pass.name);
  explain("lower");
  return out.empty() ? "  no candidates\n" : out;
}

std::string explained_nodes_table(const PartitionStage::Report& partition) {
  if (partition.explained.empty()) return {};
  std::string out = "  devices\n";
  for (const PartitionStage::Explained& e : partition.explained) {
    out += fmt::format("    {} ({}): ", visible(e.node), visible(e.op));
    const std::string lowering =
        e.expansion.empty() ? "" : fmt::format("lowered for {} by {}", visible(e.lowered_for), e.expansion);
    if (!e.device.empty()) {
      out += fmt::format("on {}, subgraph {}{}\n", visible(e.device), e.subgraph,
                         lowering.empty() ? "" : "; it is part of what was " + lowering);
    } else {
      std::string now;
      for (const std::string& name : e.replaced_by) now += (now.empty() ? "" : ", ") + visible(name);
      out += lowering.empty() ? now.empty() ? "removed by the passes" : "replaced by the passes" : lowering;
      out += now.empty() ? "\n" : ": in its place there is " + now + '\n';
    }
    Lines lines;
    for (const PartitionStage::Explained::Refusal& r : e.refused)
      lines.push_back({"not on " + visible(r.device) + ":", visible(r.reason)});
    out += in_columns(lines, 6);
  }
  return out;
}

std::string time_table(const Report& report) {
  std::string out = fmt::format("  {:<32}{:>10}{:>8}{:>10}\n", "time", "seconds", "runs", "rewrites");
  for (const Report::StageTime& time : report.stages) {
    out += fmt::format("  {:<32}{:>10.4f}\n", stage_name(time.stage), time.seconds);
    if (time.stage != Stage::CleanUp) continue;
    for (const CleanUpStage::PassFigures& pass : report.clean_up.passes) {
      out +=
          fmt::format("    {:<30}{:>10.4f}{:>8}{:>10}\n", pass.name, pass.seconds, pass.runs, pass.rewrites);
    }
  }
  return out + fmt::format("  {:<32}{:>10.4f}\n", "all", report.seconds);
}

}  // namespace graphopt::tool
