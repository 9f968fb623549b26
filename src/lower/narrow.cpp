#include "lower/narrow.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "lower/integer_ranges.h"
#include "lower/integer_slots.h"
#include "ops/attributes.h"
#include "ops/constants.h"
#include "ops/facts_constants.h"
#include "ops/facts_kernels.h"
#include "placement/device_policy.h"
#include "rewrite/emitter.h"

namespace graphopt {
namespace {

// Nodes that would lose a device, or that bring nothing, are left out of the sets of the next round.
constexpr int kMostNarrowings = 4;
constexpr std::int64_t kLeastInt32 = std::numeric_limits<std::int32_t>::min();
constexpr std::int64_t kMostInt32 = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kMostWritten = 1 << 22;  // elements of a constant that is written anew

// The slots of one node that become int32, a bit each.
struct NarrowSlots {
  std::uint64_t operands = 0, results = 0;
  bool empty() const { return operands == 0 && results == 0; }
};

constexpr std::uint64_t bit_of(std::size_t i) { return std::uint64_t{1} << i; }

// Which slots of which nodes may become int32.
class NarrowPlan {
 public:
  NarrowPlan(const Model& m, const Inference& infer, const std::vector<bool>& left_out)
      : m_(m), infer_(infer), left_out_(left_out), ranges_(m, infer), slots_(m.node_count()) {
    // From the last node on: what may become of a result can depend on its readers.
    for (NodeId n = m.graph(m.main()).last; n; n = m.prev_node(n)) slots_[n.index()] = examine(n);
  }

  const NarrowSlots& of(NodeId n) const { return slots_[n.index()]; }
  bool reads_narrow(UseId u) const {
    const NodeId n = m_.user(u);
    return !m_.is_return(n) && m_.node(n).graph == m_.main() && m_.slot(u) < kMostSlots &&
           (of(n).operands & bit_of(m_.slot(u))) != 0;
  }
  // Returns the sets of linked nodes, each in the order of the graph, and these by their first nodes.
  std::vector<std::vector<NodeId>> sets();

 private:
  NarrowSlots examine(NodeId n) const;
  std::uint64_t cast_operand(NodeId n) const;
  bool may_be_data(NodeId n, const IntegerSlots& row, const NarrowSlots& data) const;
  bool is_int64(ValueId v) const { return v && infer_.dtype(v) == DType::Int64; }
  bool is_short(ValueId v, std::size_t axis) const {
    const DimId d = infer_.dims(v)[axis];
    return d && m_.dims.range(d).high <= kMostInt32;
  }
  bool may_index(NodeId n) const;
  bool may_bound(NodeId n, std::uint64_t slots) const;
  // Whether readers want no more than the result modulo 2^32.
  bool all_read_narrow(ValueId v) const {
    for (UseId u = m_.first_use(v); u; u = m_.next_use(u))
      if (!reads_narrow(u)) return false;
    return true;
  }
  std::uint32_t root_of(std::uint32_t n) {
    while (parents_[n] != n) n = parents_[n] = parents_[parents_[n]];
    return n;
  }

