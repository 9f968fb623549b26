#include "specialize/decision.h"

#include <algorithm>
#include <variant>

#include "infer/failing_node.h"
#include "infer/multiply_adds.h"
#include "specialize/bind.h"
#include "specialize/map_dims.h"
#include "specialize/marks/shape_filter.h"
#include "support/nearest.h"
#include "support/quote_name.h"

namespace graphopt {
namespace {

bool is_used(const Model& m, DimId symbol) {
  for (const DimId s : input_symbols(m))
    if (s == symbol) return true;
  return false;
}

double as_double(const MarkNumber& n) {
  return std::visit([](auto v) { return static_cast<double>(v); }, n);
}

// A dim that a user names by its place: "x[1]".
struct DimPlace {
  ValueId input;
  std::size_t axis = 0;
};
std::optional<DimPlace> place_of_name(const Model& m, std::string_view name) {
  const std::size_t open = name.rfind('[');
  if (name.empty() || name.back() != ']' || open == std::string_view::npos) return std::nullopt;
  const ValueId v = find_input(m, name.substr(0, open));
  const std::string_view digits = name.substr(open + 1, name.size() - open - 2);
  if (!v || digits.empty() || digits.size() > 3 ||
      digits.find_first_not_of("0123456789") != std::string_view::npos)
    return std::nullopt;
  return DimPlace{v, static_cast<std::size_t>(std::stoul(std::string(digits)))};
}

std::optional<Error> name_place(Model& m, std::string_view name) {
  if (const DimId s = m.dims.find_symbol(name); s && is_used(m, s)) return std::nullopt;
  const auto place = place_of_name(m, name);
  if (!place) return std::nullopt;  // unknown_names() speaks of it
  const Type type = m.types[m.value(place->input).declared];
  if (type.kind != TypeKind::Tensor || !type.has_rank || place->axis >= type.dims.size())
    return usage_error(m, "--bucket " + std::string(name) + ": the input has no such dim",
                       "name a dim of an input by its place, counted from 0, or by its symbol");
  const DimId d = type.dims[place->axis];
  if (d && m.dims.value(d))
    return usage_error(m, "--bucket " + std::string(name) + ": this dim is always " + m.dims.print(d),
                       "buckets are for dims that the model leaves open");
  if (d)
    return usage_error(m, "--bucket " + std::string(name) + ": this dim is called " + m.dims.print(d),
                       "use that name, which stands for all dims that it occurs in");
  std::vector<DimId> dims(type.dims.begin(), type.dims.end());
  dims[place->axis] = m.dims.symbol(name);
  m.declare(place->input, m.types.tensor(type.elem, dims));
  return std::nullopt;
}

std::optional<Error> replace_name(Model& m, const DimRelation& relation) {
  const DimId symbol = m.dims.find_symbol(relation.symbol);
  std::vector<std::string> names;
  for (const DimId s : input_symbols(m)) names.emplace_back(m.dims.symbol_name(s));
  if (!symbol || !is_used(m, symbol))
    return usage_error(m, "dims: the model's inputs have no symbol " + quote_name(relation.symbol),
                       suggest(relation.symbol, names, "symbols of the inputs"));
  const Result<DimId> by =
      parse_extent(m.dims, relation.expression, names, "symbols of the inputs", "dims." + relation.symbol);
  if (!by) return by.error();
  for (const DimId s : m.dims.symbols_of(*by))
    if (s == symbol)
      return usage_error(m, "dims: " + quote_name(relation.symbol) + " is stated by itself",
                         "state it by other symbols");
  for (const ValueId v : m.graph_inputs(m.main())) {
    const TypeId old = m.value(v).declared;
    const TypeId now = map_dims(m, old, [&](DimId d) { return m.dims.substitute(d, symbol, *by); });
    if (now != old) m.declare(v, now);
  }
  return std::nullopt;
}

// "h//2" is a name of its own while no dim is called h. Marks for h say what it is.
void read_names_as_expressions(Model& m, const BucketMarks& marks) {
  bool is_new = false;
  std::vector<DimId> symbols = input_symbols(m);
  for (const BucketGroup& group : marks.groups)
    for (const std::string& name : group.symbols) {
      const bool is_known =
          std::ranges::any_of(symbols, [&](DimId s) { return m.dims.symbol_name(s) == name; });
      if (is_known || find_input(m, name.substr(0, name.find('[')))) continue;
      m.dims.symbol(name);
      is_new = true;
    }
  if (!is_new) return;
  for (const DimId symbol : symbols) {
    const std::string text(m.dims.symbol_name(symbol));
    const bool is_marked = std::ranges::any_of(marks.groups, [&](const BucketGroup& g) {
      return std::ranges::find(g.symbols, text) != g.symbols.end();
    });
    const DimId meant = is_marked ? DimId{} : m.dims.parse(text);
    if (!meant || meant == symbol || m.dims.range(meant).low < 0) continue;
    for (const ValueId v : m.graph_inputs(m.main())) {
      const TypeId old = m.value(v).declared;
      const TypeId now = map_dims(m, old, [&](DimId d) { return m.dims.substitute(d, symbol, meant); });
      if (now != old) m.declare(v, now);
    }
  }
}

// Says what the promise of independent symbols contradicts.
std::optional<Contamination> broken_promise(const Model& m, const BucketDecision& b,
                                            const BucketMarks& marks) {
  Contamination why;
  if (m.dims.contradicted()) {
    why.reason = "no run of the model has extents of these ranges: some of its nodes contradict each other";
    return why;
  }
  // A default has one size, and a model that states another one is not loaded.
  for (const ValueId v : m.graph_inputs(m.main())) {
    if (!m.value(v).is_initializer) continue;
    for (const DimId d : m.types[m.value(v).declared].dims)
      for (const DimId s : d ? m.dims.symbols_of(d) : std::vector<DimId>())
        if (std::ranges::find(b.symbols, s) != b.symbols.end()) {
          why.reason = "input '" + std::string(m.text(m.value(v).name)) +
                       "' has a default, which has one size, and " + std::string(m.dims.symbol_name(s)) +
                       " in its type";
          return why;
        }
  }
  for (std::size_t i = 0; i < b.symbols.size(); ++i) {
    const DimId now = m.dims.canonical(b.symbols[i]);
    const BucketGroup& group = marks.groups[b.lists[i].group];
    if (m.dims.is_constant(now, group.range.low) && group.range.low == group.range.high) continue;
    if (now == b.symbols[i] && m.dims.range(now).low <= group.range.low &&
        m.dims.range(now).high >= group.range.high)
      continue;
    const std::string name(m.dims.symbol_name(b.symbols[i]));
    if (now == b.symbols[i]) {
      // A bound that was promised itself says nothing of the model.
      const Range takes = m.dims.range(now);
      const std::string from = takes.low > group.range.low ? " from " + std::to_string(takes.low) : "";
      const std::string to = takes.high < group.range.high ? " up to " + std::to_string(takes.high) : "";
      why.reason = "the model takes " + name + from + to + " only; more was promised";
      why.remedy = "promise no more: sizes and 'min' within that range";
    } else {
      why.reason =
          "the model needs " + name + " = " + m.dims.print(now) + ", but they were promised to vary freely";
      why.remedy = "say so with 'dims' in the file of --buckets, or mark one of them";
    }
    return why;
  }
  return std::nullopt;
}

// Says which index counts beyond its axis in a bucket: the promise has extents that the model does not take.
// Symbols without buckets count as their least value.
std::optional<Contamination> outside_of_axis(Model& m, const BucketDecision& b) {
  for (const IndexLimit& limit : b.choice.analysis->index_limits()) {
    const DimId over = m.dims.sub(limit.reach, limit.extent);
    if (!over || m.dims.range(over).high <= 0) continue;
    std::vector<DimPool::Binding> extents;
    for (const DimId s : m.dims.symbols_of(over)) extents.push_back({s, m.dims.range(s).low});
    for (std::size_t k = 0; k < b.buckets.size(); ++k) {
      for (std::size_t i = 0; i < b.symbols.size(); ++i) {
        const auto at = std::ranges::find(extents, b.symbols[i], &DimPool::Binding::symbol);
        if (at != extents.end()) at->value = b.buckets.at(k)[i];
      }
      if (m.dims.evaluate(over, extents).value_or(0) <= 0) continue;
      Contamination why;
      why.node = limit.node;
      why.reason = "the model takes " + m.dims.print(limit.reach) + " up to " + m.dims.print(limit.extent) +
                   " only, where the axis ends that it chooses from; more was promised: " +
                   shape_text(b.buckets.symbols, b.buckets.at(k));
      why.remedy = "let the range end there: the model does not run on more";
      return why;
    }
  }
  return std::nullopt;
}

// Says which node fails in the least or the largest bucket: the promise has extents that the model does not
// take. Constant operands may fix an extent (lengths of a Split, a target of a Reshape, a summand), which
// then fits one of them at most.
std::optional<Contamination> fails_in_a_bucket(const Model& m, const BucketDecision& b) {
  if (b.buckets.size() == 0) return std::nullopt;
  for (const std::size_t k : {std::size_t{0}, b.buckets.size() - 1}) {
    Model bound = m.clone();
    bound.dims.forget();
    Bindings bindings;
    for (std::size_t i = 0; i < b.symbols.size(); ++i)
      bindings.symbols.push_back({b.lists[i].name, b.buckets.at(k)[i], b.buckets.at(k)[i]});
    Result<InferOptions> options = bind(bound, bindings);
    if (!options) continue;  // whoever makes the model says why
    Inference inference(bound, *std::move(options));
    inference.run();
    Contamination why;
    why.node = failing_node(bound, inference);
    if (!why.node && !bound.dims.contradicted()) continue;
    why.reason = "no run of the model has the extents of bucket " +
                 shape_text(b.buckets.symbols, b.buckets.at(k)) +
                 (why.node ? ": this node fails" : ": its nodes contradict each other");
    why.remedy = "promise no more: sizes and 'min' that the model takes";
    return why;
  }
  return std::nullopt;
}

// Returns the work of a run by the extent of one symbol: its multiplications, the other marked symbols being
// as large as they get. Nothing where they have no formula or do not depend on it: then the length counts.
class WorkBySymbol {
 public:
  WorkBySymbol(Model& m, const Inference& inference, const BucketMarks& marks)
      : m_(m), count_(multiply_adds(m, inference).count) {
    if (!count_) return;
    for (const DimId s : m.dims.symbols_of(count_)) others_.push_back({s, 1});
    for (const BucketGroup& group : marks.groups)
      for (const std::string& name : group.symbols) set(others_, m.dims.find_symbol(name), group.range.high);
  }

