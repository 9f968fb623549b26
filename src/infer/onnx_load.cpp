// What a runtime infers when it loads a model: the policy on constants and operands (refused_constants.h) and
// the nodes at which it would refuse the model (refused_nodes.h).
#include <algorithm>
#include <deque>
#include <stdexcept>
#include <string>
#include <unordered_map>

#include "infer/context.h"
#include "infer/merged_branches.h"
#include "infer/onnx_schemas.h"
#include "infer/refused_constants.h"
#include "infer/refused_nodes.h"
#include "ir/bodies.h"
#include "ops/constants.h"
#include "ops/facts_constants.h"
#include "ops/node_facts.h"

namespace graphopt {

using namespace onnx_functions;

namespace {

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

  const onnx::TypeProto& output(std::size_t i) const { return outputs_[i]; }
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

// Bodies of the node itself would have to be inferred, and a call's attributes are known at the call alone.
bool may_be_asked(const Model& m, NodeId n) {
  if (m.is_return(n) || m.kind(n) == OpKind::FunctionCall) return false;
  return facts_of(m, n).purity != Purity::ControlFlow &&
         std::ranges::none_of(m.attrs(n), [](const Attr& a) { return a.ref.valid() && a.ref != NameId{}; });
}

// Returns the function of a node that has all operands which it needs; null where there is none.
const SchemaFunctions::Function* function_of(SchemaFunctions& functions, const Model& m, NodeId n) {
  const SchemaFunctions::Function& f = functions.find(m.node(n).op, static_cast<int>(m.opset(n)));
  bool complete = f.schema != nullptr && f.infer;
  for (std::size_t i = 0; i < f.required.size(); ++i) complete &= !f.required[i] || m.input(n, i);
  return complete ? &f : nullptr;
}

// Many functions take an operand of unknown type for one of a wrong type.
bool all_known(const Model& m, std::span<const SeenOperand> operands) {
  return std::ranges::all_of(operands, [&m](const SeenOperand& o) {
    return o.constant || o.proto != nullptr || !o.type || m.types[o.type].kind != TypeKind::Unknown;
  });
}

// Returns whether the constant has elements that a function may read.
bool has_payload(const Model& m, TensorId t, SeenOperand& out) {
  const Tensor& tensor = m.tensor(t);
  const auto raw = tensor.elements <= kMaxConstant ? m.raw(t) : std::optional<Bytes>();
  if (!raw) return false;
  out = {out.type, true, tensor.dtype, tensor.dims, *raw, nullptr};
  return true;
}

bool in_body(const Model& m, NodeId n) { return m.node(n).graph != m.main(); }

// Returns whether the node is in a body in which no operand can be hidden (rewrite/hide_types.h).
bool has_no_sequences(const Model& m, NodeId n) {
  return in_body(m, n) && m.opset(m.node(n).graph, NameId{std::uint32_t{0}}) < 11;
}

// Kernels take operands without elements that inference refuses: such a node need not fail where it is
// refused.
bool has_empty_operand(const Model& m, const Inference& infer, NodeId n) {
  for (std::size_t i = 0; i < m.input_count(n); ++i) {
    const ValueId v = m.input(n, i);
    if (!v) continue;
    for (const DimId d : infer.dims(v))
      if (m.dims.is_constant(d, 0)) return true;
  }
  return false;
}

}  // namespace

// --- the policy --------------------------------------------------------------------------------------------

struct RefusedConstants::State {
  State(const Model& model, const Inference& inference) : m(model), infer(inference), functions(model) {}

  // Returns whether the function of the node refuses it, were `old` what `now` says, or one of the nodes that
  // read its results: those in bodies, and those with operands without elements. (What is farther away is
  // hidden at the end: refused_nodes.h.)
  bool refuses(NodeId n, ValueId old, const SeenOperand& now, bool readers = true) {
    by_types = true;
    if (!may_be_asked(m, n)) return false;
    try {
      const SchemaFunctions::Function* f = function_of(functions, m, n);
      if (f == nullptr) return false;
      std::vector<SeenOperand> operands(m.input_count(n));
      for (std::size_t i = 0; i < operands.size(); ++i) {
        const ValueId v = m.input(n, i);
        if (!v) continue;
        operands[i] = now;
        if (v == old) continue;
        operands[i] = known_of(v);
      }
      by_types = all_known(m, operands);
      if (!by_types) return false;
      LoadContext context(m, n, *f->schema, operands);
      const bool taken = succeeds(f->infer, context);
      by_types = !context.reads_elements();
      if (!taken) return true;
      const bool of_types = by_types;
      const bool refused = readers && (a_reader_refuses(n, context) || downstream_refuses(n, context));
      by_types = of_types;
      return refused;
    } catch (const std::exception&) {
      return true;
    }
  }

