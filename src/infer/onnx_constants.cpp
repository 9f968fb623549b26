// Which values nodes may not read as constants, by onnx's own functions (refused_constants.h).
#include <algorithm>
#include <deque>
#include <stdexcept>
#include <string>
#include <unordered_map>

#include "infer/onnx_answers.h"
#include "infer/refused_constants.h"
#include "ops/facts_constants.h"
#include "ops/node_facts.h"

namespace graphopt {

using namespace onnx_functions;

namespace {

// Returns whether the node is in a body in which no operand can be hidden (rewrite/hide_types.h).
bool has_no_sequences(const Model& m, NodeId n) {
  return in_body(m, n) && m.opset(m.node(n).graph, NameId{std::uint32_t{0}}) < 11;
}

}  // namespace

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
      const std::shared_ptr<Answer> answer = answers.ask(m, n, *f, operands);
      by_types = !answer->reads_elements;
      if (!answer->taken || answer->axis_refused) return true;
      const bool of_types = by_types;
      const bool refused =
          readers && (a_reader_refuses(n, *answer) || downstream_refuses(n, answer->results));
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

  bool a_reader_refuses(NodeId n, const Answer& answer) {
    for (std::size_t i = 0; i < m.output_count(n); ++i) {
      const ValueId v = m.output(n, i);
      const onnx::TypeProto& type = answer.results[i];
      if (!v || !type.has_tensor_type() || !type.tensor_type().has_shape()) continue;
      SeenOperand now;
      now.proto = &type;
      now.source = answer.source + i;
      for (UseId u = m.first_use(v); u; u = m.next_use(u))
        if (need_not_fail(m.user(u)) && refuses(m.user(u), v, now, false)) return true;
    }
    return false;
  }

  // The same of all nodes downstream, in bodies in which nothing can be hidden at the end. Beyond the limit
  // the answer is yes.
  bool downstream_refuses(NodeId n, std::span<const onnx::TypeProto> results) {
    constexpr std::size_t kMostNodes = 64;
    std::unordered_map<ValueId, onnx::TypeProto> known;
    std::deque<NodeId> pending;
    const auto note = [&](NodeId made, std::span<const onnx::TypeProto> types) {
      for (std::size_t i = 0; i < m.output_count(made); ++i) {
        const ValueId v = m.output(made, i);
        const onnx::TypeProto& type = types[i];
        if (!v || !type.has_tensor_type() || !type.tensor_type().has_shape()) continue;
        known[v] = type;
        for (UseId u = m.first_use(v); u; u = m.next_use(u))
          if (has_no_sequences(m, m.user(u))) pending.push_back(m.user(u));
      }
    };
    note(n, results);
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
      if (!succeeds(f->infer, types) || refuses_axis(m, reader, operands)) return true;
      note(reader, types.outputs());
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
  Answers answers;
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

}  // namespace graphopt