  LengthWork of(std::string_view symbol) const {
    const DimId s = m_.dims.find_symbol(symbol);
    if (!s || !count_ || std::ranges::find(others_, s, &DimPool::Binding::symbol) == others_.end()) return {};
    return [this, s, values = others_](std::int64_t length) mutable -> std::int64_t {
      set(values, s, length);
      const auto count = m_.dims.evaluate(count_, values);
      // Not representable: too long for any other length to matter.
      return count ? std::max<std::int64_t>(*count, 0) : std::int64_t{1} << 62;
    };
  }

 private:
  static void set(std::vector<DimPool::Binding>& values, DimId symbol, std::int64_t value) {
    const auto at = std::ranges::find(values, symbol, &DimPool::Binding::symbol);
    if (at != values.end()) at->value = value;
  }

  Model& m_;
  DimId count_;
  std::vector<DimPool::Binding> others_;
};

}  // namespace

Status prepare_symbols(Model& m, const BucketMarks& marks) {
  read_names_as_expressions(m, marks);
  for (const BucketGroup& group : marks.groups)
    for (const std::string& name : group.symbols)
      if (auto error = name_place(m, name)) return *error;
  std::vector<std::string> symbols, inputs;
  for (const DimId s : input_symbols(m)) symbols.emplace_back(m.dims.symbol_name(s));
  for (const ValueId v : m.graph_inputs(m.main())) inputs.emplace_back(m.text(m.value(v).name));
  Errors errors = unknown_names(marks, symbols, inputs);
  if (!errors.empty()) return errors;
  for (const DimRelation& relation : marks.dims)
    if (auto error = replace_name(m, relation)) return *error;
  return Done{};
}

InferOptions promised(const Model& m, const BucketMarks& marks) {
  InferOptions out;
  for (const DimId s : input_symbols(m)) {
    const bool is_marked = std::ranges::any_of(marks.groups, [&](const BucketGroup& g) {
      return std::ranges::find(g.symbols, m.dims.symbol_name(s)) != g.symbols.end();
    });
    if (!is_marked) out.ranges.push_back({std::string(m.dims.symbol_name(s)), {1, Range::kMax}});
  }
  for (const BucketGroup& group : marks.groups)
    for (const std::string& name : group.symbols)
      out.ranges.push_back({name, {group.range.low, group.range.high}});
  return out;
}

Result<PaddingOptions> padding_options(const Model& m, const BucketMarks& marks) {
  PaddingOptions out;
  for (const BucketGroup& group : marks.groups)
    for (const std::string& name : group.symbols)
      if (!group.fixed)
        out.symbols.push_back({m.dims.find_symbol(name), {group.range.low, group.range.high}});
  for (const InputMark& mark : marks.inputs)
    if (const ValueId v = find_input(m, mark.input); v && mark.values)
      out.values[v] = {as_double(mark.values->first), as_double(mark.values->second)};
  for (const ValueId v : m.graph_inputs(m.main())) {
    std::vector<std::string> names;
    for (const DimId d : m.types[m.value(v).declared].dims)
      if (d)
        for (const DimId s : m.dims.symbols_of(d)) names.emplace_back(m.dims.symbol_name(s));
    const Result<std::optional<MarkNumber>> pad = pad_of(marks, m.text(m.value(v).name), names);
    if (!pad) return pad.errors();
    if (*pad) out.pads[v] = {PadElement::Kind::Number, as_double(**pad)};
  }
  return out;
}

Result<BucketDecision> decide(Model& m, const Inference& inference, const BucketMarks& marks,
                              std::map<ValueId, DimId> lengths) {
  std::optional<WorkBySymbol> work;  // asked for by histograms alone
  if (std::ranges::any_of(marks.groups, [](const BucketGroup& g) { return g.method == BucketMethod::Hist; }))
    work.emplace(m, inference, marks);
  Result<std::vector<BucketSymbol>> lists = bucket_symbols(
      marks, [&work](std::string_view symbol) { return work ? work->of(symbol) : LengthWork(); });
  if (!lists) return lists.errors();
  Result<PaddingOptions> options = padding_options(m, marks);
  if (!options) return options.errors();
  options->lengths = std::move(lengths);
  BucketDecision out;
  out.lists = *std::move(lists);
  for (const BucketSymbol& s : out.lists) out.symbols.push_back(m.dims.find_symbol(s.name));
  out.choice = choose_padding(m, inference, *std::move(options));
  if (const Contamination* refusal = out.choice.analysis->refusal()) out.refusal = *refusal;
  else out.refusal = broken_promise(m, out, marks);
  Result<BucketSet> buckets = make_buckets(marks, out.lists, m.dims, out.choice.analysis->divisibilities());
  if (!buckets) return buckets.errors();
  out.buckets = *std::move(buckets);
  if (!out.refusal) out.refusal = outside_of_axis(m, out);
  if (!out.refusal) out.refusal = fails_in_a_bucket(m, out);
  if (!out.refusal)
    out.verdict = out.choice.analysis->assumptions().empty() ? BucketVerdict::Proved : BucketVerdict::Assumed;
  return out;
}

std::string label_of(const Model& m, NodeId n) {
  if (!n) return {};
  std::string own(m.text(m.node(n).name));
  if (!own.empty()) return own;
  for (const ValueId v : m.outputs(n))
    if (v) return std::string(m.text(m.value(v).name));
  return {};
}

std::vector<std::string> layouts_of(const PaddingAnalysis& analysis, ValueId v) {
  std::vector<std::string> out;
  for (const LayoutId l : analysis.value(v).layouts)
    out.push_back(l ? analysis.layouts().text(l) : std::string("?"));
  return out;
}

std::vector<OutputCut> cuts_of(const Model& m, const PaddingAnalysis& analysis) {
  std::vector<OutputCut> out;
  for (std::size_t i = 0; i < m.graph_output_count(m.main()); ++i) {
    OutputCut& cut = out.emplace_back();
    cut.output = m.graph_output(m.main(), i);
    cut.layouts = analysis.value(cut.output).layouts;
    for (const LayoutId l : cut.layouts) {
      if (!l) continue;  // of an input that is refused and an output, too
      const LayoutKind kind = analysis.layouts()[l].kind;
      cut.is_prefix = cut.is_prefix && (kind == LayoutKind::Same || kind == LayoutKind::Prefix);
    }
  }
  return out;
}

}  // namespace graphopt
