// See support.h.
#include "devices/support.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "devices/conditions.h"
#include "devices/qdq_group.h"
#include "infer/schema_version.h"
#include "ir/bodies.h"
#include "ir/node_names.h"
#include "ops/attributes.h"
#include "ops/node_facts.h"
#include "support/nearest.h"

namespace graphopt {
namespace {

__extension__ typedef unsigned __int128 Wide;
constexpr Wide kMostBytes = static_cast<Wide>(std::numeric_limits<std::int64_t>::max());

std::string_view kind_text(TypeKind kind) {
  switch (kind) {
    case TypeKind::SparseTensor: return "a sparse tensor";
    case TypeKind::Sequence: return "a sequence";
    case TypeKind::Map: return "a map";
    case TypeKind::Optional: return "an optional value";
    default: return "no tensor";
  }
}

std::string range_text(const IntRange& r) {
  constexpr IntRange kOpen;
  if (r.low == r.high) return std::to_string(r.low);
  if (r.high == kOpen.high) return fmt::format("{} or more", r.low);
  if (r.low == kOpen.low) return fmt::format("at most {}", r.high);
  return fmt::format("{} to {}", r.low, r.high);
}

std::string types_text(const std::vector<DType>& types) {
  std::string out;
  for (const DType t : types) out.append(out.empty() ? "" : ", ").append(dtype_name(t));
  return out.empty() ? "none" : out;
}

// Which dims are taken for numbers: those over the given symbols alone.
class FixedDims {
 public:
  FixedDims(const DimPool& dims, std::span<const DimId> symbols)
      : dims_(dims), symbols_(symbols.begin(), symbols.end()) {
    std::ranges::sort(symbols_);
  }
  bool has(DimId d) {
    if (symbols_.empty() || !d) return false;
    const auto [at, is_new] = known_.try_emplace(d, false);
    if (is_new)
      at->second = std::ranges::all_of(dims_.symbols_of(dims_.canonical(d)),
                                       [this](DimId s) { return std::ranges::binary_search(symbols_, s); });
    return at->second;
  }

 private:
  const DimPool& dims_;
  std::vector<DimId> symbols_;
  std::map<DimId, bool> known_;
};

// Evaluates one rule on one node: counts what fails and keeps the first failure.
class RuleRun {
 public:
  RuleRun(const Profile& profile, const SupportRule& rule, Model& m, const Inference& inference,
          FixedDims& fixed, NodeId n, std::int64_t since, bool wants_text)
      : profile_(profile),
        rule_(rule),
        m_(m),
        inference_(inference),
        fixed_(fixed),
        n_(n),
        since_(since),
        wants_text_(wants_text) {}

  void run() {
    if (!rule_.opset.holds(since_)) {
      wrong_opset = true;
      fail(DeviceRefusal::Opset, [&] {
        return fmt::format("the operator is that of opset {}, allowed: {}", since_, range_text(rule_.opset));
      });
    }
    operands(rule_.inputs, true);
    operands(rule_.outputs, false);
    same_dtype();
    for (const AttributeCondition& a : rule_.attributes) attribute(a);
    if (rule_.qdq) qdq(*rule_.qdq);
  }

  std::uint32_t failed = 0;
  bool wrong_opset = false;
  bool not_quantized = false;  // the rule is for QDQ groups, and the node touches none
  DeviceRefusal first = DeviceRefusal::None;
  std::string text;

 private:
  struct Slot {
    bool is_input;
    std::size_t index;
    ValueId value;
  };

  template <class Text> void fail(DeviceRefusal refusal, Text make) {
    if (++failed > 1) return;
    first = refusal;
    if (wants_text_) text = make();
  }
  std::string name(const Slot& s) const {
    std::string out = fmt::format("{} {}", s.is_input ? "input" : "output", s.index);
    if (s.value) out += fmt::format(" '{}'", m_.text(m_.value(s.value).name));
    return out;
  }

  void operands(const std::vector<OperandCondition>& conditions, bool is_input) {
    const std::size_t count = is_input ? m_.input_count(n_) : m_.output_count(n_);
    const OperandCondition* rest = nullptr;
    for (const OperandCondition& c : conditions) {
      if (c.index == OperandCondition::kRest) {
        rest = &c;
      } else if (c.index >= count && c.presence == Presence::Required) {
        fail(DeviceRefusal::Presence, [&] { return name({is_input, c.index, {}}) + " is missing"; });
      }
    }
    for (std::size_t i = 0; i < count; ++i) {
      const Slot slot{is_input, i, is_input ? m_.input(n_, i) : m_.output(n_, i)};
      const auto own = std::ranges::find(conditions, static_cast<std::uint32_t>(i), &OperandCondition::index);
      operand(slot, own != conditions.end() ? &*own : rest);
    }
  }

