#include "folding/runtime_folding.h"

#include <algorithm>
#include <limits>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ops/node_facts.h"
#include "rewrite/dead.h"
#include "rewrite/freed.h"
#include "runtime/saved_for_runtime.h"
#include "shapes/boundary_types.h"

namespace graphopt {
namespace {

// Elements of one result; above this the node is left to the runtime, as by constant-folding. A loop without
// end is as endless in the model: --timeout bounds it.
constexpr std::uint64_t kMaxElements = std::uint64_t{1} << 28;

// Calls f(ValueId) for each value of the main graph that a node of it reads, in its bodies too.
template <class F> void for_each_read(const Model& m, NodeId root, F f) {
  std::vector<NodeId> nodes{root};
  const auto read = [&](ValueId v) {
    if (v && m.value(v).graph == m.main()) f(v);
  };
  while (!nodes.empty()) {
    const NodeId n = nodes.back();
    nodes.pop_back();
    for (std::size_t i = 0; i < m.input_count(n); ++i) read(m.input(n, i));
    for (const Attr& a : m.attrs(n))
      for (const GraphId g : a.graphs) {
        for (NodeId inner = m.first_node(g); inner; inner = m.next_node(inner)) nodes.push_back(inner);
        nodes.push_back(m.graph(g).ret);
      }
  }
}

// Returns the number of elements as far as inference knows it.
std::optional<std::uint64_t> elements_of(const Model& m, const Inference& infer, ValueId v) {
  const Type& type = infer.type_of(v);
  if (type.kind != TypeKind::Tensor || !type.has_rank) return std::nullopt;
  std::uint64_t elements = 1;
  bool overflow = false;
  for (const DimId d : type.dims) {
    const auto extent = d ? m.dims.value(d) : std::nullopt;
    if (!extent) return std::nullopt;
    if (*extent == 0) return 0;
    overflow |= __builtin_mul_overflow(elements, static_cast<std::uint64_t>(*extent), &elements);
  }
  return overflow ? std::numeric_limits<std::uint64_t>::max() : elements;
}

std::uint64_t bytes_of(const HostValue& value) {
  std::uint64_t bytes = value.raw.size();
  for (const std::string& s : value.strings) bytes += s.size();
  return bytes;
}

Tensor tensor_of(HostValue&& value) {
  auto payload = std::make_shared<Unpacked>();
  payload->raw = std::move(value.raw);
  payload->strings = std::move(value.strings);
  Tensor t;
  t.dtype = value.dtype;
  for (const std::int64_t extent : value.dims) t.elements *= extent;
  t.dims = std::move(value.dims);
  t.raw = payload->raw;
  t.owned = std::move(payload);
  t.ready = true;
  return t;
}

// The nodes that are a function of constants alone, and which of them are to go.
class ConstantPart {
 public:
  ConstantPart(const PassContext& c, const std::unordered_set<NodeId>& stay)
      : m_(c.model), infer_(c.infer), limit_(c.options.fold_limit), stay_(stay) {
    for (NodeId n = m_.first_node(m_.main()); n; n = m_.next_node(n)) {
      if (!is_constant(n)) continue;
      nodes_.push_back(n);
      known_.insert(n);
    }
    choose_targets();
  }

  const std::vector<NodeId>& targets() const { return targets_; }  // in the order of the graph
  std::vector<ValueId> results(NodeId n) const {                   // that have a use
    std::vector<ValueId> out;
    for (const ValueId v : m_.outputs(n))
      if (v && m_.use_count(v) > 0) out.push_back(v);
    return out;
  }
  bool fits(NodeId n, std::uint64_t bytes) const {
    const std::uint64_t freed = bytes_freed_with(m_, n);
    return bytes <= freed || bytes - freed <= limit_;
  }

  // Returns the targets and what they follow from.
  ModelPart part() const {
    std::unordered_set<NodeId> needed(targets_.begin(), targets_.end());
    std::vector<NodeId> nodes;
    std::vector<ValueId> outputs;
    for (auto it = nodes_.rbegin(); it != nodes_.rend(); ++it) {
      if (!needed.contains(*it)) continue;
      nodes.push_back(*it);
      for_each_read(m_, *it, [&](ValueId v) {
        const NodeId def = m_.value(v).def;
        if (def && needed.insert(def).second && m_.kind(def) == OpKind::Constant) nodes.push_back(def);
      });
    }
    for (const NodeId n : targets_) std::ranges::copy(results(n), std::back_inserter(outputs));
    ModelPart part = part_of(m_, std::move(nodes));
    part.outputs = std::move(outputs);
    return part;
  }

 private:
  bool is_known(ValueId v) const { return m_.constant_of(v) || known_.contains(m_.value(v).def); }

