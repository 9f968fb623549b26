// The InferenceContext for onnx's functions, schemas made one at a time, and the conversion of types to
// protobuf and back.
#include "infer/onnx_context.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <list>
#include <stdexcept>
#include <string>
#include <unordered_map>

#include <onnx/defs/operator_sets.h>
#include <onnx/defs/operator_sets_ml.h>
#include <onnx/defs/operator_sets_preview.h>
#include <onnx/defs/operator_sets_training.h>
#include <onnx/defs/schema.h>

#include "infer/context.h"
#include "infer/onnx_schemas.h"
#include "infer/schema_version.h"
#include "ops/node_facts.h"

namespace graphopt {
namespace onnx_functions {

struct SchemaEntry {
  std::string_view domain, name;
  int version;
  onnx::OpSchema (*make)();
};

namespace {

// --- schemas, one at a time --------------------------------------------------------------------------------

consteval std::string_view domain_of(std::string_view tag) {
  if (tag == "OnnxML") return "ai.onnx.ml";
  if (tag == "OnnxPreview") return "ai.onnx.preview";
  return "";
}

#define GRAPHOPT_SCHEMA(domain, version, name) \
  {domain_of(#domain), #name, version,         \
   &onnx::GetOpSchema<onnx::ONNX_OPERATOR_SET_SCHEMA_CLASS_NAME(domain, version, name)>},
constexpr SchemaEntry kSchemas[] = {
#include "onnx_schema_list.inc"
};
#undef GRAPHOPT_SCHEMA

// Dims pass through onnx's functions as texts that no file can contain.
constexpr char kDimMark = '\x01';

void to_dim(const DimPool& dims, DimId d, onnx::TensorShapeProto_Dimension& out) {
  if (!d) return;
  if (const auto v = dims.value(d)) out.set_dim_value(*v);
  else out.set_dim_param(kDimMark + std::to_string(d.index()));
}

}  // namespace

void to_proto(const Model& m, const Type& t, onnx::TypeProto& out) {
  switch (t.kind) {
    case TypeKind::Tensor: {
      auto* x = out.mutable_tensor_type();
      x->set_elem_type(static_cast<int>(t.elem));
      if (!t.has_rank) return;
      auto* shape = x->mutable_shape();
      for (const DimId d : t.dims) to_dim(m.dims, d, *shape->add_dim());
      return;
    }
    case TypeKind::SparseTensor: {
      auto* x = out.mutable_sparse_tensor_type();
      x->set_elem_type(static_cast<int>(t.elem));
      if (!t.has_rank) return;
      auto* shape = x->mutable_shape();
      for (const DimId d : t.dims) to_dim(m.dims, d, *shape->add_dim());
      return;
    }
    case TypeKind::Sequence:
      return to_proto(m, m.types[t.inner], *out.mutable_sequence_type()->mutable_elem_type());
    case TypeKind::Optional:
      return to_proto(m, m.types[t.inner], *out.mutable_optional_type()->mutable_elem_type());
    case TypeKind::Map:
      out.mutable_map_type()->set_key_type(static_cast<int>(t.elem));
      return to_proto(m, m.types[t.inner], *out.mutable_map_type()->mutable_value_type());
    default: return;
  }
}

namespace {

DimId from_dim(Model& m, const onnx::TensorShapeProto_Dimension& d) {
  if (d.has_dim_value()) return d.dim_value() >= 0 ? m.dims.constant(d.dim_value()) : DimId{};
  const std::string& text = d.dim_param();
  if (!d.has_dim_param() || text.size() < 2 || text[0] != kDimMark) return {};
  std::uint32_t index = 0;
  std::from_chars(text.data() + 1, text.data() + text.size(), index);
  return DimId{index};
}

}  // namespace

TypeId from_proto(Model& m, const onnx::TypeProto& t) {
  const auto elem = [](int e) { return e > 0 && e < 256 ? static_cast<DType>(e) : DType::Undefined; };
  const auto dims = [&](const onnx::TensorShapeProto& shape) {
    Dims d;
    for (const auto& x : shape.dim()) d.push_back(from_dim(m, x));
    return d;
  };
  switch (t.value_case()) {
    case onnx::TypeProto::kTensorType: {
      const auto& x = t.tensor_type();
      if (elem(x.elem_type()) == DType::Undefined) return m.types.unknown();
      return x.has_shape() ? m.types.tensor(elem(x.elem_type()), dims(x.shape()))
                           : m.types.tensor(elem(x.elem_type()));
    }
    case onnx::TypeProto::kSparseTensorType: {
      const auto& x = t.sparse_tensor_type();
      return m.types.sparse(elem(x.elem_type()), x.has_shape(), x.has_shape() ? dims(x.shape()) : Dims{});
    }
    case onnx::TypeProto::kSequenceType:
      return m.types.sequence(from_proto(m, t.sequence_type().elem_type()));
    case onnx::TypeProto::kOptionalType:
      return m.types.optional(from_proto(m, t.optional_type().elem_type()));
    case onnx::TypeProto::kMapType:
      return m.types.map(elem(t.map_type().key_type()), from_proto(m, t.map_type().value_type()));
    default: return m.types.unknown();
  }
}

bool to_proto(const Model& m, const Attr& a, std::string_view name, onnx::AttributeProto& out) {
  if (a.kind == AttrKind::Graph || a.kind == AttrKind::Graphs) return false;
  if (!a.proto.empty() && !out.ParseFromArray(a.proto.data(), static_cast<int>(a.proto.size()))) return false;
  if (a.proto.empty()) {
    out.set_type(static_cast<onnx::AttributeProto_AttributeType>(a.kind));
    switch (a.kind) {
      case AttrKind::Float: out.set_f(a.f); break;
      case AttrKind::Int: out.set_i(a.i); break;
      case AttrKind::String: out.set_s(std::string(a.s)); break;
      case AttrKind::Ints:
        for (const auto v : a.ints) out.add_ints(v);
        break;
      case AttrKind::Floats:
        for (const auto v : a.floats) out.add_floats(v);
        break;
      case AttrKind::Strings:
        for (const auto v : a.strings) out.add_strings(std::string(v));
        break;
      case AttrKind::Tensor: {
        if (!a.tensor) return false;  // a reference to a function's attribute, or none was given
        const Tensor& t = m.tensor(a.tensor);
        auto* p = out.mutable_t();
        p->set_data_type(static_cast<int>(t.dtype));
        for (const auto d : t.dims) p->add_dims(d);
        if (const auto raw = m.raw(a.tensor); raw && t.elements <= kMaxConstant)
          p->set_raw_data(raw->data(), raw->size());
        break;
      }
      default: return false;
    }
  }
  out.set_name(std::string(name));
  out.clear_ref_attr_name();
  return true;
}

bool has_narrow_numbers(const Model& m, NodeId n) {
  using Narrow = std::numeric_limits<std::int32_t>;
  return m.kind(n) == OpKind::Constant || std::ranges::none_of(m.attrs(n), [](const Attr& a) {
           return a.kind == AttrKind::Int && (a.i < Narrow::min() || a.i > Narrow::max());
         });
}

bool succeeds(const onnx::InferenceFunction& infer, onnx::InferenceContext& context) {
  try {
    infer(context);
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

SchemaFunctions::Function& SchemaFunctions::find(OpId op, int version) {
  const auto [it, added] = functions.try_emplace(SchemaKey{op, version});
  if (!added) return it->second;
  if (by_name.empty())
    for (const SchemaEntry& e : kSchemas) by_name[e.name].push_back(&e);
  const std::string_view domain = m.text(m.op(op).domain), name = m.text(m.op(op).type);
  const SchemaEntry* best = nullptr;
  if (const auto entries = by_name.find(name); entries != by_name.end())
    for (const SchemaEntry* e : entries->second)
      if (e->domain == domain && e->version <= version && (!best || best->version < e->version)) best = e;
  if (!best) return it->second;
  auto schema = schemas.find(best);
  if (schema == schemas.end()) schema = schemas.emplace(best, best->make()).first;
  if (schema->second.has_type_and_shape_inference_function())
    it->second.infer = schema->second.GetTypeAndShapeInferenceFunction();
  it->second.schema = &schema->second;
  for (const auto& formal : schema->second.inputs())
    it->second.required.push_back(formal.GetOption() == onnx::OpSchema::Single);
  return it->second;
}

}  // namespace onnx_functions

using namespace onnx_functions;

namespace {

// Returns a without what b contradicts: the type where the element types differ, the dims where the ranks do,
// and each extent that is another number in b.
TypeId without_contradicted(Model& m, TypeId a, TypeId b) {
  const Type x = m.types[a], y = m.types[b];  // copies: the pool grows below
  if (x.kind != TypeKind::Tensor || y.kind != TypeKind::Tensor) return a;
  if (x.elem != y.elem && y.elem != DType::Undefined) return {};
  if (!x.has_rank || !y.has_rank) return a;
  if (x.dims.size() != y.dims.size()) return m.types.tensor(x.elem);
  std::vector<DimId> dims(x.dims.begin(), x.dims.end());
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const auto p = dims[i] ? m.dims.value(dims[i]) : std::nullopt;
    const auto q = y.dims[i] ? m.dims.value(y.dims[i]) : std::nullopt;
    if (p && q && *p != *q) dims[i] = {};
  }
  return m.types.tensor(x.elem, dims);
}

// --- the context of one node -------------------------------------------------------------------------------

// What a function gets for an attribute that the node has not.
enum class Absent : std::uint8_t {
  Default,  // the schema's default, as in ONNX Runtime
  Nothing,  // as in onnx's checker
};

class Context final : public onnx::InferenceContext {
 public:
  Context(NodeContext& c, const onnx::OpSchema& schema, Absent absent)
      : c_(c),
        schema_(schema),
        absent_(absent),
        inputs_(c.input_count()),
        outputs_(c.output_count()),
        tensors_(c.input_count()),
        shapes_(c.input_count()) {
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      if (c.has(i)) to_proto(c.m, c.type(i), inputs_[i]);
  }

  const onnx::AttributeProto* getAttribute(const std::string& name) const override {
    for (const auto& [known, proto] : attributes_)
      if (known == name) return proto ? &*proto : nullptr;
    const Attr* a = c_.attr(std::string_view(name));
    auto& slot = attributes_.emplace_back(name, std::nullopt).second;
    onnx::AttributeProto proto;
    if (a) {
      if (to_proto(c_.m, *a, name, proto)) slot = std::move(proto);
    } else if (const auto it = schema_.attributes().find(name);
               it != schema_.attributes().end() &&
               it->second.default_value.type() != onnx::AttributeProto::UNDEFINED) {
      took_default_ = true;
      if (absent_ == Absent::Default) {
        slot = it->second.default_value;
        slot->set_name(name);
      }
    }
    return slot ? &*slot : nullptr;
  }
  std::size_t getNumInputs() const override { return inputs_.size(); }
  // Null for an empty slot. An operand of unknown type has an empty one, since many functions read the type
  // of a required operand without a look at the pointer.
  const onnx::TypeProto* getInputType(std::size_t i) const override {
    require(i < inputs_.size());
    return c_.has(i) ? &inputs_[i] : nullptr;
  }
  bool hasInput(std::size_t i) const override { return c_.has(i); }
  const onnx::TensorProto* getInputData(std::size_t i) const override {
    if (i >= inputs_.size() || !c_.has(i)) return nullptr;
    if (tensors_[i]) return &*tensors_[i];
    onnx::TensorProto t;
    if (!constant(i, t)) return nullptr;
    tensors_[i] = std::move(t);
    return &*tensors_[i];
  }
  const onnx::SparseTensorProto* getInputSparseData(std::size_t) const override { return nullptr; }
  const onnx::TensorShapeProto* getSymbolicInput(std::size_t i) const override {
    const SymbolicTensor* t = i < inputs_.size() ? c_.sym(i) : nullptr;
    if (!t || t->dims.size() > 1 || (t->dtype != DType::Int64 && t->dtype != DType::Int32)) return nullptr;
    if (!shapes_[i]) {
      onnx::TensorShapeProto shape;
      for (const DimId d : t->elements) to_dim(c_.dims, d, *shape.add_dim());
      shapes_[i] = std::move(shape);
    }
    return &*shapes_[i];
  }
  std::size_t getNumOutputs() const override { return outputs_.size(); }
  onnx::TypeProto* getOutputType(std::size_t i) override {
    require(i < outputs_.size());
    return &outputs_[i];
  }
  bool hasOutput(std::size_t i) override { return c_.has_output(i); }
  onnx::GraphInferencer* getGraphAttributeInferencer(const std::string&) override { return nullptr; }

  const onnx::TypeProto& output(std::size_t i) const { return outputs_[i]; }
  // Returns true if the function asked for an attribute that the node has not and whose schema has a default.
  bool took_default() const { return took_default_; }

 private:
  bool constant(std::size_t i, onnx::TensorProto& out) const {
    if (const TensorId id = c_.m.constant_of(c_.in(i))) {
      const Tensor& t = c_.m.tensor(id);
      if (t.elements > kMaxConstant || t.dtype == DType::String) return false;
      const auto raw = c_.m.raw(id);
      if (!raw) return false;
      out.set_data_type(static_cast<int>(t.dtype));
      for (const auto d : t.dims) out.add_dims(d);
      out.set_raw_data(raw->data(), raw->size());
      return true;
    }
    const SymbolicTensor* t = c_.sym(i);
    const auto values =
        t && (t->dtype == DType::Int64 || t->dtype == DType::Int32) ? c_.ints(i) : std::nullopt;
    if (!values) return false;
    out.set_data_type(static_cast<int>(t->dtype));
    for (const auto d : t->dims) out.add_dims(d);
    for (const auto v : *values) {
      if (t->dtype == DType::Int64) out.add_int64_data(v);
      else out.add_int32_data(static_cast<std::int32_t>(v));
    }
    return true;
  }

  // Ends the function when it asks for an operand or result that the node has not, as onnx's own context
  // does: functions do not look at the pointers.
  static void require(bool there) {
    if (!there) throw std::out_of_range("the node has no such operand or result");
  }

  NodeContext& c_;
  const onnx::OpSchema& schema_;
  Absent absent_;
  mutable bool took_default_ = false;
  std::vector<onnx::TypeProto> inputs_, outputs_;
  mutable std::vector<std::optional<onnx::TensorProto>> tensors_;
  mutable std::vector<std::optional<onnx::TensorShapeProto>> shapes_;
  mutable std::list<std::pair<std::string, std::optional<onnx::AttributeProto>>> attributes_;
};

}  // namespace

int schema_version(std::string_view domain, std::string_view name, std::int64_t imported) {
  int best = 0;
  for (const SchemaEntry& e : kSchemas)
    if (e.version > best && e.version <= imported && e.name == name && e.domain == domain) best = e.version;
  return best;
}

struct OnnxRules::State : SchemaFunctions {
  using SchemaFunctions::SchemaFunctions;
};

OnnxRules::OnnxRules(Model& model) : s_(std::make_unique<State>(model)) {}
OnnxRules::~OnnxRules() = default;

void OnnxRules::infer(NodeContext& c) {
  // The functions throw on models that are wrong and on input that they do not expect: then nothing is known.
  try {
    SchemaFunctions::Function& f = s_->find(c.m.node(c.n).op, c.opset());
    if (!f.infer || !has_narrow_numbers(c.m, c.n)) return;
    // A runtime refuses a node without a required operand. Many functions read the type of an operand without
    // asking whether it is there, and known.
    for (std::size_t i = 0; i < f.required.size(); ++i)
      if (f.required[i] && !c.has(i)) return;
    Context context(c, *f.schema, Absent::Default);
    for (std::size_t i = 0; i < c.input_count(); ++i)
      if (c.has(i) && context.getInputType(i) == nullptr) return;
    f.infer(context);
    // Some functions assume another default than the schema's: that of STFT takes an absent `onesided` for 0.
    // The checker, which hands nothing over, then refuses a file that states what the runtime gives.
    std::optional<Context> bare;
    if (context.took_default()) {
      bare.emplace(c, *f.schema, Absent::Nothing);
      if (!succeeds(f.infer, *bare)) bare.reset();
    }
    for (std::size_t i = 0; i < c.output_count(); ++i) {
      if (!c.has_output(i)) continue;
      TypeId t = from_proto(c.m, context.output(i));
      if (bare) t = without_contradicted(c.m, t, from_proto(c.m, bare->output(i)));
      c.set(i, c.s.name_unknown_dims(t, c.m.output(c.n, i)));
    }
  } catch (const std::exception&) {
    return;
  }
}

}  // namespace graphopt