  const Model& m_;
  const Inference& infer_;
  const std::vector<bool>& left_out_;
  IntegerRanges ranges_;
  std::vector<NarrowSlots> slots_;      // by node
  std::vector<std::uint32_t> parents_;  // by node, of sets()
};

NarrowSlots NarrowPlan::examine(NodeId n) const {
  const IntegerSlots* row = integer_slots(m_.kind(n));
  if (row == nullptr || left_out_[n.index()] || m_.node(n).overwrites != 0 ||
      m_.input_count(n) > kMostSlots || m_.output_count(n) > kMostSlots || !attributes_known(m_, n))
    return {};
  NarrowSlots data, out;
  for (std::size_t i = 0; i < m_.input_count(n); ++i) {
    if (!is_int64(m_.input(n, i))) continue;
    if (row->data(i)) data.operands |= bit_of(i);
    if (IntegerSlots::has(row->indices, i) && may_index(n)) out.operands |= bit_of(i);
  }
  for (std::size_t i = 0; i < m_.output_count(n); ++i)
    if (is_int64(m_.output(n, i)) && IntegerSlots::has(row->results, i)) data.results |= bit_of(i);
  if (row->bounds != 0 && may_bound(n, row->bounds))
    for (std::size_t i = 0; i < m_.input_count(n); ++i)
      if (m_.input(n, i) && IntegerSlots::has(row->bounds, i)) out.operands |= bit_of(i);
  if (data.empty() || !may_be_data(n, *row, data)) return out;
  return {out.operands | data.operands, out.results | data.results};
}

bool NarrowPlan::may_be_data(NodeId n, const IntegerSlots& row, const NarrowSlots& data) const {
  for (std::size_t i = 0; i < m_.output_count(n); ++i) {
    const ValueId v = m_.output(n, i);
    if (!v || (data.results & bit_of(i)) == 0) continue;
    if (m_.is_fixed(v)) return false;
    if (!ranges_.fits_int32(v) && (row.rule != IntegerRule::Moves || !all_read_narrow(v))) return false;
  }
  if (row.rule == IntegerRule::Cast) {
    // Both sides change each by itself; from int64 to int64 nothing has to.
    const auto converts = [](DType t) {
      return is_int(t) || t == DType::Bool || t == DType::Float || t == DType::Double || t == DType::Float16;
    };
    const DType from = infer_.dtype(m_.input(n, 0)), to = infer_.dtype(m_.output(n, 0));
    if (!converts(from) || !converts(to) || from == to) return false;
    return from != DType::Int64 || to == DType::Int32 || ranges_.fits_int32(m_.input(n, 0));
  }
  if (!has_kernel(m_.kind(n), m_.opset(n), DType::Int32)) return false;
  if (row.rule == IntegerRule::Moves) return true;
  for (std::size_t i = 0; i < m_.input_count(n); ++i)
    if ((data.operands & bit_of(i)) != 0 && !ranges_.fits_int32(m_.input(n, i))) return false;
  return ranges_.computes_alike(n);
}

bool NarrowPlan::may_index(NodeId n) const {
  const ValueId x = m_.input(n, 0), indices = m_.input(n, 1);
  if (m_.constant_of(indices) && !takes_constant(m_.kind(n), 1, DType::Int32)) return false;
  if (ranges_.fits_int32(indices)) return true;
  if (m_.constant_of(indices) || !infer_.has_rank(x)) return false;
  const auto axis = normalize_axis(int_attr(m_, n, names::axis).value_or(0), infer_.dims(x).size());
  return axis && is_short(x, static_cast<std::size_t>(*axis));
}

// Of a Slice: starts, ends, axes and steps have one type.
bool NarrowPlan::may_bound(NodeId n, std::uint64_t slots) const {
  const ValueId x = m_.input(n, 0);
  const ValueId steps = m_.input(n, 4);
  bool all_short = infer_.has_rank(x) && (!steps || ranges_.of(steps).low >= 1), any = false;
  for (std::size_t axis = 0; all_short && axis < infer_.dims(x).size(); ++axis) all_short = is_short(x, axis);
  for (std::size_t i = 0; i < m_.input_count(n); ++i) {
    const ValueId v = m_.input(n, i);
    if (!v || !IntegerSlots::has(slots, i)) continue;
    if (!is_int64(v)) return false;
    any = true;
    if (ranges_.fits_int32(v)) continue;
    if (i > 2 || !all_short || !m_.constant_of(v)) return false;
  }
  return any;
}

std::vector<std::vector<NodeId>> NarrowPlan::sets() {
  parents_.resize(m_.node_count());
  for (std::uint32_t i = 0; i < parents_.size(); ++i) parents_[i] = i;
  std::vector<std::uint32_t> owner(m_.value_count());  // a node that makes or reads the value in int32, + 1
  const auto link = [&](ValueId v, NodeId n) {
    std::uint32_t& other = owner[v.index()];
    if (other == 0) other = n.index() + 1;
    else parents_[root_of(n.index())] = root_of(other - 1);
  };
  for (NodeId n = m_.first_node(m_.main()); n; n = m_.next_node(n)) {
    if (of(n).empty()) continue;
    for (std::size_t i = 0; i < m_.input_count(n); ++i)
      if ((of(n).operands & bit_of(i)) != 0 && !m_.constant_of(m_.input(n, i))) link(m_.input(n, i), n);
    for (std::size_t i = 0; i < m_.output_count(n); ++i)
      if ((of(n).results & bit_of(i)) != 0) link(m_.output(n, i), n);
  }
  std::vector<std::vector<NodeId>> out;
  std::vector<std::uint32_t> number(m_.node_count());  // of the set with this root, + 1
  for (NodeId n = m_.first_node(m_.main()); n; n = m_.next_node(n)) {
    if (of(n).empty()) continue;
    std::uint32_t& at = number[root_of(n.index())];
    if (at == 0) {
      out.emplace_back();
      at = static_cast<std::uint32_t>(out.size());
    }
    out[at - 1].push_back(n);
  }
  return out;
}

// Writes one set in int32, in a trial.
class NarrowWriter {
 public:
  NarrowWriter(Model& m, const NarrowPlan& plan) : m_(m), plan_(plan) {}

