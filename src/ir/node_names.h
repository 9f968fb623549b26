// Names for nodes that have none, from what they compute.
//
// Problem: nodes that passes make have no name, so that no table, manifest or annotation can say which one it
// means. A counter would depend on the order of the rewrites.
// Method: the name is the one of the node's first result without the marks of exporters ("_output_0" of
// PyTorch, ":0" of TensorFlow), and the operator. The operator is left out where the name ends in it. Nodes
// with equal names get a number from the second one on, in the order of the names of their results and of
// the places of their graphs: both are the same for every order of the file. Linear in the nodes, but for a
// sort of the nodes without names.
//
//   m/Add_output_0 = LayerNormalization (..)    =>    m/Add/LayerNormalization
//   m/Transpose_1_output_0 = Transpose (..)     =>    m/Transpose_1
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/model.h"

namespace graphopt {

enum class Unnamed : std::uint8_t {
  // Both outside of functions.
  Made,  // nodes without a name that are not in the file, from an id on
  // Nodes without a name of their own in UTF-8: of nodes that share a name all but one.
  // Constant nodes in bodies are left out: an initializer would do as well, and the writer, which makes such
  // nodes before IR version 4, gives them no names.
  All,
};

// Gives these nodes, with ids from `first` on, names that no other node of the model has. Other names stay.
void name_nodes(Model& m, Unnamed which, std::size_t first = 0);
// Returns the name of a node, or the one that name_nodes would give to it if no other node had it.
std::string name_or_proposal(const Model& m, NodeId n);

inline bool has_name(const Model& m, NodeId n) { return m.node(n).name && m.node(n).name != kEmptyName; }

// --- the parts of names, for made_names.h ------------------------------------------------------------------

// Returns the name of a value without marks of exporters, as a part of the text; "" where it is not UTF-8.
std::string_view value_stem(std::string_view value_name);
// Returns the name of a node of operator `op` that computes what the stem names. Bounded: of a longer stem
// the end stays.
std::string joined_name(std::string_view stem, std::string_view op);

inline constexpr std::size_t kAllNames = std::numeric_limits<std::size_t>::max();
std::uint64_t text_hash(std::string_view text);

// Hashes of where graphs are: of the function of each, and of the results and attributes of the nodes that
// hold it. Each is computed once: a node may have as many results as its body has nodes.
class PlaceHashes {
 public:
  // The model is kept by reference, and not changed. Names with ids from `known` on are left out.
  explicit PlaceHashes(const Model& m, std::size_t known = kAllNames) : m_(m), known_(known) {}
  std::uint64_t of(GraphId g);

 private:
  const Model& m_;
  const std::size_t known_;
  std::vector<std::optional<std::uint64_t>> hashes_;  // by GraphId
};

// Names that are in use.
class TakenNames {
 public:
  // All names with ids below this one count as taken.
  explicit TakenNames(std::size_t below = 0) : below_(below) {}
  bool has(NameId name) const {
    return name.index() < below_ || (name.index() < taken_.size() && taken_[name.index()]);
  }
  // Returns whether the name was not taken before.
  bool add(NameId name);

 private:
  std::size_t below_;
  std::vector<bool> taken_;
};

// What gets a name: its first choice, and what decides between those with the same one, the first first.
struct NameWish {
  NameId base;
  std::string_view label;
  std::uint32_t distance = 0;
  std::uint64_t hash = 0;
  std::uint32_t id = 0;  // of the node or value
};
// Sorts the wishes and returns a name for each: the first choice, or that with a number.
std::vector<NameId> grant(StringPool& names, std::vector<NameWish>& wishes, TakenNames& taken);

}  // namespace graphopt
