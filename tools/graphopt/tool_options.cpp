#include "tool_options.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

#include "graphopt/option_rows.h"

namespace graphopt::tool {
namespace {

using ToolRow = OptionRow<ToolOptions>;
using Request = ToolOptions::Request;

constexpr std::string_view kOptimization = "Optimization";
constexpr std::string_view kChecks = "Checks and limits";
constexpr std::string_view kMessages = "Messages and reports";

ToolRow request_row(std::string_view name, std::string_view short_name, std::string_view group,
                    std::string_view help, Request request) {
  return {{.name = name, .short_name = short_name, .group = group, .help = help},
          [request](ToolOptions& t, std::string_view) -> Status {
            t.request = request;
            return Done{};
          },
          {}};
}

// Returns what `dot -T` calls the form of a picture that has this name; empty for other names.
std::string picture_form(std::string_view path) {
  constexpr std::array kForms = {"svg", "png", "pdf", "ps", "eps", "jpg", "jpeg", "gif", "webp"};
  const std::size_t dot = path.rfind('.');
  if (dot == std::string_view::npos) return {};
  std::string ending(path.substr(dot + 1));
  std::ranges::transform(ending, ending.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::ranges::find(kForms, ending) == kForms.end() ? std::string() : ending;
}

std::vector<ToolRow> make_rows() {
  std::vector<ToolRow> rows;
  rows.push_back(request_row("--list-passes", {}, kOptimization,
                             "print the passes, with the levels from which they run and round",
                             Request::Passes));
  rows.push_back(request_row("--list-devices", {}, "Devices",
                             "print the device profiles that are found and end", Request::Devices));
  rows.push_back(bytes_row<ToolOptions>({.name = "--max-memory",
                                         .group = kChecks,
                                         .value = "BYTES",
                                         .help = "stop with status 5 when the process needs more memory"},
                                        [](auto& t) -> auto& { return t.max_memory; }));
  rows.push_back(seconds_row<ToolOptions>({.name = "--timeout",
                                           .group = kChecks,
                                           .value = "TIME",
                                           .help = "stop with status 5 after this time (10, 0.5s, 5m)"},
                                          [](auto& t) -> auto& { return t.timeout; }));
  rows.push_back(flag_row<ToolOptions>(
      {.name = "--json", .group = kMessages, .help = "print the figures as JSON to stdout, no tables"},
      [](auto& t) -> auto& { return t.json; }));
  rows.push_back(file_row<ToolOptions>({.name = "--report",
                                        .group = kMessages,
                                        .value = "FILE",
                                        .help = "write the figures as JSON to FILE",
                                        .writes = true},
                                       "give a file, or '-' for stdout",
                                       [](auto& t) -> auto& { return t.report; }));
  rows.push_back(
      file_row<ToolOptions>({.name = "--dot",
                             .group = kMessages,
                             .value = "FILE",
                             .help = "draw the optimized graph with its regions or subgraphs, for Graphviz",
                             .writes = true},
                            "give a file, or '-' for stdout", [](auto& t) -> auto& { return t.dot; }));
  rows.back().set = [](ToolOptions& t, std::string_view text) -> Status {
    if (text.empty()) return wrong_value("--dot", text, "is not a file", "give a file, or '-' for stdout");
    if (const std::string form = picture_form(text); !form.empty())
      return wrong_value("--dot", text, "is a picture, and --dot writes the text that Graphviz draws",
                         "give --dot -, and pipe it: | dot -T" + form + " -o " + std::string(text));
    t.dot = text;
    return Done{};
  };
  rows.push_back(file_row<ToolOptions>({.name = "--trace",
                                        .group = kMessages,
                                        .value = "FILE",
                                        .help = "write what ran when, in Chrome's trace format",
                                        .writes = true},
                                       "give a file, or '-' for stdout",
                                       [](auto& t) -> auto& { return t.trace; }));
  rows.push_back(flag_row<ToolOptions>(
      {.name = "--time-passes", .group = kMessages, .help = "print the time of each stage and pass"},
      [](auto& t) -> auto& { return t.time_passes; }));
  rows.push_back(flag_row<ToolOptions>(
      {.name = "--quiet", .short_name = "-q", .group = kMessages, .help = "errors only"},
      [](auto& t) -> auto& { return t.quiet; }));
  rows.push_back({{.name = "--verbose",
                   .short_name = "-v",
                   .group = kMessages,
                   .help = "say more; -vv: even more",
                   .repeats = true},
                  [](ToolOptions& t, std::string_view) -> Status {
                    ++t.verbose;
                    return Done{};
                  },
                  {}});
  rows.push_back(choice_row<ToolOptions, LogLevel>({.name = "--log-level",
                                                    .group = kMessages,
                                                    .value = "LEVEL",
                                                    .help = "error, warning (default), info, debug or trace"},
                                                   {{"error", LogLevel::Error},
                                                    {"warning", LogLevel::Warning},
                                                    {"info", LogLevel::Info},
                                                    {"debug", LogLevel::Debug},
                                                    {"trace", LogLevel::Trace}},
                                                   [](auto& t) -> auto& { return t.log_level; }));
  rows.push_back(choice_row<ToolOptions, When>({.name = "--progress",
                                                .group = kMessages,
                                                .value = "WHEN",
                                                .help = "auto (default: on a terminal) or never"},
                                               {{"auto", When::Auto}, {"never", When::Never}},
                                               [](auto& t) -> auto& { return t.progress; }));
  rows.push_back(
      choice_row<ToolOptions, When>({.name = "--color",
                                     .group = kMessages,
                                     .value = "WHEN",
                                     .help = "auto (default: on a terminal without NO_COLOR), always, never"},
                                    {{"auto", When::Auto}, {"always", When::Always}, {"never", When::Never}},
                                    [](auto& t) -> auto& { return t.color; }));
  rows.push_back(request_row("--version", {}, kMessages, "print the version and end", Request::Version));
  rows.push_back({{.name = "--help",
                   .short_name = "-h",
                   .group = kMessages,
                   .value = "FORM",
                   .help = "print this and end; --help=json: all verbs and options as JSON",
                   .form = OptionForm::Choice,
                   .choices = {"text", "json"},
                   .bare = "text"},
                  [](ToolOptions& t, std::string_view text) -> Status {
                    const Result<std::size_t> place = read_choice("--help", text, {"text", "json"});
                    if (!place) return place.errors();
                    t.request = *place == 0 ? Request::Help : Request::HelpJson;
                    return Done{};
                  },
                  {}});
  return rows;
}

}  // namespace

void take_tool_options(OptionSet& set, ToolOptions& tool, std::initializer_list<std::string_view> names) {
  const std::vector<ToolRow> rows = make_rows();
  for (const ToolRow& row : rows) {
    const bool always = row.info.name == "--version" || row.info.name == "--help";
    if (always || std::ranges::find(names, row.info.name) != names.end()) set.add(row, tool);
  }
}

}  // namespace graphopt::tool
