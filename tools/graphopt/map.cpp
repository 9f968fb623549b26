// graphopt map A B
#include "graphopt/map.h"

#include <fmt/format.h>

#include <algorithm>

#include "graphopt/option_rows.h"
#include "handlers.h"
#include "output_paths.h"
#include "verbs.h"

namespace graphopt::tool {
namespace {

constexpr std::string_view kGroup = "Mapping", kNumericGroup = "Numbers";
constexpr std::size_t kMostLines = 20;  // of a list, without --verbose

using MapRow = OptionRow<MapOptions>;

// An option that takes something away.
MapRow without_row(std::string_view name, std::string_view help, bool MapOptions::* member) {
  return {{.name = name, .group = kGroup, .help = help, .form = OptionForm::Flag},
          [name, member](MapOptions& o, std::string_view text) -> Status {
            const Result<bool> given = read_flag(name, text);
            if (!given) return given.errors();
            o.*member = !*given;
            return Done{};
          },
          {}};
}

MapRow top_row() {
  return {{.name = "--top-k",
           .group = kGroup,
           .value = "K",
           .help = "most proposals for an operator without counterpart (3)",
           .form = OptionForm::Count},
          [](MapOptions& o, std::string_view text) -> Status {
            const auto count = read_count("--top-k", text,
                                          {.least = 0,
                                           .most = 1000,
                                           .problem = "is not a number of proposals",
                                           .remedy = "give 0 to 1000"});
            if (!count) return count.errors();
            o.top_k = static_cast<std::size_t>(*count);
            return Done{};
          },
          {}};
}

MapRow tolerance_row() {
  return {{.name = "--tolerance",
           .group = kNumericGroup,
           .value = "REL",
           .help = "relative difference of values that agree (by their types and roundings)",
           .form = OptionForm::Number},
          [](MapOptions& o, std::string_view text) -> Status {
            const Result<double> value = read_tolerance("--tolerance", text);
            if (!value) return value.errors();
            o.tolerance = *value;
            return Done{};
          },
          {}};
}

std::vector<MapRow> numeric_rows() {
  const auto flag = [](std::string_view name, std::string_view help, bool MapOptions::* member) {
    return flag_row<MapOptions>({.name = name, .group = kNumericGroup, .help = help},
                                [member](auto& o) -> auto& { return o.*member; });
  };
  return {flag("--numeric", "run both in ONNX Runtime and compare all values that correspond",
               &MapOptions::numeric),
          flag("--bisect", "the same, but stop where the first values differ", &MapOptions::bisect),
          tolerance_row(),
          texts_row<MapOptions>({.name = "--input",
                                 .group = kNumericGroup,
                                 .value = "NAME=FILE",
                                 .help = "values of an input (.npy, .npz, .pb) in place of drawn ones",
                                 .form = OptionForm::Text},
                                [](auto& o) -> auto& { return o.inputs; }),
          count_row<MapOptions>(
              {.name = "--seeds",
               .group = kNumericGroup,
               .value = "N",
               .help = "sets of inputs that are drawn (1)"},
              {.least = 1, .most = 1000, .problem = "is not a number of sets", .remedy = "give 1 to 1000"},
              [](auto& o) -> auto& { return o.seeds; })};
}

std::vector<MapRow> map_rows() {
  return {
      choice_row<MapOptions, MapMethod>({.name = "--method",
                                         .group = kGroup,
                                         .value = "NAME",
                                         .help = "sparse (default), or literal for comparison"},
                                        [](auto& o) -> auto& { return o.method; }),
      count_row<MapOptions>(
          {.name = "--rounds", .group = kGroup, .value = "N", .help = "most rounds of --method literal (10)"},
          {.least = 1, .most = 1'000'000, .problem = "is not a number of rounds", .remedy = "give 1 or more"},
          [](auto& o) -> auto& { return o.rounds; }),
      texts_row<MapOptions>({.name = "--pair",
                             .group = kGroup,
                             .value = "A=B",
                             .help = "operators that are a pair, by the names of their results",
                             .form = OptionForm::Text},
                            [](auto& o) -> auto& { return o.pairs; }),
      without_row("--no-names", "names of results are no evidence", &MapOptions::names),
      without_row("--no-weights", "values of constants are no evidence, as for another checkpoint",
                  &MapOptions::weights),
      top_row()};
}

class Text {
 public:
  // `all`: lists are not cut. `numbers`: they were asked for.
  Text(const MapReport& report, bool all, bool numbers) : r_(report), all_(all), wanted_(numbers) {}

