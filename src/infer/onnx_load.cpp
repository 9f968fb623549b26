// The nodes at which a runtime refuses a model when it loads it, by onnx's own functions (refused_nodes.h).
#include <algorithm>
#include <deque>
#include <optional>
#include <stdexcept>
#include <string>
#include <unordered_map>

#include "infer/merged_branches.h"
#include "infer/onnx_answers.h"
#include "infer/refused_nodes.h"
#include "ir/bodies.h"
#include "ops/constants.h"
#include "ops/node_facts.h"

namespace graphopt {

using namespace onnx_functions;

namespace {

// Returns a with the numbers of b where a has none.
TypeId with_numbers(Model& m, TypeId a, TypeId b) {
  if (a == b) return a;
  const Type x = m.types[a], y = m.types[b];  // copies: the pool grows below
  if (x.kind == TypeKind::Unknown || y.kind == TypeKind::Unknown) return x.kind == TypeKind::Unknown ? b : a;
  if (x.kind != TypeKind::Tensor || y.kind != TypeKind::Tensor || !y.has_rank) return a;
  if (!x.has_rank) return m.types.tensor(x.elem, y.dims);
  if (x.dims.size() != y.dims.size()) return a;
  const auto better = [&](std::size_t i) {
    return x.dims[i] != y.dims[i] && y.dims[i] && m.dims.value(y.dims[i]) &&
           !(x.dims[i] && m.dims.value(x.dims[i]));
  };
  std::size_t first = 0;
  while (first < x.dims.size() && !better(first)) ++first;
  if (first == x.dims.size()) return a;
  std::vector<DimId> dims(x.dims.begin(), x.dims.end());
  for (std::size_t i = first; i < dims.size(); ++i)
    if (better(i)) dims[i] = y.dims[i];
  return m.types.tensor(x.elem, dims);
}

// Returns the type of a node's result as ONNX Runtime keeps it: it forgets the dims of the tensors in a
// sequence.
TypeId as_kept(Model& m, TypeId result) {
  const Type t = m.types[result];  // copies: the pool grows below
  if (t.kind != TypeKind::Sequence && t.kind != TypeKind::Optional) return result;
  const Type inner = m.types[t.inner];
  if (t.kind == TypeKind::Optional)
    return inner.kind == TypeKind::Sequence ? m.types.optional(as_kept(m, t.inner)) : result;
  return inner.kind == TypeKind::Tensor ? m.types.sequence(m.types.tensor(inner.elem)) : result;
}

constexpr int kMostCalls = 100;  // in one another, as inference follows them

// Returns, by graph, whether it is the main graph, a function that is called from there, also by way of other
// functions, or a body in one of these.
std::vector<bool> called_from_main(const Model& m) {
  std::vector<bool> called(m.graph_count(), m.function_count() == 0);
  std::vector<GraphId> open{m.main()};
  const auto add = [&](GraphId g) {
    if (!called[g.index()]) open.push_back(g);
    called[g.index()] = true;
  };
  called[m.main().index()] = true;
  while (!open.empty()) {
    const GraphId g = open.back();
    open.pop_back();
    for (NodeId n = m.first_node(g); n; n = m.next_node(n)) {
      if (m.kind(n) == OpKind::FunctionCall) add(m.function(m.op(n).function).body);
      for (const Attr& a : m.attrs(n)) std::ranges::for_each(a.graphs, add);
    }
  }
  return called;
}

class AsLoaded {
 public:
  AsLoaded(Model& m, const Inference& infer, const LoadQuestion& question)
      : m_(m),
        infer_(infer),
        question_(question),
        functions_(m),
        called_(called_from_main(m)),
        all_folds_(question.whole || question.folds) {
    for (std::size_t i = 0; i < m.node_count() && m.function_count() > 0; ++i) {
      const NodeId n{i};
      if (!m.alive(n) || !called_[m.node(n).graph.index()]) continue;
      if (facts_of(m, n).kernel_takes_more && is_in_function(m, m.node(n).graph)) asks_functions_ = true;
      if (m.kind(n) != OpKind::FunctionCall) continue;
      asks_functions_ = asks_functions_ || in_body(m, n);
      const auto parameters = m.graph_inputs(m.function(m.op(n).function).body);
      for (std::size_t k = 0; k < parameters.size() && k < m.input_count(n); ++k) {
        ValueId& passed = passed_[parameters[k]];
        if (!passed || !m.constant_of(passed)) passed = m.input(n, k);
      }
    }
  }