  // Returns false where a value cannot be converted; the trial is to be undone.
  bool write(std::span<const NodeId> nodes) {
    for (const NodeId n : nodes) {
      const NarrowSlots slots = plan_.of(n);
      const IntegerSlots* row = integer_slots(m_.kind(n));
      for (std::size_t i = 0; i < m_.input_count(n); ++i) {
        if ((slots.operands & bit_of(i)) == 0) continue;
        const bool bound = row != nullptr && IntegerSlots::has(row->bounds, i);
        const ValueId v = narrowed(m_.input(n, i), n, bound ? Beyond::Cut : Beyond::Wraps);
        if (!v) return false;
        if (v != m_.input(n, i)) m_.set_operand(n, i, v);
      }
      if (slots.results == 0) continue;
      if (m_.kind(n) == OpKind::Cast) m_.set_attr_int(n, names::to, static_cast<std::int64_t>(DType::Int32));
      if (m_.kind(n) == OpKind::ConstantOfShape && !refill(n)) return false;
      for (std::size_t i = 0; i < m_.output_count(n); ++i)
        if ((slots.results & bit_of(i)) != 0 && !make_narrow(n, m_.output(n, i))) return false;
    }
    return true;
  }

  std::vector<NodeId> casts;                         // that were added
  std::vector<std::pair<ValueId, ValueId>> widened;  // a result that became int32, and its int64
  std::vector<std::pair<NodeId, NameId>> results;    // as NarrowedSet::results

 private:
  // What becomes of a constant's numbers beyond int32: they wrap as in a Cast, which is what a Cast of the
  // result to int32 would make of them; those of a bound are cut to the ends of int32.
  enum class Beyond : std::uint8_t { Wraps, Cut };

  // Returns the value as int32, for n and the nodes after it; none where that cannot be written.
  ValueId narrowed(ValueId v, NodeId n, Beyond beyond) {
    if (const auto at = wide_.find(v); at != wide_.end()) return at->second;
    if (made_.contains(v)) return v;
    const TensorId t = m_.constant_of(v);
    ValueId& out = (t && beyond == Beyond::Cut ? known_bounds_ : known_)[v];
    if (out) return out;
    if (t) {
      const TensorId small = narrow_constant(t, beyond);
      if (small) out = m_.add_initializer(m_.main(), name_of(v), small);
      return out;
    }
    out = Emitter::before(m_, n, std::string(m_.text(m_.value(v).name))).cast(v, DType::Int32, "int32");
    if (out) casts.push_back(m_.value(out).def);
    return out;
  }

  TensorId narrow_constant(TensorId t, Beyond beyond) {
    auto numbers = int_list(m_, t, kMostWritten);
    if (!numbers) return {};
    for (std::int64_t& x : *numbers)
      x = beyond == Beyond::Cut ? std::clamp(x, kLeastInt32, kMostInt32) : static_cast<std::int32_t>(x);
    const auto payload = int_payload(DType::Int32, *numbers);
    const std::vector<std::int64_t> dims = m_.tensor(t).dims;
    return payload ? m_.make_tensor(DType::Int32, dims, *payload) : TensorId{};
  }

  bool refill(NodeId n) {
    const Attr* a = m_.find_attr(n, names::value);
    const TensorId t = a != nullptr ? narrow_constant(a->tensor, Beyond::Wraps) : TensorId{};
    if (!t) return false;
    Attr other = *a;
    other.tensor = t;
    other.proto = {};
    m_.set_attr(n, other);
    return true;
  }

