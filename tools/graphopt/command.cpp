// Converts the words of the command line to a Command. Options may come before and after IN; a first word
// 'inspect', 'compare', 'reduce' or 'devices' is a subcommand (a file of that name is ./inspect).
#include "command.h"

#include <sys/stat.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "arguments.h"
#include "graphopt/version.h"
#include "output_paths.h"
#include "peer_options.h"
#include "verbs.h"

namespace graphopt::tool {
namespace {

constexpr std::string_view kUsage =
    "Usage: graphopt IN [-o OUT] [options]      optimize a model; without -o only report\n"
    "       graphopt inspect IN [--json]        show what is in a model\n"
    "       graphopt compare A B                figures of two models, and whether their results agree\n"
    "       graphopt reduce IN --test CMD -o OUT   make a failing model small\n"
    "       graphopt devices check PROFILE IN   what a device takes of a model, and why not all\n\n"
    "Makes ONNX models smaller and faster. IN and OUT may be '-' (stdin, stdout); OUT may be IN.\n";
constexpr std::string_view kExamples =
    "\nExamples:\n"
    "  graphopt model.onnx -o small.onnx --check       and compare the results of both\n"
    "  graphopt model.onnx --dim batch=1 --exact -o model.onnx\n"
    "  graphopt model.onnx --bucket seq=16..512:pow2 --devices nnapi -o out.onnx\n"
    "  graphopt export.onnx -o - | my-compiler -       nothing but the model goes to stdout\n\n"
    "Exit status: 0 done, 1 usage, 2 unusable input, 3 results differ, 4 output not written, 5 limit\n"
    "reached, 6 ONNX Runtime is missing or fails, 70 internal error.\n";
constexpr std::string_view kReduceUsage =
    "Usage: graphopt reduce IN --test CMD -o OUT [options]\n\n"
    "Makes a failing model small: OUT is a small model on which CMD ends with the same exit status as on\n"
    "IN. Failures can be wrong results, crashes and hangs.\n";
constexpr std::string_view kReduceExamples =
    "\nExamples:\n"
    "  graphopt reduce bad.onnx --test 'graphopt {} --check -q' -o small.onnx\n"
    "  graphopt reduce bad.onnx --test ./crashes.sh --timeout 5 -o small.onnx\n\n"
    "The end by a signal n counts as status 128 + n, a timeout as a status of its own. Ctrl-C writes the\n"
    "smallest model so far.\n";
constexpr std::string_view kInspectUsage =
    "Usage: graphopt inspect IN [--json]\n\n"
    "Shows what is in an ONNX model: inputs, outputs, operators, sizes, opsets, symbols, problems.\n";

constexpr std::string_view kCompareUsage =
    "Usage: graphopt compare A B [options]\n\n"
    "Compares the figures of two models and, if ONNX Runtime is found, their results on inputs of A.\n";
constexpr std::string_view kCompareExamples =
    "\nExamples:\n"
    "  graphopt compare model.onnx small.onnx\n"
    "  graphopt compare model.onnx small.onnx --check-tolerance 0 --seeds 5\n\n"
    "Exit status: 0 the results agree, or were not compared; 3 they differ; 6 ONNX Runtime cannot run A.\n";

constexpr std::string_view kDevicesUsage =
    "Usage: graphopt devices check PROFILE IN [-v] [--json]\n\n"
    "Shows which nodes of a model a device takes, and which condition refuses the others. PROFILE is a name\n"
    "of --list-devices, or a file: with '/' or ending in .json. IN is judged as it is. A run with "
    "--devices\n"
    "optimizes it first: to see what that run sees, optimize IN yourself and check the result.\n";

Error usage(std::string what, std::string remedy) {
  return {ErrorKind::Usage, {}, std::move(what), std::move(remedy)};
}

// CLI11 would use the word after a bare --check as its optional value.
std::vector<std::string> words(int argc, const char* const* argv, int first) {
  std::vector<std::string> out;
  bool options = true;
  for (int i = first; i < argc; ++i) {
    std::string word = argv[i];
    if (word == "--") options = false;
    if (options && word == "--check") word += "=1";
    out.push_back(std::move(word));
  }
  return {out.rbegin(), out.rend()};  // CLI11 expects the words in reverse order
}

Error unknown_option(const CLI::App& app, const std::string& word, std::string_view verb) {
  const std::string name = word.substr(0, word.find('='));
  if (const std::string_view own = own_form(name); !own.empty())
    return usage("unknown option '" + name + "'", std::string(own));
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& one : option->get_lnames()) names.push_back("--" + one);
  }
  std::string remedy = suggest_names(name, names, "options");
  if (!remedy.starts_with("did you mean"))
    remedy = "graphopt " + std::string(verb) + (verb.empty() ? "" : " ") +
             "--help lists the options; a file of that name is ./" + word;
  return usage((verb.empty() ? "" : std::string(verb) + ": ") + "unknown option '" + name + "'",
               std::move(remedy));
}