  std::string all() {
    counts();
    if (all_) pairs();
    groups();
    alone(MapGroupKind::OnlyInA, "only in A", &MapReport::Group::a);
    alone(MapGroupKind::OnlyInB, "only in B", &MapReport::Group::b);
    unsure();
    numbers();
    return std::move(out_);
  }

 private:
  // The first few names; the others are counted.
  std::string listed(const std::vector<std::string>& names) const {
    const std::size_t shown = all_ ? names.size() : std::min<std::size_t>(6, names.size());
    std::string out;
    for (std::size_t i = 0; i < shown; ++i) out += (i == 0 ? "" : ", ") + visible(names[i]);
    if (shown < names.size()) out += fmt::format(" and {} more", names.size() - shown);
    return out;
  }

  template <class Range, class Line> void list(const Range& range, std::string_view title, const Line& line) {
    if (range.empty()) return;
    out_ += fmt::format("\n{}:\n", title);
    const std::size_t shown = all_ ? range.size() : std::min(kMostLines, range.size());
    for (std::size_t i = 0; i < shown; ++i) out_ += "  " + line(range[i]) + "\n";
    if (shown < range.size())
      out_ += fmt::format("  and {} more (--verbose shows all)\n", range.size() - shown);
  }

  void counts() {
    out_ +=
        r_.is_one_model ? "one model\n" : "not one model: too little of one has a counterpart in the other\n";
    out_ += fmt::format("  {:<24}{:>10}{:>10}\n", "", "A", "B");
    const auto row = [&](std::string_view name, std::uint64_t a, std::uint64_t b) {
      out_ += fmt::format("  {:<24}{:>10}{:>10}\n", name, a, b);
    };
    row("operators", r_.a.nodes.size(), r_.b.nodes.size());
    row("  in pairs", r_.a.in_pairs, r_.b.in_pairs);
    row("  in groups", r_.a.in_groups, r_.b.in_groups);
    row("  alone", r_.a.alone, r_.b.alone);
    row("constants", r_.a.constants, r_.b.constants);
    if (!r_.reasons.empty()) out_ += "\npairs by reason:\n";
    for (const auto& [why, count] : r_.reasons) out_ += fmt::format("  {:>8}  {}\n", count, why);
  }

  void pairs() {
    list(r_.pairs, fmt::format("pairs ({})", r_.pairs.size()), [](const MapReport::Pair& p) {
      return fmt::format("{:.2f} {} -> {}: {}", p.confidence, visible(p.a), visible(p.b), p.why);
    });
  }

  void groups() {
    std::vector<const MapReport::Group*> found;
    for (const MapReport::Group& g : r_.groups)
      if (!g.a.empty() && !g.b.empty()) found.push_back(&g);
    std::ranges::stable_sort(found, {}, [](const MapReport::Group* g) { return g->kind; });
    list(found, fmt::format("groups ({})", found.size()), [this](const MapReport::Group* g) {
      return fmt::format("{:<11} {} -> {}", word(g->kind), listed(g->a), listed(g->b));
    });
  }

  void alone(MapGroupKind kind, std::string_view title, std::vector<std::string> MapReport::Group::* ops) {
    std::vector<std::string> found;
    for (const MapReport::Group& g : r_.groups)
      if (g.kind == kind) found.insert(found.end(), (g.*ops).begin(), (g.*ops).end());
    list(found, fmt::format("{} ({})", title, found.size()),
         [](const std::string& name) { return visible(name); });
  }

  void unsure() {
    if (r_.method == MapMethod::Literal) return;  // its confidence is a similarity
    constexpr double kSure = 0.6;
    std::vector<const MapReport::Pair*> found;
    for (const MapReport::Pair& p : r_.pairs)
      if (p.confidence <= kSure) found.push_back(&p);
    list(found, fmt::format("not sure ({})", found.size()), [](const MapReport::Pair* p) {
      return fmt::format("{:.2f} {} -> {}: {}", p->confidence, visible(p->a), visible(p->b), p->why);
    });
  }

