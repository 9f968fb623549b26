#include "driver/shapes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "driver/dim_names.h"
#include "driver/type_text.h"
#include "ops/node_facts.h"
#include "support/nearest.h"

namespace graphopt {
namespace {

Error usage(const Model& m, std::string what, std::string remedy) {
  return {ErrorKind::Usage, {m.file, {}, {}, {}, {}}, std::move(what), std::move(remedy)};
}

std::string quoted(std::string_view text) { return '\'' + std::string(text) + '\''; }

// Returns the dims of a type, through sequences and optionals.
std::span<const DimId> dims_of(const Model& m, TypeId id) {
  const Type* t = &m.types[id];
  while (t->kind == TypeKind::Sequence || t->kind == TypeKind::Optional || t->kind == TypeKind::Map)
    t = &m.types[t->inner];
  return t->dims;
}

// Values that the options give to symbols, and which option gave them.
struct Bound {
  std::int64_t low = 0, high = 0;
  std::string by;
};
using Bounds = std::map<DimId, Bound>;

std::string text_of(const Bound& b) {
  return b.low == b.high ? std::to_string(b.low) : std::to_string(b.low) + ".." + std::to_string(b.high);
}

// Adds the value given by `by`; returns false if it contradicts an earlier one.
std::optional<Error> bind(const Model& m, Bounds& bounds, DimId symbol, Bound b) {
  const auto [at, fresh] = bounds.try_emplace(symbol, b);
  if (fresh) return std::nullopt;
  Bound& old = at->second;
  if (b.low > old.high || b.high < old.low) {
    return usage(m,
                 b.by + " makes symbol " + quoted(m.dims.symbol_name(symbol)) + " " + text_of(b) + ", but " +
                     old.by + " makes it " + text_of(old),
                 "leave one of them out, or let them agree");
  }
  if (b.high - b.low < old.high - old.low) old.by = b.by;
  old.low = std::max(old.low, b.low);
  old.high = std::min(old.high, b.high);
  return std::nullopt;
}

std::optional<Error> bind_dim(const Model& m, Bounds& bounds, const std::vector<DimId>& symbols,
                              const DimOption& d) {
  for (const DimId s : symbols) {
    if (m.dims.symbol_name(s) == d.symbol)
      return bind(m, bounds, s, {d.low, d.high, "--dim " + d.symbol + '=' + text_of({d.low, d.high, {}})});
  }
  std::vector<std::string> names;
  for (const DimId s : symbols) names.emplace_back(m.dims.symbol_name(s));
  return usage(m, "--dim: the model's inputs have no symbol " + quoted(d.symbol),
               suggest(d.symbol, names, "symbols of the inputs"));
}

std::string option_text(const ShapeOption& s) {
  std::string out = "--shape " + s.input + '=';
  for (std::size_t i = 0; i < s.dims.size(); ++i) out += (i > 0 ? "," : "") + std::to_string(s.dims[i]);
  return out;
}

ValueId find_input(const Model& m, std::string_view name) {
  for (const ValueId v : m.graph_inputs(m.main())) {
    if (m.text(m.value(v).name) == name) return v;
  }
  return {};
}

std::optional<Error> bind_shape(const Model& m, Bounds& bounds, const ShapeOption& s) {
  const ValueId v = find_input(m, s.input);
  if (!v) {
    std::vector<std::string_view> names;
    for (const ValueId input : m.graph_inputs(m.main())) names.push_back(m.text(m.value(input).name));
    return usage(m, "--shape: the model has no input " + quoted(s.input), suggest(s.input, names, "inputs"));
  }
  const TypeId type = m.value(v).declared;
  const Type& t = m.types[type];
  const std::string says = "the model says " + type_text(m, type);
  if (t.kind != TypeKind::Tensor) {
    return usage(m, "--shape: input " + quoted(s.input) + " is no tensor: " + says,
                 "give shapes to inputs that are tensors");
  }
  if (!t.has_rank) return std::nullopt;
  if (t.dims.size() != s.dims.size()) {
    return usage(m, option_text(s) + " has rank " + std::to_string(s.dims.size()) + "; " + says,
                 "give " + std::to_string(t.dims.size()) + " dims; -1 keeps one as it is");
  }
  for (std::size_t i = 0; i < s.dims.size(); ++i) {
    const DimId d = t.dims[i];
    if (!d || s.dims[i] < 0) continue;
    if (const auto number = m.dims.value(d); number && *number != s.dims[i]) {
      return usage(m, option_text(s) + " contradicts the model in dim " + std::to_string(i) + ": " + says,
                   "only dims that the model leaves open can be fixed; -1 keeps one as it is");
    }
    if (!m.dims.is_symbol(d)) continue;
    if (auto error = bind(m, bounds, d, {s.dims[i], s.dims[i], option_text(s)})) return error;
  }
  return std::nullopt;
}

// Checks dims such as "2*batch": they must have the value that --shape gives them once their symbols have
// theirs.
std::optional<Error> check_expressions(const Model& m, const Bounds& bounds, const ShapeOption& s) {
  const auto dims = dims_of(m, m.value(find_input(m, s.input)).declared);
  std::vector<DimPool::Binding> binding;
  for (const auto& [symbol, b] : bounds) {
    if (b.low == b.high) binding.push_back({symbol, b.low});
  }
  for (std::size_t i = 0; i < std::min(dims.size(), s.dims.size()); ++i) {
    if (!dims[i] || s.dims[i] < 0 || m.dims.is_symbol(dims[i])) continue;
    const auto value = m.dims.evaluate(dims[i], binding);
    if (value && *value != s.dims[i]) {
      return usage(m,
                   option_text(s) + ": dim " + std::to_string(i) + " is " + m.dims.print(dims[i]) +
                       ", which is " + std::to_string(*value) + " with the other options",
                   "let the numbers agree; -1 keeps a dim as it is");
    }
  }
  return std::nullopt;
}

// Finds values whose rank the runtime may not infer any more: a removed node told it, and the operator that
// remains does not.
//
// A Reshape that changes nothing tells the rank of what comes out of a sequence, of a loop or of an operator
// without a schema; onnx's inference does not find it otherwise, and a Scan needs it of what its body
// returns. Values that follow from such a result are assumed to need it, too. Only operands and results of
// nodes that differ from the file are found, since everything else is told as in the file.
class LostRanks {
 public:
  LostRanks(const Model& m, const Inference& inference)
      : hidden_(m.value_count(), false), lost_(m.value_count(), false) {
    for (std::size_t g = 0; g < m.graph_count(); ++g) {  // outer graphs have smaller numbers
      if (!m.graph(GraphId{g}).alive) continue;
      for (NodeId n = m.first_node(GraphId{g}); n; n = m.next_node(n)) visit(m, inference, n);
    }
  }
  bool operator[](ValueId v) const { return v.index() < lost_.size() && lost_[v.index()]; }

