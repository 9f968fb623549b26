// The model: its file, its fields, and the order in which its parts are read. See reader.h.
#include "onnx/reader.h"

#include <algorithm>
#include <memory>
#include <string_view>

#include "graphopt/stages/load.h"
#include "onnx/external.h"
#include "onnx/fields.h"
#include "onnx/graph_reader.h"
#include "onnx/other_formats.h"
#include "onnx/problems.h"
#include "onnx/text.h"
#include "onnx/wire.h"
#include "ops/deformation.h"
#include "ops/facts.h"
#include "support/file.h"

namespace graphopt {

namespace {

namespace mf = field::model;
using wire::Field;
using wire::Fields;
using wire::Kind;

struct ModelParts {
  Bytes graph;
  bool has_graph = false;
  std::vector<Bytes> functions, imports, training;
};

bool split_model(Bytes bytes, Model& m, ModelParts& parts, Problems& problems) {
  Fields fields(bytes);
  bool has_version = false;
  for (Field f; fields.next(f);) {
    if (f.kind == Kind::Length && f.number == mf::kGraph) {
      if (parts.has_graph) {
        problems.add({}, "it holds two main graphs", kReport);
        return false;
      }
      parts.graph = f.bytes;
      parts.has_graph = true;
      continue;
    }
    if (f.kind == Kind::Length && f.number == mf::kFunctions) {
      parts.functions.push_back(f.bytes);
      continue;
    }
    m.rest.push_back(f.whole);
    if (f.kind == Kind::Varint && f.number == mf::kIrVersion)
      m.ir_version = wire::as_int64(f), has_version = true;
    if (f.kind == Kind::Length && f.number == mf::kOpsetImport) parts.imports.push_back(f.bytes);
    if (f.kind == Kind::Length && f.number == mf::kTrainingInfo) parts.training.push_back(f.bytes);
  }
  if (fields.broken()) {
    const std::string where = " (at byte " + std::to_string(fields.where() - bytes.data()) + " of " +
                              std::to_string(bytes.size()) + ")";
    if (has_version || parts.has_graph)
      problems.add({}, std::string("it is cut off or damaged: ") + fields.what() + where, kDamaged);
    else if (!is_other_format(bytes, problems))
      problems.add({}, std::string("it is not an ONNX model: ") + fields.what() + where,
                   "give a model in ONNX format, binary or text");
    return false;
  }
  if (!parts.has_graph) {
    if (!has_version && is_other_format(bytes, problems)) return false;
    problems.add({}, has_version ? "the model has no graph" : "it is not an ONNX model: it holds no graph",
                 "give a model in ONNX format, binary or text");
    return false;
  }
  return true;
}

void check_version(const Model& m, Problems& problems) {
  if (m.ir_version == 0) {
    problems.add({}, "the model does not state its IR version", kReport);
  } else if (m.ir_version < kOldestIrVersion) {
    problems.add({},
                 "it has IR version " + std::to_string(m.ir_version) +
                     ", and the oldest that can be read is " + std::to_string(kOldestIrVersion),
                 "export it again with a newer exporter");
  } else if (m.ir_version > kNewestIrVersion) {
    problems.warn({},
                  "it has IR version " + std::to_string(m.ir_version) + ", newer than " +
                      std::to_string(kNewestIrVersion) +
                      ", the newest that is known here: what is new is kept as it is",
                  "check the result, or use a newer version of graphopt");
  }
  for (const OpsetImport& o : m.opset_tables[0])
    if (o.domain == kEmptyName && o.version > kNewestOpset)
      problems.warn({},
                    "it has opset " + std::to_string(o.version) + ", newer than " +
                        std::to_string(kNewestOpset) + ", the newest that is known here",
                    "check the result, or use a newer version of graphopt");
}

// Returns which operands' memory n hands on to what overwrites it: a call to the nodes of the function, a
// deformation or Identity to the readers of its result, which has the same memory.
std::uint64_t handed_on(const Model& m, NodeId n) {
  if (is_deformation(m.kind(n)) || m.kind(n) == OpKind::Identity)
    return m.output(n, 0) && m.is_overwritten(m.output(n, 0)) ? 1 : 0;
  if (m.kind(n) != OpKind::FunctionCall) return 0;
  const auto parameters = m.graph_inputs(m.function(m.op(n).function).body);
  std::uint64_t operands = 0;
  for (std::size_t k = 0; k < std::min<std::size_t>(parameters.size(), 64); ++k)
    if (m.is_overwritten(parameters[k])) operands |= std::uint64_t{1} << k;
  return operands;
}

// States of each such node which operands are overwritten through it. Readers mostly come after producers, so
// the nodes are visited from the last one on; functions do not call themselves, so this ends.
void mark_overwriting(Model& m) {
  for (bool changed = m.has_overwrites(); changed;) {
    changed = false;
    for (std::size_t i = m.node_count(); i-- > 0;) {
      const NodeId n{i};
      if (!m.alive(n)) continue;
      const std::uint64_t operands = handed_on(m, n) | m.node(n).overwrites;
      if (operands == m.node(n).overwrites) continue;
      m.set_overwrites(n, operands);
      changed = true;
    }
  }
}

Result<Model> load(std::shared_ptr<const FileImage> image, const std::string& file, const std::string& folder,
                   const std::string& external_root, bool dim_expressions, std::vector<Warning>& warnings) {
  Problems problems(file, warnings);
  if (image->bytes().empty()) {
    problems.add({}, "the file is empty", "give a model in ONNX format, binary or text");
    return problems.take();
  }
  Model m;
  m.file = file;
  m.file_bytes = image->bytes().size();
  if (looks_like_text(image->bytes())) {
    std::string binary;
    if (!text_to_binary(image->bytes(), problems, binary)) return problems.take();
    image = FileImage::from_memory(std::move(binary), file);
  }
  m.keep_alive.push_back(image);

  ModelParts parts;
  if (!split_model(image->bytes(), m, parts, problems)) return problems.take();
  ExternalFiles external(folder, external_root);
  GraphReader reader(m, problems, external, dim_expressions);
  m.opset_tables[0] = reader.read_opsets(parts.imports, {});
  check_version(m, problems);
  for (const Bytes f : parts.functions) reader.declare_function(f);
  reader.read_main(parts.graph, parts.training);
  reader.read_functions();
  external.check_overlaps(problems);
  if (!problems.none()) return problems.take();
  mark_overwriting(m);

  m.had_external_data = external.used();
  m.external_data_bytes = external.total_bytes();
  m.file_bytes += m.external_data_bytes;
  for (const auto& [location, image_of_data] : external.files()) {
    m.data_files.push_back({location, image_of_data->path(), image_of_data->bytes().size()});
    m.keep_alive.push_back(image_of_data);
  }
  m.mark_clean();
  for (const GraphId g : reader.sorted()) m.mark_dirty(g);
  return m;
}

}  // namespace

Result<Model> load_model(const LoadOptions& options, std::vector<Warning>& warnings) {
  Result<std::shared_ptr<const FileImage>> image = FileImage::open(options.path, options.max_memory);
  if (!image) return image.errors();
  const std::string folder = options.path == "-" ? "." : folder_of(options.path);
  return load(*std::move(image), options.path, folder, options.external_root, options.dim_expressions,
              warnings);
}

Result<Model> load_model_from_memory(std::string bytes, const std::string& name, const std::string& folder,
                                     std::vector<Warning>& warnings, bool dim_expressions) {
  return load(FileImage::from_memory(std::move(bytes), name), name, folder, {}, dim_expressions, warnings);
}

}  // namespace graphopt