  // The result v of n becomes int32, under another name. Readers that are not in the set get an int64.
  bool make_narrow(NodeId n, ValueId v) {
    bool wanted = false;
    for (UseId u = m_.first_use(v); u && !wanted; u = m_.next_use(u)) wanted = !plan_.reads_narrow(u);
    const std::string name = name_of(v);
    results.emplace_back(n, m_.value(v).name);
    if (wanted) {
      const std::string base(m_.text(m_.value(v).name));
      const NodeId next = m_.next_node(n);
      const ValueId w = (next ? Emitter::before(m_, next, base) : Emitter::at_end(m_, m_.main(), base))
                            .cast(v, DType::Int64, "int64");
      if (!w || !m_.can_replace(v, w)) return false;
      m_.replace_all_uses(v, w);
      m_.set_operand(m_.value(w).def, 0, v);
      wide_.emplace(w, v);
      widened.emplace_back(v, w);
      casts.push_back(m_.value(w).def);
    }
    m_.retype(v, m_.fresh_name(name));
    made_.insert(v);
    return true;
  }

  std::string name_of(ValueId v) const { return std::string(m_.text(m_.value(v).name)) + "_int32"; }

  Model& m_;
  const NarrowPlan& plan_;
  std::unordered_map<ValueId, ValueId> known_;         // int32 forms of values that come in
  std::unordered_map<ValueId, ValueId> known_bounds_;  // of constants that are bounds
  std::unordered_map<ValueId, ValueId> wide_;  // by an int64 that was added: the result that it is made of
  std::unordered_set<ValueId> made_;           // results that became int32
};

class NarrowSearch {
 public:
  NarrowSearch(PassContext& c, const LoweringInput& input)
      : c_(c), m_(c.model), input_(input), policy_(input.devices, c.model, c.infer) {}

  bool has_sets() {
    leave_out();
    if (m_.ir_version < 4 || !is_wanted()) return false;
    return std::ranges::any_of(NarrowPlan(m_, c_.infer, left_out_).sets(), [this](const auto& set) {
      return std::ranges::any_of(set, [this](NodeId n) { return policy_.supporting(n) == 0; });
    });
  }

  std::vector<NarrowedSet> run() {
    if (m_.ir_version < 4) return {};  // as lower()
    leave_out();
    for (int round = 0; round < kMostNarrowings && is_wanted(); ++round) {
      left_out_.resize(m_.node_count());
      NarrowPlan plan(m_, c_.infer, left_out_);
      bool again = false;
      for (const std::vector<NodeId>& set : plan.sets()) {
        if (c_.journal.exhausted() || (input_.should_stop && input_.should_stop())) return finish();
        again = !offer(plan, set) || again;
      }
      c_.infer.update();
      if (!again) break;
    }
    return finish();
  }

 private:
  void leave_out() {
    left_out_.resize(m_.node_count());
    if (input_.kept == nullptr) return;
    for (const NodeId n : *input_.kept)
      if (n.index() < left_out_.size()) left_out_[n.index()] = true;
  }

  std::vector<NarrowedSet> finish() {
    c_.infer.update();
    return std::move(narrowed_);
  }

  // Whether a node that no device supports might have int32 in place of int64.
  bool is_wanted() {
    const auto has_int64 = [&](NodeId n) {
      const auto is_int64 = [&](ValueId v) { return v && c_.infer.dtype(v) == DType::Int64; };
      for (std::size_t i = 0; i < m_.input_count(n); ++i)
        if (is_int64(m_.input(n, i))) return true;
      return std::ranges::any_of(m_.outputs(n), is_int64);
    };
    for (NodeId n = m_.first_node(m_.main()); n; n = m_.next_node(n))
      if (integer_slots(m_.kind(n)) != nullptr && !left_out_[n.index()] && has_int64(n) &&
          policy_.supporting(n) == 0)
        return true;
    return false;
  }

  struct Fact {
    TypeId type;
    std::vector<DimId> elements;
  };
  Fact fact_of(ValueId v) const {
    Fact out{c_.infer.type(v), {}};
    if (const SymbolicTensor* t = c_.infer.symbolic(v)) out.elements = t->elements;
    return out;
  }
  // Whether as much is known of v as before, when it was an int64.
  bool is_still_known(ValueId v, const Fact& before) const {
    const Fact now = fact_of(v);
    const Type &a = m_.types[before.type], &b = m_.types[now.type];
    return a.kind == b.kind && a.has_rank == b.has_rank && std::ranges::equal(a.dims, b.dims) &&
           (before.elements.empty() || before.elements == now.elements);
  }