 private:
  void visit(const Model& m, const Inference& inference, NodeId n) {
    const Purity purity = facts_of(m, n).purity;
    bool hidden = purity == Purity::Unknown || purity == Purity::ControlFlow;
    for (std::size_t i = 0; i < m.input_count(n); ++i) {
      const ValueId v = m.input(n, i);
      if (!v) continue;
      const TypeKind kind = inference.type_of(v).kind;
      hidden = hidden || hidden_[v.index()] || (kind != TypeKind::Tensor && kind != TypeKind::Unknown);
      if (hidden_[v.index()] && m.node(n).dirty) lost_[v.index()] = true;
    }
    if (!hidden) return;
    for (const ValueId v : m.outputs(n)) {
      if (!v) continue;
      hidden_[v.index()] = m.value(v).info_stale || !m.types[m.value(v).declared].has_rank;
      // It may have taken over a removed node's result.
      if (hidden_[v.index()] && m.node(n).dirty && purity != Purity::ControlFlow) lost_[v.index()] = true;
    }
  }

  std::vector<bool> hidden_, lost_;  // by value
};

// Decides which type a value's ValueInfo states. None: the file's own entry stays (or there is none). Dims
// that the type leaves open stay as in the file.
class WrittenTypes {
 public:
  WrittenTypes(Model& model, const Inference& inference, const Options& options, std::size_t file_values,
               bool passes_ran)
      : model_(model), inference_(inference), infer_(options.infer), file_values_(file_values) {
    look_for_misnamed(passes_ran);
    specialized_ = !options.shapes.empty() ||
                   std::ranges::any_of(options.dims, [](const DimOption& d) { return d.low == d.high; });
    if (!infer_ && !passes_ran) return;
    if (passes_ran) lost_ranks_.emplace(model, inference);
    wrong_.resize(model.value_count(), false);
    for (const FalseClaim& claim : inference.false_claims()) wrong_[claim.value.index()] = true;
  }

