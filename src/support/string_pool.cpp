// The pool of interned strings.
//
// Problem: a model of 10^6 nodes brings some 10^6 names, most of them twice or more, and each is looked up at
// least twice.
// Method: the entries (pointer and length, in the order of interning, so an id is an index) are in chunks
// that never move; an InternIndex finds them. That is 16 bytes for an entry and 11 to 22 for its slots.
//
// The hash is XXH3 with a seed that differs from pool to pool: a file cannot be made so that all its names
// fall into one row of slots. Ids follow the order of interning alone, so no result depends on the seed.
#include "support/string_pool.h"

#include <algorithm>
#include <cstring>
#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "support/intern_index.h"
#include "support/known_names.h"

namespace graphopt {
namespace {

constexpr std::uint32_t kChunkBits = 12;
constexpr std::uint32_t kChunkSize = 1U << kChunkBits;
constexpr std::size_t kTextBlock = 64 * 1024;

}  // namespace

struct StringPool::State {
  State() : seed(reinterpret_cast<std::uintptr_t>(this)) {}

  std::uint64_t hash_of(std::string_view text) const {
    return XXH3_64bits_withSeed(text.data(), text.size(), seed);
  }

  std::string_view& entry(std::uint32_t id) { return chunks[id >> kChunkBits][id & (kChunkSize - 1)]; }
  const std::string_view& entry(std::uint32_t id) const {
    return chunks[id >> kChunkBits][id & (kChunkSize - 1)];
  }

  std::uint32_t find(std::string_view text) const {
    return index.find(hash_of(text), [&](std::uint32_t id) { return entry(id) == text; });
  }

  std::string_view keep(std::string_view text) {
    if (text.empty()) return {};
    if (text.size() > kTextBlock / 4) {  // a block of its own; the current one stays in use
      blocks.push_back(std::make_shared_for_overwrite<char[]>(text.size()));
      std::memcpy(blocks.back().get(), text.data(), text.size());
      return {blocks.back().get(), text.size()};
    }
    if (text.size() > room) {
      blocks.push_back(std::make_shared_for_overwrite<char[]>(kTextBlock));
      free_text = blocks.back().get();
      room = kTextBlock;
    }
    char* place = free_text;
    std::memcpy(place, text.data(), text.size());
    free_text += text.size();
    room -= text.size();
    return {place, text.size()};
  }

  NameId intern(std::string_view text, bool copy) {
    const auto add = [&] {
      if (std::size_t{count} == chunks.size() * kChunkSize)
        chunks.push_back(std::make_shared_for_overwrite<std::string_view[]>(kChunkSize));
      entry(count) = copy ? keep(text) : text;
      return count++;
    };
    return NameId{index.find_or_add(hash_of(text), [&](std::uint32_t id) { return entry(id) == text; }, add)};
  }

  std::uint64_t seed;
  std::uint32_t count = 0;
  InternIndex index{512};
  std::vector<std::shared_ptr<std::string_view[]>> chunks;  // shared by clones, but for one that is not full
  std::vector<std::shared_ptr<char[]>> blocks;              // shared by clones; only one pool fills a block
  char* free_text = nullptr;
  std::size_t room = 0;
};

StringPool::StringPool() : s_(std::make_unique<State>()) {
  for (const std::string_view name : kKnownNames) s_->intern(name, false);
}
StringPool::~StringPool() = default;
StringPool::StringPool(StringPool&&) noexcept = default;
StringPool& StringPool::operator=(StringPool&&) noexcept = default;
StringPool::StringPool(std::unique_ptr<State> s) : s_(std::move(s)) {}

StringPool StringPool::clone() const {
  auto s = std::make_unique<State>(*s_);
  if (const std::uint32_t used = s->count & (kChunkSize - 1)) {
    const auto shared = s->chunks.back();
    s->chunks.back() = std::make_shared_for_overwrite<std::string_view[]>(kChunkSize);
    std::copy_n(shared.get(), used, s->chunks.back().get());
  }
  s->free_text = nullptr;
  s->room = 0;
  return StringPool(std::move(s));
}

NameId StringPool::intern(std::string_view text) { return s_->intern(text, true); }
NameId StringPool::intern_new(std::string_view text) {
  const std::uint32_t count = s_->count;
  const NameId id = s_->intern(text, true);
  return id.index() == count ? id : NameId{};
}
NameId StringPool::intern_view(std::string_view text) { return s_->intern(text, false); }

NameId StringPool::find(std::string_view text) const {
  const std::uint32_t id = s_->find(text);
  return id == InternIndex::kNone ? NameId{} : NameId{id};
}

std::string_view StringPool::text(NameId id) const {
  return id && id.index() < s_->count ? s_->entry(id.index()) : std::string_view{};
}

std::size_t StringPool::size() const { return s_->count; }

}  // namespace graphopt