  // Asks nodes in bodies, or in one graph and those around it, with all that inference knows and, for bodies,
  // with what onnx's functions find beyond that: of an Expand to numbers that nobody knows they state the
  // extents that are not 1.
  bool any_suspect(GraphId innermost = {}) {
    if (innermost) {  // of any graph
      called_.assign(m_.graph_count(), true);
      asks_functions_ = true;
    }
    bool found = false, any_wanted = innermost.valid();
    each_node([&](NodeId n) { any_wanted = any_wanted || is_wanted(n); });
    if (!any_wanted) return false;  // most models: nothing is made ready for questions
    read_written();
    types_.resize(m_.value_count());
    for (std::size_t i = 0; i < m_.value_count(); ++i)
      if (m_.alive(ValueId{i})) types_[i] = stronger(ValueId{i});
    known_.assign(m_.value_count(), true);
    all_folds_ = true;
    std::vector<TypeId> results;
    each_node([&](NodeId n) {
      if (found) return;
      if (innermost) {
        found = m_.inside(innermost, m_.node(n).graph) && refuses(n, {});
        return;
      }
      const bool wanted = is_wanted(n);
      if (!wanted && !is_open(n)) return;
      results.clear();
      if (refuses(n, {}, &results)) found = wanted;
      else note(n, results);
    });
    return found;
  }

  std::vector<RefusedNode> refused() {
    read_written();
    known_.assign(m_.value_count(), false);
    types_.resize(m_.value_count());
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

  // Sets written_ to what is or will be written of each value.
  void read_written() {
    written_.resize(m_.value_count());
    for (std::size_t i = 0; i < m_.value_count(); ++i) {
      const Value& v = m_.value(ValueId{i});
      if (v.alive && v.declared && (v.is_input || !v.info_stale)) written_[i] = v.declared;
    }
    for (const StatedAs& s : question_.stated) {
      TypeId& written = written_[s.value.index()];
      written = s.keeps_dims ? with_numbers(m_, s.type, written) : s.type;
    }
  }

  // What a function that only the main graph calls computes is computed in every run. A runtime looks at no
  // function that is not called.
  bool is_reached(GraphId g) const {
    return called_[g.index()] && (asks_functions_ || !is_in_function(m_, g));
  }

  TypeId stronger(ValueId v) { return with_numbers(m_, infer_.type(v), written_[v.index()]); }

  // Returns the type of a value that no function gives.
  TypeId assumed(ValueId v) {
    const bool constant = m_.constant_of(v).valid();
    return question_.least && !constant ? written_[v.index()] : stronger(v);
  }

  bool is_wanted(NodeId n) const {
    return in_body(m_, n) || question_.whole || facts_of(m_, n).kernel_takes_more || has_empty(n);
  }

  // The same as has_empty_operand. Each type is looked at once: models have few, and this is asked of all
  // nodes.
  bool has_empty(NodeId n) const {
    for (std::size_t i = 0; i < m_.input_count(n); ++i) {
      const ValueId v = m_.input(n, i);
      if (v && is_empty(infer_.type(v))) return true;
    }
    return false;
  }
  bool is_empty(TypeId type) const {
    if (!type) return false;
    if (type.index() >= empty_.size()) empty_.resize(m_.types.size());
    std::optional<bool>& empty = empty_[type.index()];
    if (!empty) empty = has_zero(m_, m_.types[type]);
    return *empty;
  }

  // Sets operands_ to the operands of n, with nothing but the element types of those that are hidden.
  void see_operands(NodeId n, std::span<const ValueId> hidden) {
    operands_.assign(m_.input_count(n), SeenOperand{});
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      const ValueId v = m_.input(n, i);
      if (!v) continue;
      SeenOperand& out = operands_[i];
      // An invalid type would mean that the node has no such operand, which onnx's function may refuse.
      out.type = types_[v.index()] ? types_[v.index()] : m_.types.unknown();
      if (std::ranges::find(hidden, v) != hidden.end()) {
        out.type = m_.types.tensor(infer_.dtype(v));
        continue;
      }
      take_elements(v, out);
    }
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
    see_operands(n, hidden);
    if (!all_known(m_, operands_)) return false;
    try {
      const std::shared_ptr<Answer> answer = answers_.ask(m_, n, *f, operands_);
      if (!answer->taken || (!question_.least && answer->axis_refused)) return true;
      if (results == nullptr) return false;
      if (answer->types.empty())
        for (const onnx::TypeProto& t : answer->results) answer->types.push_back(from_proto(m_, t));
      *results = answer->types;
    } catch (const std::exception&) {  // an attribute that cannot be read
    }
    return false;
  }

