#include "shapes/written_types.h"
#include "ir/bodies.h"

#include <algorithm>
#include <optional>

#include "onnx/short_names.h"
#include "ops/node_facts.h"
#include "shapes/dim_names.h"
#include "shapes/map_dims.h"

namespace graphopt {
namespace {

// Finds values whose rank the runtime may not infer any more: a removed node told it, and the operator that
// remains does not.
//
// A Reshape that changes nothing tells the rank of what comes out of a sequence, of a loop or of an operator
// without a schema; onnx's inference does not find it otherwise, and a Scan needs it of what its body
// returns. Values that follow from such a result are assumed to need it, too. Only operands and results of
// nodes that differ from the file are found, since everything else is told as in the file; of all nodes,
// where the file's types are gone.
class LostRanks {
 public:
  // `calls_come`: any node of the main graph may become part of a call, which hides what it returns.
  LostRanks(const Model& m, const Inference& inference, bool all_nodes, bool calls_come)
      : all_nodes_(all_nodes || calls_come),
        calls_come_(calls_come),
        hidden_(m.value_count(), false),
        lost_(m.value_count(), false) {
    for (std::size_t g = 0; g < m.graph_count(); ++g) {  // outer graphs have smaller numbers
      if (!m.graph(GraphId{g}).alive) continue;
      for (NodeId n = m.first_node(GraphId{g}); n; n = m.next_node(n)) visit(m, inference, n);
    }
  }
  bool operator[](ValueId v) const { return v.index() < lost_.size() && lost_[v.index()]; }

 private:
  void visit(const Model& m, const Inference& inference, NodeId n) {
    const Purity purity = facts_of(m, n).purity;
    const bool differs = all_nodes_ || m.node(n).dirty;
    const bool called = calls_come_ && m.node(n).graph == m.main();
    bool hidden = called || purity == Purity::Unknown || purity == Purity::ControlFlow;
    for (std::size_t i = 0; i < m.input_count(n); ++i) {
      const ValueId v = m.input(n, i);
      if (!v) continue;
      const TypeKind kind = inference.type_of(v).kind;
      hidden = hidden || hidden_[v.index()] || (kind != TypeKind::Tensor && kind != TypeKind::Unknown);
      if (hidden_[v.index()] && differs) lost_[v.index()] = true;
    }
    if (!hidden) return;
    for (const ValueId v : m.outputs(n)) {
      if (!v) continue;
      hidden_[v.index()] = called || m.value(v).info_stale || !m.types[m.value(v).declared].has_rank;
      // It may have taken over a removed node's result.
      if (hidden_[v.index()] && differs && purity != Purity::ControlFlow) lost_[v.index()] = true;
    }
  }

  const bool all_nodes_, calls_come_;
  std::vector<bool> hidden_, lost_;  // by value
};

// Decides which type a value's ValueInfo states. None: the file's own entry stays (or there is none). Dims
// that the type leaves open stay as in the file.
class WrittenTypes {
 public:
  WrittenTypes(Model& model, const Inference& inference, const WrittenTypesOptions& options)
      : model_(model), inference_(inference), options_(options) {
    look_for_misnamed();
    const bool may_lose_ranks = options_.passes_ran || options_.short_names || options_.calls_come;
    if (!options_.all && !may_lose_ranks) return;
    if (may_lose_ranks) lost_ranks_.emplace(model, inference, options_.short_names, options_.calls_come);
    wrong_.resize(model.value_count(), false);
    for (const FalseClaim& claim : inference.false_claims()) wrong_[claim.value.index()] = true;
  }

  TypeId of(ValueId v) const {
    const Value& value = model_.value(v);
    if (value.is_input && value.graph != model_.main()) return {};
    // An input that was added is what it was declared to be: no file states it.
    if (value.is_input && v.index() >= options_.file_values && value.info.empty()) return value.declared;
    if (value.is_input) return options_.specialized ? numbers_only(v) : TypeId{};
    // A constant determines its type itself; what the file claims about it must not stay beside others.
    const bool constant = value.is_initializer || model_.constant_of(v).valid();
    if (constant && !refuted(v) && (!options_.all || value.info.empty())) return {};
    if (in_function(value.graph)) return {};  // would hold for one call only
    // Where there is no iteration, ONNX Runtime takes the extents of a scan output from this declaration.
    if (is_body_output(v)) return value.info_stale ? declared_in_copy(v) : TypeId{};
    const TypeId found = type_for_readers(v);
    if (model_.types[found].kind == TypeKind::Unknown) return {};
    if (refuted(v) && is_agreed_output(v)) return {};
    // A model that is left alone states no more than the file.
    if (options_.on_inputs_only && !refuted(v) && !value.info_stale && !model_.types[value.declared].has_rank)
      return {};
    if (named_anew(v)) return found;
    if (options_.all) return names_ ? found : without_names(model_, found);
    if (loses_stated(v) && !(*lost_ranks_)[v]) return {};
    // A new value that took an output's name has taken its ValueInfo, too.
    if (refuted(v) || value.info_stale || (v.index() >= options_.file_values && value.info.empty()) ||
        (lost_ranks_ && (*lost_ranks_)[v] && !model_.is_graph_output(v)))
      return names_ ? without_made_names(model_, found) : without_names(model_, found);
    const bool numbers = options_.specialized && !options_.on_inputs_only;
    return numbers && !value.info.empty() ? numbers_only(v) : TypeId{};
  }

