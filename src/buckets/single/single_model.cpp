#include "buckets/single/single_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "buckets/single/branch_shapes.h"
#include "buckets/single/bucket_cells.h"
#include "buckets/single/dispatcher.h"
#include "buckets/single/shared_constants.h"
#include "ir/copy.h"
#include "ir/restate.h"
#include "ops/hidden_operators.h"
#include "ops/node_facts.h"
#include "support/known_names.h"

namespace graphopt {
namespace {

Error problem(ErrorKind kind, const Model& m, std::string what, std::string remedy = {}) {
  return {kind, {m.file, {}, {}, {}, {}}, std::move(what), std::move(remedy)};
}

constexpr std::string_view kSeparately = "write a model per bucket";

class Builder {
 public:
  Builder(const Model& dynamic, const DispatchPlan& plan, std::span<const BucketModel> buckets)
      : dynamic_(dynamic),
        plan_(plan),
        buckets_(buckets),
        m_(dynamic.clone()),
        pool_(plan.dims.clone()),
        constants_(m_) {}

  Result<Model> run();

 private:
  std::optional<Error> refused() const;
  std::optional<Error> import_domains(const Model& bucket);
  void empty_main();
  std::optional<Error> dispatch();
  GraphId branch(NodeId owner, NameId attribute, std::string_view name);
  void set_branches(NodeId n, GraphId then_branch, GraphId else_branch);
  void dynamic_branch(GraphId g);
  std::optional<Error> bucket_tree(GraphId g, const Dispatcher& dispatcher);
  std::optional<Error> bucket_branch(std::size_t b, GraphId g, const Dispatcher& dispatcher,
                                     TrueExtents& extents);
  std::optional<Error> bucket_inputs(const Model& bucket, Copier& copy, BranchShapes& shapes, Emitter& out,
                                     const Dispatcher& dispatcher, TrueExtents& extents);
  std::optional<Error> bucket_constants(const Model& bucket, Copier& copy, GraphId g);
  void set_outputs(Emitter& out, std::vector<ValueId> values);
  std::string_view name(ValueId v) const { return m_.text(m_.value(v).name); }
  ValueId main_input(std::string_view name) const {
    const auto at = inputs_.find(name);
    return at == inputs_.end() ? ValueId{} : at->second;
  }