  TypeId of(ValueId v) const {
    const Value& value = model_.value(v);
    if (value.is_input) return specialized_ && value.graph == model_.main() ? numbers_only(v) : TypeId{};
    // A constant determines its type itself; what the file claims about it must not stay beside others.
    const bool constant = value.is_initializer || model_.constant_of(v).valid();
    if (constant && !refuted(v) && (!infer_ || value.info.empty())) return {};
    if (in_function(value.graph)) return {};  // would hold for one call only
    const TypeId found = type_for_readers(v);
    if (model_.types[found].kind == TypeKind::Unknown) return {};
    // Where there is no iteration, ONNX Runtime takes the extents of a scan output from this declaration.
    if (is_body_output(v)) return {};
    if (named_anew(v)) return found;
    if (infer_) return names_ ? found : without_names(found);
    // A new value that took an output's name has taken its ValueInfo, too.
    if (refuted(v) || value.info_stale || (v.index() >= file_values_ && value.info.empty()) ||
        (lost_ranks_ && (*lost_ranks_)[v] && !model_.is_graph_output(v)))
      return without_fresh_names(found);
    return specialized_ && !value.info.empty() ? numbers_only(v) : TypeId{};
  }

  // Returns true if types with names that inference made are written without --infer, too.
  bool some_named_anew() const { return !named_anew_.empty(); }

  // Returns true if inference refuted what the file states; then no dim of that is kept.
  bool refuted(ValueId v) const { return v.index() < wrong_.size() && wrong_[v.index()]; }

 private:
  // Looks for nodes at which onnx's inference gives an extent the name of another one (misnames_extents). A
  // name comes to them from any value, a runtime carries names on to all that follows, and the node that was
  // removed may have been the one that lost it. Names that their own results declare count more; values of
  // functions and results of bodies declare none, so that no name is written beside such nodes.
  void look_for_misnamed(bool passes_ran) {
    bool removed = false;
    std::vector<NodeId> misnaming;
    for (std::size_t i = 0; i < model_.node_count(); ++i) {
      const NodeId n{i};
      removed = removed || !model_.alive(n);
      if (model_.alive(n) && facts_of(model_, n).misnames_extents) misnaming.push_back(n);
    }
    for (const NodeId n : misnaming) {
      if (in_function(model_.node(n).graph)) names_ = false;
      for (const ValueId v : model_.outputs(n)) {
        if (!v) continue;
        names_ = names_ && !is_body_output(v) && inference_.type_of(v).has_rank;
        if (infer_ || (passes_ran && removed)) named_anew_.push_back(v);
      }
    }
    std::ranges::sort(named_anew_);
  }
  bool named_anew(ValueId v) const { return std::ranges::binary_search(named_anew_, v); }

  // Returns the type of v, or, for an output of a branch of If, what holds for the If's result, too: where a
  // branch declares extents and the other one has none, ONNX Runtime takes them for the result.
  TypeId type_for_readers(ValueId v) const {
    const GraphId g = model_.value(v).graph;
    const NodeId owner = model_.graph(g).owner;
    const TypeId own = inference_.type(v);
    if (!owner || model_.kind(owner) != OpKind::If) return own;
    for (std::size_t i = 0; i < model_.graph_output_count(g); ++i)
      if (model_.graph_output(g, i) == v) return common_type(own, inference_.type(model_.output(owner, i)));
    return own;
  }

  // Returns a with the dims open that b does not have; without dims if the ranks differ.
  TypeId common_type(TypeId a, TypeId b) const {
    const Type x = model_.types[a], y = model_.types[b];  // copies: the pool grows below
    if (x.kind != TypeKind::Tensor || !x.has_rank) return a;
    if (y.kind != TypeKind::Tensor || !y.has_rank || x.dims.size() != y.dims.size())
      return model_.types.tensor(x.elem);
    std::vector<DimId> dims(x.dims.begin(), x.dims.end());
    for (std::size_t i = 0; i < dims.size(); ++i)
      if (dims[i] != y.dims[i]) dims[i] = {};
    return model_.types.tensor(x.elem, dims);
  }