  // Returns true if types with names that inference made are written without --infer, too.
  bool some_named_anew() const { return !named_anew_.empty(); }

  // Returns true if inference refuted what the file states; then no dim of that is kept.
  bool refuted(ValueId v) const { return v.index() < wrong_.size() && wrong_[v.index()] && !loses_stated(v); }

 private:
  bool loses_stated(ValueId v) const { return options_.short_names && loses_stated_type(model_, v); }

  // Looks for nodes at which onnx's inference gives an extent the name of another one (misnames_extents). A
  // name comes to them from any value, a runtime carries names on to all that follows, and the node that was
  // removed may have been the one that lost it. Names that their own results declare count more; values of
  // functions and results of bodies declare none, so that no name is written beside such nodes.
  void look_for_misnamed() {
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
        if (options_.all || options_.short_names || (options_.passes_ran && removed))
          named_anew_.push_back(v);
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
    // A branch may return as many values as it has, so its uses are looked at.
    std::optional<std::size_t> place;
    for (UseId u = model_.first_use(v); u; u = model_.next_use(u))
      if (model_.user(u) == model_.graph(g).ret)
        place = std::min(place.value_or(model_.slot(u)), std::size_t{model_.slot(u)});
    return place ? common_type(own, inference_.type(model_.output(owner, *place))) : own;
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

  // Returns the node to which the body of v returns it; none where it is no result of a body.
  NodeId returned_to(ValueId v) const {
    const NodeId owner = model_.graph(model_.value(v).graph).owner;
    return owner && model_.is_graph_output(v) ? owner : NodeId{};
  }

  bool is_body_output(ValueId v) const {
    const NodeId owner = returned_to(v);
    return owner && (model_.kind(owner) == OpKind::Loop || model_.kind(owner) == OpKind::Scan);
  }

  // Before opset 11 the branches of an If agree on extents. Where they do not, ONNX Runtime loads the model
  // by what they declare, however wrong it is.
  bool is_agreed_output(ValueId v) const {
    const NodeId owner = returned_to(v);
    return owner && model_.kind(owner) == OpKind::If && model_.opset(owner) < 11;
  }

  bool in_function(GraphId g) const { return model_.function_count() > 0 && is_in_function(model_, g); }

  // Returns what the file states, without names, which would be those of other extents in a copy, and without
  // dims that are wrong there.
  TypeId declared_in_copy(ValueId v) const {
    const TypeId declared = model_.value(v).declared;
    const TypeKind kind = model_.types[declared].kind;
    if (kind == TypeKind::Unknown) return {};
    if (refuted(v) && kind == TypeKind::Tensor && inference_.type_of(v).kind == kind)
      return model_.types.tensor(inference_.dtype(v));
    return without_names(model_, declared);
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

  Model& model_;
  const Inference& inference_;
  const WrittenTypesOptions& options_;
  bool names_ = true;                // whether names may be written
  std::vector<ValueId> named_anew_;  // sorted; their types are written with names, made ones too
  std::optional<LostRanks> lost_ranks_;
  std::vector<bool> wrong_;  // by value: the file's claim was false
};

}  // namespace

std::vector<TypeOverride> written_types(Model& model, const Inference& inference,
                                        const WrittenTypesOptions& options) {
  const WrittenTypes types(model, inference, options);
  std::vector<TypeOverride> out;
  for (std::size_t i = 0; i < model.value_count(); ++i) {
    const ValueId v{i};
    if (!model.alive(v)) continue;
    if (const TypeId type = types.of(v)) out.push_back({v, type, !types.refuted(v)});
  }
  name_dims(model, inference, out, options.all || types.some_named_anew());
  return out;
}

}  // namespace graphopt
