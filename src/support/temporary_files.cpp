// See temporary_files.h. A handler sees an entry's text only while `used` is set, and a text is changed only
// while it is not.
#include "support/temporary_files.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <utility>

namespace graphopt {

struct TemporaryName::Listed {
  explicit Listed(std::size_t size) : room(size), path(new char[size]) {}
  std::atomic<bool> used{false};
  const std::size_t room;
  char* const path;
  std::atomic<Listed*> next{nullptr};
  Listed* next_free = nullptr;  // under the lock
};

// Constant-initialized, and never destroyed: a signal may come while the process ends.
std::atomic<TemporaryName::Listed*> TemporaryName::first_{nullptr};

namespace {

std::atomic<std::uint64_t> removals{0};
std::mutex entries_lock;

constexpr std::size_t kUsualRoom = 256;

}  // namespace

// Entries that are not used: a run may name thousands of files, so a free one has to be at hand.
TemporaryName::Listed* TemporaryName::free_ = nullptr;        // of the usual room
TemporaryName::Listed* TemporaryName::free_large_ = nullptr;  // of more, which few paths need

TemporaryName::TemporaryName(const std::string& path) {
  const std::size_t size = path.size() + 1;
  const std::scoped_lock lock(entries_lock);
  Listed** free = size <= kUsualRoom ? &free_ : &free_large_;
  while (*free != nullptr && (*free)->room < size) free = &(*free)->next_free;
  Listed* entry = *free;
  const bool fresh = entry == nullptr;
  if (fresh) entry = new Listed(std::max(size, kUsualRoom));
  else *free = entry->next_free;
  std::memcpy(entry->path, path.c_str(), size);
  entry->used.store(true);
  listed_ = entry;
  if (!fresh) return;
  entry->next.store(first_.load());
  first_.store(entry);
}

TemporaryName::TemporaryName(TemporaryName&& other) noexcept
    : listed_(std::exchange(other.listed_, nullptr)) {}

TemporaryName& TemporaryName::operator=(TemporaryName&& other) noexcept {
  if (this == &other) return *this;
  forget();
  listed_ = std::exchange(other.listed_, nullptr);
  return *this;
}

void TemporaryName::forget() {
  Listed* entry = std::exchange(listed_, nullptr);
  if (entry == nullptr) return;
  const std::scoped_lock lock(entries_lock);
  entry->used.store(false);
  Listed*& free = entry->room <= kUsualRoom ? free_ : free_large_;
  entry->next_free = free;
  free = entry;
}

void remove_temporary_files() noexcept {
  removals.fetch_add(1);
  const auto each = [](auto f) {
    for (TemporaryName::Listed* l = TemporaryName::first_.load(); l != nullptr; l = l->next.load())
      if (l->used.load()) f(l->path);
  };
  each([](const char* path) { ::unlink(path); });
  each([](const char* path) { ::rmdir(path); });
}

std::uint64_t temporary_file_removals() { return removals.load(); }

}  // namespace graphopt