  void operand(const Slot& s, const OperandCondition* c) {
    if (!s.value) {
      if (c != nullptr && c->presence == Presence::Required)
        fail(DeviceRefusal::Presence, [&] { return name(s) + " is missing"; });
      return;
    }
    if (c != nullptr && c->presence == Presence::Absent)
      return fail(DeviceRefusal::Presence, [&] { return name(s) + " must be absent"; });
    const auto& types = c != nullptr && c->dtypes ? c->dtypes : profile_.dtypes;
    if (types) dtype(s, *types);
    const auto& ranks = c != nullptr && c->ranks ? c->ranks : profile_.ranks;
    if (ranks) rank(s, *ranks);
    shapes(s, rule_.shapes.value_or(profile_.shapes));
    if (c != nullptr && c->extents) extents(s, *c->extents);
    else if (s.is_input && profile_.extents) extents(s, *profile_.extents);
    if (c == nullptr) return;
    for (const DimCondition& d : c->dims) dim(s, d);
    if (c->bytes) bytes(s, *c->bytes);
    constant(s, *c);
  }

  void dtype(const Slot& s, const std::vector<DType>& allowed) {
    const Type& type = inference_.type_of(s.value);
    if (type.kind == TypeKind::Tensor &&
        std::ranges::find(allowed, inference_.dtype(s.value)) != allowed.end())
      return;
    fail(DeviceRefusal::Dtype, [&] {
      if (type.kind == TypeKind::Unknown || (type.kind == TypeKind::Tensor && type.elem == DType::Undefined))
        return "the element type of " + name(s) + " is not known";
      if (type.kind != TypeKind::Tensor) return fmt::format("{} is {}", name(s), kind_text(type.kind));
      return fmt::format("{} is {}, allowed: {}", name(s), dtype_name(type.elem), types_text(allowed));
    });
  }

  // Nothing when the rank is not known.
  std::optional<std::size_t> rank_of(ValueId v) const {
    if (inference_.type_of(v).kind != TypeKind::Tensor || !inference_.has_rank(v)) return std::nullopt;
    return inference_.dims(v).size();
  }

  void rank(const Slot& s, const IntRange& allowed) {
    const std::optional<std::size_t> r = rank_of(s.value);
    if (r && allowed.holds(static_cast<std::int64_t>(*r))) return;
    fail(DeviceRefusal::Rank, [&] {
      if (!r) return "the rank of " + name(s) + " is not known";
      return fmt::format("{} has rank {}, allowed: {}", name(s), *r, range_text(allowed));
    });
  }

  // The assumption that an extent of an input is below 2^31 is no maximum that somebody gave.
  bool bounded(DimId d) const {
    if (m_.dims.value(d)) return true;
    const auto symbols = m_.dims.symbols_of(m_.dims.canonical(d));
    return std::ranges::all_of(symbols, [&](DimId s) { return m_.dims.range(s).high < kMaxInputExtent; }) &&
           m_.dims.range(d).high < Range::kMax;
  }

  void shapes(const Slot& s, ShapeNeed need) {
    if (need == ShapeNeed::Any) return;
    if (!rank_of(s.value))
      return fail(DeviceRefusal::DynamicShape, [&] { return "the shape of " + name(s) + " is not known"; });
    const std::span<const DimId> dims = inference_.dims(s.value);
    for (std::size_t i = 0; i < dims.size(); ++i) {
      const DimId d = dims[i];
      if (d && (need == ShapeNeed::Static ? m_.dims.value(d).has_value() : bounded(d))) continue;
      if (fixed_.has(d)) continue;
      return fail(DeviceRefusal::DynamicShape, [&] {
        return fmt::format("dim {} of {} is {}, which {}", i, name(s), m_.dims.print(d),
                           need == ShapeNeed::Static ? "is no number" : "has no greatest value");
      });
    }
  }

  // Returns whether a dim lies in the range: in every run, or in some if it is taken for a number.
  bool in_range(DimId d, const IntRange& allowed) {
    if (!d) return false;
    if (const std::optional<std::int64_t> value = m_.dims.value(d)) return allowed.holds(*value);
    const Range known = m_.dims.range(d);
    if (fixed_.has(d)) return known.low <= allowed.high && allowed.low <= known.high;
    return allowed.low <= known.low && known.high <= allowed.high;
  }

