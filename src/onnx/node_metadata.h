// One entry of a node's metadata_props, without protobuf and without a list of all entries in the IR.
//
// The IR keeps what it has no field for in the bytes of the NodeProto; so an entry is set by making these
// bytes anew.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "ir/model.h"

namespace graphopt {

inline constexpr std::int64_t kNodeMetadataIrVersion = 10;  // the first with metadata_props of nodes

std::optional<std::string_view> node_metadata(const Model& m, NodeId n, std::string_view key);
// Nothing: the entry goes. True when the node changed.
bool set_node_metadata(Model& m, NodeId n, std::string_view key, std::optional<std::string_view> value);

}  // namespace graphopt
