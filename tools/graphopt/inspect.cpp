// graphopt inspect IN [--json]
#include "graphopt/inspect.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <vector>

#include "graphopt/buckets.h"
#include "graphopt/option_rows.h"
#include "handlers.h"
#include "output_paths.h"
#include "verbs.h"

namespace graphopt::tool {
namespace {

std::string join(const std::vector<std::string>& parts) {
  std::string out;
  for (const std::string& part : parts) out += (out.empty() ? "" : ", ") + part;
  return out;
}

void heading(std::string& out, std::string_view text) { out += fmt::format("\n{}\n", text); }

// What a person reads: lists are cut to a few lines unless all is asked for.
class InspectionText {
 public:
  InspectionText(const Inspection& in, bool all, bool regions) : in_(in), all_(all) {
    head();
    values("inputs", in.inputs);
    values("outputs", in.outputs);
    symbols();
    data_files();
    weights();
    operators();
    functions();
    if (regions) add_regions();
    unknown_operators();
    problems();
  }
  const std::string& text() const { return out_; }

 private:
  static constexpr std::size_t kMost = 12;

  template <class Items, class Line> void list(const Items& items, Line line) {
    std::size_t shown = 0;
    for (const auto& item : items) {
      if (!all_ && shown == kMost && items.size() > kMost + 1) {
        out_ += fmt::format("  ... and {} more (-v shows all)\n", items.size() - kMost);
        return;
      }
      out_ += "  " + line(item) + '\n';
      ++shown;
    }
  }
  void row(std::string_view name, std::string_view text) { out_ += fmt::format("  {:<32} {}\n", name, text); }