  SeenOperand known_of(ValueId v) const {
    SeenOperand out;
    out.type = infer.type(v);
    if (const TensorId t = m.constant_of(v)) has_payload(m, t, out);
    return out;
  }

  bool a_reader_refuses(NodeId n, const LoadContext& context) {
    for (std::size_t i = 0; i < m.output_count(n); ++i) {
      const ValueId v = m.output(n, i);
      const onnx::TypeProto& type = context.output(i);
      if (!v || !type.has_tensor_type() || !type.tensor_type().has_shape()) continue;
      SeenOperand now;
      now.proto = &type;
      for (UseId u = m.first_use(v); u; u = m.next_use(u))
        if (need_not_fail(m.user(u)) && refuses(m.user(u), v, now, false)) return true;
    }
    return false;
  }

  // The same of all nodes downstream, in bodies in which nothing can be hidden at the end. Beyond the limit
  // the answer is yes.
  bool downstream_refuses(NodeId n, const LoadContext& context) {
    constexpr std::size_t kMostNodes = 64;
    std::unordered_map<ValueId, onnx::TypeProto> known;
    std::deque<NodeId> pending;
    const auto note = [&](NodeId made, const LoadContext& types) {
      for (std::size_t i = 0; i < m.output_count(made); ++i) {
        const ValueId v = m.output(made, i);
        const onnx::TypeProto& type = types.output(i);
        if (!v || !type.has_tensor_type() || !type.tensor_type().has_shape()) continue;
        known[v] = type;
        for (UseId u = m.first_use(v); u; u = m.next_use(u))
          if (has_no_sequences(m, m.user(u))) pending.push_back(m.user(u));
      }
    };
    note(n, context);
    for (std::size_t asked = 0; !pending.empty(); pending.pop_front()) {
      const NodeId reader = pending.front();
      if (!may_be_asked(m, reader)) continue;
      const SchemaFunctions::Function* f = function_of(functions, m, reader);
      if (f == nullptr) continue;
      if (++asked > kMostNodes) return true;
      std::vector<SeenOperand> operands(m.input_count(reader));
      for (std::size_t i = 0; i < operands.size(); ++i) {
        const ValueId v = m.input(reader, i);
        if (!v) continue;
        operands[i] = known_of(v);
        if (const auto it = known.find(v); it != known.end()) operands[i].proto = &it->second;
      }
      if (!all_known(m, operands)) continue;
      LoadContext types(m, reader, *f->schema, operands);
      if (!succeeds(f->infer, types)) return true;
      note(reader, types);
    }
    return false;
  }

  // To ask a node costs as much as it has operands. One with many is asked as it is, and the answer holds for
  // as many operands that give way to others of the same type: each rewrite costs a constant.
  struct Wide {
    std::uint64_t changes = 0;  // of inference, when the questions began
    std::size_t left = 0;       // questions that the answers may be given to
    std::optional<bool> empty_operand;
    std::optional<bool> refused;
    bool by_types = false;  // `refused` depends on the types of the operands alone
  };

  // Returns null for a node that is not wide.
  Wide* wide_node(NodeId n) {
    constexpr std::size_t kWide = 8;
    if (m.input_count(n) <= kWide) return nullptr;
    Wide& w = wide[n];
    const std::uint64_t changes = infer.changes() + m.dims.epoch();
    if (w.left == 0 || w.changes != changes) w = {changes, m.input_count(n), {}, {}, false};
    --w.left;
    return &w;
  }
  bool has_empty(Wide& w, NodeId n) const {
    if (!w.empty_operand) w.empty_operand = has_empty_operand(m, infer, n);
    return *w.empty_operand;
  }
  // Returns whether the node may be one that runs, or that no run reaches, though inference refuses it.
  bool need_not_fail(NodeId n) {
    if (in_body(m, n)) return true;
    Wide* w = wide_node(n);
    return w ? has_empty(*w, n) : has_empty_operand(m, infer, n);
  }
  // Returns nothing for a node that has to be asked about each operand.
  std::optional<bool> refuses_as_it_is(Wide& w, NodeId n) {
    if (!w.refused) {
      w.refused = refuses(n, ValueId{}, {});
      w.by_types = by_types;
    }
    return w.by_types ? w.refused : std::nullopt;
  }

