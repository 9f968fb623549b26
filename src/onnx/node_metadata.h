// One entry of a node's metadata_props, without protobuf and without a list of all entries in the IR.
//
// The IR keeps fields that it does not model in the bytes of the NodeProto; so setting an entry builds these
// bytes anew.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "ir/model.h"

namespace graphopt {

inline constexpr std::int64_t kNodeMetadataIrVersion = 10;  // the first version with metadata_props of nodes

std::optional<std::string_view> node_metadata(const Model& m, NodeId n, std::string_view key);
// Without a text the entry is removed. Returns true when the node changed.
bool set_node_metadata(Model& m, NodeId n, std::string_view key, std::optional<std::string_view> value);

struct NodeText {
  NodeId node;
  std::optional<std::string_view> text;  // none: the entry is removed
};

// The same for many nodes, each at most once, in one go. Returns how many changed.
std::size_t set_node_metadata(Model& m, std::string_view key, std::span<const NodeText> entries);

}  // namespace graphopt
