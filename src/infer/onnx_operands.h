// A node as a runtime that loads a model sees it: its operands, and onnx's inference function called on them.
// Shared by the policy on constants (refused_constants.h) and by the nodes that are refused
// (refused_nodes.h).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "infer/context.h"
#include "infer/onnx_schemas.h"

namespace graphopt::onnx_functions {

// An operand as a runtime sees it: only what is a constant has elements.
struct SeenOperand {
  TypeId type;  // none: the slot is empty
  bool constant = false;
  DType dtype = DType::Undefined;
  std::span<const std::int64_t> dims;
  Bytes raw;
  const onnx::TypeProto* proto = nullptr;  // in place of `type`
  // Elements of a computed list that a runtime carries along while it infers; functions get them apart from
  // those of constants.
  std::optional<std::vector<std::int64_t>> carried = {};
  std::uint64_t source = 0;  // tells what `proto` points to from any other (onnx_answers.h); 0: not known
};

class LoadContext final : public onnx::InferenceContext {
 public:
  LoadContext(const Model& m, NodeId n, const onnx::OpSchema& schema, std::span<const SeenOperand> operands)
      : m_(m),
        n_(n),
        inputs_(operands.size()),
        tensors_(operands.size()),
        shapes_(operands.size()),
        outputs_(m.output_count(n)) {
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const SeenOperand& o = operands[i];
      if (!o.constant) {
        if (o.proto != nullptr) inputs_[i] = *o.proto;
        else if (o.type) to_proto(m, m.types[o.type], inputs_[i]);
        if (o.carried)
          for (auto* shape = &shapes_[i].emplace(); const std::int64_t d : *o.carried)
            shape->add_dim()->set_dim_value(d);
        continue;
      }
      inputs_[i].mutable_tensor_type()->set_elem_type(static_cast<int>(o.dtype));
      auto* shape = inputs_[i].mutable_tensor_type()->mutable_shape();
      for (const std::int64_t d : o.dims) shape->add_dim()->set_dim_value(d);
      std::int64_t elements = 1;
      for (const std::int64_t d : o.dims) elements = std::min(elements * d, kMaxConstant + 1);
      if (elements <= kMaxConstant) fill(tensors_[i].emplace(), o);
    }
    for (const Attr& a : m.attrs(n))
      if (onnx::AttributeProto proto; to_proto(m, a, m.text(a.name), proto))
        attributes_.emplace(m.text(a.name), std::move(proto));
    for (const auto& [name, attribute] : schema.attributes())
      if (attribute.default_value.type() != onnx::AttributeProto::UNDEFINED)
        attributes_.emplace(name, attribute.default_value);
  }

  const onnx::AttributeProto* getAttribute(const std::string& name) const override {
    const auto it = attributes_.find(name);
    return it == attributes_.end() ? nullptr : &it->second;
  }
  std::size_t getNumInputs() const override { return inputs_.size(); }
  const onnx::TypeProto* getInputType(std::size_t i) const override {
    return hasInput(i) ? &inputs_.at(i) : nullptr;
  }
  bool hasInput(std::size_t i) const override { return m_.input(n_, i).valid(); }
  const onnx::TensorProto* getInputData(std::size_t i) const override {
    reads_elements_ = true;
    return i < tensors_.size() && tensors_[i] ? &*tensors_[i] : nullptr;
  }
  const onnx::SparseTensorProto* getInputSparseData(std::size_t) const override { return nullptr; }
  const onnx::TensorShapeProto* getSymbolicInput(std::size_t i) const override {
    reads_elements_ = true;
    return i < shapes_.size() && shapes_[i] ? &*shapes_[i] : nullptr;
  }
  std::size_t getNumOutputs() const override { return outputs_.size(); }
  onnx::TypeProto* getOutputType(std::size_t i) override { return &outputs_.at(i); }
  bool hasOutput(std::size_t i) override { return m_.output(n_, i).valid(); }
  onnx::GraphInferencer* getGraphAttributeInferencer(const std::string&) override { return nullptr; }

  std::span<const onnx::TypeProto> outputs() const { return outputs_; }
  std::vector<onnx::TypeProto> take_outputs() { return std::move(outputs_); }
  bool reads_elements() const { return reads_elements_; }  // the function asked for those of an operand

 private:
  static void fill(onnx::TensorProto& t, const SeenOperand& o) {
    t.set_data_type(static_cast<int>(o.dtype));
    for (const std::int64_t d : o.dims) t.add_dims(d);
    t.set_raw_data(o.raw.data(), o.raw.size());
  }

  const Model& m_;
  const NodeId n_;
  std::vector<onnx::TypeProto> inputs_;
  std::vector<std::optional<onnx::TensorProto>> tensors_;
  std::vector<std::optional<onnx::TensorShapeProto>> shapes_;
  std::vector<onnx::TypeProto> outputs_;
  std::unordered_map<std::string, onnx::AttributeProto> attributes_;
  mutable bool reads_elements_ = false;
};

// Returns false for nodes that cannot be asked alone: bodies of the node itself would have to be inferred,
// a call's attributes are known at the call alone, and onnx's functions are not safe with every number.
bool may_be_asked(const Model& m, NodeId n);

// Returns the function of a node that has all operands which it needs; null where there is none.
const SchemaFunctions::Function* function_of(SchemaFunctions& functions, const Model& m, NodeId n);

// Returns false where the type of an operand is not known: many functions take that for a wrong type.
bool all_known(const Model& m, std::span<const SeenOperand> operands);

// Returns whether ONNX Runtime refuses the node for an axis that the first operand does not have, where
// onnx's function does not look at it: the fact table says of which operators.
bool refuses_axis(const Model& m, NodeId n, std::span<const SeenOperand> operands);

// Sets `out` to the constant and returns true, if it has elements that a function may read.
bool has_payload(const Model& m, TensorId t, SeenOperand& out);

bool in_body(const Model& m, NodeId n);

bool has_zero(const Model& m, const Type& t);  // among the extents of a tensor

// Returns whether an operand has no elements in any run. Kernels take such operands where inference refuses
// them, so the node need not fail.
bool has_empty_operand(const Model& m, const Inference& infer, NodeId n);

}  // namespace graphopt::onnx_functions