  // Tries one set. Returns false where a part of it may do better, in the next round.
  bool offer(const NarrowPlan& plan, const std::vector<NodeId>& set) {
    std::vector<DeviceSet> before(set.size());
    std::ranges::transform(set, before.begin(), [this](NodeId n) { return policy_.supporting(n); });
    if (std::ranges::find(before, DeviceSet{0}) == before.end()) return true;
    std::unordered_map<ValueId, Fact> facts;
    for (const NodeId n : set)
      for (const ValueId v : m_.outputs(n))
        if (v) facts.emplace(v, fact_of(v));
    m_.begin_trial();
    NarrowWriter writer(m_, plan);
    bool good = writer.write(set);
    std::vector<std::size_t> lost, idle;  // into the set
    std::array<std::size_t, 64> gained{};
    std::size_t gains = 0, refused = 0;
    if (good) {
      std::vector<NodeId> written(set);
      written.insert(written.end(), writer.casts.begin(), writer.casts.end());
      std::ranges::sort(written, {}, [this](NodeId n) { return m_.node(n).order; });
      c_.infer.infer_in_trial(written);
      for (const auto& [v, fact] : facts) good = good && is_still_known(v, fact);
      for (const auto& [small, wide] : writer.widened) good = good && is_still_known(wide, facts.at(small));
      for (std::size_t i = 0; good && i < set.size(); ++i) {
        const DeviceSet after = does_nothing(set[i]) ? policy_.all() : policy_.supporting(set[i]);
        if ((before[i] & ~after) != 0) lost.push_back(i);
        if (after == 0) idle.push_back(i);
        if (before[i] != 0 || after == 0) continue;
        ++gains;
        for (std::size_t d = 0; d < gained.size(); ++d) gained[d] += (after >> d) & 1;
      }
      for (const NodeId n : writer.casts) refused += policy_.supporting(n) == 0 ? 1 : 0;
    }
    if (good && lost.empty() && gains > refused) {
      keep(set, writer, gained);
      return true;
    }
    m_.undo_trial();
    const bool part = good && gains > 0 && (!lost.empty() || !idle.empty());
    if (!part) {
      for (const NodeId n : set) left_out_[n.index()] = true;
      return true;
    }
    for (const std::size_t i : lost.empty() ? idle : lost) left_out_[set[i].index()] = true;
    return false;
  }

  // A Cast that has become one from int32 to int32 is removed by the passes.
  bool does_nothing(NodeId n) const {
    return m_.kind(n) == OpKind::Cast && c_.infer.dtype(m_.input(n, 0)) == c_.infer.dtype(m_.output(n, 0));
  }

  void keep(const std::vector<NodeId>& set, const NarrowWriter& writer,
            const std::array<std::size_t, 64>& gained) {
    m_.swap_trial();
    if (!c_.journal.allow(m_, set.front(), kNarrowRule)) {
      m_.undo_trial();
      return;
    }
    m_.swap_trial();
    m_.keep_trial();
    NarrowedSet out{.nodes = set, .device = 0, .results = writer.results, .casts = writer.casts.size()};
    const auto bit = static_cast<std::size_t>(std::ranges::max_element(gained) - gained.begin());
    for (std::size_t d = 0, accelerators = 0; d < input_.devices.size(); ++d) {
      if (input_.devices[d].host) continue;
      if (accelerators++ == bit) out.device = d;
    }
    narrowed_.push_back(std::move(out));
  }

  PassContext& c_;
  Model& m_;
  const LoweringInput& input_;
  DevicePolicy policy_;
  std::vector<bool> left_out_;  // by node
  std::vector<NarrowedSet> narrowed_;
};

}  // namespace

bool may_narrow(PassContext& c, const LoweringInput& input) { return NarrowSearch(c, input).has_sets(); }

std::vector<NarrowedSet> narrow(PassContext& c, const LoweringInput& input) {
  return NarrowSearch(c, input).run();
}

}  // namespace graphopt