  void visit(NodeId n) {
    std::vector<TypeId> results;
    if (refuses(n, {}, &results)) {
      RefusedNode found{n, operands_to_hide(n),
                        !in_body(m_, n) && !facts_of(m_, n).kernel_takes_more && !has_empty(n)};
      if (!found.hide.empty()) refuses(n, found.hide, &results);
      if (is_wanted(n)) found_.push_back(std::move(found));
    }
    // What follows from a number that is bound now, a runtime may fold that did not do so before.
    const bool known = all_folds_ || (!question_.least && carries_numbers(n));
    for (std::size_t i = 0; i < m_.output_count(n); ++i) {
      const ValueId v = m_.output(n, i);
      if (!v) continue;
      // Types in functions are those that inference found for their calls.
      const bool inferred = !question_.least && is_in_function(m_, m_.value(v).graph);
      const TypeId beside = inferred ? infer_.type(v) : written_[v.index()];
      types_[v.index()] = results.empty() ? assumed(v) : with_numbers(m_, as_kept(m_, results[i]), beside);
      known_[v.index()] = known;
    }
  }

  // Returns whether inference has no formula for an extent of a result of n.
  bool is_open(NodeId n) const {
    return std::ranges::any_of(m_.outputs(n), [this](ValueId v) {
      const Type& t = m_.types[v ? types_[v.index()] : TypeId{}];
      const auto linked = [this](DimId d) { return d && m_.dims.linked(d); };
      return v && (t.kind != TypeKind::Tensor || !t.has_rank || !std::ranges::all_of(t.dims, linked));
    });
  }

  // Adds to the types of n's results what its function found.
  void note(NodeId n, std::span<const TypeId> results) {
    for (std::size_t i = 0; i < results.size(); ++i)
      if (const ValueId v = m_.output(n, i))
        types_[v.index()] = with_numbers(m_, types_[v.index()], as_kept(m_, results[i]));
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
  Answers answers_;
  std::vector<SeenOperand> operands_;            // of the node that is asked
  std::vector<TypeId> types_;                    // by value: what the runtime knows
  std::vector<bool> known_;                      // by value: and its elements, if inference does
  std::vector<TypeId> written_;                  // by value
  std::vector<bool> called_;                     // by graph: the main graph needs it
  std::unordered_map<ValueId, ValueId> passed_;  // by parameter of a function
  std::deque<std::string> payloads_;
  std::vector<RefusedNode> found_;
  mutable std::vector<std::optional<bool>> empty_;  // by type: it has an extent that is 0
  bool asks_functions_ = false;  // they are called in bodies, or hold nodes of which kernels take more
  bool all_folds_;               // what inference knows of elements counts as constants
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