bool is_there(const std::string& path) {
  struct stat unused = {};
  return ::stat(path.c_str(), &unused) == 0;
}

Error unknown_command(const std::string& word, std::string remedy) {
  return usage("unknown subcommand '" + word + "'", std::move(remedy));
}

// A first word that is no file, but a command of another tool.
std::optional<Error> foreign_command(const std::string& word) {
  const std::string_view own = own_command(word);
  if (own.empty() || is_there(word)) return std::nullopt;
  return unknown_command(word, std::string(own));
}

// Reports a word too many: an unknown option, a misspelt subcommand, or a second model.
Error not_understood(const CLI::App& app, const std::vector<std::string>& rest, const std::string& input,
                     std::string_view verb) {
  for (const std::string& word : rest) {
    if (word.size() > 1 && word.front() == '-') return unknown_option(app, word, verb);
  }
  if (std::optional<Error> error = foreign_command(input)) return *std::move(error);
  const std::vector<std::string> verbs = {"inspect", "compare", "reduce", "devices"};
  std::string near = suggest_names(input, verbs, "subcommands");
  if (!is_there(input) && near.starts_with("did you mean")) return unknown_command(input, std::move(near));
  const bool is_number = rest.front().find_first_not_of("0123456789") == std::string::npos;
  if (is_number && app.get_option_no_throw("--check") != nullptr && app.count("--check") > 0)
    return usage("'" + rest.front() + "' is a second model beside '" + input + "'",
                 "a number of seeds is joined to its option: --check=" + rest.front());
  return usage("'" + rest.front() + "' is a second model beside '" + input + "'",
               "give one model; if '" + rest.front() + "' is where the result goes: graphopt " + input +
                   " -o " + rest.front());
}

// Converts CLI11's errors, such as "--shape: 1 required NAME=N,... missing"; all of them pass here.
Error from_cli(const CLI::App& app, const CLI::ParseError& e) {
  std::string what = e.what();
  std::string remedy = "graphopt --help shows what each option takes";
  const std::size_t missing = what.find(": 1 required ");
  if (missing != std::string::npos) {
    const std::string option = what.substr(0, missing);
    const CLI::Option* known = app.get_option_no_throw(option);
    const std::string value = known != nullptr ? known->get_option_text() : "";
    if (!value.empty())
      remedy = "write " + option + (option.starts_with("--") ? " " : "") + value + "; " + remedy;
    what = option + ": its value is missing";
  }
  // Values of options are texts; CLI11 itself converts only "true" and "false" of flags.
  constexpr std::string_view kFlag = "Could not convert: ";
  if (what.starts_with(kFlag))
    what = what.substr(kFlag.size(), what.find(" = ") - kFlag.size()) + ": it takes no value";
  return usage(std::move(what), std::move(remedy));
}

// Splits the words by the options of the verb ("": none). Unknown words are an error.
Result<Done> split(CLI::App& app, std::string& input, std::vector<std::string> words,
                   std::string_view verb = "") {
  app.allow_extras();
  app.add_option("IN", input);
  try {
    app.parse(std::move(words));
  } catch (const BadArgument& bad) {
    return bad.error;
  } catch (const CLI::ParseError& e) {
    return from_cli(app, e);
  }
  std::vector<std::string> rest = app.remaining();
  std::erase(rest, "--");  // ends the options; CLI11 returns it
  if (!rest.empty()) return not_understood(app, rest, input, verb);
  return Done{};
}

std::string version_text() { return "graphopt " + std::string(version()) + '\n'; }

// What the levels do, for the ends of --help and --list-passes.
std::string levels_text() {
  constexpr std::size_t kColumn = 12;
  std::string out = "\nLevels (docs/rounding.md says which passes round, and by how much):\n";
  for (const LevelDescription& level : list_levels()) {
    std::string line = "  " + std::string(level.option);
    line.resize(kColumn, ' ');
    out += line + std::string(level.text) + '\n';
  }
  return out;
}

