// Binds symbols on clones of one model and optimizes each, for tests/equal/bound_clones.py.
//
//   graphopt_bound_clones IN [-- OUT [--dim SYMBOL=LOW..HIGH | --shape NAME=N,...] ...] ...
//
// IN is loaded once. For each OUT it is cloned, the clone is bound, inferred, cleaned up by the passes of the
// default level and saved, as a stage does that makes a model per bucket. Where the binding is refused, the
// errors stand in OUT.error, as the command line prints them.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "driver/clean_up.h"
#include "ir/made_names.h"
#include "onnx/reader.h"
#include "onnx/writer.h"
#include "shapes/bind.h"
#include "shapes/written_types.h"

namespace graphopt {
namespace {

// The words are written by the script: forms other than the two above do not occur.
Bindings parse(std::span<char*> words) {
  Bindings out;
  for (std::size_t i = 0; i + 1 < words.size(); i += 2) {
    const std::string_view option = words[i], word = words[i + 1];
    const std::size_t equals = word.rfind('=');
    const std::string name(word.substr(0, equals)), value(word.substr(equals + 1));
    if (option == "--dim") {
      const std::size_t dots = value.find("..");
      out.symbols.push_back({name, std::atoll(value.c_str()), std::atoll(value.c_str() + dots + 2)});
      continue;
    }
    Bindings::Shape& shape = out.shapes.emplace_back();
    shape.input = name;
    for (std::size_t at = 0; !value.empty() && at != std::string::npos;) {
      shape.dims.push_back(std::atoll(value.c_str() + at));
      at = value.find(',', at);
      if (at != std::string::npos) ++at;
    }
  }
  return out;
}

Status optimize(const Model& loaded, const std::string& path, const Bindings& bindings) {
  Work work;
  work.model = loaded.clone();
  work.file_names = work.model.names.size();
  work.file_values = work.model.value_count();
  work.file_nodes = work.model.node_count();
  Result<InferOptions> bound = bind(work.model, bindings);
  if (!bound) return bound.errors();
  work.inference.emplace(work.model, *std::move(bound));
  work.inference->run();
  CleanUpHooks hooks;
  hooks.bound = specializes(bindings);
  if (Status clean = clean_up({}, work, hooks); !clean) return clean;
  name_made(work.model, work.file_names, work.file_nodes);
  const Model& model = work.model;
  const std::vector<TypeOverride> types =
      written_types(work.model, *work.inference,
                    {.specialized = specializes(bindings),
                     .on_inputs_only = work.left_alone || work.states_less,
                     .all = false,
                     .passes_ran = !work.left_alone,
                     .file_values = work.file_values});
  SaveOptions options;
  options.path = path;
  options.types = types;
  if (const Result<SavedFiles> saved = save_model(model, options); !saved) return saved.errors();
  return Done{};
}

int run(std::span<char*> words) {
  std::vector<Warning> warnings;
  const Result<Model> model = load_model({words[0], {}, 0, true}, warnings);
  if (!model) {
    std::fprintf(stderr, "%s\n", to_string(model.error()).c_str());
    return 1;
  }
  for (std::size_t i = 1; i + 1 < words.size();) {
    std::size_t end = i + 1;
    while (end < words.size() && std::string_view(words[end]) != "--") ++end;
    const std::string path = words[i + 1];
    if (const Status done = optimize(*model, path, parse(words.subspan(i + 2, end - i - 2))); !done) {
      std::ofstream file(path + ".error");
      for (const Error& e : done.errors()) file << to_string(e) << '\n';
    }
    i = end;
  }
  return 0;
}

}  // namespace
}  // namespace graphopt

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s IN [-- OUT BINDING...]...\n", argv[0]);
    return 1;
  }
  return graphopt::run(std::span(argv + 1, static_cast<std::size_t>(argc - 1)));
}
