// The pool of interned strings.
//
// Problem: a model of 10^6 nodes brings some 10^6 names, most of them twice or more, and each is looked up at
// least twice. Method: the entries (pointer and length, in the order of interning, so an id is an index) lie
// in chunks that never move; an open-addressing table with linear probing holds for each entry its id and 32
// bits of its hash. The table is at most three quarters full, and growing it needs no text: the home of an
// entry follows from the kept bits (a table never has more than 2^32 slots), so a cache miss per name is paid
// only where two texts are compared. That is 16 bytes for an entry and 11 to 22 for its slots.
//
// The hash is XXH3 with a seed that differs from pool to pool: a file cannot be made so that all its names
// fall into one row of slots. Ids follow the order of interning alone, so no result depends on the seed.
#include "support/string_pool.h"

#include <algorithm>
#include <cstring>
#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "support/known_names.h"

namespace graphopt {
namespace {

constexpr std::uint32_t kChunkBits = 12;
constexpr std::uint32_t kChunkSize = 1U << kChunkBits;
constexpr std::size_t kTextBlock = 64 * 1024;
constexpr std::uint32_t kFree = 0xFFFFFFFFU;

struct Slot {
  std::uint32_t id;
  std::uint32_t tag;
};

}  // namespace

struct StringPool::State {
  State() : seed(reinterpret_cast<std::uintptr_t>(this)), slots(512, Slot{kFree, 0}) {}

  std::uint32_t tag_of(std::string_view text) const {
    return static_cast<std::uint32_t>(XXH3_64bits_withSeed(text.data(), text.size(), seed));
  }

  std::string_view& entry(std::uint32_t id) { return chunks[id >> kChunkBits][id & (kChunkSize - 1)]; }
  const std::string_view& entry(std::uint32_t id) const {
    return chunks[id >> kChunkBits][id & (kChunkSize - 1)];
  }

  // The slot that holds `text`, or the free one where it belongs.
  std::size_t probe(std::string_view text, std::uint32_t tag) const {
    const std::size_t mask = slots.size() - 1;
    for (std::size_t at = tag & mask;; at = (at + 1) & mask) {
      const Slot& slot = slots[at];
      if (slot.id == kFree || (slot.tag == tag && entry(slot.id) == text)) return at;
    }
  }

  void grow() {
    std::vector<Slot> larger(slots.size() * 2, Slot{kFree, 0});
    const std::size_t mask = larger.size() - 1;
    for (const Slot& slot : slots) {
      if (slot.id == kFree) continue;
      std::size_t at = slot.tag & mask;
      while (larger[at].id != kFree) at = (at + 1) & mask;
      larger[at] = slot;
    }
    slots = std::move(larger);
  }

  std::string_view keep(std::string_view text) {
    if (text.empty()) return {};
    if (text.size() > kTextBlock / 4) {  // a block of its own; the current one stays in use
      blocks.push_back(std::make_unique_for_overwrite<char[]>(text.size()));
      std::memcpy(blocks.back().get(), text.data(), text.size());
      return {blocks.back().get(), text.size()};
    }
    if (text.size() > room) {
      blocks.push_back(std::make_unique_for_overwrite<char[]>(kTextBlock));
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
    const std::uint32_t tag = tag_of(text);
    std::size_t at = probe(text, tag);
    if (slots[at].id != kFree) return NameId{slots[at].id};
    if (std::size_t{count} + 1 > slots.size() / 4 * 3) {
      grow();
      at = probe(text, tag);
    }
    if (std::size_t{count} == chunks.size() * kChunkSize)
      chunks.push_back(std::make_unique_for_overwrite<std::string_view[]>(kChunkSize));
    entry(count) = copy ? keep(text) : text;
    slots[at] = {count, tag};
    return NameId{count++};
  }

  std::uint64_t seed;
  std::uint32_t count = 0;
  std::vector<Slot> slots;  // a power of two
  std::vector<std::unique_ptr<std::string_view[]>> chunks;
  std::vector<std::unique_ptr<char[]>> blocks;
  char* free_text = nullptr;
  std::size_t room = 0;
};

StringPool::StringPool() : s_(std::make_unique<State>()) {
  for (const std::string_view name : kKnownNames) s_->intern(name, false);
}
StringPool::~StringPool() = default;
StringPool::StringPool(StringPool&&) noexcept = default;
StringPool& StringPool::operator=(StringPool&&) noexcept = default;

NameId StringPool::intern(std::string_view text) { return s_->intern(text, true); }
NameId StringPool::intern_new(std::string_view text) {
  const std::uint32_t count = s_->count;
  const NameId id = s_->intern(text, true);
  return id.index() == count ? id : NameId{};
}
NameId StringPool::intern_view(std::string_view text) { return s_->intern(text, false); }

NameId StringPool::find(std::string_view text) const {
  const Slot& slot = s_->slots[s_->probe(text, s_->tag_of(text))];
  return slot.id == kFree ? NameId{} : NameId{slot.id};
}

std::string_view StringPool::text(NameId id) const {
  return id && id.index() < s_->count ? s_->entry(id.index()) : std::string_view{};
}

std::size_t StringPool::size() const { return s_->count; }

}  // namespace graphopt