  void extents(const Slot& s, const IntRange& allowed) {
    if (!rank_of(s.value))
      return fail(DeviceRefusal::DynamicShape, [&] { return "the shape of " + name(s) + " is not known"; });
    const std::span<const DimId> dims = inference_.dims(s.value);
    const bool told = rule_.shapes.value_or(profile_.shapes) == ShapeNeed::Static;  // that it is no number
    for (std::size_t i = 0; i < dims.size(); ++i) {
      const bool number = dims[i] && m_.dims.value(dims[i]);
      if (in_range(dims[i], allowed) || (told && !number && !fixed_.has(dims[i]))) continue;
      return fail(number ? DeviceRefusal::Dims : DeviceRefusal::DynamicShape, [&] {
        return fmt::format("dim {} of {} is {}, allowed: {}", i, name(s), m_.dims.print(dims[i]),
                           range_text(allowed));
      });
    }
  }

  void dim(const Slot& s, const DimCondition& c) {
    const std::optional<std::size_t> r = rank_of(s.value);
    if (!r) return fail(DeviceRefusal::Rank, [&] { return "the rank of " + name(s) + " is not known"; });
    const std::optional<std::int64_t> axis = normalize_axis(c.axis, *r);
    if (!axis)
      return fail(DeviceRefusal::Dims, [&] { return fmt::format("{} has no axis {}", name(s), c.axis); });
    const DimId d = inference_.dims(s.value)[static_cast<std::size_t>(*axis)];
    const std::optional<std::int64_t> value = d ? m_.dims.value(d) : std::nullopt;
    const auto refuse = [&](const std::string& allowed) {
      fail(value ? DeviceRefusal::Dims : DeviceRefusal::DynamicShape, [&] {
        return fmt::format("dim {} of {} is {}, allowed: {}", c.axis, name(s), m_.dims.print(d), allowed);
      });
    };
    if (c.is_static && *c.is_static != (value.has_value() || fixed_.has(d)))
      refuse(*c.is_static ? "a number" : "no number");
    if (c.range && !in_range(d, *c.range)) refuse(range_text(*c.range));
    if (c.multiple_of) {
      const bool holds =
          value ? *value % *c.multiple_of == 0
                : fixed_.has(d) || (d && m_.dims.exact_div(d, m_.dims.constant(*c.multiple_of), true));
      if (!holds) refuse(fmt::format("a multiple of {}", *c.multiple_of));
    }
  }

  void bytes(const Slot& s, const IntRange& allowed) {
    const int bits = bits_of(inference_.dtype(s.value));
    if (!rank_of(s.value) || bits == 0)
      return fail(rank_of(s.value) ? DeviceRefusal::Bytes : DeviceRefusal::DynamicShape,
                  [&] { return "the size of " + name(s) + " is not known"; });
    Wide low = 1, high = 1;
    bool numbers = true, fixed = true;  // fixed: at least taken for numbers
    for (const DimId d : inference_.dims(s.value)) {
      const std::optional<std::int64_t> value = d ? m_.dims.value(d) : std::nullopt;
      const Range r = value ? Range{*value, *value} : d ? m_.dims.range(d) : Range{};
      numbers = numbers && value;
      fixed = fixed && (value || fixed_.has(d));
      low = std::min(low * static_cast<Wide>(std::max<std::int64_t>(r.low, 0)), kMostBytes);
      high = std::min(high * static_cast<Wide>(std::max<std::int64_t>(r.high, 0)), kMostBytes);
    }
    const auto size = [bits](Wide elements) {
      return static_cast<std::int64_t>(std::min((elements * static_cast<Wide>(bits) + 7) / 8, kMostBytes));
    };
    if (allowed.holds(size(low)) && allowed.holds(size(high))) return;
    if (fixed && size(low) <= allowed.high && allowed.low <= size(high)) return;
    fail(numbers ? DeviceRefusal::Bytes : DeviceRefusal::DynamicShape, [&] {
      if (!numbers) return fmt::format("the size of {} is no number", name(s));
      return fmt::format("{} has {} bytes, allowed: {}", name(s), size(high), range_text(allowed));
    });
  }