  bool is_body_output(ValueId v) const {
    const NodeId owner = model_.graph(model_.value(v).graph).owner;
    return owner && (model_.kind(owner) == OpKind::Loop || model_.kind(owner) == OpKind::Scan) &&
           model_.is_graph_output(v);
  }

  bool in_function(GraphId g) const {
    if (model_.function_count() == 0) return false;
    while (model_.graph(g).parent) g = model_.graph(g).parent;
    return model_.graph(g).function.valid();
  }

  // Returns the numbers that inference found where the file has none; none when there is nothing to write.
  TypeId numbers_only(ValueId v) const {
    const Type declared = model_.types[model_.value(v).declared];  // copies: the pool grows below
    const Type found = inference_.type_of(v);
    if (found.kind != TypeKind::Tensor || !found.has_rank) return {};
    if (declared.has_rank && declared.dims.size() != found.dims.size()) return {};
    bool any = false;
    std::vector<DimId> dims(found.dims.size());
    for (std::size_t i = 0; i < dims.size(); ++i) {
      if (!found.dims[i] || !model_.dims.value(found.dims[i])) continue;
      dims[i] = found.dims[i];  // canonical: a number that the file has, too, has the same id
      any = any || !declared.has_rank || declared.dims[i] != found.dims[i];
    }
    return any ? model_.types.tensor(found.elem, dims) : TypeId{};
  }

  // A name that inference generated means nothing to a reader of the file: such dims stay open.
  TypeId without_fresh_names(TypeId id) const {
    if (!names_) return without_names(id);
    return with_dims_if(id, [&](DimId d) { return model_.dims.linked(d); });
  }
  TypeId without_names(TypeId id) const {
    return with_dims_if(id, [&](DimId d) { return model_.dims.value(d).has_value(); });
  }

  // Opens the dims that `keep` refuses.
  template <class Keep> TypeId with_dims_if(TypeId id, Keep keep) const {
    const Type type = model_.types[id];  // a copy: the pool grows below
    if (type.kind != TypeKind::Tensor || !type.has_rank) return id;
    std::vector<DimId> dims(type.dims.begin(), type.dims.end());
    for (DimId& d : dims)
      if (d && !keep(d)) d = {};
    return model_.types.tensor(type.elem, dims);
  }

  Model& model_;
  const Inference& inference_;
  bool specialized_ = false, infer_;
  bool names_ = true;                // whether names may be written
  std::vector<ValueId> named_anew_;  // sorted; their types are written with names, made ones too
  std::size_t file_values_;
  std::optional<LostRanks> lost_ranks_;
  std::vector<bool> wrong_;  // by value: the file's claim was false
};

}  // namespace

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

Result<InferOptions> shape_options(const Model& m, const Options& options) {
  Bounds bounds;
  const std::vector<DimId> symbols = input_symbols(m);
  for (const DimOption& d : options.dims) {
    if (auto error = bind_dim(m, bounds, symbols, d)) return *error;
  }
  std::map<std::string_view, const ShapeOption*> given;
  for (const ShapeOption& s : options.shapes) {
    const auto [at, fresh] = given.try_emplace(s.input, &s);
    if (!fresh && at->second->dims != s.dims) {
      return usage(m, option_text(s) + " contradicts " + option_text(*at->second),
                   "give one shape per input");
    }
    if (auto error = bind_shape(m, bounds, s)) return *error;
  }
  for (const ShapeOption& s : options.shapes) {
    if (auto error = check_expressions(m, bounds, s)) return *error;
  }
  InferOptions out;
  for (const auto& [symbol, b] : bounds) {
    out.ranges.push_back({std::string(m.dims.symbol_name(symbol)), {b.low, std::min(b.high, Range::kMax)}});
  }
  for (const ShapeOption& s : options.shapes) out.shapes.push_back({s.input, s.dims});
  return out;
}

std::vector<TypeOverride> written_types(Model& model, const Inference& inference, const Options& options,
                                        std::size_t file_values, bool passes_ran) {
  const WrittenTypes types(model, inference, options, file_values, passes_ran);
  std::vector<TypeOverride> out;
  for (std::size_t i = 0; i < model.value_count(); ++i) {
    const ValueId v{i};
    if (!model.alive(v)) continue;
    if (const TypeId type = types.of(v)) out.push_back({v, type, !types.refuted(v)});
  }
  name_dims(model, inference, out, options.infer || types.some_named_anew());
  return out;
}

}  // namespace graphopt
