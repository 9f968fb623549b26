// The contents of a model: the answer of `graphopt inspect`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "graphopt/error.h"
#include "graphopt/report.h"
#include "graphopt/stages/load.h"
#include "graphopt/stages/regions.h"
#include "graphopt/words.h"

namespace graphopt {

struct InspectOptions {
  std::string input;  // a file; "-" is stdin
  std::string external_root;
  DimNames dim_names = DimNames::Expressions;
  bool process_ends = false;  // as in Options
};

enum class ModelFormat : std::uint8_t {
  Protobuf,
  Text,  // onnx's
};
template <> struct Words<ModelFormat> {
  static constexpr std::string_view plural = "formats";
  static constexpr std::array<std::string_view, 2> all = {"protobuf", "text"};
};

struct Inspection {
  std::string file;
  ModelFormat format = ModelFormat::Protobuf;
  std::int64_t ir_version = 0;
  std::string producer, producer_version, graph;

  struct Opset {
    std::string domain;
    std::int64_t version = 0;
  };
  std::vector<Opset> opsets;  // "ai.onnx" is written out

  struct Value {
    std::string name, type;    // type: "float[batch,3,224,224]"
    bool has_default = false;  // an input that is an initializer, too
  };
  std::vector<Value> inputs, outputs;  // of outputs: as inferred

  struct Symbol {
    std::string name;
    std::vector<std::string> inputs;  // the inputs that have it
  };
  std::vector<Symbol> symbols;  // dims of inputs that are bound at run time

  ModelFigures figures;
  std::uint64_t model_bytes = 0, external_bytes = 0, weight_bytes = 0;

  struct DataFile {
    std::string path;  // as the model says it: relative to the model, or with external_root to that
    std::string file;  // where it was found
    std::uint64_t bytes = 0;
  };
  std::vector<DataFile> data_files;  // of the external data, by path; a file that is not there is an error

  // Weights: initializers and constants, of bodies and functions, too.
  std::uint64_t parameters = 0;  // their elements
  struct WeightType {
    std::string type;  // "float"
    std::uint64_t tensors = 0, elements = 0, bytes = 0;
  };
  std::vector<WeightType> weight_types;  // by bytes, the most first
  struct Weight {
    std::string name, type;  // type: "float[768,3072]"
    std::uint64_t bytes = 0;
  };
  static constexpr std::size_t kLargest = 10;
  std::vector<Weight> largest;  // at most kLargest weights with a name, by bytes

  // Multiplications with addition that one run takes, as a formula over the symbols of the inputs; empty
  // where it has none. Nodes that multiply, but of whose extents nothing is known, are counted in
  // `uncounted`.
  std::string multiply_adds;
  std::uint64_t uncounted = 0;

  struct Function {
    std::string name;  // "domain::name", with ":overload" when there is one
    std::uint64_t nodes = 0;
  };
  std::vector<Function> functions;

  RegionsStage::Report regions;  // of the main graph, without region functions

  // Dims of all values that inference determined. linked: numbers and expressions over the symbols of inputs.
  struct Shapes {
    std::uint64_t values = 0, ranked = 0, linked = 0;
  };
  Shapes shapes;

  struct OpaqueOperator {
    std::string name;
    std::uint64_t nodes = 0;
  };
  std::vector<OpaqueOperator>
      opaque;  // operators that graphopt has no facts about; they are kept as they are

  std::vector<std::string> problems;
};

Result<Inspection> inspect(const InspectOptions& options);
std::string to_json(const Inspection& inspection);

}  // namespace graphopt