  bool has_type_of(const AssumedConstant& constant) const {
    const Type& t = infer.type_of(constant.value);
    if (t.kind != TypeKind::Tensor || !t.has_rank || t.elem != constant.type) return false;
    return std::ranges::equal(t.dims, constant.dims,
                              [this](DimId a, std::int64_t b) { return m.dims.is_constant(a, b); });
  }

  const Model& m;
  const Inference& infer;
  SchemaFunctions functions;
  bool by_types = false;  // the last answer of refuses() depends on the types of the operands alone
  std::unordered_map<NodeId, Wide> wide;
};

RefusedConstants::RefusedConstants(const Model& model, const Inference& infer)
    : s_(std::make_unique<State>(model, infer)) {}
RefusedConstants::~RefusedConstants() = default;

bool RefusedConstants::refuses(const AssumedConstant& constant) const {
  for (UseId u = s_->m.first_use(constant.value); u; u = s_->m.next_use(u))
    if (refuses_at(u, constant)) return true;
  return false;
}

bool RefusedConstants::may_read(const Model& m, UseId use, ValueId v) const {
  const NodeId reader = m.user(use);
  const ValueId old = m.input(reader, m.slot(use));
  if (!v || !old || m.is_return(reader)) return true;
  const TensorId t = m.constant_of(v);
  SeenOperand now;
  now.type = s_->infer.type(v);
  if (t && !m.constant_of(old) && has_payload(m, t, now))
    return !refuses_at(use, {old, now.dtype, now.dims, now.raw});
  if (State::Wide* w = now.type == s_->infer.type(old) ? s_->wide_node(reader) : nullptr) {
    if (!in_body(m, reader) && !s_->has_empty(*w, reader)) return true;
    if (const std::optional<bool> refused = s_->refuses_as_it_is(*w, reader)) return !*refused;
  }
  if (!in_body(m, reader) && !has_empty_operand(m, s_->infer, reader)) return true;
  if (t) has_payload(m, t, now);
  return !s_->refuses(reader, old, now);
}

bool RefusedConstants::refuses_at(UseId use, const AssumedConstant& constant) const {
  const Model& m = s_->m;
  const NodeId reader = m.user(use);
  if (!takes_constant(facts_of(m, reader).kind, m.slot(use), constant.type)) return true;
  if (State::Wide* w = s_->has_type_of(constant) ? s_->wide_node(reader) : nullptr)
    if (const std::optional<bool> refused = s_->refuses_as_it_is(*w, reader)) return *refused;
  return s_->refuses(reader, constant.value,
                     {TypeId{}, true, constant.type, constant.dims, constant.raw, nullptr});
}

// --- the whole model ---------------------------------------------------------------------------------------

namespace {

// Returns a with the numbers of b where a has none.
TypeId with_numbers(Model& m, TypeId a, TypeId b) {
  const Type x = m.types[a], y = m.types[b];  // copies: the pool grows below
  if (x.kind == TypeKind::Unknown || y.kind == TypeKind::Unknown) return x.kind == TypeKind::Unknown ? b : a;
  if (x.kind != TypeKind::Tensor || y.kind != TypeKind::Tensor || !y.has_rank) return a;
  if (!x.has_rank) return m.types.tensor(x.elem, y.dims);
  if (x.dims.size() != y.dims.size()) return a;
  std::vector<DimId> dims(x.dims.begin(), x.dims.end());
  for (std::size_t i = 0; i < dims.size(); ++i)
    if (y.dims[i] && m.dims.value(y.dims[i]) && !(dims[i] && m.dims.value(dims[i]))) dims[i] = y.dims[i];
  return m.types.tensor(x.elem, dims);
}

constexpr int kMostCalls = 100;  // in one another, as inference follows them

class AsLoaded {
 public:
  AsLoaded(Model& m, const Inference& infer, const LoadQuestion& question)
      : m_(m),
        infer_(infer),
        question_(question),
        functions_(m),
        types_(m.value_count()),
        known_(m.value_count(), false),
        written_(m.value_count()),
        all_folds_(question.whole) {
    for (std::size_t i = 0; i < m.value_count(); ++i) {
      const Value& v = m.value(ValueId{i});
      if (v.alive && v.declared && (v.is_input || !v.info_stale)) written_[i] = v.declared;
    }
    for (const StatedAs& s : question.stated)
      written_[s.value.index()] = s.keeps_dims ? with_numbers(m, s.type, written_[s.value.index()]) : s.type;
    for (std::size_t i = 0; i < m.node_count(); ++i) {
      const NodeId n{i};
      if (!m.alive(n) || m.kind(n) != OpKind::FunctionCall) continue;
      called_in_bodies_ = called_in_bodies_ || in_body(m, n);
      const auto parameters = m.graph_inputs(m.function(m.op(n).function).body);
      for (std::size_t k = 0; k < parameters.size() && k < m.input_count(n); ++k) {
        ValueId& passed = passed_[parameters[k]];
        if (!passed || !m.constant_of(passed)) passed = m.input(n, k);
      }
    }
  }