  void numbers() {
    if (!r_.numeric) {
      if (wanted_) out_ += "\nnumbers are not compared: the graphs are not one model\n";
      return;
    }
    const MapReport::Numeric& n = *r_.numeric;
    out_ += fmt::format("\nnumbers ({}): {} pairs of values compared, {} differ\n", n.runtime, n.compared,
                        n.diverging);
    list(n.first, "first to differ", [this](const MapReport::Divergence& d) {
      std::string line = fmt::format("{} -> {}: ", visible(d.a), visible(d.b));
      line += d.problem.empty() ? fmt::format("by {:.3g}, {:.3g} of the largest value", d.max_abs, d.max_rel)
                                : visible(d.problem);
      for (const auto& [name, a, b] : d.attributes)
        line += fmt::format("\n    {}: {} -> {}", visible(name), a.empty() ? "none" : visible(a),
                            b.empty() ? "none" : visible(b));
      if (d.region_a.size() > 1 || d.region_b.size() > 1)
        line += fmt::format("\n    made by: {} | {}", listed(d.region_a), listed(d.region_b));
      return line;
    });
  }

  const MapReport& r_;
  const bool all_, wanted_;
  std::string out_;
};

class Map final : public Verb {
 public:
  void declare(OptionSet& set) override {
    set.add(map_rows(), options_);
    set.add(numeric_rows(), options_);
    set.take(run_, {"--ort", "--dim-names", "--external-root"});
    take_tool_options(set, tool, {"--max-memory", "--timeout", "--json", "--report", "--quiet", "--verbose"});
    set.describe("--verbose", "show all pairs, groups and operators");
    set.word("A", options_.first);
    set.word("B", options_.second);
  }

  Status check() override {
    if (options_.first.empty() || options_.second.empty())
      return usage_error("map: two models are wanted", "graphopt map A B");
    if (options_.first == "-" && options_.second == "-")
      return usage_error("map: both models are stdin", "give one of them as a file");
    const bool runs = options_.numeric || options_.bisect;
    if (!runs &&
        (!options_.inputs.empty() || options_.tolerance || !run_.check.ort.empty() || options_.seeds != 1))
      return usage_error(
          "map: --input, --tolerance, --seeds and --ort are about numbers, which are not compared",
          "add --numeric or --bisect");
    if (options_.method == MapMethod::Literal && !options_.pairs.empty())
      return usage_error("map: --method literal takes no --pair", "use --method sparse");
    options_.load = run_.load;
    options_.ort = run_.check.ort;
    run_.input = options_.first;
    return check_output_paths(run_, tool);
  }

  const std::string& input() const override { return options_.first; }

  int run(Console& console, bool) override {
    const Result<MapReport> found =
        attended(*this, "map", console, [&] { return map_models(options_, console); });
    if (!found) return fail(found.errors(), console);
    const int status = tell_result(
        tool, [&] { return to_json(*found); },
        [&] { return Text(*found, tool.verbose > 0, options_.numeric || options_.bisect).all(); }, console);
    if (status != 0) return status;
    const bool differ = found->numeric && found->numeric->diverging > 0;
    return found->is_one_model && !differ ? 0 : static_cast<int>(ErrorKind::CheckFailed);
  }

 private:
  Options run_;  // what it shares with a run
  MapOptions options_;
};

std::string map_ending() {
  return "\nOperators are named by their first result, in bodies by OWNER/ATTRIBUTE/RESULT.\n\n"
         "Examples:\n"
         "  graphopt map model.onnx small.onnx\n"
         "  graphopt map old.onnx new.onnx --no-weights --report map.json\n"
         "  graphopt map model.onnx broken.onnx --bisect\n\n"
         "Exit status: 0 one model; 3 the graphs are not one model, or numbers differ; 6 ONNX Runtime cannot "
         "run "
         "them.\n";
}

}  // namespace

extern constinit const VerbEntry map_verb = {
    .name = "map",
    .words = "A B",
    .summary = "which operator of A became which operator of B",
    .about =
        "Finds for each operator of A its counterpart in B, whatever their names, and what was fused,\n"
        "decomposed or rewritten.\n",
    .ending = map_ending,
    .make = []() -> std::unique_ptr<Verb> { return std::make_unique<Map>(); }};

}  // namespace graphopt::tool
