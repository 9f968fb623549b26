// Which models a shard has. Names are spread over a range of numbers by their hash, and a shard is an
// interval of it: so a model that comes or goes moves no other one, and two shards, of whatever division,
// have a model in common only where their intervals overlap. The same intervals are locked (folder.cpp).
#pragma once

#include <cstdint>
#include <string_view>

#include "graphopt/batch.h"

namespace graphopt {

struct ShardRange {
  std::uint64_t begin = 0, end = 0;
};

ShardRange range_of(Shard shard);
bool is_in(Shard shard, std::string_view name);

}  // namespace graphopt