  void constant(const Slot& s, const OperandCondition& c) {
    const TensorId tensor = m_.constant_of(s.value);
    if (c.constant == false && tensor)
      return fail(DeviceRefusal::Constant, [&] { return name(s) + " is a constant"; });
    const bool must_be = c.constant == true || (c.value && c.value->present != false);
    if (must_be && !tensor) return fail(DeviceRefusal::Constant, [&] { return name(s) + " is no constant"; });
    if (!c.value) return;
    if (c.value->present == false) {
      if (tensor) fail(DeviceRefusal::Constant, [&] { return name(s) + " is a constant"; });
      return;
    }
    const std::optional<Elements> elements = elements_of(m_, tensor);
    if (elements && meets(*c.value, *elements)) return;
    fail(DeviceRefusal::Value, [&] {
      if (!elements) return "the elements of " + name(s) + " are not known";
      return fmt::format("{} is {}, which is not allowed", name(s), element_text(*elements));
    });
  }

  void same_dtype() {
    Slot first_slot{true, 0, {}};
    for (const std::uint32_t i : rule_.same_dtype) {
      const Slot s{true, i, m_.input(n_, i)};
      if (!s.value) continue;
      const DType type = inference_.dtype(s.value);
      if (type == DType::Undefined)
        return fail(DeviceRefusal::Dtype, [&] { return "the element type of " + name(s) + " is not known"; });
      if (!first_slot.value) {
        first_slot = s;
      } else if (type != inference_.dtype(first_slot.value)) {
        return fail(DeviceRefusal::Dtype, [&] {
          return fmt::format("{} is {} and {} is {}, which must be one type", name(first_slot),
                             dtype_name(inference_.dtype(first_slot.value)), name(s), dtype_name(type));
        });
      }
    }
  }

  void attribute(const AttributeCondition& a) {
    const ValueCondition& c = a.value;
    const bool written = written_attribute(m_, n_, a.name) != nullptr;
    if (c.present && *c.present != written)
      return fail(DeviceRefusal::Attribute, [&] {
        return fmt::format("attribute '{}' {}", a.name, written ? "must be absent" : "is absent");
      });
    if (c.choices.empty() && !c.low && !c.high && !c.length) return;
    const std::optional<Elements> elements = elements_of(m_, n_, a.name);
    if (elements && meets(c, *elements)) return;
    fail(DeviceRefusal::Attribute, [&] {
      if (elements)
        return fmt::format("attribute '{}' is {}, which is not allowed", a.name, element_text(*elements));
      return fmt::format("attribute '{}' {}", a.name,
                         written ? "has no known value" : "is absent and has no default");
    });
  }

  void qdq(bool inside) {
    const std::optional<std::string> outside = outside_qdq_group(m_, inference_, n_);
    if (inside == !outside) return;
    not_quantized = inside && !quantizes(m_, n_) && !dequantizes(m_, n_) && !reads_dequantized(m_, n_) &&
                    !only_quantized(m_, n_);
    fail(DeviceRefusal::Qdq, [&] {
      return outside ? "outside of a QDQ group: " + *outside : std::string("inside of a QDQ group");
    });
  }

