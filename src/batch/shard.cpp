#define XXH_INLINE_ALL  // header only: nothing to link
#include "batch/shard.h"

#include <xxhash.h>

namespace graphopt {
namespace {

constexpr int kBits = 62;  // positions in a file, by which ranges are locked, are signed

// floor(2^62 * part / count), without a product of more than 64 bits.
std::uint64_t bound(std::uint64_t part, std::uint64_t count) {
  const std::uint64_t whole = std::uint64_t{1} << kBits;
  return whole / count * part + whole % count * part / count;
}

}  // namespace

ShardRange range_of(Shard shard) {
  return {bound(shard.index - 1, shard.count), bound(shard.index, shard.count)};
}

bool is_in(Shard shard, std::string_view name) {
  const std::uint64_t hash = XXH3_64bits(name.data(), name.size()) >> (64 - kBits);
  const ShardRange range = range_of(shard);
  return range.begin <= hash && hash < range.end;
}

}  // namespace graphopt