  const Model& dynamic_;
  const DispatchPlan& plan_;
  std::span<const BucketModel> buckets_;
  Model m_;
  DimPool pool_;
  SharedConstants constants_;
  std::unordered_map<std::string_view, ValueId> inputs_;  // of the main graph
  std::vector<ValueId> results_;  // outputs that nodes give, each once: what branches return, in this order
};

// --- what cannot be --------------------------------------------------------------------------------------

std::optional<Error> Builder::refused() const {
  if (const std::int64_t opset = dynamic_.opset(dynamic_.main(), kEmptyName); opset < kDispatchOpset)
    return problem(ErrorKind::Usage, dynamic_,
                   fmt::format("the model imports opset {}; branches per bucket need {} or later", opset,
                               kDispatchOpset),
                   "convert the model to a later opset, or write a model per bucket");
  if (const FunctionId f = hidden_operator(dynamic_))
    return problem(ErrorKind::Usage, dynamic_,
                   fmt::format("the function '{}' of the model has the name of an operator, and the nodes "
                               "that choose a bucket might be read as calls of it",
                               dynamic_.text(dynamic_.function(f).name)),
                   "give the function another name or domain, or write a model per bucket");
  if (buckets_.size() != plan_.buckets.size() || buckets_.empty())
    return problem(ErrorKind::Internal, dynamic_, "there is not one model for each bucket");
  for (std::size_t b = 0; b < buckets_.size(); ++b)
    if (!std::ranges::equal(buckets_[b].at, plan_.buckets.at(b)))
      return problem(ErrorKind::Internal, dynamic_, "the models are not in the order of the buckets");
  for (NodeId n = dynamic_.first_node(dynamic_.main()); n; n = dynamic_.next_node(n))
    for (const ValueId v : dynamic_.outputs(n))
      if (v && dynamic_.value(v).pinned)
        return problem(ErrorKind::Usage, dynamic_,
                       fmt::format("the value '{}' is named by training information or an annotation, which "
                                   "cannot name values in a branch",
                                   dynamic_.text(dynamic_.value(v).name)),
                       std::string(kSeparately));
  for (const BucketModel& b : buckets_)
    for (NodeId n = b.model->first_node(b.model->main()); n; n = b.model->next_node(n))
      if (!all_that_run_in(*b.model, n, [&](NodeId x) { return b.model->kind(x) != OpKind::FunctionCall; }))
        return problem(ErrorKind::Internal, dynamic_, "the model of a bucket calls a function");
  return std::nullopt;
}

std::optional<Error> Builder::import_domains(const Model& bucket) {
  for (const OpsetImport& o : bucket.opset_tables[0]) {
    const NameId domain = m_.names.intern(bucket.text(o.domain));
    const auto there = std::ranges::find(m_.opset_tables[0], domain, &OpsetImport::domain);
    if (there == m_.opset_tables[0].end()) m_.opset_tables[0].push_back({domain, o.version});
    else if (there->version != o.version)
      return problem(ErrorKind::Internal, dynamic_, "the models of buckets import other operator sets");
  }
  m_.ir_version = std::max(m_.ir_version, bucket.ir_version);
  return std::nullopt;
}

// --- the main graph ----------------------------------------------------------------------------------------

// Outputs become values that wait for a definition; inputs, initializers and what the file says of all of
// them stay.
void Builder::empty_main() {
  for (const ValueId v : m_.graph_inputs(m_.main())) inputs_.emplace(name(v), v);
  for (std::size_t i = 0; i < m_.graph_output_count(m_.main()); ++i) {
    const ValueId v = m_.graph_output(m_.main(), i);
    if (!m_.value(v).def) continue;  // an input or a constant, or an output that occurs twice
    m_.detach_output(m_.value(v).def, m_.value(v).def_slot);
    results_.push_back(v);
  }
  while (const NodeId n = m_.graph(m_.main()).last) m_.erase(n);
}

GraphId Builder::branch(NodeId owner, NameId attribute, std::string_view name) {
  const GraphId g = m_.add_graph(owner, attribute, m_.graph(m_.main()).opsets);
  rename(m_, g, m_.names.intern(name));
  return g;
}

void Builder::set_branches(NodeId n, GraphId then_branch, GraphId else_branch) {
  for (const auto& [name, g] :
       {std::pair{names::then_branch, then_branch}, {names::else_branch, else_branch}}) {
    Attr a;
    a.name = name;
    a.kind = AttrKind::Graph;
    a.graphs = m_.keep(std::span(&g, 1));
    m_.set_attr(n, a);
  }
}

// Runtimes want each output of a branch to be the result of a node in it, and each once.
void Builder::set_outputs(Emitter& out, std::vector<ValueId> values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const NodeId def = m_.value(values[i]).def;
    const bool is_own = def && m_.node(def).graph == out.graph() && m_.kind(def) != OpKind::Constant;
    if (!is_own || std::find(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(i), values[i]) !=
                       values.begin() + static_cast<std::ptrdiff_t>(i))
      values[i] = out.node(OpKind::Identity, {values[i]}, name(results_[i]));
  }
  m_.set_graph_outputs(out.graph(), values);
}

std::optional<Error> Builder::dispatch() {
  std::vector<ValueId> inputs;
  for (const DispatchPlan::Input& in : plan_.inputs) {
    inputs.push_back(main_input(in.name));
    if (!inputs.back())
      return problem(ErrorKind::Internal, dynamic_, "the dynamic model has no input '" + in.name + "'");
  }
  Emitter main = Emitter::at_end(m_, m_.main(), "bucket");
  Dispatcher dispatcher(plan_, pool_, main, std::move(inputs));
  if (const auto what = dispatcher.run())
    return problem(ErrorKind::Usage, dynamic_, *what, std::string(kSeparately));
  const std::vector<ValueId> condition{dispatcher.is_covered()};
  const NodeId root = add_operator({.model = m_, .graph = m_.main(), .results = results_}, OpKind::If,
                                   condition, {}, results_.size());
  const GraphId covered = branch(root, names::then_branch, "buckets");
  const GraphId other = branch(root, names::else_branch, "dynamic");
  set_branches(root, covered, other);
  dynamic_branch(other);
  return bucket_tree(covered, dispatcher);
}

// Names stay, apart from those of outputs, which the main graph has.
void Builder::dynamic_branch(GraphId g) {
  Copier copy(dynamic_, m_, CopiedNames::Keep);
  for (const ValueId v : dynamic_.graph_inputs(dynamic_.main())) copy.map(v, v);
  // A small constant goes where it is read, as in the buckets, under a name of its own.
  for (const ValueId v : dynamic_.graph(dynamic_.main()).initializers) {
    if (!dynamic_.alive(v)) continue;
    const TensorId t = dynamic_.constant_of(v);
    const bool moves = t && !dynamic_.value(v).is_sparse && !constants_.is_shared(t) && m_.use_count(v) == 0;
    copy.map(v, moves ? m_.add_initializer(g, name(v), copy.tensor(t)) : v);
    if (moves) m_.erase_initializer(v);
  }
  std::vector<ValueId> outputs;
  for (const ValueId v : results_) {
    outputs.push_back(m_.add_value(g, m_.fresh_name(name(v))));
    copy.map(v, outputs.back());
  }
  for (NodeId n = dynamic_.first_node(dynamic_.main()); n; n = dynamic_.next_node(n)) copy.node(n, g);
  Emitter out = Emitter::at_end(m_, g, "bucket");
  set_outputs(out, std::move(outputs));
}

// --- the buckets -------------------------------------------------------------------------------------------

std::optional<Error> Builder::bucket_tree(GraphId g, const Dispatcher& dispatcher) {
  Emitter shared = Emitter::at_end(m_, g, "bucket");
  TrueExtents extents(shared, pool_, [&](DimId s) {
    const auto at = dispatcher.position_of(s);
    return at ? shared.pick(dispatcher.symbols(), std::span(&*at, 1), "symbol") : ValueId{};
  });
  struct Part {
    std::size_t low, high;
    GraphId graph;
  };
  std::vector<Part> todo{{0, buckets_.size(), g}};
  while (!todo.empty()) {
    const Part part = todo.back();
    todo.pop_back();
    if (part.high - part.low == 1) {
      if (auto error = bucket_branch(part.low, part.graph, dispatcher, extents)) return error;
      continue;
    }
    const std::size_t middle = part.low + (part.high - part.low) / 2;
    Emitter out = Emitter::at_end(m_, part.graph, "bucket");
    const ValueId bound = out.constant(m_.make_int64(static_cast<std::int64_t>(middle)), "middle");
    const std::vector<ValueId> below{out.node(OpKind::Less, {dispatcher.bucket(), bound}, "below")};
    const NodeId n = add_operator({.model = m_, .graph = part.graph, .base = "bucket_output"}, OpKind::If,
                                  below, {}, results_.size());
    if (part.graph == g) shared.put_before(n);
    const auto text = [](std::size_t low, std::size_t high) {
      return high - low == 1 ? fmt::format("bucket_{}", low) : fmt::format("buckets_{}_to_{}", low, high - 1);
    };
    const GraphId first = branch(n, names::then_branch, text(part.low, middle));
    const GraphId second = branch(n, names::else_branch, text(middle, part.high));
    set_branches(n, first, second);
    m_.set_graph_outputs(part.graph, m_.outputs(n));
    todo.push_back({middle, part.high, second});
    todo.push_back({part.low, middle, first});
  }
  return std::nullopt;
}

std::optional<Error> Builder::bucket_branch(std::size_t b, GraphId g, const Dispatcher& dispatcher,
                                            TrueExtents& extents) {
  const Model& bucket = *buckets_[b].model;
  if (auto error = import_domains(bucket)) return error;
  Emitter out = Emitter::at_end(m_, g, "bucket");
  BranchShapes shapes(plan_, extents, out, buckets_[b].at);
  Copier copy(bucket, m_);
  if (auto error = bucket_inputs(bucket, copy, shapes, out, dispatcher, extents)) return error;
  if (auto error = bucket_constants(bucket, copy, g)) return error;
  for (NodeId n = bucket.first_node(bucket.main()); n; n = bucket.next_node(n)) copy.node(n, g);
  std::unordered_map<std::string_view, ValueId> outputs;
  for (std::size_t i = 0; i < bucket.graph_output_count(bucket.main()); ++i) {
    const ValueId v = bucket.graph_output(bucket.main(), i);
    outputs.emplace(bucket.text(bucket.value(v).name), v);
  }
  std::vector<ValueId> values;
  for (const ValueId v : results_) {
    const auto there = outputs.find(name(v));
    const auto planned = std::ranges::find(plan_.outputs, name(v), &DispatchPlan::Output::name);
    if (there == outputs.end() || planned == plan_.outputs.end())
      return problem(ErrorKind::Internal, dynamic_, fmt::format("a bucket has no output '{}'", name(v)));
    values.push_back(shapes.cut(*planned, copy.find(there->second)));
  }
  if (shapes.failed())
    return problem(ErrorKind::Usage, dynamic_,
                   "a formula for an extent of an input or output is too large to be computed in the model",
                   std::string(kSeparately));
  set_outputs(out, std::move(values));
  return std::nullopt;
}

std::optional<Error> Builder::bucket_inputs(const Model& bucket, Copier& copy, BranchShapes& shapes,
                                            Emitter& out, const Dispatcher& dispatcher,
                                            TrueExtents& extents) {
  for (const ValueId v : bucket.graph_inputs(bucket.main())) {
    const std::string_view own = bucket.text(bucket.value(v).name);
    const auto length = std::ranges::find(plan_.lengths, own, &DispatchPlan::Length::input);
    if (length != plan_.lengths.end()) {
      if (bucket.use_count(v) == 0) continue;
      const Type& type = bucket.types[bucket.value(v).declared];
      ValueId number = extents.value(length->symbol);
      if (!number || type.kind != TypeKind::Tensor || type.dims.size() > 1)
        return problem(ErrorKind::Internal, dynamic_, fmt::format("'{}' cannot hold an extent", own));
      if (type.dims.empty()) number = out.node(OpKind::Reshape, {number, out.numbers({})}, own);
      if (type.elem != DType::Int64) number = out.cast(number, type.elem, own);
      copy.map(v, number);
      continue;
    }
    ValueId x = main_input(own);
    if (!x)
      return problem(ErrorKind::Internal, dynamic_, fmt::format("the dynamic model has no input '{}'", own));
    const auto planned = std::ranges::find(plan_.inputs, own, &DispatchPlan::Input::name);
    const auto i = static_cast<std::size_t>(planned - plan_.inputs.begin());
    if (planned != plan_.inputs.end() && dispatcher.shape(i) && bucket.use_count(v) > 0)
      x = shapes.padded(*planned, x, dispatcher.shape(i));
    copy.map(v, x);
  }
  return std::nullopt;
}

// What does not change is captured; small constants are in each branch.
std::optional<Error> Builder::bucket_constants(const Model& bucket, Copier& copy, GraphId g) {
  for (const ValueId v : bucket.graph(bucket.main()).initializers) {
    const Value& value = bucket.value(v);
    if (!value.alive || value.is_input || value.use_count == 0) continue;
    const std::string_view own = bucket.text(value.name);
    if (value.is_sparse || value.pinned) {
      const std::vector<ValueId>& there = m_.graph(m_.main()).initializers;
      const auto same = std::ranges::find_if(there, [&](ValueId x) {
        return m_.alive(x) && name(x) == own && m_.value(x).is_sparse == value.is_sparse;
      });
      if (same == there.end())
        return problem(ErrorKind::Internal, dynamic_, fmt::format("the dynamic model has no '{}'", own));
      copy.map(v, *same);
      continue;
    }
    const TensorId t = copy.tensor(value.tensor);
    copy.map(v, constants_.is_shared(t) ? constants_.value_of(t, own) : m_.add_initializer(g, own, t));
  }
  return std::nullopt;
}

Result<Model> Builder::run() {
  if (auto error = refused()) return *std::move(error);
  // An If has results. Where no node gives an output, the model is one and the same for all shapes.
  bool computes = false;
  for (std::size_t i = 0; i < dynamic_.graph_output_count(dynamic_.main()); ++i)
    computes = computes || dynamic_.value(dynamic_.graph_output(dynamic_.main(), i)).def;
  if (!computes) return std::move(m_);
  m_.ir_version = std::max<std::int64_t>(m_.ir_version, 4);  // constants that are no inputs
  const std::size_t first = m_.graph_count();
  empty_main();
  if (auto error = dispatch()) return *std::move(error);
  constants_.take_from_bodies(first);
  return std::move(m_);
}

}  // namespace

Result<Model> single_model(const Model& dynamic, const DispatchPlan& plan,
                           std::span<const BucketModel> buckets) {
  return Builder(dynamic, plan, buckets).run();
}

}  // namespace graphopt
