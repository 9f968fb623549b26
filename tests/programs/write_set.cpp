// Writes a set of files over an older one, and ends itself where it is told, for tests/campaign/kill_set.py.
//
//   graphopt_write_set LIST OUT SEED KIBIBYTES own|shared|shared:FOLDER [CALL]
//
// The set has three models and their weights, which follow from SEED; one of them is also written to OUT,
// with a data file of its own, or with its weights in that of the set, which is in FOLDER then. If OUT is
// there and SEED is 2, the models are OUT as it is there, so that the run reads what it replaces. With CALL
// the process is killed (SIGKILL) before that of its system calls that change names or sync files, counted
// from 1. Prints the number of these calls.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "onnx/reader.h"
#include "onnx/set_writer.h"
#include "programs/killed_calls.h"

namespace graphopt {
namespace {

// y = x + w + shared; both weights have `bytes` bytes.
Model model(std::uint64_t seed, std::uint64_t own, std::size_t bytes) {
  Model m;
  m.ir_version = 10;
  m.opset_tables[0] = {{kEmptyName, 21}};
  const auto count = static_cast<std::int64_t>(bytes / sizeof(std::uint32_t));
  const auto weight = [&](const char* name, std::uint64_t first) {
    std::string raw(static_cast<std::size_t>(count) * sizeof(std::uint32_t), '\0');
    auto state = static_cast<std::uint32_t>(first * 2654435761u + 1);
    for (char& c : raw) {
      state = state * 1664525u + 1013904223u;
      c = static_cast<char>((state >> 24) & 0x3F);  // small numbers
    }
    return m.add_initializer(m.main(), name, m.make_tensor(DType::Float, std::vector{count}, std::move(raw)));
  };
  const OpId add = m.intern_op(OpKind::Add, "", "Add");
  const ValueId x = m.add_input(m.main(), m.names.intern("x"));
  const std::vector<ValueId> sum{m.add_value(m.main(), m.names.intern("sum"))};
  const std::vector<ValueId> y{m.add_value(m.main(), m.names.intern("y"))};
  m.add_node(m.main(), add, std::vector<ValueId>{x, weight("w", seed * 16 + own)}, sum, {}, "first");
  m.add_node(m.main(), add, std::vector<ValueId>{sum[0], weight("shared", seed * 16)}, y, {}, "second");
  m.set_graph_outputs(m.main(), y);
  return m;
}

int run(const std::string& list, const std::string& out, std::uint64_t seed, std::size_t bytes, bool shared,
        const std::string& folder) {
  std::vector<Model> parts;
  for (std::uint64_t i = 1; i <= 3; ++i) {
    std::vector<Warning> warnings;
    Result<Model> read = seed == 2 ? load_model({out, {}, 0, true}, warnings) : model(seed, i, bytes);
    if (!read) {
      std::fprintf(stderr, "%s\n", to_string(read.error()).c_str());
      return 1;
    }
    parts.push_back(*std::move(read));
  }
  std::vector<SetModel> models;
  for (std::size_t i = 0; i < parts.size(); ++i) models.push_back({&parts[i], {}, "s" + std::to_string(i)});
  // A runtime loads only what states the types of inputs and outputs.
  Model& first = parts[0];
  const std::vector<TypeOverride> types = {
      {first.graph_inputs(first.main())[0],
       first.types.tensor(DType::Float, std::vector{first.dims.constant(1)})},
      {first.graph_output(first.main(), 0), first.types.tensor(DType::Float)}};
  SetModel beside = models[0];
  beside.options.types = types;
  beside.options.path = out;
  beside.options.external = SaveOptions::External::Always;
  SetOptions options;
  options.list = list;
  options.out = &beside;
  options.out_shares_data = shared;
  options.folder = folder;
  if (const Result<SavedSet> saved = save_set(models, options); !saved) {
    std::fprintf(stderr, "%s\n", to_string(saved.error()).c_str());
    return 1;
  }
  std::printf("%ld\n", calls);
  return 0;
}

}  // namespace
}  // namespace graphopt

int main(int argc, char** argv) {
  std::string form = argc > 5 ? argv[5] : "", folder;
  if (const std::size_t colon = form.find(':'); colon != std::string::npos) {
    folder = form.substr(colon + 1);
    form.resize(colon);
  }
  if ((argc != 6 && argc != 7) || (form != "own" && form != "shared")) {
    std::fprintf(stderr, "usage: %s LIST OUT SEED KIBIBYTES own|shared|shared:FOLDER [CALL]\n", argv[0]);
    return 1;
  }
  if (argc == 7) last_call = std::strtol(argv[6], nullptr, 10);
  return graphopt::run(argv[1], argv[2], std::strtoul(argv[3], nullptr, 10),
                       std::strtoul(argv[4], nullptr, 10) * 1024, form == "shared", folder);
}
