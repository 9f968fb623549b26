#include "shapes/bind.h"

#include <algorithm>
#include <map>
#include <optional>
#include <span>

#include "ir/type_text.h"
#include "support/nearest.h"
#include "support/quote_name.h"

namespace graphopt {

Error usage_error(const Model& m, std::string what, std::string remedy) {
  return {ErrorKind::Usage, {m.file, {}, {}, {}, {}}, std::move(what), std::move(remedy)};
}

namespace {

// Returns the dims of a type, through sequences and optionals.
std::span<const DimId> dims_of(const Model& m, TypeId id) {
  const Type* t = &m.types[id];
  while (t->kind == TypeKind::Sequence || t->kind == TypeKind::Optional || t->kind == TypeKind::Map)
    t = &m.types[t->inner];
  return t->dims;
}

// Values that the options give to symbols, and which option gave them.
struct GivenRange {
  std::int64_t low = 0, high = 0;
  std::string by;
};
using Bounds = std::map<DimId, GivenRange>;

std::string text_of(const GivenRange& b) {
  return b.low == b.high ? std::to_string(b.low) : std::to_string(b.low) + ".." + std::to_string(b.high);
}

// Adds the value given by `by`. An error if it contradicts an earlier one.
std::optional<Error> add_bound(const Model& m, Bounds& bounds, DimId symbol, GivenRange b) {
  const auto [at, fresh] = bounds.try_emplace(symbol, b);
  if (fresh) return std::nullopt;
  GivenRange& old = at->second;
  if (b.low > old.high || b.high < old.low) {
    return usage_error(m,
                       b.by + " makes symbol " + quote_name(m.dims.symbol_name(symbol)) + " " + text_of(b) +
                           ", but " + old.by + " makes it " + text_of(old),
                       "leave one of them out, or let them agree");
  }
  if (b.high - b.low < old.high - old.low) old.by = b.by;
  old.low = std::max(old.low, b.low);
  old.high = std::min(old.high, b.high);
  return std::nullopt;
}

std::optional<Error> bind_symbol(const Model& m, Bounds& bounds, const std::vector<DimId>& symbols,
                                 const Bindings::Symbol& given, const std::string& option) {
  for (const DimId s : symbols) {
    if (m.dims.symbol_name(s) == given.name)
      return add_bound(
          m, bounds, s,
          {given.low, given.high, option + ' ' + given.name + '=' + text_of({given.low, given.high, {}})});
  }
  std::vector<std::string> names;
  for (const DimId s : symbols) names.emplace_back(m.dims.symbol_name(s));
  return usage_error(m, option + ": the model's inputs have no symbol " + quote_name(given.name),
                     suggest(given.name, names, "symbols of the inputs"));
}

std::string text_of(const Bindings::Shape& s, const std::string& option) {
  std::string out = option + ' ' + s.input + '=';
  for (std::size_t i = 0; i < s.dims.size(); ++i) out += (i > 0 ? "," : "") + std::to_string(s.dims[i]);
  return out;
}

std::optional<Error> bind_shape(const Model& m, Bounds& bounds, const Bindings::Shape& s,
                                const std::string& option) {
  const ValueId v = find_input(m, s.input);
  if (!v) {
    std::vector<std::string_view> names;
    for (const ValueId input : m.graph_inputs(m.main())) names.push_back(m.text(m.value(input).name));
    return usage_error(m, option + ": the model has no input " + quote_name(s.input),
                       suggest(s.input, names, "inputs"));
  }
  const TypeId type = m.value(v).declared;
  const Type& t = m.types[type];
  const std::string says = "the model says " + type_text(m, type);
  if (t.kind != TypeKind::Tensor) {
    return usage_error(m, option + ": input " + quote_name(s.input) + " is no tensor: " + says,
                       "give shapes to inputs that are tensors");
  }
  if (!t.has_rank) return std::nullopt;
  const std::string text = text_of(s, option);
  if (t.dims.size() != s.dims.size()) {
    return usage_error(m, text + " has rank " + std::to_string(s.dims.size()) + "; " + says,
                       "give " + std::to_string(t.dims.size()) + " dims; -1 keeps one as it is");
  }
  for (std::size_t i = 0; i < s.dims.size(); ++i) {
    const DimId d = t.dims[i];
    if (!d || s.dims[i] < 0) continue;
    if (const auto number = m.dims.value(d); number && *number != s.dims[i]) {
      return usage_error(m, text + " contradicts the model in dim " + std::to_string(i) + ": " + says,
                         "only dims that the model leaves open can be fixed; -1 keeps one as it is");
    }
    if (!m.dims.is_symbol(d)) continue;
    if (auto error = add_bound(m, bounds, d, {s.dims[i], s.dims[i], text})) return error;
  }
  return std::nullopt;
}

// Checks dims such as "2*batch": they must have the value that --shape gives them once their symbols have
// theirs.
std::optional<Error> check_expressions(const Model& m, const Bounds& bounds, const Bindings::Shape& s,
                                       const std::string& option) {
  const auto dims = dims_of(m, m.value(find_input(m, s.input)).declared);
  std::vector<DimPool::Binding> binding;
  for (const auto& [symbol, b] : bounds) {
    if (b.low == b.high) binding.push_back({symbol, b.low});
  }
  for (std::size_t i = 0; i < std::min(dims.size(), s.dims.size()); ++i) {
    if (!dims[i] || s.dims[i] < 0 || m.dims.is_symbol(dims[i])) continue;
    const auto value = m.dims.evaluate(dims[i], binding);
    if (value && *value != s.dims[i]) {
      return usage_error(m,
                         text_of(s, option) + ": dim " + std::to_string(i) + " is " + m.dims.print(dims[i]) +
                             ", which is " + std::to_string(*value) + " with the other options",
                         "let the numbers agree; -1 keeps a dim as it is");
    }
  }
  return std::nullopt;
}

}  // namespace

ValueId find_input(const Model& m, std::string_view name) {
  for (const ValueId v : m.graph_inputs(m.main())) {
    if (m.text(m.value(v).name) == name) return v;
  }
  return {};
}

std::vector<DimId> input_symbols(const Model& m) {
  std::vector<DimId> out;
  std::vector<bool> seen;  // by id
  for (const ValueId v : m.graph_inputs(m.main())) {
    for (const DimId d : dims_of(m, m.value(v).declared)) {
      if (!d) continue;
      for (const DimId s : m.dims.symbols_of(d)) {
        if (s.index() >= seen.size()) seen.resize(s.index() + 1, false);
        if (!seen[s.index()]) out.push_back(s);
        seen[s.index()] = true;
      }
    }
  }
  return out;
}

bool specializes(const Bindings& bindings) {
  return !bindings.shapes.empty() ||
         std::ranges::any_of(bindings.symbols, [](const Bindings::Symbol& s) { return s.low == s.high; });
}

Result<InferOptions> bind(const Model& m, const Bindings& bindings) {
  Bounds bounds;
  const std::vector<DimId> symbols = input_symbols(m);
  for (const Bindings::Symbol& s : bindings.symbols) {
    if (auto error = bind_symbol(m, bounds, symbols, s, bindings.symbol_option)) return *error;
  }
  const std::string& option = bindings.shape_option;
  std::map<std::string_view, const Bindings::Shape*> given;
  for (const Bindings::Shape& s : bindings.shapes) {
    const auto [at, fresh] = given.try_emplace(s.input, &s);
    if (!fresh && at->second->dims != s.dims) {
      return usage_error(m, text_of(s, option) + " contradicts " + text_of(*at->second, option),
                         "give one shape per input");
    }
    if (auto error = bind_shape(m, bounds, s, option)) return *error;
  }
  for (const Bindings::Shape& s : bindings.shapes) {
    if (auto error = check_expressions(m, bounds, s, option)) return *error;
  }
  InferOptions out;
  for (const auto& [symbol, b] : bounds) {
    out.ranges.push_back({std::string(m.dims.symbol_name(symbol)), {b.low, std::min(b.high, Range::kMax)}});
  }
  for (const Bindings::Shape& s : bindings.shapes) out.shapes.push_back({s.input, s.dims});
  return out;
}

}  // namespace graphopt
