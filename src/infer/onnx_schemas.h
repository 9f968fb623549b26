// onnx's inference functions and the conversion of types for them, shared by the sources of this layer that
// run them (onnx_*.cpp). No other file of the layer includes it: it includes protobuf.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <onnx/defs/schema.h>
#include <onnx/defs/shape_inference.h>

#include "ir/model.h"

namespace graphopt::onnx_functions {

inline constexpr std::int64_t kMaxConstant = 4096;  // elements of an operand passed to onnx's functions

// Symbolic dims pass as texts that no file can contain.
void to_proto(const Model& m, const Type& t, onnx::TypeProto& out);
TypeId from_proto(Model& m, const onnx::TypeProto& t);
// Returns false for attributes that no function reads here: graphs, and kinds without a form of their own.
bool to_proto(const Model& m, const Attr& a, std::string_view name, onnx::AttributeProto& out);

// Returns false for a node with a number that is wider than 32 bits, but for Constant, where it is an
// element. The functions narrow such numbers and look for dims at what is left: they may read out of bounds.
bool has_narrow_numbers(const Model& m, NodeId n);

// Returns false if the function throws.
bool succeeds(const onnx::InferenceFunction& infer, onnx::InferenceContext& context);

struct SchemaEntry;

// The same key for both of them: domain and name of an operator, and a version.
struct SchemaKey {
  OpId op;
  int version;
  friend bool operator==(const SchemaKey&, const SchemaKey&) = default;
};
struct SchemaHash {
  std::size_t operator()(const SchemaKey& k) const {
    return k.op.index() * std::size_t{1000003} + static_cast<std::size_t>(k.version);
  }
};

// onnx's functions, made on first use.
struct SchemaFunctions {
  explicit SchemaFunctions(const Model& model) : m(model) {}

  struct Function {
    const onnx::OpSchema* schema = nullptr;
    onnx::InferenceFunction infer;  // empty: onnx has no function
    std::vector<bool> required;     // which operands a node must have
  };

  Function& find(OpId op, int version);

  const Model& m;
  std::unordered_map<std::string_view, std::vector<const SchemaEntry*>> by_name;
  std::unordered_map<SchemaKey, Function, SchemaHash> functions;
  std::unordered_map<const SchemaEntry*, onnx::OpSchema> schemas;
};

}  // namespace graphopt::onnx_functions