  const Profile& profile_;
  const SupportRule& rule_;
  Model& m_;
  const Inference& inference_;
  FixedDims& fixed_;
  NodeId n_;
  std::int64_t since_;
  bool wants_text_;
};

}  // namespace

bool glob_matches(std::string_view glob, std::string_view text) {
  std::size_t g = 0, t = 0;
  std::size_t star = std::string_view::npos, resume = 0;  // the last '*', and where it ends in the text
  while (t < text.size()) {
    if (g < glob.size() && glob[g] == '*') {
      star = g++;
      resume = t;
    } else if (g < glob.size() && (glob[g] == '?' || glob[g] == text[t])) {
      ++g;
      ++t;
    } else if (star != std::string_view::npos) {
      g = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  return glob.find_first_not_of('*', g) == std::string_view::npos;
}

std::vector<std::string> doubtful_rules(const Profile& profile) {
  constexpr std::size_t kTypos = 2;
  std::vector<std::string> out;
  std::vector<std::string_view> names;
  for (const OpFacts& row : all_facts())
    if (row.domain.empty() && (names.empty() || names.back() != row.name)) names.push_back(row.name);
  for (std::size_t i = 0; i < profile.rules.size(); ++i) {
    const SupportRule& r = profile.rules[i];
    if (!r.domain.empty() || op_kind({}, r.op) != OpKind::Opaque ||
        schema_version({}, r.op, std::numeric_limits<std::int64_t>::max()) > 0)
      continue;
    const std::vector<std::string> near = nearest(r.op, names, 1);
    if (near.empty() || edit_distance(r.op, near.front(), kTypos) > kTypos) continue;
    out.push_back(
        fmt::format("rules[{}]: ai.onnx has no operator '{}'; did you mean '{}'?", i, r.op, near.front()));
  }
  return out;
}

struct Support::State {
  using Rules = std::vector<std::uint32_t>;

  const Profile& profile;
  Model& model;
  const Inference& inference;
  std::map<std::pair<std::string_view, std::string_view>, Rules> index;
  std::vector<std::optional<const Rules*>> by_op;  // by OpId; null: no rule
  std::map<std::pair<OpId, std::int64_t>, std::int64_t> since;
  const SupportRule no_conditions = {};
  FixedDims fixed;

  State(const Profile& p, Model& m, const Inference& i, std::span<const DimId> symbols)
      : profile(p), model(m), inference(i), fixed(m.dims, symbols) {
    for (std::uint32_t r = 0; r < p.rules.size(); ++r) index[{p.rules[r].domain, p.rules[r].op}].push_back(r);
  }

  const Rules* rules_of(NodeId n) {
    const OpId op = model.node(n).op;
    if (op.index() >= by_op.size()) by_op.resize(op.index() + std::size_t{1});
    std::optional<const Rules*>& known = by_op[op.index()];
    if (!known) {
      const Op& named = model.op(op);
      const auto at = index.find({model.text(named.domain), model.text(named.type)});
      // An operator that a function of the model has the name of may be either.
      known = at == index.end() || named.function ? nullptr : &at->second;
    }
    return *known;
  }

  // Returns the entry of `omitted` about the operator; null when there is none.
  const OmittedOperator* omitted(NodeId n) const {
    const Op& op = model.op(n);
    if (!profile.omitted || op.function) return nullptr;
    const auto at = std::ranges::find_if(*profile.omitted, [&](const OmittedOperator& o) {
      return o.op == model.text(op.type) && o.domain == model.text(op.domain);
    });
    return at == profile.omitted->end() ? nullptr : &*at;
  }

  // Says who left the operator out, where the profile knows.
  std::string why_no_rule(NodeId n) const {
    if (!profile.omitted || model.op(n).function) return {};
    const OmittedOperator* at = omitted(n);
    if (at == nullptr) return ": it is not in the profile's sources";
    std::string out = at->by == OmittedBy::Source ? ": the source refuses it" : ": the converter left it out";
    return at->note.empty() ? out : out + " (" + at->note + ')';
  }

  // Operators that the standard does not have count from the version that the fact table gives, or else from
  // the imported one.
  std::int64_t since_of(NodeId n) {
    const Op& op = model.op(n);
    const std::int64_t imported = model.opset(n);
    const auto [it, added] = since.try_emplace({model.node(n).op, imported}, imported);
    if (!added) return it->second;
    if (const int version = schema_version(model.text(op.domain), model.text(op.type), imported); version > 0)
      it->second = version;
    else if (const OpFacts& row = facts_of(model, n); row.kind != OpKind::Opaque) it->second = row.since;
    return it->second;
  }

  RuleRun run_rule(NodeId n, const SupportRule& rule, bool wants_text) {
    RuleRun run(profile, rule, model, inference, fixed, n, since_of(n), wants_text);
    run.run();
    return run;
  }
  // Of the globs that match the node's name. One without a name counts with the one that it will get, so that
  // a run with OUT, where it has that, says the same.
  const std::string* first_match(const std::vector<std::string>& globs, NodeId n) const {
    if (globs.empty()) return nullptr;
    const std::string name = name_or_proposal(model, n);
    const auto at = std::ranges::find_if(globs, [&](const std::string& g) { return glob_matches(g, name); });
    return at == globs.end() ? nullptr : &*at;
  }

  // A Constant node is data, as an initializer is.
  bool makes_constants(NodeId n) const {
    const std::span<const ValueId> results = model.outputs(n);
    return model.input_count(n) == 0 && !results.empty() &&
           std::ranges::all_of(results, [this](ValueId v) { return v && model.constant_of(v); });
  }

  Verdict check(NodeId n);
};

Verdict Support::State::check(NodeId n) {
  Verdict v;
  const auto refuse = [&v](DeviceRefusal r) { return v.refusal = r, v; };
  if (profile.host) return refuse(DeviceRefusal::None);
  if (first_match(profile.deny_nodes, n)) return refuse(DeviceRefusal::Denied);
  if (first_match(profile.allow_nodes, n) || makes_constants(n)) return refuse(DeviceRefusal::None);
  const bool bodies = has_bodies(model, n);
  if (bodies && profile.control_flow == ControlFlow::None) return refuse(DeviceRefusal::ControlFlow);
  const Rules* rules = rules_of(n);
  if (rules == nullptr && (!bodies || omitted(n) != nullptr)) return refuse(DeviceRefusal::NoRule);
  if (rules == nullptr) {
    const RuleRun run = run_rule(n, no_conditions, false);
    v.failed = run.failed;
    return refuse(run.first);
  }
  // Of the best rule so far: whether it is for another version, for QDQ groups alone; its failed conditions.
  std::tuple<bool, bool, std::uint32_t> best;
  for (const std::uint32_t r : *rules) {
    const RuleRun run = run_rule(n, profile.rules[r], false);
    const std::tuple rank(run.wrong_opset, run.not_quantized, run.failed);
    if (v.rule != Verdict::kNoRule && rank >= best) continue;
    best = rank;
    v.rule = r;
    v.failed = run.failed;
    v.refusal = run.first;
    if (v.supported()) break;
  }
  return v;
}

Support::Support(const Profile& profile, Model& model, const Inference& inference,
                 std::span<const DimId> fixed)
    : s_(std::make_unique<State>(profile, model, inference, fixed)) {}
Support::~Support() = default;

const Profile& Support::profile() const { return s_->profile; }

Verdict Support::check(NodeId n) { return s_->check(n); }

std::vector<Verdict> Support::check_all() {
  const Model& m = s_->model;
  std::vector<Verdict> out(m.node_count());
  std::vector<std::vector<GraphId>> levels = {{m.main()}};
  for (std::size_t i = 0; i < levels.size(); ++i) {  // the bodies in a level make the next one
    std::vector<GraphId> next;
    for (const GraphId g : levels[i])
      for (NodeId n = m.first_node(g); n; n = m.next_node(n))
        for (const Attr& a : m.attrs(n)) next.insert(next.end(), a.graphs.begin(), a.graphs.end());
    if (!next.empty()) levels.push_back(std::move(next));
  }
  for (std::size_t i = levels.size(); i-- > 0;) {
    for (const GraphId g : levels[i]) {
      for (NodeId n = m.first_node(g); n; n = m.next_node(n)) {
        Verdict& v = out[n.index()];
        const NodeId inner = v.inner;  // noted by a body, which is finished
        v = s_->check(n);
        if (inner && v.supported() && !s_->profile.host) {
          v.refusal = DeviceRefusal::ControlFlow;
          v.inner = inner;
        }
        const NodeId owner = m.graph(g).owner;
        if (v.supported() || !owner || out[owner.index()].inner) continue;
        out[owner.index()].inner = v.inner ? v.inner : n;
      }
    }
  }
  return out;
}

std::string Support::explain(NodeId n, const Verdict& verdict) {
  if (verdict.supported()) return {};
  if (verdict.refusal == DeviceRefusal::ControlFlow && verdict.inner) {
    const Verdict inner = s_->check(verdict.inner);
    return to_string(place_of(s_->model, verdict.inner)) + ": " + explain(verdict.inner, inner);
  }
  const std::string op = place_of(s_->model, n).op;
  switch (verdict.refusal) {
    case DeviceRefusal::Denied: {
      const std::string* glob = s_->first_match(s_->profile.deny_nodes, n);
      return fmt::format("deny_nodes has '{}'", glob == nullptr ? "" : *glob);
    }
    case DeviceRefusal::ControlFlow: return "control_flow is none: no node with bodies is taken";
    case DeviceRefusal::NoRule: return "no rule for " + op + s_->why_no_rule(n);
    default: break;
  }
  const bool own = verdict.rule != Verdict::kNoRule;
  const RuleRun run = s_->run_rule(n, own ? s_->profile.rules[verdict.rule] : s_->no_conditions, true);
  std::string more;
  if (run.failed > 1) more = fmt::format(" (and {} more)", run.failed - 1);
  if (!own) return fmt::format("{}: {}{}", op, run.text, more);
  const State::Rules& rules = *s_->rules_of(n);
  const auto number = std::ranges::find(rules, verdict.rule) - rules.begin() + 1;
  return fmt::format("{} rule {}: {}{}", op, number, run.text, more);
}

}  // namespace graphopt
