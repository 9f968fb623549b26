// CLI11 splits the words; the values are checked here, so that each wrong one is answered with the expected
// form or with the names that are near it.
#include "arguments.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "values.h"

namespace graphopt::tool {
namespace {

constexpr const char* kWhat = "Optimization";
constexpr const char* kShapes = "Shapes";
constexpr const char* kDevices = "Devices";
constexpr const char* kOutput = "Output";
constexpr const char* kTrust = "Checks and limits";
constexpr const char* kPeople = "Messages and reports";

using Names = std::vector<std::string>;

[[noreturn]] void refuse(std::string_view option, std::string_view value, std::string_view problem,
                         std::string remedy, const char* between = " ") {
  throw BadArgument{{ErrorKind::Usage,
                     {},
                     std::string(option) + ": '" + std::string(value) + "'" + between + std::string(problem),
                     std::move(remedy)}};
}

// An option with one value, which `read` converts.
template <class Read>
CLI::Option* add(CLI::App& app, const char* group, const char* names, const char* value,
                 const std::string& help, Read read) {
  return app.add_option_function<std::string>(names, std::function<void(const std::string&)>(read), help)
      ->option_text(value)
      ->group(group)
      ->take_last();
}

// The same, but it may be repeated; each time with one value.
template <class Read>
CLI::Option* add_repeated(CLI::App& app, const char* group, const char* names, const char* value,
                          const char* help, Read read) {
  const auto each = [read](const Names& values) {
    for (const std::string& one : values) read(one);
  };
  return app.add_option_function<Names>(names, std::function<void(const Names&)>(each), help)
      ->option_text(value)
      ->group(group)
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
}

// Stores the result of `parse` on the value.
template <class T, class Parse>
auto parsed(T& to, const char* option, const char* problem, const char* remedy, Parse parse) {
  return [&to, option, problem, remedy, parse](const std::string& text) {
    const auto value = parse(text);
    if (!value) refuse(option, text, problem, remedy);
    to = *value;
  };
}

// One of a few names.
template <class T> auto chosen(T& to, const char* option, std::vector<std::pair<std::string, T>> choices) {
  return [&to, option, choices](const std::string& text) {
    Names names;
    for (const auto& [name, value] : choices) {
      if (name == text) {
        to = value;
        return;
      }
      names.push_back(name);
    }
    refuse(option, text, "is not one of its values", suggest_names(text, names, "values"));
  };
}

auto bytes(std::uint64_t& to, const char* option) {
  return parsed(to, option, "is not a size", "give bytes, as in 4096, 64K, 2M or 1G", parse_bytes);
}

// Calls f for each item of a list that is separated by commas, without the blanks around it.
template <class F> void for_each_item(std::string_view list, F f) {
  constexpr std::string_view kBlanks = " \t";
  for (;;) {
    const std::size_t comma = list.find(',');
    std::string_view item = list.substr(0, comma);
    item.remove_prefix(std::min(item.find_first_not_of(kBlanks), item.size()));
    item = item.substr(0, item.find_last_not_of(kBlanks) + 1);
    f(item);
    if (comma == std::string_view::npos) return;
    list.remove_prefix(comma + 1);
  }
}

// Pass names, separated by commas. `explained`: also "all", and each may be followed by ":NODE".
auto pass_names(Names& to, const char* option, bool explained = false) {
  return [&to, option, explained](const std::string& text) {
    Names known;
    if (explained) known.emplace_back("all");
    for (const PassDescription& pass : list_passes()) known.emplace_back(pass.name);
    for_each_item(text, [&](std::string_view item) {
      const std::string_view name = explained ? item.substr(0, item.find(':')) : item;
      if (std::find(known.begin(), known.end(), name) == known.end()) {
        refuse(option, name, "is not a pass", suggest_names(name, known, "passes"));
      }
      if (item.ends_with(':'))
        refuse(option, item, "names no node", "write the name of a node or of one of its results after ':'");
      to.emplace_back(item);
    });
  };
}

// Names of values, separated by commas.
auto value_names(Names& to, const char* option) {
  return [&to, option](const std::string& text) {
    for_each_item(text, [&](std::string_view name) {
      if (name.empty()) refuse(option, text, "has an empty name", "write names between commas, as in a,b");
      to.emplace_back(name);
    });
  };
}

// Forms of a partitioned model, separated by commas; repeated ones count once.
auto exports(std::vector<Export>& to, const char* option) {
  return [&to, option](const std::string& text) {
    Names known;
    for (const Export form : kExports) known.push_back(export_name(form));
    to.clear();
    for_each_item(text, [&](std::string_view name) {
      const auto at = std::ranges::find(known, name);
      if (at == known.end())
        refuse(option, name, "is not one of its values", suggest_names(name, known, "values"));
      const Export form = kExports[static_cast<std::size_t>(at - known.begin())];
      if (std::ranges::find(to, form) == to.end()) to.push_back(form);
    });
  };
}

CLI::Option* flag(CLI::App& app, const char* group, const char* names, const char* help, bool& to) {
  return app.add_flag(names, to, help)->group(group);
}

void add_terminal(CLI::App& app, ToolOptions& tool) {
  using Choices = std::vector<std::pair<std::string, When>>;
  add(app, kPeople, "--progress", "WHEN", "auto (default: on a terminal) or never",
      chosen(tool.progress, "--progress", Choices{{"auto", When::Auto}, {"never", When::Never}}));
  add(app, kPeople, "--color", "WHEN", "auto (default: on a terminal without NO_COLOR), always, never",
      chosen(tool.color, "--color",
             Choices{{"auto", When::Auto}, {"always", When::Always}, {"never", When::Never}}));
}

void add_quiet(CLI::App& app, ToolOptions& tool) {
  app.add_flag_callback("-q,--quiet", [&tool] { tool.quiet = true; }, "errors only")->group(kPeople);
}

void add_max_memory(CLI::App& app, const char* group, ToolOptions& tool) {
  add(app, group, "--max-memory", "BYTES", "stop with status 5 when the process needs more memory",
      bytes(tool.max_memory, "--max-memory"));
}

void add_output(CLI::App& app, const char* help, std::string& to) {
  add(app, kOutput, "-o,--output", "FILE", help, [&to](const std::string& text) {
    if (text.empty()) refuse("-o", text, "is not a file", "give a file, or '-' for stdout");
    to = text;
  });
}

void add_limits(CLI::App& app, const char* group, ToolOptions& tool) {
  add_max_memory(app, group, tool);
  add(app, group, "--timeout", "TIME", "stop with status 5 after this time (10, 0.5s, 5m)",
      parsed(tool.timeout, "--timeout", "is not a time", "give seconds above 0, as in 10, 0.5s or 5m",
             parse_seconds));
}

void add_external_root(CLI::App& app, std::string& to) {
  add(app, kOutput, "--external-root", "DIR", "external data may also be read from below DIR",
      [&to](const std::string& text) { to = text; });
}

// The remedy for sizes that are written as other tools write them, "image:1,3,224,224" or
// "image=1x3x224x224": the own form of the same sizes, where that is one, else `general`.
template <class Parse>
std::string meant(const char* option, std::string text, Parse parse, const char* general) {
  std::size_t at = text.rfind('=');
  if (at == std::string::npos) {
    at = text.rfind(':');
    if (at != std::string::npos) text[at] = '=';
  }
  for (std::size_t i = at; at != std::string::npos && i < text.size(); ++i)
    if (text[i] == 'x' || text[i] == ' ') text[i] = ',';
  return parse(text) ? "did you mean " + std::string(option) + ' ' + text + '?' : general;
}

void add_sizes(CLI::App& app, std::vector<ShapeOption>& shapes, std::vector<DimOption>& dims) {
  add_repeated(app, kShapes, "--shape", "NAME=N,...",
               "fix an input's shape (-1 keeps a dim); repeat per input", [&shapes](const std::string& text) {
                 auto shape = parse_shape(text);
                 if (!shape)
                   refuse(
                       "--shape", text, "is not NAME=N,N,...",
                       meant("--shape", text, parse_shape, "give a shape as in --shape image=1,3,224,224"));
                 shapes.push_back(std::move(*shape));
               });
  add_repeated(app, kShapes, "--dim", "SYMBOL=N",
               "fix a symbol; SYMBOL=LOW..HIGH promises a range, repeat per symbol",
               [&dims](const std::string& text) {
                 auto dim = parse_dim(text);
                 if (!dim) {
                   if (const auto [low, high] = reversed_range(text); !low.empty())
                     refuse("--dim", text, "is a reversed range", "write " + high + ".." + low);
                   refuse("--dim", text, "is neither SYMBOL=N nor SYMBOL=LOW..HIGH",
                          meant("--dim", text, parse_dim,
                                "give a number as in --dim batch=4, or a range as in --dim batch=1..64"));
                 }
                 dims.push_back(std::move(*dim));
               });
}

// The library reads and checks them: it knows the forms, and files belong to it.
void add_buckets(CLI::App& app, std::vector<std::string>& specs, std::string& file) {
  add_repeated(app, kShapes, "--bucket", "SYMBOL=SIZES",
               "a model per size: 16,32 or 16..512:pow2 (or step= geo= hist= max)",
               [&specs](const std::string& text) { specs.push_back(text); });
  add(app, kShapes, "--buckets", "FILE", "read sizes from a JSON file, with bounds of inputs and a filter",
      [&file](const std::string& text) {
        if (text.empty()) refuse("--buckets", text, "is not a file", "give a JSON file of buckets");
        file = text;
      });
}

void add_dim_names(CLI::App& app, DimNames& to) {
  add(app, kShapes, "--dim-names", "MEANING",
      "input dims named 'a + b' are expressions (default) or opaque (names)",
      chosen(to, "--dim-names",
             std::vector<std::pair<std::string, DimNames>>{{"expressions", DimNames::Expressions},
                                                           {"opaque", DimNames::Opaque}}));
}

}  // namespace

void add_what_options(CLI::App& app, Options& o, Requests& requests) {
  add(app, kWhat, "-O", "0|1|2|3", "0 no passes, 1 bit-exact, 2 (default) may round, 3 rounds more",
      chosen(o.clean_up.level, "-O",
             std::vector<std::pair<std::string, int>>{{"0", 0}, {"1", 1}, {"2", 2}, {"3", 3}}));
  flag(app, kWhat, "--exact", "only bit-exact rewrites, at every -O level", o.clean_up.exact);
  add_repeated(app, kWhat, "--passes", "NAME,...",
               "run only these passes, in this order, until nothing changes",
               pass_names(o.clean_up.passes, "--passes"));
  add_repeated(app, kWhat, "--disable-pass", "NAME,...", "do not run these passes",
               pass_names(o.clean_up.disabled, "--disable-pass"));
  add_repeated(app, kWhat, "--inputs", "NAME,...", "extract a submodel first: these values become its inputs",
               value_names(o.load.inputs, "--inputs"));
  add_repeated(app, kWhat, "--outputs", "NAME,...", "these values become its outputs, in this order",
               value_names(o.load.outputs, "--outputs"));
  flag(app, kWhat, "--constant-defaults", "turn inputs that have an initializer (a default) into constants",
       o.load.constant_defaults);
  flag(app, kWhat, "--list-passes", "print the passes, with the levels from which they run and round",
       requests.list_passes);
  flag(app, kWhat, "--list-devices", "print the device profiles that are found and end",
       requests.list_devices);
  add(app, kWhat, "--stop-after", "STAGE",
      "stop after load, infer or clean-up (all passes), and save the model",
      chosen(o.stop_after, "--stop-after",
             std::vector<std::pair<std::string, Stage>>{
                 {"load", Stage::Load}, {"infer", Stage::Infer}, {"clean-up", Stage::CleanUp}}));
  add(app, kWhat, "--regions", "FORM", "write regions into the model: none (default), metadata, functions",
      chosen(o.regions.form, "--regions",
             std::vector<std::pair<std::string, RegionForm>>{{"none", RegionForm::None},
                                                             {"metadata", RegionForm::Metadata},
                                                             {"functions", RegionForm::Functions}}));
  static_assert(kDefaultFoldLimit % 1024 == 0);
  add(app, kWhat, "--fold-limit", "BYTES",
      "most bytes that one folded constant may add (default " + std::to_string(kDefaultFoldLimit / 1024) +
          "K)",
      bytes(o.clean_up.fold_limit, "--fold-limit"));
  add(app, kWhat, "--fold", "WITH", "native (default); ort: also by ONNX Runtime's kernels (may round)",
      chosen(o.clean_up.fold, "--fold",
             std::vector<std::pair<std::string, FoldWith>>{{"native", FoldWith::Native},
                                                           {"ort", FoldWith::Ort}}));
}

void add_shape_options(CLI::App& app, Options& o) {
  add_sizes(app, o.infer.shapes, o.infer.dims);
  add_dim_names(app, o.load.dim_names);
  flag(app, kShapes, "--infer", "write the shapes that were found into value_info and outputs",
       o.infer.write_types);
  add_buckets(app, o.buckets.marks, o.buckets.file);
  std::vector<std::pair<std::string, BucketRequire>> requirements;
  for (std::size_t i = 0; i < kBucketRequireNames.size(); ++i)
    requirements.emplace_back(kBucketRequireNames[i], static_cast<BucketRequire>(i));
  add(app, kShapes, "--bucket-require", "WHAT",
      "accept padding that is: proved, assumed (default); or repair, force",
      [&o, requirements](const std::string& text) {
        BucketRequire require = {};
        chosen(require, "--bucket-require", requirements)(text);
        o.buckets.require = require;
      });
  app.add_flag_callback(
         "--bucket-repair", [&o] { o.buckets.require = BucketRequire::Repair; },
         "the same as --bucket-require repair")
      ->group(kShapes);
  flag(app, kShapes, "--bucket-single", "one model that picks the bucket, pads and crops by itself",
       o.buckets.single);
}

void add_partition_options(CLI::App& app, Options& o) {
  PartitionStage::Options& p = o.partition;
  add(app, kDevices, "--devices", "LIST", "partition the model for these device profiles (names or files)",
      [&p](const std::string& text) {
        if (text.empty()) refuse("--devices", text, "names no device", "graphopt --list-devices lists them");
        p.devices = text;
      });
  add(app, kDevices, "--partition-algorithm", "NAME", "grow (default), fewest, or depth for comparison",
      chosen(p.algorithm, "--partition-algorithm",
             std::vector<std::pair<std::string, PartitionAlgorithm>>{{"grow", PartitionAlgorithm::Grow},
                                                                     {"fewest", PartitionAlgorithm::Fewest},
                                                                     {"depth", PartitionAlgorithm::Depth}}));
  add(app, kDevices, "--assignment", "given[=RULES]",
      "run nodes where the model says; RULES: 'npu(=s0,enc); cpu(=s1)'", [&p](const std::string& text) {
        constexpr std::string_view kWithRules = "given=";
        const char* remedy =
            "write given, or given='npu(=s0,=s2); cpu(=s1)', with values of layer_ann in brackets";
        ParsedLayers layers;
        if (text.starts_with(kWithRules))
          layers = parse_layers(std::string_view(text).substr(kWithRules.size()));
        else if (text != "given") layers.wrong = " is not 'given' or 'given=RULES'";
        if (!layers.wrong.empty()) refuse("--assignment", text, layers.wrong, remedy, "");
        p.given = true;
        p.layers = std::move(layers.rules);
      });
  flag(app, kDevices, "--connected", "put only connected nodes into one subgraph of an accelerator",
       p.connected);
  flag(app, kDevices, "--plan", "print the subgraphs; write nothing", p.plan);
  add(app, kDevices, "--parts", "WHEN", "a file per subgraph: auto (default) writes them, never does not",
      chosen(p.parts, "--parts",
             std::vector<std::pair<std::string, bool>>{{"auto", true}, {"never", false}}));
  add(app, kDevices, "--manifest", "FILE", "where the manifest goes (default: OUT with .manifest.json)",
      [&p](const std::string& text) {
        if (text.empty() || text == "-")
          refuse("--manifest", text, "is not a file", "give the manifest a file in OUT's folder");
        p.manifest = text;
      });
  add(app, kDevices, "--emit", "LIST", "also write files for: triton, ort-annotations, genai, onnx-stages",
      exports(p.exports, "--emit"));
}

void add_output_options(CLI::App& app, Options& o) {
  add_output(app, "where the result goes; without it, a dry run", o.output);
  add(app, kOutput, "--external-data", "WHEN",
      "weights in a file of their own: auto (default), always, never",
      chosen(o.save.external_data, "--external-data",
             std::vector<std::pair<std::string, ExternalData>>{{"auto", ExternalData::Auto},
                                                               {"always", ExternalData::Always},
                                                               {"never", ExternalData::Never}}));
  add(app, kOutput, "--external-threshold", "BYTES", "from which size on a tensor goes there (default 1K)",
      bytes(o.save.external_threshold, "--external-threshold"));
  add(app, kOutput, "--external-file", "NAME", "like --external-data always, with this file name next to OUT",
      [&o](const std::string& text) {
        if (text.empty()) refuse("--external-file", text, "is not a file", "give a name, as in weights.bin");
        o.save.external_file = text;
      });
  add_repeated(app, kOutput, "--strip", "WHAT,...",
               "leave out doc, metadata, names (of inner values, nodes) or all",
               [&o](const std::string& text) {
                 StripStage::Options& s = o.strip;
                 for_each_item(text, [&s](std::string_view what) {
                   if (what == "all") s = {true, true, true};
                   else if (what == "doc") s.doc = true;
                   else if (what == "metadata") s.metadata = true;
                   else if (what == "names") s.names = true;
                   else
                     refuse("--strip", what, "is not one of its values",
                            suggest_names(what, Names{"doc", "metadata", "names", "all"}, "values"));
                 });
               });
  add_external_root(app, o.load.external_root);
  flag(app, kOutput, "--force", "write over a write-protected file, or to a terminal", o.save.force);
}

namespace {

void add_tolerance(CLI::App& app, std::optional<double>& to) {
  add(app, kTrust, "--check-tolerance", "REL",
      "allowed difference relative to an output's maximum (float32: 1e-4)",
      parsed(to, "--check-tolerance", "is not a tolerance", "give a number as in 1e-4; 0 wants equal values",
             [](const std::string& text) { return std::optional(parse_tolerance(text)); }));
}

void add_given_inputs(CLI::App& app, std::vector<std::string>& to) {
  add_repeated(app, kTrust, "--check-input", "NAME=FILE",
               "use your own array for an input: .npy, or .npz of several",
               [&to](const std::string& text) { to.push_back(text); });
}

void add_runtime(CLI::App& app, std::string& to) {
  add(app, kTrust, "--ort", "PATH", "ONNX Runtime's library or Python package (default: searched for)",
      [&to](const std::string& text) { to = text; });
}

// A number of input sets that may be as large as a person waits for.
auto seeds(int& to, const char* option) {
  return [&to, option](const std::string& text) {
    const auto number = parse_integer(text);
    if (!number || *number < 1 || *number > 1000)
      refuse(option, text, "is not a number of seeds", std::string("give 1 to 1000, as in ") + option + "=3");
    to = static_cast<int>(*number);
  };
}

}  // namespace

void add_trust_options(CLI::App& app, Options& o, ToolOptions& tool) {
  add(app, kTrust, "--check", "SEEDS", "run before and after in ONNX Runtime and compare (default: 1 seed)",
      seeds(o.check.seeds, "--check"));
  add_tolerance(app, o.check.tolerance);
  add_given_inputs(app, o.check.inputs);
  flag(app, kTrust, "--bisect", "check; if results differ, name the pass and the rewrite that did it",
       o.check.bisect);
  flag(app, kTrust, "--verify-each", "check graphopt's internal data after every pass (for its debugging)",
       o.clean_up.verify_each);
  add(app, kTrust, "--keep-bad", "FILE", "if the check fails, write the optimized model to FILE",
      [&o](const std::string& text) { o.check.keep_bad = text; });
  add_runtime(app, o.check.ort);
  add_limits(app, kTrust, tool);
}

void add_people_options(CLI::App& app, Options& o, ToolOptions& tool, Requests& requests) {
  add(app, kPeople, "--report", "FILE", "write all figures of the run as JSON",
      [&tool](const std::string& text) { tool.report = text; });
  add(app, kPeople, "--dot", "FILE", "draw the optimized graph with its regions or subgraphs, for Graphviz",
      [&o, &tool](const std::string& text) {
        if (text.empty()) refuse("--dot", text, "is not a file", "give a file, or '-' for stdout");
        o.regions.draw = true;
        tool.dot = text;
      });
  add_repeated(app, kPeople, "--explain", "NAME,...",
               "why a pass, or 'all', left nodes as they are; NAME:NODE for one node",
               pass_names(o.clean_up.explain, "--explain", true));
  add_repeated(app, kPeople, "--print-after", "NAME,...", "print the model as text after these passes",
               pass_names(o.clean_up.print_after, "--print-after"));
  flag(app, kPeople, "--time-passes", "print the time of each phase and pass", tool.time_passes);
  add_quiet(app, tool);
  app.add_flag_function(
         "-v,--verbose",
         [&tool](std::int64_t n) { tool.log_level = n > 1 ? LogLevel::Debug : LogLevel::Info; },
         "say more; -vv: even more")
      ->group(kPeople);
  add(app, kPeople, "--log-level", "LEVEL", "error, warning (default), info, debug or trace",
      chosen(tool.log_level, "--log-level",
             std::vector<std::pair<std::string, LogLevel>>{{"error", LogLevel::Error},
                                                           {"warning", LogLevel::Warning},
                                                           {"info", LogLevel::Info},
                                                           {"debug", LogLevel::Debug},
                                                           {"trace", LogLevel::Trace}}));
  add_terminal(app, tool);
  flag(app, kPeople, "--version", "print the version and end", requests.version);
  flag(app, kPeople, "-h,--help", "print this and end", requests.help);
}

void add_inspect_options(CLI::App& app, Command& command, Requests& requests) {
  add_dim_names(app, command.inspect.dim_names);
  flag(app, kOutput, "--bucketable", "tell whether static models per size are possible, and how to pad",
       command.bucketable);
  add_buckets(app, command.buckets.buckets, command.buckets.file);
  flag(app, kOutput, "--regions", "list the regions: nodes that can run as one kernel", command.regions);
  flag(app, kOutput, "-v,--verbose", "show whole lists", command.all);
  flag(app, kShapes, "--bucket-repair", "judge the repaired model, which has true extents as further inputs",
       command.buckets.repair);
  flag(app, kOutput, "--json", "print JSON", command.json);
  add_external_root(app, command.inspect.external_root);
  add_limits(app, kTrust, command.tool);
  flag(app, kPeople, "--version", "print the version and end", requests.version);
  flag(app, kPeople, "-h,--help", "print this and end", requests.help);
}

void add_compare_options(CLI::App& app, Command& command, Requests& requests) {
  CompareOptions& o = command.compare;
  o.check.seeds = 1;
  add(app, kTrust, "--seeds", "N", "input sets for each choice of sizes, as --check=N (default 1)",
      seeds(o.check.seeds, "--seeds"));
  app.add_flag_function(
         "--figures-only", [&o](std::int64_t) { o.check.seeds = 0; },
         "compare figures only; do not run the models")
      ->group(kTrust);
  add_tolerance(app, o.check.tolerance);
  add_given_inputs(app, o.check.inputs);
  add_runtime(app, o.check.ort);
  add_dim_names(app, o.load.dim_names);
  flag(app, kOutput, "-v,--verbose", "show all kinds of operators", command.all);
  add_external_root(app, o.load.external_root);
  add_limits(app, kTrust, command.tool);
  flag(app, kPeople, "--version", "print the version and end", requests.version);
  flag(app, kPeople, "-h,--help", "print this and end", requests.help);
}

void add_device_options(CLI::App& app, Command& command, Requests& requests) {
  DeviceCheckOptions& o = command.device;
  add_sizes(app, o.shapes, o.dims);
  add_dim_names(app, o.dim_names);
  flag(app, kOutput, "-v,--verbose",
       "list every node; refused ones first, by the number of failed conditions", command.all);
  flag(app, kOutput, "--json", "print JSON", command.json);
  add_external_root(app, o.external_root);
  add_limits(app, kTrust, command.tool);
  flag(app, kPeople, "--version", "print the version and end", requests.version);
  flag(app, kPeople, "-h,--help", "print this and end", requests.help);
}

void add_reduce_options(CLI::App& app, Command& command, Requests& requests) {
  ReduceOptions& o = command.reduce;
  const auto time = [](double& to, const char* option) {
    return parsed(to, option, "is not a time", "give seconds above 0, as in 10, 0.5s or 5m", parse_seconds);
  };
  add(app, kWhat, "--test", "CMD", "a shell command; {} is the model's path, else appended at the end",
      [&o](const std::string& text) { o.test = text; });
  add(app, kWhat, "--timeout", "TIME", "a longer run of CMD is a hang (default: 10 times the first, >= 10s)",
      time(o.test_timeout, "--timeout"));
  add(app, kWhat, "--seconds", "TIME", "end after this time with the smallest model so far (default: never)",
      time(o.seconds, "--seconds"));
  add_output(app, "where the small model goes; OUT may be IN", o.output);
  add_external_root(app, o.external_root);
  add_max_memory(app, kTrust, command.tool);
  add_quiet(app, command.tool);
  add_terminal(app, command.tool);
  flag(app, kPeople, "--version", "print the version and end", requests.version);
  flag(app, kPeople, "-h,--help", "print this and end", requests.help);
}

std::string help_text(const CLI::App& app, std::string_view head, std::string_view tail) {
  constexpr std::size_t kColumn = 32;
  std::vector<const CLI::Option*> options;
  for (const CLI::Option* option : app.get_options())
    if (!option->get_positional()) options.push_back(option);
  std::vector<std::string> groups;  // each once, in the order of its first option
  const auto rank = [&groups](const CLI::Option* option) {
    const auto at = std::ranges::find(groups, option->get_group());
    if (at == groups.end()) return groups.push_back(option->get_group()), groups.size() - 1;
    return static_cast<std::size_t>(at - groups.begin());
  };
  for (const CLI::Option* option : options) (void)rank(option);
  std::ranges::stable_sort(options, {}, rank);
  std::string out(head);
  std::string group;
  for (const CLI::Option* option : options) {
    if (option->get_group() != group) {
      group = option->get_group();
      out += '\n' + group + ":\n";
    }
    std::string line = "  ";
    for (const std::string& name : option->get_snames())
      line += '-' + name + (option->get_lnames().empty() ? "" : ", ");
    for (const std::string& name : option->get_lnames()) line += "--" + name;
    if (option->get_name() == "--check") {
      line += "[=SEEDS]";
    } else if (!option->get_option_text().empty()) {
      line += (option->get_lnames().empty() ? "" : " ") + option->get_option_text();
    }
    line.resize(std::max(line.size() + 1, kColumn), ' ');
    out += line + option->get_description() + '\n';
  }
  return out.append(tail);
}

}  // namespace graphopt::tool
