#include "buckets/promise.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <variant>
#include <vector>

#include "buckets/marks/shape_filter.h"
#include "infer/failing_node.h"
#include "shapes/bind.h"

namespace graphopt {
namespace {

double as_double(const MarkNumber& n) {
  return std::visit([](auto v) { return static_cast<double>(v); }, n);
}

// The promise: the symbols with buckets take all their values independently of each other. Returns a fact of
// the model that contradicts it, if there is one.
std::optional<Contamination> contradiction(const Model& m, const Promise& p) {
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
        if (std::ranges::find(p.symbols, s) != p.symbols.end()) {
          why.reason = "input '" + std::string(m.text(m.value(v).name)) +
                       "' has a default, which has one size, and " + std::string(m.dims.symbol_name(s)) +
                       " in its type";
          return why;
        }
  }
  for (std::size_t i = 0; i < p.symbols.size(); ++i) {
    const DimId now = m.dims.canonical(p.symbols[i]);
    const BucketGroup& group = p.marks.groups[p.lists[i].group];
    if (m.dims.is_constant(now, group.range.low) && group.range.low == group.range.high) continue;
    if (now == p.symbols[i] && m.dims.range(now).low <= group.range.low &&
        m.dims.range(now).high >= group.range.high)
      continue;
    const std::string name(m.dims.symbol_name(p.symbols[i]));
    if (now == p.symbols[i]) {
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

// Returns an index that is outside of its axis in one of the buckets, if there is one: then the model refuses
// extents that the promise allows. Symbols without buckets have their least value here.
std::optional<Contamination> outside_of_axis(Model& m, const Promise& p) {
  for (const IndexLimit& limit : p.limits) {
    const DimId over = m.dims.sub(limit.reach, limit.extent);
    if (!over || m.dims.range(over).high <= 0) continue;
    std::vector<DimPool::Binding> extents;
    for (const DimId s : m.dims.symbols_of(over)) extents.push_back({s, m.dims.range(s).low});
    for (std::size_t k = 0; k < p.buckets.size(); ++k) {
      for (std::size_t i = 0; i < p.symbols.size(); ++i) {
        const auto at = std::ranges::find(extents, p.symbols[i], &DimPool::Binding::symbol);
        if (at != extents.end()) at->value = p.buckets.at(k)[i];
      }
      if (m.dims.evaluate(over, extents).value_or(0) <= 0) continue;
      Contamination why;
      why.node = limit.node;
      why.reason = "the model takes " + m.dims.print(limit.reach) + " up to " + m.dims.print(limit.extent) +
                   " only, where the axis ends that it chooses from; more was promised: " +
                   shape_text(p.buckets.symbols, p.buckets.at(k));
      why.remedy = "let the range end there: the model does not run on more";
      return why;
    }
  }
  return std::nullopt;
}

// Says which node fails in the least or the largest bucket: the promise has extents that the model does not
// take. Constant operands may fix an extent (lengths of a Split, a target of a Reshape, a summand), which
// then fits one of them at most.
std::optional<Contamination> fails_in_a_bucket(const Model& m, const Promise& p) {
  if (p.buckets.size() == 0) return std::nullopt;
  for (const std::size_t k : {std::size_t{0}, p.buckets.size() - 1}) {
    Model bound = m.clone();
    bound.dims.forget();
    Bindings bindings;
    for (std::size_t i = 0; i < p.symbols.size(); ++i)
      bindings.symbols.push_back({p.lists[i].name, p.buckets.at(k)[i], p.buckets.at(k)[i]});
    Result<InferOptions> options = bind(bound, bindings);
    if (!options) continue;  // whoever makes the model says why
    Inference inference(bound, *std::move(options));
    inference.run();
    Contamination why;
    why.node = failing_node(bound, inference);
    if (!why.node && !bound.dims.contradicted()) continue;
    why.reason = "no run of the model has the extents of bucket " +
                 shape_text(p.buckets.symbols, p.buckets.at(k)) +
                 (why.node ? ": this node fails" : ": its nodes contradict each other");
    why.remedy = "promise no more: sizes and 'min' that the model takes";
    return why;
  }
  return std::nullopt;
}

}  // namespace

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

std::optional<Contamination> broken_promise(Model& m, const Promise& p) {
  if (auto why = contradiction(m, p)) return why;
  if (auto why = outside_of_axis(m, p)) return why;
  return fails_in_a_bucket(m, p);
}

}  // namespace graphopt
