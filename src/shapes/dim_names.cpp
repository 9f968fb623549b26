#include "shapes/dim_names.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "ir/canonical_order.h"
#include "onnx/kept_dim_names.h"
#include "shapes/map_dims.h"

namespace graphopt {
namespace {

constexpr bool digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool word_char(char c) {
  return digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

// Adds the words of a name that look like made symbols, also those inside an expression.
void take_made_names(std::string_view name, std::unordered_set<std::string>& taken) {
  for (std::size_t i = 0; i < name.size();) {
    std::size_t end = i;
    while (end < name.size() && word_char(name[end])) ++end;
    const std::string_view word = name.substr(i, end - i);
    if (word.size() > 1 && word[0] == 'u' && std::ranges::all_of(word.substr(1), digit)) taken.emplace(word);
    i = end + 1;
  }
}

class DimNamer {
 public:
  DimNamer(Model& m, const Inference& inference, std::vector<TypeOverride>& types, bool made_names)
      : m_(m), inference_(inference), types_(types), made_names_(made_names) {}

  void run() {
    for (const KeptDimName& kept : kept_dim_names(m_, types_)) {
      take_made_names(kept.name, taken_);
      const DimId fact = fact_of(kept);
      const auto [at, added] = kept_.try_emplace(std::string(kept.name), fact);
      if (!added && at->second != fact) at->second = {};
    }
    for (TypeOverride& o : types_) o.type = without_taken(o.type);
    if (made_names_) number();
  }

 private:
  DimId fact_of(const KeptDimName& kept) const {
    if (!kept.value || !kept.axis) return {};
    const Type& t = inference_.type_of(kept.value);
    const bool known = t.kind == TypeKind::Tensor && t.has_rank && *kept.axis < t.dims.size();
    return known ? m_.dims.canonical(t.dims[*kept.axis]) : DimId{};
  }

  // Returns the type with dims replaced whose text stands for something else in the file.
  TypeId without_taken(TypeId id) {
    return map_dims(m_, id, [this](DimId d) {
      return m_.dims.value(d) || m_.dims.is_symbol(d) ? d : name_of_expression(m_.dims.canonical(d));
    });
  }

  DimId name_of_expression(DimId d) {
    const auto [at, added] = written_as_.try_emplace(d, d);
    if (!added) return at->second;
    const auto kept = kept_.find(m_.dims.file_text(d));
    if (kept != kept_.end() && kept->second != d) at->second = made_names_ ? m_.dims.fresh() : DimId{};
    return at->second;
  }

  // --- made symbols ----------------------------------------------------------------------------------------
  void number() {
    if (std::ranges::none_of(types_, [this](const TypeOverride& o) { return has_made(o.type); })) return;
    order_values();
    std::vector<DimId> order;
    for (const bool alone : {true, false})
      for (const TypeId type : ordered_) see_symbols(type, alone, order);
    m_.dims.number_fresh(order, taken_);
  }

  std::span<const DimId> dims_of(TypeId id) const {
    const Type* t = &m_.types[id];
    while (t->inner) t = &m_.types[t->inner];
    return t->dims;
  }
  bool has_made(TypeId id) const {
    return std::ranges::any_of(dims_of(id), [this](DimId d) { return d && !m_.dims.linked(d); });
  }
  void see_symbols(TypeId type, bool alone, std::vector<DimId>& order) const {
    for (const DimId d : dims_of(type)) {
      if (!d || m_.dims.linked(d) || m_.dims.is_symbol(d) != alone) continue;
      for (const DimId s : m_.dims.symbols_of(d)) order.push_back(s);
    }
  }

  // Orders the written types by their values: main graph first, then bodies in the order of their owners.
  void order_values() {
    std::vector<TypeId> written(m_.value_count());
    for (const TypeOverride& o : types_) written[o.value.index()] = o.type;
    const auto add = [&](ValueId v) {
      if (v && written[v.index()]) ordered_.push_back(written[v.index()]);
    };
    CanonicalOrder canonical(m_);
    std::vector<GraphId> graphs = {m_.main()};
    for (std::size_t g = 0; g < graphs.size(); ++g) {
      for (const ValueId v : m_.graph_inputs(graphs[g])) add(v);
      canonical.compute(graphs[g]);
      for (const std::uint32_t i : canonical.order()) {
        const NodeId n = canonical.nodes()[i];
        for (const ValueId v : m_.outputs(n)) add(v);
        add_bodies(n, graphs);
      }
    }
  }

  // The order of attributes has no meaning, so bodies are taken in the order of their attributes' names.
  void add_bodies(NodeId n, std::vector<GraphId>& graphs) const {
    std::vector<std::pair<std::string_view, GraphId>> bodies;
    for (const Attr& a : m_.attrs(n))
      for (const GraphId body : a.graphs) bodies.emplace_back(m_.text(a.name), body);
    std::ranges::stable_sort(bodies, {}, &std::pair<std::string_view, GraphId>::first);
    for (const auto& [name, body] : bodies) graphs.push_back(body);
  }

  Model& m_;
  const Inference& inference_;
  std::vector<TypeOverride>& types_;
  const bool made_names_;
  std::unordered_set<std::string> taken_;        // names of made symbols that stay in the file
  std::unordered_map<std::string, DimId> kept_;  // what a name in the file stands for; none: not known
  std::unordered_map<DimId, DimId> written_as_;  // by expression
  std::vector<TypeId> ordered_;
};

}  // namespace

void name_dims(Model& model, const Inference& inference, std::vector<TypeOverride>& types, bool made_names) {
  if (!types.empty()) DimNamer(model, inference, types, made_names).run();
}

}  // namespace graphopt