  // Asks nodes in bodies, or in one graph and those around it, with all that inference knows.
  bool any_suspect(GraphId innermost = {}) {
    for (std::size_t i = 0; i < m_.value_count(); ++i)
      if (m_.alive(ValueId{i})) types_[i] = stronger(ValueId{i});
    known_.assign(m_.value_count(), true);
    all_folds_ = true;
    bool found = false;
    each_node([&](NodeId n) {
      const bool asked = innermost ? m_.inside(innermost, m_.node(n).graph) : is_wanted(n);
      found = found || (asked && refuses(n, {}));
    });
    return found;
  }

  std::vector<RefusedNode> refused() {
    for (std::size_t i = 0; i < m_.value_count(); ++i) {
      const ValueId v{i};
      if (m_.alive(v)) types_[i] = m_.value(v).def ? TypeId{} : assumed(v);
    }
    each_node([this](NodeId n) { visit(n); });
    if (question_.least)
      each_node([this](NodeId n) {
        if (merges_branches(m_, n) && !are_merged(m_, n, types_, written_)) found_.push_back({n, {}, false});
      });
    return std::move(found_);
  }

 private:
  template <class F> void each_node(F f) {
    for (std::size_t g = 0; g < m_.graph_count(); ++g) {  // outer graphs have smaller numbers
      if (!m_.graph(GraphId{g}).alive || !is_reached(GraphId{g})) continue;
      for (NodeId n = m_.first_node(GraphId{g}); n; n = m_.next_node(n)) f(n);
    }
  }

  // What a function that only the main graph calls computes is computed in every run.
  bool is_reached(GraphId g) const { return called_in_bodies_ || !is_in_function(m_, g); }

  TypeId stronger(ValueId v) { return with_numbers(m_, infer_.type(v), written_[v.index()]); }

  // Returns the type of a value that no function gives.
  TypeId assumed(ValueId v) {
    const bool constant = m_.constant_of(v).valid();
    return question_.least && !constant ? written_[v.index()] : stronger(v);
  }

  bool is_wanted(NodeId n) const {
    return in_body(m_, n) || question_.whole || has_empty_operand(m_, infer_, n);
  }

  // Returns the operands of n, with nothing but the element types of those that are hidden.
  std::vector<SeenOperand> operands_of(NodeId n, std::span<const ValueId> hidden) {
    std::vector<SeenOperand> out(m_.input_count(n));
    for (std::size_t i = 0; i < out.size(); ++i) {
      const ValueId v = m_.input(n, i);
      if (!v) continue;
      out[i].type = types_[v.index()];
      if (std::ranges::find(hidden, v) != hidden.end()) {
        out[i].type = m_.types.tensor(infer_.dtype(v));
        continue;
      }
      take_elements(v, out[i]);
    }
    return out;
  }

  // What a call passes to a function is known in the function. Of several calls one counts that passes a
  // constant.
  void take_elements(ValueId v, SeenOperand& out) {
    for (int depth = 0; v && depth < kMostCalls; ++depth) {
      if (const TensorId t = m_.constant_of(v)) return void(has_payload(m_, t, out));
      if (known_[v.index()]) take_numbers(v, out);
      const auto it = passed_.find(v);
      if (out.constant || out.carried || it == passed_.end()) return;
      v = it->second;
    }
  }

  void take_numbers(ValueId v, SeenOperand& out) {
    const SymbolicTensor* s = infer_.symbolic(v);
    auto numbers = s ? infer_.integers(v) : std::nullopt;
    if (!numbers) return;
    if (!all_folds_) {  // a runtime carries no empty lists
      if (!numbers->empty() && s->dims.size() <= 1 && (s->dtype == DType::Int64 || s->dtype == DType::Int32))
        out.carried = std::move(numbers);
      return;
    }
    auto raw = int_payload(s->dtype, *numbers);
    if (!raw) return;
    payloads_.push_back(*std::move(raw));
    out = {out.type, true, s->dtype, s->dims, payloads_.back(), nullptr};
  }

