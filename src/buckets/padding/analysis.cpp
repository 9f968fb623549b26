#include "buckets/padding/analysis.h"

#include <algorithm>

#include "buckets/padding/context.h"
#include "buckets/padding/linear.h"
#include "buckets/padding/type_limits.h"
#include "ir/dim_terms.h"
#include "ops/node_facts.h"

namespace graphopt {
namespace {

enum : std::uint8_t { kAsked = 1, kBucketed = 2, kStable = 4 };

bool is_deterministic(const Model& m, NodeId root) {
  return all_that_run_in(m, root, [&m](NodeId n) {
    const OpFacts& row = facts_of(m, n);
    // A rule refuses the forms of its operator that act on more than their results.
    const bool has_rule = row.purity == Purity::Unknown && row.pad != PadRule::Opaque;
    return row.purity == Purity::Pure || row.purity == Purity::ControlFlow || has_rule || m.is_return(n) ||
           m.kind(n) == OpKind::FunctionCall;
  });
}

}  // namespace

PaddingAnalysis::PaddingAnalysis(Model& m, const Inference& inference, PaddingOptions options,
                                 std::shared_ptr<ConstantFacts> constants)
    : constants_(constants ? std::move(constants) : std::make_shared<ConstantFacts>()),
      m_(m),
      inference_(inference),
      options_(std::move(options)),
      dims_(m.dims),
      layouts_(m.dims),
      math_(m.dims) {
  for (const PaddedSymbol& s : options_.symbols) {
    const std::string name = std::string(dims_.symbol_name(s.symbol)) + "#";
    const DimId slack = dims_.symbol(name, {0, s.range.high - s.range.low});
    slack_.emplace_back(s.symbol, dims_.add(s.symbol, slack));
  }
}

// --- extents -----------------------------------------------------------------------------------------------

bool PaddingAnalysis::bucketed(DimId d) const {
  if (!d) return false;
  if (d.index() >= kinds_.size()) kinds_.resize(d.index() + 1, 0);
  std::uint8_t& k = kinds_[d.index()];
  if ((k & kAsked) == 0 || (k & kStable) == 0) {  // a fresh symbol may become stable
    k = kAsked | kStable;
    for (const DimId s : dims_.symbols_of(d)) {
      const bool is_padded =
          std::ranges::any_of(options_.symbols, [s](const PaddedSymbol& p) { return p.symbol == s; });
      if (is_padded) k |= kBucketed;
      else if (!dims_.linked(s) && (s.index() >= stable_fresh_.size() || !stable_fresh_[s.index()]))
        k &= static_cast<std::uint8_t>(~kStable);
    }
  }
  return (k & kBucketed) != 0;
}

bool PaddingAnalysis::stable(DimId d) const {
  if (!d) return false;
  bucketed(d);
  return (kinds_[d.index()] & kStable) != 0;
}

// Only a symbol of its own: of a sum nothing follows for its parts.
void PaddingAnalysis::make_stable(DimId d) {
  if (!d || !dims_.is_symbol(d) || bucketed(d)) return;
  if (d.index() >= stable_fresh_.size()) stable_fresh_.resize(d.index() + 1, false);
  stable_fresh_[d.index()] = true;
}

DimId PaddingAnalysis::in_padded_run(DimId d) {
  if (!bucketed(d)) return d;
  const auto [at, fresh] = padded_.try_emplace(d, DimId{});
  if (!fresh) return at->second;
  DimId out = d;
  for (const auto& [symbol, padded] : slack_)
    if (out) out = dims_.substitute(out, symbol, padded);
  return at->second = out;
}

LayoutId PaddingAnalysis::layout_of(DimId d) {
  d = dims_.canonical(d);
  if (!stable(d)) return {};
  if (!bucketed(d)) return layouts_.same(d);
  return grows(d) ? layouts_.prefix(d) : LayoutId{};
}

// "16 - s" is smaller in the padded run: what it holds there is no extension of what it holds in the true
// one.
bool PaddingAnalysis::grows(DimId d) {
  const auto [at, fresh] = grows_.try_emplace(d, false);
  if (!fresh) return at->second;
  const DimId padded = in_padded_run(d);
  return at->second = padded && dims_.less_equal(d, padded) == Tri::Yes;
}

// A sum of several padded extents (a cache and new entries) is padded behind each of them. Each part must be
// an extent, and grow; where one does not, the sum as a whole must.
LayoutId PaddingAnalysis::input_layout(DimId d) {
  if (!bucketed(d)) return layouts_.same(d);
  if (dims_.is_symbol(d)) return layouts_.prefix(d);
  const LayoutId whole = dims_.range(d).low >= 0 && grows(d) ? layouts_.prefix(d) : LayoutId{};
  const auto products = terms_of(dims_, d);
  if (!products) return whole;
  std::vector<DimId> terms;
  for (const DimProduct& p : *products) {
    DimId term = dims_.constant(p.coefficient);
    for (const DimFactor& f : p.factors) term = term ? dims_.mul(term, f.self) : DimId{};
    if (!term || dims_.range(term).low < 0 || (bucketed(term) && !grows(term))) return whole;
    terms.push_back(term);
  }
  if (std::ranges::count_if(terms, [this](DimId t) { return bucketed(t); }) < 2) return whole;
  if (options_.last_segment_first) std::ranges::reverse(terms);
  std::vector<LayoutId> parts;
  for (const DimId t : terms) parts.push_back(bucketed(t) ? layouts_.prefix(t) : layouts_.same(t));
  return layouts_.segments(parts);
}

// --- constants ---------------------------------------------------------------------------------------------

PaddedValue PaddingAnalysis::constant_value(TensorId t) {
  PaddedValue v;
  v.known = v.identical = v.pure = true;
  v.type = m_.tensor(t).dtype;
  v.constant = t;
  for (const std::int64_t d : m_.tensor(t).dims) v.layouts.push_back(layouts_.same(dims_.constant(d)));
  v.contents.push_back(constants_->content(m_, t));
  return v;
}

void PaddingAnalysis::read_constant(ValueId v) {
  const TensorId t = m_.constant_of(v);
  PaddedValue& out = values_[v.index()];
  if (t) {
    out = constant_value(t);
  } else {
    out.identical = true;
    out.type = inference_.dtype(v);
    if (inference_.has_rank(v)) {
      out.known = true;
      for (const DimId d : inference_.dims(v)) out.layouts.push_back(layouts_.same(d));
      out.contents.push_back(ContentMath::any_finite());
    }
  }
  known_[v.index()] = true;
}

const PaddedValue& PaddingAnalysis::operand(ValueId v) {
  static const PaddedValue absent;
  if (!v) return absent;
  if (!known_[v.index()]) read_constant(v);  // an initializer, which has no node
  return values_[v.index()];
}

const PaddedValue& PaddingAnalysis::value(ValueId v) const { return values_[v.index()]; }

const Contamination* PaddingAnalysis::contamination(const PaddedValue& v) const {
  return v.bad ? &contaminations_[v.bad.index()] : nullptr;
}

ContaminationId PaddingAnalysis::add(Contamination c) {
  contaminations_.push_back(std::move(c));
  return ContaminationId{contaminations_.size() - 1};
}

// --- the walk ----------------------------------------------------------------------------------------------

// Two symbols that the model takes for equal stay two: what needs them equal is found. A dim that has no name
// is what the model needs it to be.
DimId PaddingAnalysis::dim_of_input(ValueId v, std::size_t axis) const {
  const Type& type = m_.types[m_.value(v).declared];
  const DimId declared = axis < type.dims.size() ? type.dims[axis] : DimId{};
  return declared && dims_.linked(declared) ? declared : inference_.dims(v)[axis];
}

void PaddingAnalysis::seed_input(ValueId v) {
  PaddedValue& out = values_[v.index()];
  known_[v.index()] = true;
  out.type = inference_.dtype(v);
  out.origin = v;
  const Type& type = m_.types[m_.value(v).declared];
  if (type.kind != TypeKind::Tensor || !inference_.has_rank(v)) {
    out.identical = true;  // no dim of it has a name
    return;
  }
  out.known = inference_.dims(v).size() <= kMaxPaddedRank;
  for (std::size_t i = 0; i < inference_.dims(v).size(); ++i) {
    const DimId d = dim_of_input(v, i);
    for (const DimId s : dims_.symbols_of(d)) make_stable(s);
    out.layouts.push_back(input_layout(d));
    if (out.layouts.back() && layouts_.padded(out.layouts.back()) && i < kMaxPaddedRank) out.padded |= bit(i);
    if (!out.layouts.back()) out.known = false;
  }
  if (std::popcount(out.padded) > kMaxPaddedAxes) out.known = false;
  if (!out.known) {
    const bool shrinks = !std::ranges::all_of(out.layouts, &LayoutId::valid);
    out.bad = add({.node = {},
                   .reason = "input '" + std::string(m_.text(m_.value(v).name)) +
                             (shrinks ? "' has an extent that may be less in the padded run"
                                      : "' has more padded axes than are followed")});
    return;
  }
  Content content = out.type == DType::Bool ? ContentMath::boolean() : ContentMath::any_finite();
  if (const auto given = options_.values.find(v); given != options_.values.end())
    content = ContentMath::interval(stepped(given->second.first, -kInfinity),
                                    stepped(given->second.second, kInfinity));
  if (const auto length = options_.lengths.find(v); length != options_.lengths.end())
    content = ContentMath::between(length->second, length->second);
  Content padding = ContentMath::number(0);
  if (const auto pad = options_.pads.find(v); pad != options_.pads.end()) {
    padding = pad->second.kind == PadElement::Kind::Number
                  ? ContentMath::number(stored(out.type, pad->second.number))
                  : ContentMath::any_of(out.type);
    if (pad->second.kind == PadElement::Kind::Any && is_float(out.type)) padding = ContentMath::anything();
  }
  for_each_subset(out.padded, [&](AxisMask s) { out.contents.push_back(s == 0 ? content : padding); });
  out.identical = out.padded == 0;
}

bool PaddingAnalysis::is_padded_input(ValueId v) const {
  if (m_.types[m_.value(v).declared].kind != TypeKind::Tensor || !inference_.has_rank(v)) return false;
  for (std::size_t i = 0; i < inference_.dims(v).size(); ++i)
    if (bucketed(dim_of_input(v, i))) return true;
  return false;
}

bool PaddingAnalysis::has_segments() const {
  for (const ValueId v : m_.graph_inputs(m_.main()))
    for (const LayoutId l : values_[v.index()].layouts)
      if (l && layouts_[l].kind == LayoutKind::Segments) return true;
  return false;
}

void PaddingAnalysis::start() {
  values_.assign(m_.value_count(), {});
  known_.assign(m_.value_count(), false);
  for (const ValueId v : m_.graph_inputs(m_.main())) seed_input(v);
}

void PaddingAnalysis::run() {
  start();
  frames_.push_back({m_.first_node(m_.main()), {}, m_.main()});
  while (!frames_.empty()) {
    Frame& top = frames_.back();
    if (!top.next) {
      const Frame done = top;
      frames_.pop_back();
      if (done.owner) leave(done);
      continue;
    }
    const NodeId n = top.next;
    top.next = m_.next_node(n);
    visit(n);  // may add a frame, which ends the life of `top`
  }
}

// A branch of an If stands for the node.
bool PaddingAnalysis::enter_branch(NodeId n) {
  const SymbolicTensor* condition = inference_.symbolic(m_.input(n, 0));
  if (!condition || condition->elements.size() != 1 || !condition->elements[0]) return false;
  const auto taken = dims_.value(condition->elements[0]);
  if (!taken) return false;
  const Attr* branch = m_.find_attr(n, *taken != 0 ? names::then_branch : names::else_branch);
  if (!branch || branch->graphs.empty()) return false;
  const GraphId g = branch->graphs[0];
  frames_.push_back({m_.first_node(g), n, g});
  return true;
}

void PaddingAnalysis::leave(const Frame& frame) {
  for (std::size_t i = 0; i < m_.output_count(frame.owner); ++i) {
    const ValueId to = m_.output(frame.owner, i);
    if (!to || i >= m_.graph_output_count(frame.graph)) continue;
    values_[to.index()] = operand(m_.graph_output(frame.graph, i));
    known_[to.index()] = true;
  }
}

bool PaddingAnalysis::all_identical(NodeId root) const {
  const auto is_identical = [this](ValueId v) {
    if (!v) return true;
    if (known_[v.index()]) return values_[v.index()].identical;
    return !m_.value(v).def;  // an initializer, or the input of a body
  };
  for (std::size_t i = 0; i < m_.input_count(root); ++i)
    if (!is_identical(m_.input(root, i))) return false;
  // Captures of its bodies. What a body makes itself follows from these.
  std::vector<GraphId> bodies;
  const auto push = [&](NodeId n) {
    for (const Attr& a : m_.attrs(n)) bodies.insert(bodies.end(), a.graphs.begin(), a.graphs.end());
  };
  push(root);
  while (!bodies.empty()) {
    const GraphId g = bodies.back();
    bodies.pop_back();
    const auto reads_identical = [&](NodeId n) {
      for (std::size_t i = 0; i < m_.input_count(n); ++i)
        if (const ValueId v = m_.input(n, i); v && known_[v.index()] && !values_[v.index()].identical)
          return false;
      return true;
    };
    for (NodeId n = m_.first_node(g); n; n = m_.next_node(n)) {
      if (!reads_identical(n)) return false;
      push(n);
    }
    if (!reads_identical(m_.graph(g).ret)) return false;
  }
  return true;
}

// A function of equal operands is equal: any operator, also one that nothing is known of.
void PaddingAnalysis::set_identical(NodeId n) {
  bool is_pure = true;
  for (std::size_t i = 0; i < m_.input_count(n); ++i)
    if (const ValueId v = m_.input(n, i)) is_pure = is_pure && operand(v).pure;
  for (const Attr& a : m_.attrs(n)) is_pure = is_pure && a.graphs.empty();
  bool is_number = true;  // an extent, or what is computed from extents: its formula says all
  for (const ValueId v : m_.outputs(n)) {
    const SymbolicTensor* t = v ? inference_.symbolic(v) : nullptr;
    if (v && !(t && t->elements.size() == 1 && set_symbolic(v, n))) is_number = false;
  }
  if (!is_number && !fold(n)) {
    PaddingContext c(*this, n);
    const PaddingRule rule = padding_rule(facts_of(m_, n).pad);
    bool known_operands = true;
    for (std::size_t i = 0; i < m_.input_count(n); ++i)
      if (const ValueId v = m_.input(n, i)) known_operands = known_operands && operand(v).known;
    if (!rule || !known_operands || !rule(c))
      for (const ValueId v : m_.outputs(n))
        if (v && !set_symbolic(v, n)) known_[v.index()] = false;
  }
  for (const ValueId v : m_.outputs(n)) {
    if (!v) continue;
    PaddedValue& out = values_[v.index()];
    if (!known_[v.index()] || out.padded != 0 || out.bad) {
      out = {};
      out.type = inference_.dtype(v);
      out.known = inference_.has_rank(v);
      for (const DimId d : inference_.dims(v)) out.layouts.push_back(layouts_.same(dims_.canonical(d)));
      out.contents.push_back(out.type == DType::Bool ? ContentMath::boolean() : ContentMath::any_finite());
    }
    known_[v.index()] = true;
    out.identical = true;
    out.pure = is_pure;
    for (const DimId d : inference_.dims(v)) make_stable(dims_.canonical(d));
  }
}

bool PaddingAnalysis::fold(NodeId n) {
  if (m_.input_count(n) == 0) {
    const ValueId v = m_.output(n, 0);
    if (!v || !m_.constant_of(v)) return false;
    read_constant(v);
    return true;
  }
  std::vector<TensorId> operands;
  for (std::size_t i = 0; i < m_.input_count(n); ++i) {
    const ValueId v = m_.input(n, i);
    operands.push_back(v ? operand(v).constant : TensorId{});
    if (v && !operands.back()) return false;
  }
  const auto& results = constants_->folded(m_, n, operands);
  if (!results) return false;
  for (std::size_t i = 0; i < results->size(); ++i) {
    const ValueId v = m_.output(n, i);
    if (!v || !(*results)[i]) continue;
    values_[v.index()] = constant_value((*results)[i]);
    known_[v.index()] = true;
  }
  return true;
}

// Inference states a small tensor's elements as expressions over extents, which hold in both runs.
bool PaddingAnalysis::set_symbolic(ValueId v, NodeId n) {
  const SymbolicTensor* t = inference_.symbolic(v);
  if (!t) return false;
  std::string extents;
  std::optional<Content> content;
  for (const DimId e : t->elements) {
    if (!e || !stable(e)) return false;
    if (bucketed(e) && extents.find(dims_.print(e)) == std::string::npos)
      extents += (extents.empty() ? "" : ", ") + dims_.print(e);
    const Content one = ContentMath::between(e, e);
    content = content ? math_.join(*content, one) : one;
  }
  PaddedValue out;
  out.known = true;
  out.type = t->dtype;
  for (const std::int64_t d : t->dims) out.layouts.push_back(layouts_.same(dims_.constant(d)));
  out.contents.push_back(content.value_or(ContentMath::number(0)));
  out.identical = extents.empty();
  out.pure = true;
  if (!extents.empty())
    out.bad = add(
        {.node = n, .reason = "a value that is computed from a padded extent is used as data: " + extents});
  values_[v.index()] = std::move(out);
  known_[v.index()] = true;
  return true;
}

// Operands that only state extents are known by their elements; contaminated data of others reaches results.
ContaminationId PaddingAnalysis::inherited(NodeId n) const {
  const OpFacts& row = facts_of(m_, n);
  for (std::size_t i = 0; i < m_.input_count(n); ++i) {
    const ValueId v = m_.input(n, i);
    if (!v || !known_[v.index()] || !values_[v.index()].bad) continue;
    const Role role = role_of(row, i);
    if (role == Role::TypeOnly || row.pad == PadRule::Extents) continue;
    if (role == Role::Shape && values_[v.index()].known) continue;  // elements() has them
    if (row.pad == PadRule::Gather && i == 1 && !values_[v.index()].linear.empty()) continue;
    return values_[v.index()].bad;
  }
  return {};
}

void PaddingAnalysis::contaminate(NodeId n, ContaminationId why) {
  for (const ValueId v : m_.outputs(n)) {
    if (!v || known_[v.index()]) continue;
    PaddedValue& out = values_[v.index()];
    out = {};
    out.type = inference_.dtype(v);
    out.bad = why;
    known_[v.index()] = true;
  }
}

void PaddingAnalysis::visit(NodeId n) {
  for (const ValueId v : m_.outputs(n))
    if (v) known_[v.index()] = false;
  const bool deterministic = is_deterministic(m_, n);
  if (deterministic && all_identical(n)) {
    set_identical(n);
    return;
  }
  if (m_.kind(n) == OpKind::If && enter_branch(n)) return;
  bool all_symbolic = deterministic;
  for (const ValueId v : m_.outputs(n))
    if (v && deterministic && !set_symbolic(v, n)) all_symbolic = false;
  PaddingContext c(*this, n);
  // The strides of a flat index into merged axes are extents, which differ in the padded run: by its numbers
  // the index is contaminated, but its coordinates are not (linear.h).
  if (flat_index_rule(c) || all_symbolic) return;
  const PaddingRule rule = deterministic ? padding_rule(facts_of(m_, n).pad) : nullptr;
  if (const ContaminationId why = inherited(n)) {
    contaminate(n, why);
    return;
  }
  bool done = false;
  bool is_pure = deterministic;
  for (std::size_t i = 0; i < m_.input_count(n); ++i) {
    const ValueId v = m_.input(n, i);
    if (!v) continue;
    is_pure = is_pure && operand(v).pure;
    if (operand(v).known || rule == nullptr) continue;
    c.refuse("operand " + std::to_string(i) + " has no known shape");
    done = true;
  }
  if (!deterministic) c.refuse("draws random numbers, or has effects that are not known");
  else if (!rule) c.refuse("no rule says what this operator does with padding");
  const bool safe = !done && rule && rule(c);
  if (!safe) {
    for (const ValueId v : m_.outputs(n))
      if (v && !inference_.symbolic(v)) known_[v.index()] = false;
    contaminate(n, add(c.refusal()));
    return;
  }
  for (std::size_t i = 0; i < m_.output_count(n); ++i) {
    const ValueId v = m_.output(n, i);
    if (!v) continue;
    if (!known_[v.index()]) {
      c.refuse("result " + std::to_string(i) + " is not analysed");
      contaminate(n, add(c.refusal()));
      continue;
    }
    PaddedValue& out = values_[v.index()];
    out.identical = out.known && !out.bad && out.padded == 0;
    out.pure = is_pure;
  }
}

const Contamination* PaddingAnalysis::refusal() const {
  for (std::size_t i = 0; i < m_.graph_output_count(m_.main()); ++i) {
    const PaddedValue& v = values_[m_.graph_output(m_.main(), i).index()];
    if (v.bad) return &contaminations_[v.bad.index()];
  }
  return nullptr;
}

}  // namespace graphopt
