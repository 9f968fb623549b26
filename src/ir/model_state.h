// Internal to Model: its arena, its operator index, and what a trial keeps.
#pragma once

#include <cstring>
#include <memory_resource>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/model.h"

namespace graphopt {

struct Model::Arena {
  std::pmr::monotonic_buffer_resource memory{64 * 1024};

  const char* copy(const void* p, std::size_t n, std::size_t align) {
    if (n == 0) return "";
    void* to = memory.allocate(n, align);
    std::memcpy(to, p, n);
    return static_cast<const char*>(to);
  }
};

struct Model::OpIndex {
  struct Key {
    OpKind kind;  // a node that does not fit its operator has the same names, but is opaque
    NameId domain, type, overload;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Hash {
    std::size_t operator()(const Key& k) const {
      std::uint64_t h = static_cast<std::uint64_t>(k.kind);
      h = h * 0x9E3779B97F4A7C15u + k.domain.index();
      h = h * 0x9E3779B97F4A7C15u + k.type.index();
      h = h * 0x9E3779B97F4A7C15u + k.overload.index();
      return static_cast<std::size_t>(h ^ (h >> 32));
    }
  };
  std::unordered_map<Key, OpId, Hash> ops;
};

// The records of one array that a trial changed, as they were before it. Records that the trial added need no
// copy: nothing from before refers to them.
template <class Record> class SavedRecords {
 public:
  void begin(std::size_t size) {
    size_ = size;
    saved_.clear();
    seen_.resize(size);
    ++trial_;
  }
  template <class Array> void save(const Array& records, std::size_t i) {
    if (i >= size_ || seen_[i] == trial_) return;
    seen_[i] = trial_;
    saved_.push_back({i, records[i]});
  }
  template <class Array> void swap(Array& records) {
    for (auto& [i, record] : saved_) std::swap(records[i], record);
  }
  std::size_t size() const { return size_; }  // of the array before the trial
  const std::vector<std::pair<std::size_t, Record>>& saved() const { return saved_; }

 private:
  std::size_t size_ = 0;
  std::uint32_t trial_ = 0;
  std::vector<std::uint32_t> seen_;  // by record: the last trial that saved it
  std::vector<std::pair<std::size_t, Record>> saved_;
};

struct Model::Trial {
  // A graph without its lists. Those of inputs are saved where one changes; that of initializers only grows,
  // but for a body that is inlined.
  struct SavedGraph {
    GraphId graph;
    NodeId owner, first, last;
    GraphId parent;
    std::uint32_t node_count;
    bool alive, dirty;
    std::size_t initializers;       // how many the other state has
    std::vector<ValueId> appended;  // to the list, in the state that is not the model's now
  };
  struct SavedList {
    GraphId graph;
    std::vector<ValueId> Graph::* list;
    std::vector<ValueId> ids;
  };

  SavedRecords<Node> nodes;
  SavedRecords<Value> values;
  SavedRecords<Use> uses;
  SavedRecords<ValueId> slots;
  SavedRecords<std::uint32_t> overwriting;
  std::vector<SavedGraph> graphs;
  std::vector<SavedList> lists;
  std::size_t graph_count = 0, attrs = 0;
  std::size_t live_nodes = 0;
  decltype(Model::live_of_kind_) live_of_kind{};
  bool overwrites = false;
  bool undone = false;  // the model has the state before the trial
};

inline Node& Model::edit(NodeId n) {
  if (in_trial_) trial_->nodes.save(nodes_, n.index());
  return nodes_[n.index()];
}
inline Value& Model::edit(ValueId v) {
  if (in_trial_) trial_->values.save(values_, v.index());
  return values_[v.index()];
}
inline Use& Model::edit(UseId u) {
  if (in_trial_) trial_->uses.save(uses_, u.index());
  return uses_[u.index()];
}
inline ValueId& Model::edit_slot(std::size_t i) {
  if (in_trial_) trial_->slots.save(output_slots_, i);
  return output_slots_[i];
}
inline Graph& Model::edit(GraphId g) {
  if (in_trial_) save_graph(g);
  return graphs_[g.index()];
}

}  // namespace graphopt