std::string passes_text() {
  const auto row = [](std::string_view name, const std::string& runs, const std::string& rounds,
                      std::string_view text) {
    std::string line(name);
    line.resize(std::max<std::size_t>(line.size() + 1, 26), ' ');
    line += runs;
    line.resize(std::max<std::size_t>(line.size() + 1, 32), ' ');
    line += rounds;
    if (!text.empty()) line.resize(std::max<std::size_t>(line.size() + 1, 40), ' ');
    return line + std::string(text) + '\n';
  };
  std::string out = row("", "runs", "rounds", "") + row("pass", "from", "from", "what it does");
  for (const PassDescription& pass : list_passes()) {
    const std::string rounds = pass.rounds_from > 0 ? "-O" + std::to_string(pass.rounds_from) : "never";
    out += row(pass.name, "-O" + std::to_string(pass.level), rounds, pass.summary);
  }
  return out + levels_text();
}

Result<Command> parse_inspect(int argc, const char* const* argv) {
  Command command;
  Requests requests;
  CLI::App app;
  app.set_help_flag("");  // CLI11's own flag prints and exits; ours is a flag like any other
  add_inspect_options(app, command, requests);
  if (auto done = split(app, command.inspect.input, words(argc, argv, 2), "inspect"); !done)
    return done.errors();
  if (requests.help) {
    command.text = help_text(app, kInspectUsage, "");
  } else if (requests.version) {
    command.text = version_text();
  } else if (command.inspect.input.empty()) {
    return usage("inspect: no model is named", "graphopt inspect IN, where IN is a file or '-'");
  } else if (!command.bucketable && command.buckets.repair) {
    return usage("--bucket-repair: inspect repairs nothing without --bucketable", "add --bucketable");
  } else if (!command.bucketable && !(command.buckets.buckets.empty() && command.buckets.file.empty())) {
    return usage("--bucket, --buckets: inspect asks nothing about sizes without --bucketable",
                 "add --bucketable");
  } else {
    command.verb = Command::Verb::Inspect;
  }
  return command;
}

Result<Command> parse_compare(int argc, const char* const* argv) {
  Command command;
  Requests requests;
  CompareOptions& options = command.compare;
  CLI::App app;
  app.set_help_flag("");
  add_compare_options(app, command, requests);
  app.add_option("A", options.first);
  if (auto done = split(app, options.second, words(argc, argv, 2), "compare"); !done) return done.errors();
  if (requests.help) {
    command.text = help_text(app, kCompareUsage, kCompareExamples);
  } else if (requests.version) {
    command.text = version_text();
  } else if (options.first.empty() || options.second.empty()) {
    return usage("compare: two models are wanted", "graphopt compare A B");
  } else if (options.first == "-" && options.second == "-") {
    return usage("compare: both models are stdin", "give one of them as a file");
  } else {
    command.verb = Command::Verb::Compare;
  }
  return command;
}

Result<Command> parse_reduce(int argc, const char* const* argv) {
  Command command;
  Requests requests;
  ReduceOptions& options = command.reduce;
  CLI::App app;
  app.set_help_flag("");
  add_reduce_options(app, command, requests);
  if (auto done = split(app, options.input, words(argc, argv, 2), "reduce"); !done) return done.errors();
  if (requests.help) {
    command.text = help_text(app, kReduceUsage, kReduceExamples);
  } else if (requests.version) {
    command.text = version_text();
  } else if (options.input.empty()) {
    return usage("reduce: no model is named", "graphopt reduce IN --test CMD -o OUT");
  } else if (options.test.find_first_not_of(" \t\n") == std::string::npos) {
    return usage("reduce: no test is given", "give --test a shell command that ends with one status on IN");
  } else if (options.output.empty()) {
    return usage("reduce: no output is named", "give -o a file for the small model");
  } else {
    command.verb = Command::Verb::Reduce;
  }
  return command;
}