  void head() {
    out_ = fmt::format("{}: {}, IR version {}", visible(in_.file), word(in_.format), in_.ir_version);
    if (!in_.producer.empty())
      out_ += fmt::format(", made by {} {}", visible(in_.producer), visible(in_.producer_version));
    out_ += '\n';
    std::vector<std::string> opsets;
    for (const auto& o : in_.opsets) opsets.push_back(fmt::format("{} {}", visible(o.domain), o.version));
    row("opsets", join(opsets));
    row("nodes", fmt::format("{}, and {} Constant nodes, {} initializers, {} subgraphs", in_.figures.nodes,
                             in_.figures.constants, in_.figures.initializers, in_.figures.subgraphs));
    row("model file", size_text(in_.model_bytes));
    if (in_.external_bytes > 0) row("external data", size_text(in_.external_bytes));
    row("weights and constants", fmt::format("{} elements, {}", in_.parameters, size_text(in_.weight_bytes)));
    const bool has_bodies = in_.figures.subgraphs + in_.figures.calls > 0;
    row("multiply-adds",
        (in_.multiply_adds.empty() ? "no formula" : visible(in_.multiply_adds)) +
            (has_bodies ? " in the main graph; bodies of If, Loop, Scan and functions are not counted" : "") +
            (in_.uncounted == 0 ? ""
                                : fmt::format("; {} nodes of unknown shapes not counted", in_.uncounted)));
    row("shapes found", fmt::format("{} values: {} with a rank, {} with dims in numbers and symbols",
                                    in_.shapes.values, in_.shapes.ranked, in_.shapes.linked));
  }
  void values(std::string_view title, const std::vector<Inspection::Value>& values) {
    if (values.empty()) return;
    heading(out_, fmt::format("{} ({})", title, values.size()));
    list(values, [](const Inspection::Value& v) {
      return fmt::format("{:<32} {}{}", visible(v.name), visible(v.type),
                         v.has_default ? "  (has a default)" : "");
    });
  }
  void symbols() {
    const std::string made = made_symbols();
    if (in_.symbols.empty() && made.empty()) return;
    heading(out_, fmt::format("symbols ({})", in_.symbols.size()));
    list(in_.symbols, [](const Inspection::Symbol& s) {
      return fmt::format("{:<32} in {}", visible(s.name), visible(join(s.inputs)));
    });
    if (!made.empty())
      out_ += fmt::format("  {:<32} in no input: a size that depends on data, or has no formula\n", made);
  }
  // The names that graphopt gave to sizes (no symbol of an input is 'u' and digits then), as in "u1, u4 ...".
  std::string made_symbols() const {
    std::string text = in_.multiply_adds;
    for (const Inspection::Value& v : in_.outputs) text += ' ' + v.type;
    std::set<std::pair<std::size_t, std::string>> found;
    for (std::size_t i = 0; i < text.size();) {
      std::size_t end = i;
      while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_'))
        ++end;
      const std::string word = text.substr(i, end - i);
      const bool is_made =
          word.size() > 1 && word.front() == 'u' &&
          word.find_first_not_of("0123456789", 1) == std::string::npos &&
          std::ranges::find(in_.symbols, word, &Inspection::Symbol::name) == in_.symbols.end();
      if (is_made) found.emplace(word.size(), word);
      i = std::max(end, i + 1);
    }
    constexpr std::size_t kShown = 4;
    std::vector<std::string> names;
    for (const auto& [size, name] : found)
      if (names.size() < kShown) names.push_back(name);
    return join(names) + (found.size() > kShown ? ", ..." : "");
  }
  void data_files() {
    if (in_.data_files.empty() || !all_) return;
    heading(out_, fmt::format("data files ({})", in_.data_files.size()));
    list(in_.data_files, [](const Inspection::DataFile& f) {
      return fmt::format("{:<32} {:>12}   {}", visible(f.path), size_text(f.bytes), visible(f.file));
    });
  }
  void weights() {
    if (in_.weight_types.empty()) return;
    heading(out_, "weights by type, and the largest");
    list(in_.weight_types, [](const Inspection::WeightType& t) {
      return fmt::format("{:<32} {:>12}   {} elements in {} tensors", t.type, size_text(t.bytes), t.elements,
                         t.tensors);
    });
    constexpr std::size_t kShown = 5;
    for (std::size_t i = 0; i < in_.largest.size() && (all_ || i < kShown); ++i)
      out_ += fmt::format("    {:<30} {:>12}   {}\n", visible(in_.largest[i].name),
                          size_text(in_.largest[i].bytes), in_.largest[i].type);
  }
  void operators() {
    std::vector<std::pair<std::string, std::uint64_t>> operators(in_.figures.operators.begin(),
                                                                 in_.figures.operators.end());
    std::stable_sort(operators.begin(), operators.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    heading(out_, fmt::format("operators ({})", operators.size()));
    list(operators, [](const auto& o) { return fmt::format("{:<32} {:>8}", visible(o.first), o.second); });
  }
  void functions() {
    if (in_.functions.empty()) return;
    heading(out_, fmt::format("functions ({})", in_.functions.size()));
    list(in_.functions, [](const Inspection::Function& f) {
      return fmt::format("{:<32} {:>8} nodes", visible(f.name), f.nodes);
    });
  }
  void add_regions() {
    const RegionsStage::Report& regions = in_.regions;
    heading(out_, fmt::format("regions ({}; with single nodes {} kernels to launch)", regions.regions.size(),
                              regions.launches));
    list(regions.regions, [](const RegionsStage::Region& r) {
      std::vector<std::string> members = r.members;
      for (std::string& member : members)
        if (member == r.anchor) member = '[' + member + ']';  // mark the anchor
      return fmt::format("{:<32} {}", r.anchor.empty() ? "no anchor" : visible(r.kind),
                         visible(join(members)));
    });
  }
  void unknown_operators() {
    if (in_.opaque.empty()) return;
    heading(out_, "operators that graphopt knows nothing about; they stay as they are");
    list(in_.opaque, [](const Inspection::OpaqueOperator& o) {
      return fmt::format("{:<32} {:>8}", visible(o.name), o.nodes);
    });
  }
  void problems() {
    heading(out_,
            in_.problems.empty() ? "problems: none" : fmt::format("problems ({})", in_.problems.size()));
    list(in_.problems, [](const std::string& problem) { return visible(problem); });
  }

  const Inspection& in_;
  bool all_;
  std::string out_;
};

std::string text_of(const Bucketability& b) {
  std::string out = fmt::format("verdict: {}\n", word(b.verdict));
  if (b.refused) {
    const Bucketability::Refusal& r = *b.refused;
    out += r.node.empty() ? std::string() : fmt::format("  node '{}' ({})\n", visible(r.node), visible(r.op));
    out += fmt::format("  {}\n", visible(r.reason));
    if (!r.unrepaired.empty()) out += fmt::format("  not repaired: {}\n", visible(r.unrepaired));
    out += fmt::format("  help: {}\n", visible(r.remedy));
  }
  heading(out, fmt::format("buckets ({})", b.buckets));
  for (const Bucketability::Symbol& s : b.symbols) {
    std::vector<std::string> sizes;
    for (const std::int64_t size : s.sizes) sizes.push_back(std::to_string(size));
    out += fmt::format("  {:<32} {}{}\n", visible(s.name), join(sizes), s.fixed ? "  (exactly)" : "");
  }
  const auto is_padded = [](const Bucketability::Input& i) { return i.pad_class != PadClass::None; };
  heading(out, fmt::format("padded inputs ({})", std::ranges::count_if(b.inputs, is_padded)));
  for (const Bucketability::Input& i : b.inputs) {
    if (!is_padded(i)) continue;
    const std::string element = i.pad_class == PadClass::Any      ? "any value"
                                : i.pad_class == PadClass::Finite ? "any finite value"
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
    out += fmt::format("  {:<32} {}: {}\n", visible(s.node), word(s.kind), visible(s.text));
  if (!b.extra_inputs.empty()) heading(out, fmt::format("inputs that are added ({})", b.extra_inputs.size()));
  for (const Bucketability::ExtraInput& i : b.extra_inputs)
    out += fmt::format("  {:<32} int64 []  the true extent of {}\n", visible(i.name), visible(i.symbol));
  return out;
}

struct Asked {
  bool bucketable = false, regions = false;
};

class Inspect final : public Verb {
 public:
  void declare(OptionSet& set) override {
    set.add(flag_row<Asked>({.name = "--regions",
                             .group = "What is shown",
                             .help = "list the regions: nodes that can run as one kernel"},
                            [](auto& a) -> auto& { return a.regions; }),
            asked_);
    set.add(flag_row<Asked>({.name = "--bucketable",
                             .group = "What is shown",
                             .help = "tell whether static models per size are possible, and how to pad"},
                            [](auto& a) -> auto& { return a.bucketable; }),
            asked_);
    set.take(run_, {"--dim-names", "--bucket", "--buckets", "--bucket-require", "--external-root"});
    set.describe("--bucket-require", "with repair, judge the model as repairs would make it");
    take_tool_options(set, tool, {"--max-memory", "--timeout", "--json", "--report", "--verbose"});
    set.describe("--verbose", "show whole lists");
    set.word("IN", options_.input);
  }

  Status check() override {
    options_.dim_names = run_.load.dim_names;
    options_.external_root = run_.load.external_root;
    if (options_.input.empty())
      return usage_error("inspect: no model is named", "graphopt inspect IN, where IN is a file or '-'");
    if (!asked_.bucketable && run_.buckets.require)
      return usage_error("--bucket-require: inspect judges no buckets without --bucketable",
                         "add --bucketable");
    if (!asked_.bucketable && run_.buckets.asked())
      return usage_error("--bucket, --buckets: inspect asks nothing about sizes without --bucketable",
                         "add --bucketable");
    run_.input = options_.input;
    return check_output_paths(run_, tool);
  }

  const std::string& input() const override { return options_.input; }

  int run(Console& console, bool process_ends) override {
    options_.process_ends = process_ends;
    const auto judge = [this] {
      return bucketable({options_, run_.buckets.marks, run_.buckets.file, run_.buckets.require});
    };
    if (asked_.bucketable) {
      bool refused = false;
      const int status = tell(
          console, judge, [](const Bucketability& b) { return text_of(b); },
          [&refused](const Bucketability& b) { refused = b.verdict == BucketVerdict::Refused; });
      return status == 0 && refused ? kAnswerIsNo : status;
    }
    return tell(
        console, [this] { return inspect(options_); },
        [this](const Inspection& found) {
          return for_terminal(InspectionText(found, tool.verbose > 0, asked_.regions).text());
        },
        [](const Inspection&) {});
  }

 private:
  // `note` sees what was found.
  template <class Look, class Text, class Note>
  int tell(Console& console, Look look, Text text, Note note) const {
    const auto found = attended(*this, "inspect", console, look);
    if (!found) return fail(found.errors(), console);
    note(*found);
    return tell_result(tool, [&] { return to_json(*found); }, [&] { return text(*found); }, console);
  }

  Options run_;  // what it shares with a run
  InspectOptions options_;
  Asked asked_;
};

std::string inspect_ending() {
  return "\nExit status: 0 also where problems are found; 7 where --bucketable ends with the verdict "
         "refused.\n";
}

}  // namespace

extern constinit const VerbEntry inspect_verb = {
    .name = "inspect",
    .words = "IN",
    .summary = "show what is in a model",
    .about =
        "Shows what is in an ONNX model: inputs, outputs, operators, sizes, opsets, symbols, problems.\n",
    .ending = inspect_ending,
    .make = []() -> std::unique_ptr<Verb> { return std::make_unique<Inspect>(); }};

}  // namespace graphopt::tool
