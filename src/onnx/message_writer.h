// A Model as the bytes of a ModelProto. See wire.h for the method, writer.h for the rules.
#pragma once

#include <span>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "ir/model.h"
#include "onnx/data_writer.h"
#include "onnx/wire.h"
#include "onnx/writer.h"
#include "onnx/written_model.h"

namespace graphopt {

// Another name of the domain "", which ONNX Runtime knows in the main graph alone.
inline constexpr std::string_view kSpelledStandard = "ai.onnx";

class MessageWriter {
 public:
  MessageWriter(const Model& m, const SaveOptions& options, const DataPlan& plan);

  // The ranges of bytes of the message; they live as long as this writer and the model.
  std::vector<wire::ByteRange> ranges();
  std::uint64_t size() const { return w_.size(); }

 private:
  struct Info {  // an entry of value_info
    GraphId graph;
    // In the file. Entries that are not in the file come last, in the order in which the model defines their
    // values: by the place of the node, which the next reader finds, too, and not by ids.
    std::uint64_t position;
    std::uint64_t definition;
    std::uint32_t slot;
    ValueId value;  // none: `whole` is kept from the file
    Bytes whole;
  };

  void collect_value_infos();
  void write_model();
  void write_rest(std::span<const Bytes> rest, std::uint32_t low, std::uint32_t high);
  void write_text(std::span<const Bytes> rest, std::uint32_t number, NameId now);
  void write_opsets(std::span<const Bytes> rest, std::uint32_t number, const OpsetTable& table, bool spelled);
  void write_function(const Function& f);
  void write_graph(GraphId g);
  void write_nodes(GraphId g, std::uint32_t number);
  void write_value_infos(GraphId g, std::uint32_t number);
  void write_outputs(GraphId g);
  void write_value(std::uint32_t number, ValueId v, Bytes info);
  void write_initializer(ValueId v);
  void write_sparse(ValueId v);
  void write_constant_node(ValueId v, std::uint32_t number);
  void write_node(NodeId n, std::uint32_t number);
  void write_attribute(const Attr& a, std::uint32_t number);
  bool attribute_unchanged(const Attr& a) const;
  void write_attribute_value(const Attr& a);
  void write_payload_tensor(std::uint32_t number, TensorId t, std::string_view name, bool has_name);
  TypeId override_of(ValueId v) const {
    const std::size_t i = types_.empty() ? WrittenModel::kNone : written_.number(v);
    return i < types_.size() ? types_[i] : TypeId{};
  }
  std::uint64_t position(Bytes bytes) const;

  const Model& m_;
  const DataPlan& plan_;
  const WrittenModel& written_;
  Bytes image_;
  wire::BackwardWriter w_;
  bool every_subgraph_;  // also those in which nothing changed: their types or data may change
  // The function that is being written spells the standard domain out. ONNX Runtime looks for the domain of
  // each node among the imports as they are spelled, and a call of such a function is refused, so that all of
  // it has the domain "": imports, nodes and those in bodies of nodes.
  bool respells_ = false;
  // By number of the value in written_:
  std::vector<TypeId> types_;
  std::vector<bool> open_dims_;       // a dim that the type leaves open is open in the result
  std::vector<bool> is_output_;       // of its own graph
  std::vector<Info> infos_;           // sorted by graph, position
  std::unordered_set<NameId> stale_;  // names of values about which kept entries may no longer be true
};

}  // namespace graphopt