Result<Command> parse_devices(int argc, const char* const* argv) {
  const std::string verb = argc > 2 ? argv[2] : "";
  const bool is_option = verb.starts_with('-');
  if (!is_option && verb != "check")
    return usage(
        verb.empty() ? "devices: no subcommand is named" : "devices: unknown subcommand '" + verb + "'",
        "graphopt devices check PROFILE IN; graphopt --list-devices lists profiles");
  Command command;
  Requests requests;
  DeviceCheckOptions& options = command.device;
  CLI::App app;
  app.set_help_flag("");
  app.add_option("PROFILE", options.profile);
  add_device_options(app, command, requests);
  if (auto done = split(app, options.input, words(argc, argv, is_option ? 2 : 3), "devices"); !done)
    return done.errors();
  if (requests.help) {
    command.text = help_text(app, kDevicesUsage, "");
  } else if (requests.version) {
    command.text = version_text();
  } else if (options.profile.empty()) {
    return usage("devices check: no profile is named",
                 "graphopt devices check PROFILE IN; graphopt --list-devices lists profiles");
  } else if (options.input.empty()) {
    return usage("devices check: no model is named", "graphopt devices check PROFILE IN");
  } else {
    command.verb = Command::Verb::CheckDevice;
  }
  return command;
}

// What --devices cannot be asked for together with, and what asks for nothing without it.
Status check_partition(const Options& o) {
  const PartitionStage::Options& p = o.partition;
  const auto alone = [&](const char* option) {
    return usage(std::string(option) + " needs --devices, which is not given",
                 "give --devices the profiles, as in --devices npu,gpu.json; --list-devices lists them");
  };
  if (p.devices.empty()) {
    const bool has_manifest = o.buckets.asked() && !o.buckets.single;
    if (p.plan) return alone("--plan");
    if (p.given) return alone("--assignment");
    if (p.connected) return alone("--connected");
    if (!p.manifest.empty() && !has_manifest)
      return usage(o.buckets.single ? "--manifest: --bucket-single writes one model, and no manifest"
                                    : "--manifest needs --devices or --bucket: without them there is none",
                   o.buckets.single ? "leave out --manifest" : "leave it out, or give --devices or --bucket");
    if (!p.parts) return alone("--parts never");
    if (!p.exports.empty()) return alone("--emit");
    if (p.algorithm != PartitionAlgorithm::Grow) return alone("--partition-algorithm");
    if (!p.manifest.empty() && o.output.empty())
      return usage("--manifest: without -o no manifest is written", "give -o a file");
    return Done{};
  }
  if (o.stop_after < Stage::CleanUp)
    return usage("--devices cuts the optimized model, and --stop-after ends before it is there",
                 "leave out --stop-after; -O0 changes nothing");
  if (p.plan && !o.output.empty())
    return usage("--plan writes nothing, and -o asks for a file", "leave out one of them");
  if (o.output == "-")
    return usage("--devices writes several files, and -o - has no folder for them", "give -o a file");
  if (!o.output.empty() && p.parts && o.save.external_data == ExternalData::Never)
    return usage("--devices: the parts share their weights in a file, which --external-data never forbids",
                 "leave out --external-data never");
  if (!p.exports.empty() && p.plan)
    return usage("--emit asks for files, and --plan writes nothing", "leave out --plan, and give -o a file");
  if (!p.exports.empty() && o.output.empty())
    return usage("--emit: without -o nothing is written", "give -o a file, beside which the exports stand");
  const auto emits = [&p](Export form) { return std::ranges::find(p.exports, form) != p.exports.end(); };
  if (emits(Export::GenAi) && !p.parts)
    return usage("--emit genai names the files of the parts, which --parts never leaves out",
                 "leave out --parts never");
  if (emits(Export::OnnxStages) && o.save.external_data == ExternalData::Never)
    return usage(
        "--emit onnx-stages shares the weights of OUT in a file, which --external-data never forbids",
        "leave out --external-data never");
  if (!p.manifest.empty() && o.output.empty())
    return usage("--manifest: without -o no manifest is written", "give -o a file");
  return Done{};
}

