// Internal to Model: its arena and its operator index.
#pragma once

#include <cstring>
#include <memory_resource>
#include <unordered_map>

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

}  // namespace graphopt
