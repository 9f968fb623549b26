#include "buckets/symbols.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "buckets/marks/shape_filter.h"
#include "shapes/bind.h"
#include "shapes/map_dims.h"
#include "support/nearest.h"
#include "support/quote_name.h"

namespace graphopt {
namespace {

bool is_used(const Model& m, DimId symbol) {
  for (const DimId s : input_symbols(m))
    if (s == symbol) return true;
  return false;
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

}  // namespace graphopt