// What --bucket cannot be asked for together with, and what asks for nothing without it.
Status check_buckets(const Options& o) {
  const BucketsStage::Options& b = o.buckets;
  if (!b.asked()) {
    const char* alone = b.require == BucketRequire::Repair ? "--bucket-repair (--bucket-require repair)"
                        : b.require                        ? "--bucket-require"
                        : b.single                         ? "--bucket-single"
                                                           : nullptr;
    if (alone == nullptr) return Done{};
    return usage(std::string(alone) + " is about buckets, and none are given",
                 "give sizes, as in --bucket seq=16..512:pow2, or a file with --buckets");
  }
  if (o.stop_after < Stage::CleanUp)
    return usage("--bucket makes models of the optimized one, and --stop-after ends before it is there",
                 "leave out --stop-after; -O0 changes nothing");
  if (b.single) {
    if (!o.partition.devices.empty())
      return usage("--bucket-single makes one model, and --devices cuts models into parts",
                   "leave out --bucket-single: each bucket then has parts of its own");
    if (o.regions.form != RegionForm::None || o.regions.draw || o.infer.write_types)
      return usage("--bucket-single writes branches, to which --regions, --dot and --infer do not apply",
                   "leave them out, or leave out --bucket-single");
    return Done{};
  }
  if (o.output == "-")
    return usage("--bucket writes several files, and -o - has no folder for them",
                 "give -o a file, or --bucket-single for one model");
  if (!o.output.empty() && o.save.external_data == ExternalData::Never)
    return usage("--bucket: the models share their weights in a file, which --external-data never forbids",
                 "leave out --external-data never, or give --bucket-single for one model");
  return Done{};
}

Result<Command> parse_optimize(int argc, const char* const* argv) {
  Command command;
  Requests requests;
  Options& options = command.options;
  CLI::App app;
  app.set_help_flag("");
  add_what_options(app, options, requests);
  add_shape_options(app, options);
  add_partition_options(app, options);
  add_output_options(app, options);
  add_trust_options(app, options, command.tool);
  add_people_options(app, options, command.tool, requests);
  if (auto done = split(app, options.input, words(argc, argv, 1)); !done) return done.errors();
  if (requests.help) {
    command.text = help_text(app, kUsage, levels_text() + std::string(kExamples));
  } else if (requests.version) {
    command.text = version_text();
  } else if (requests.list_passes) {
    command.text = passes_text();
  } else if (requests.list_devices) {
    command.text = devices_text(list_devices());
  } else if (options.input.empty()) {
    return usage("no model is named", "graphopt IN -o OUT; graphopt --help shows more");
  } else if (std::optional<Error> error = foreign_command(options.input)) {
    return *std::move(error);
  } else if (options.save.external_data == ExternalData::Always && options.output == "-") {
    return usage("--external-data always needs a folder for the weights, and -o - has none",
                 "give -o a file");
  } else if (!options.save.external_file.empty() && options.output.empty()) {
    return usage("--external-file: without -o nothing is written", "give -o a file");
  } else if (options.clean_up.fold == FoldWith::Ort &&
             (options.clean_up.exact || options.clean_up.level < 2)) {
    return usage(
        "--fold ort takes what ONNX Runtime computes here and now, and --exact and levels below -O2 "
        "keep every bit",
        "leave out --exact and give -O2 or -O3, or leave out --fold ort");
  } else if (options.check.seeds == 0 && !options.check.bisect &&
             (options.check.tolerance || !options.check.keep_bad.empty() || !options.check.inputs.empty())) {
    return usage(std::string(options.check.tolerance          ? "--check-tolerance"
                             : options.check.keep_bad.empty() ? "--check-input"
                                                              : "--keep-bad") +
                     ": no check was asked for",
                 "add --check, or --bisect");
  } else if (const Status fits = check_partition(options); !fits) {
    return fits.errors();
  } else if (const Status buckets_fit = check_buckets(options); !buckets_fit) {
    return buckets_fit.errors();
  } else if (const Status apart = check_output_paths(command); !apart) {
    return apart.errors();
  } else {
    command.verb = Command::Verb::Optimize;
    options.timeout = command.tool.timeout;
  }
  return command;
}

}  // namespace

Result<Command> parse_command_line(int argc, const char* const* argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--version") {  // the most frequent call of build scripts
    Command command;
    command.text = version_text();
    return command;
  }
  if (argc > 1 && std::string_view(argv[1]) == "inspect") return parse_inspect(argc, argv);
  if (argc > 1 && std::string_view(argv[1]) == "compare") return parse_compare(argc, argv);
  if (argc > 1 && std::string_view(argv[1]) == "reduce") return parse_reduce(argc, argv);
  if (argc > 1 && std::string_view(argv[1]) == "devices") return parse_devices(argc, argv);
  return parse_optimize(argc, argv);
}

}  // namespace graphopt::tool
