// What of a model is written: all of it, or a part as a model of its own (ir/part.h).
//
// Bodies and functions are written whole, so a part differs from the model in the main graph, the list of
// functions and the operator sets, and in fields that are kept from the file: training info and annotations
// of values that are elsewhere stay out.
//
// Cost: making one for a part is linear in the part, up to sorting, so that a model that is cut into many
// parts costs no walk over the whole for each. What has to be looked for in the whole is in KeptFields, which
// parts of one model share.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ir/model.h"
#include "ir/part.h"

namespace graphopt {

// The fields of a model's file that its parts keep, each with its tag. Linear in the fields of the model and
// of its main graph.
class KeptFields {
 public:
  explicit KeptFields(const Model& m);

  std::span<const Bytes> model() const { return model_; }  // without training info
  std::span<const Bytes> graph() const { return graph_; }  // those that every part has
  // Adds the positions, in the file, of annotations about the value of this name.
  void find_annotations(std::string_view value, std::vector<std::uint32_t>& out) const;
  Bytes annotation(std::uint32_t position) const { return annotations_[position]; }
  // Returns the first entry about an output of the model; empty when there is none.
  Bytes output(std::string_view value) const;

 private:
  std::vector<Bytes> model_, graph_, annotations_;
  std::unordered_map<std::string_view, Bytes> outputs_;
  std::unordered_multimap<std::string_view, std::uint32_t> annotations_of_;
};

class WrittenModel {
 public:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  // `part`: none for the whole model. `kept`: of the model; none to have them made. All must outlive this
  // object.
  WrittenModel(const Model& m, const ModelPart* part, const KeptFields* kept = nullptr);
  WrittenModel(const WrittenModel&) = delete;
  WrittenModel& operator=(const WrittenModel&) = delete;

  bool whole() const { return part_ == nullptr; }
  std::span<const ValueId> inputs(GraphId g) const;
  std::span<const ValueId> initializers(GraphId g) const;  // may hold dead ones
  // Returns true if an initializer is written as a Constant node before all others. Functions have no
  // initializers, and before IR version 4 an initializer had to be an input, which a constant made by a pass
  // is not.
  bool is_constant_node(const Graph& graph, ValueId v) const;
  std::vector<ValueId> outputs(GraphId g) const;  // without absent ones
  const OpsetTable& opsets() const { return part_ ? part_->opsets : m_.opset_tables[0]; }
  // Fields that are kept from the file, each with its tag.
  std::span<const Bytes> rest() const { return part_ ? kept_->model() : m_.rest; }
  std::span<const Bytes> rest(GraphId g) const;
  // The main graph, bodies in nodes that are written, and those of functions, by id.
  std::span<const GraphId> graphs() const { return graphs_; }
  std::span<const FunctionId> functions() const { return part_ ? std::span(part_->functions) : functions_; }

  // Values get numbers below value_count(), in the order of their ids: those that are defined in what is
  // written, or are inputs or initializers of it. kNone for any other.
  std::size_t value_count() const { return part_ ? values_.size() : m_.value_count(); }
  std::size_t number(ValueId v) const;
  ValueId value(std::size_t number) const { return part_ ? values_[number] : ValueId{number}; }

  // Calls f(NodeId) for the nodes of a graph, last to first.
  template <class F> void nodes_backwards(GraphId g, F f) const {
    if (part_ && g == m_.main()) {
      for (auto it = part_->nodes.rbegin(); it != part_->nodes.rend(); ++it) f(*it);
    } else {
      for (NodeId n = m_.graph(g).last; n; n = m_.prev_node(n)) f(n);
    }
  }

 private:
  bool is_main_part(GraphId g) const { return part_ && g == m_.main(); }
  void find_graphs();
  void find_values();
  void find_rest();

  const Model& m_;
  const ModelPart* part_;
  const KeptFields* kept_;
  std::optional<KeptFields> own_kept_;
  std::vector<GraphId> graphs_;
  std::vector<FunctionId> functions_;  // of the whole model
  std::vector<ValueId> values_;        // of a part, sorted
  std::vector<Bytes> main_rest_;       // of a part: what of the main graph's fields is kept
};

}  // namespace graphopt