  bool is_constant(NodeId n) const {
    switch (m_.kind(n)) {
      case OpKind::Constant:
      case OpKind::DequantizeLinear:
      case OpKind::QuantizeLinear: return false;
      default: break;
    }
    bool known = true;
    for_each_read(m_, n, [&](ValueId v) { known = known && is_known(v); });
    if (!known || std::ranges::any_of(m_.outputs(n), [&](ValueId v) {
          return v && (m_.is_fixed(v) || elements_of(m_, infer_, v).value_or(0) > kMaxElements);
        }))
      return false;
    return all_that_run_in(m_, n, [&](NodeId inner) {
      const Purity purity = facts_of(m_, inner).purity;
      return (purity == Purity::Pure || purity == Purity::ControlFlow) && m_.node(inner).overwrites == 0;
    });
  }

  // A target is read by a node that stays. A node that could be one, but for its results, stays, so that what
  // it reads is asked in turn.
  void choose_targets() {
    std::unordered_set<NodeId> going(nodes_.begin(), nodes_.end());
    for (auto it = nodes_.rbegin(); it != nodes_.rend(); ++it) {
      const std::vector<ValueId> used = results(*it);
      const auto read_by_others = [&](ValueId v) {
        for (UseId u = m_.first_use(v); u; u = m_.next_use(u))
          if (!going.contains(m_.ancestor_in(m_.main(), m_.user(u)))) return true;
        return false;
      };
      if (std::ranges::none_of(used, read_by_others)) continue;
      if (can_go(*it, used)) targets_.push_back(*it);
      else going.erase(*it);
    }
    std::ranges::reverse(targets_);
  }

  bool can_go(NodeId n, const std::vector<ValueId>& used) const {
    if (stay_.contains(n)) return false;
    std::uint64_t bytes = 0;
    for (const ValueId v : used) {
      const Type& type = infer_.type_of(v);
      if (type.kind != TypeKind::Tensor || type.elem == DType::Undefined) return false;
      if (!m_.can_hold_constant(m_.main(), type.elem) || !m_.can_become_constant(v)) return false;
      bytes += raw_size(type.elem, elements_of(m_, infer_, v).value_or(0)).value_or(0);
    }
    return fits(n, bytes);
  }

  const Model& m_;
  const Inference& infer_;
  const std::uint64_t limit_;
  const std::unordered_set<NodeId>& stay_;
  std::vector<NodeId> nodes_;         // in the order of the graph
  std::unordered_set<NodeId> known_;  // the same
  std::vector<NodeId> targets_;
};

}  // namespace

RuntimeFolding::RuntimeFolding(std::shared_ptr<Runtime> runtime, std::string folder)
    : runtime_(std::move(runtime)), folder_(std::move(folder)) {
  report_.runtime = "ONNX Runtime " + runtime_->version();
}

bool RuntimeFolding::run(PassContext& c) {
  if (!report_.refused.empty() || c.journal.exhausted()) return false;
  Model& m = c.model;
  const ConstantPart constant(c, stay_);
  if (constant.targets().empty()) return false;
  const ModelPart part = constant.part();
  SavedForRuntime saved;
  const auto compute = [&]() -> Result<std::vector<HostValue>> {
    if (Status done = saved.save(m, boundary_types(m, c.infer, part), folder_, &part); !done)
      return done.errors();
    auto session = RuntimeSession::load(runtime_, saved.source());
    if (!session) return session.errors();
    return (*session)->run({});
  };
  Result<std::vector<HostValue>> computed = compute();
  if (!computed) {
    report_.refused = computed.errors().front().what;
    return false;
  }

  DeadSweeper dead(m);
  auto next = computed->begin();  // in the order of part.outputs
  std::uint64_t constants = 0;
  for (const NodeId n : constant.targets()) {
    const std::vector<ValueId> results = constant.results(n);
    const std::span<HostValue> values(next, results.size());
    next += static_cast<std::ptrdiff_t>(results.size());
    std::uint64_t bytes = 0;
    bool as_inferred = true;
    for (std::size_t i = 0; i < results.size(); ++i) {
      bytes += bytes_of(values[i]);
      as_inferred = as_inferred && values[i].kind == HostValue::Kind::Tensor &&
                    values[i].dtype == c.infer.dtype(results[i]);
    }
    if (!as_inferred || !constant.fits(n, bytes)) {
      stay_.insert(n);
      continue;
    }
    if (!c.journal.allow(m, n, "constant")) break;
    for (std::size_t i = 0; i < results.size(); ++i)
      m.make_constant(results[i], m.add_tensor(tensor_of(std::move(values[i]))));
    constants += results.size();
  }
  if (constants == 0) return false;
  std::vector<NodeId> computed_nodes = part.nodes;
  std::erase_if(computed_nodes, [&](NodeId n) { return m.kind(n) == OpKind::Constant; });
  dead.sweep();
  report_.nodes += static_cast<std::uint64_t>(
      std::ranges::count_if(computed_nodes, [&](NodeId n) { return !m.alive(n); }));
  report_.constants += constants;
  counters_[0].value = report_.nodes;
  return true;
}

extern constinit const PassInfo kRuntimeFolding = {
    .name = "runtime-folding",
    .summary = "evaluate with ONNX Runtime what has no native kernel",
    .exact = Exact::No,
    .level = 2,
    .make = nullptr,
    .search = true,
    .new_operators = NewOperators::Never};

}  // namespace graphopt