  // Returns whether the function of n refuses it; sets `results` to the types that it gives otherwise.
  bool refuses(NodeId n, std::span<const ValueId> hidden, std::vector<TypeId>* results = nullptr) {
    if (!may_be_asked(m_, n)) return false;
    const SchemaFunctions::Function* f = function_of(functions_, m_, n);
    if (f == nullptr) return false;
    const std::vector<SeenOperand> operands = operands_of(n, hidden);
    if (!all_known(m_, operands)) return false;
    try {
      LoadContext context(m_, n, *f->schema, operands);
      if (!succeeds(f->infer, context)) return true;
      if (results == nullptr) return false;
      for (std::size_t i = 0; i < m_.output_count(n); ++i)
        results->push_back(from_proto(m_, context.output(i)));
    } catch (const std::exception&) {  // an attribute that cannot be read
    }
    return false;
  }

  void visit(NodeId n) {
    std::vector<TypeId> results;
    if (refuses(n, {}, &results)) {
      RefusedNode found{n, operands_to_hide(n), !in_body(m_, n) && !has_empty_operand(m_, infer_, n)};
      if (!found.hide.empty()) refuses(n, found.hide, &results);
      if (is_wanted(n)) found_.push_back(std::move(found));
    }
    // What follows from a number that is bound now, a runtime may fold that did not do so before.
    const bool known = question_.whole || (!question_.least && carries_numbers(n));
    for (std::size_t i = 0; i < m_.output_count(n); ++i) {
      const ValueId v = m_.output(n, i);
      if (!v) continue;
      // Types in functions are those that inference found for their calls.
      const bool inferred = !question_.least && is_in_function(m_, m_.value(v).graph);
      const TypeId beside = inferred ? infer_.type(v) : written_[v.index()];
      types_[v.index()] = results.empty() ? assumed(v) : with_numbers(m_, results[i], beside);
      known_[v.index()] = known;
    }
  }

  // Returns whether a runtime may compute the small integers that n gives: from constants and extents, by
  // operators for which onnx says how.
  bool carries_numbers(NodeId n) {
    if (!may_be_asked(m_, n)) return false;
    const SchemaFunctions::Function* f = function_of(functions_, m_, n);
    if (f == nullptr || !f->schema->has_data_propagation_function()) return false;
    const OpKind kind = m_.kind(n);
    for (std::size_t i = 0; i < m_.input_count(n); ++i) {
      const ValueId v = m_.input(n, i);
      if (!v || m_.constant_of(v) || known_[v.index()]) continue;
      if (kind != OpKind::Shape && kind != OpKind::Size) return false;
      if (!m_.types[types_[v.index()]].has_rank) return false;
    }
    return true;
  }

  // Returns as few operands as it takes, computed ones before constants.
  std::vector<ValueId> operands_to_hide(NodeId n) {
    std::vector<ValueId> all;
    for (const bool constants : {false, true})
      for (std::size_t i = 0; i < m_.input_count(n); ++i) {
        const ValueId v = m_.input(n, i);
        if (!v || m_.constant_of(v).valid() != constants || std::ranges::find(all, v) != all.end()) continue;
        if (infer_.type_of(v).kind == TypeKind::Tensor && question_.can_hide(n, v)) all.push_back(v);
      }
    for (const ValueId v : all)
      if (!refuses(n, std::span(&v, 1))) return {v};
    for (std::size_t count = 2; count <= all.size(); ++count)
      if (!refuses(n, std::span(all).first(count)))
        return {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count)};
    return {};
  }

  Model& m_;
  const Inference& infer_;
  const LoadQuestion& question_;
  SchemaFunctions functions_;
  std::vector<TypeId> types_;  // by value: what the runtime knows
  std::vector<bool> known_;    // by value: and its elements, if inference does
  std::vector<TypeId> written_;
  std::unordered_map<ValueId, ValueId> passed_;  // by parameter of a function
  std::deque<std::string> payloads_;
  std::vector<RefusedNode> found_;
  bool called_in_bodies_ = false;
  bool all_folds_;  // what inference knows of elements counts as constants
};

}  // namespace

std::vector<RefusedNode> refused_at_load(Model& m, const Inference& infer, const LoadQuestion& question) {
  const bool merges = question.least && has_merged_branches(m);
  if (!merges && !AsLoaded(m, infer, question).any_suspect()) return {};
  return AsLoaded(m, infer, question).refused();
}

bool any_may_be_refused(Model& m, const Inference& infer) {
  const LoadQuestion question{.stated = {}, .can_hide = {}};
  return AsLoaded(m, infer, question).any_suspect();
}

bool certainly_fails(Model& m, const Inference& infer, GraphId g) {
  const LoadQuestion question{.stated = {}, .can_hide = {}};
  return AsLoaded(m, infer, question).any_suspect(g);
}

}  // namespace graphopt
