#include "onnx/kept_dim_names.h"

#include <unordered_map>
#include <unordered_set>

#include "onnx/fields.h"
#include "onnx/types_wire.h"
#include "onnx/wire.h"

namespace graphopt {
namespace {

using wire::Field;
using wire::Fields;
using wire::Kind;

// Returns the tensor that a type is or contains.
const Type& tensor_of(const Model& m, TypeId id) {
  const Type* t = &m.types[id];
  while (t->inner) t = &m.types[t->inner];
  return *t;
}

class Collector {
 public:
  Collector(const Model& m, std::span<const TypeOverride> types) : m_(m), written_(m.value_count()) {
    for (const TypeOverride& o : types) {
      written_[o.value.index()] = o.type;
      stale_.insert(m.value(o.value).name);
    }
  }

  std::vector<KeptDimName> run() {
    for (std::size_t i = 0; i < m_.value_count(); ++i) {
      const Value& value = m_.value(ValueId{i});
      if (!value.alive) continue;
      if (value.info_stale) stale_.insert(value.name);
      if (value.info.data() != nullptr && m_.graph(value.graph).alive) see(value.info, ValueId{i});
    }
    for (std::size_t g = 0; g < m_.graph_count(); ++g) {
      const Graph& graph = m_.graph(GraphId{g});
      if (!graph.alive) continue;
      if (graph.function) {
        see_rest(m_.function(graph.function).rest, field::function::kValueInfo);
      } else {
        see_rest(graph.rest, field::graph::kValueInfo);
        see_outputs(GraphId{g}, graph.rest);
      }
    }
    return std::move(out_);
  }

 private:
  // Adds the names in a ValueInfoProto of v that its written type leaves in place.
  void see(Bytes info, ValueId v) {
    const Value& value = m_.value(v);
    if (value.info_stale && !value.is_input) return;
    const TypeId type = written_[v.index()];
    const Type* now = type ? &tensor_of(m_, type) : nullptr;
    if (now && !now->has_rank) now = nullptr;
    const std::size_t rank = value.declared ? tensor_of(m_, value.declared).dims.size() : 0;
    if (now && now->dims.size() != rank) return;
    for_each_dim_name(info, [&](std::string_view name, std::size_t axis, bool nested) {
      if (!now || axis >= rank || !now->dims[axis])
        out_.push_back({name, v, nested ? std::nullopt : std::optional(axis)});
    });
  }

  void see_rest(std::span<const Bytes> rest, std::uint32_t number) {
    for (const Bytes whole : rest) {
      Field f;
      Fields(whole).next(f);
      if (f.number != number || f.kind != Kind::Length) continue;
      const NameId name = m_.names.find(value_info_name(f.bytes));
      if (name && stale_.contains(name)) continue;
      for_each_dim_name(
          f.bytes, [&](std::string_view dim, std::size_t, bool) { out_.push_back({dim, {}, std::nullopt}); });
    }
  }

  // A value that is more than one output has an entry for each; the first one is its info.
  void see_outputs(GraphId g, std::span<const Bytes> rest) {
    std::unordered_map<std::string_view, ValueId> outputs;
    for (std::size_t i = 0; i < m_.graph_output_count(g); ++i)
      if (const ValueId v = m_.graph_output(g, i)) outputs.emplace(m_.text(m_.value(v).name), v);
    for (const Bytes whole : rest) {
      Field f;
      Fields(whole).next(f);
      if (f.number != field::graph::kOutput || f.kind != Kind::Length) continue;
      const auto at = outputs.find(value_info_name(f.bytes));
      if (at != outputs.end() && m_.value(at->second).info.data() != f.bytes.data()) see(f.bytes, at->second);
    }
  }

  const Model& m_;
  std::vector<TypeId> written_;       // by value
  std::unordered_set<NameId> stale_;  // as in MessageWriter
  std::vector<KeptDimName> out_;
};

}  // namespace

std::vector<KeptDimName> kept_dim_names(const Model& model, std::span<const TypeOverride> types) {
  return Collector(model, types).run();
}

}  // namespace graphopt
