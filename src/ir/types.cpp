// Element types, and the pool of value types.
//
// A type is interned: its record and its dims are stored once, in chunks that never move, so a Type and the
// span of its dims stay valid for the life of the pool. Equal records are found by an InternIndex: a model
// has few distinct types, but a graph of 10^6 nodes with symbolic dims may have as many types as nodes.
#include "ir/types.h"

#include <algorithm>
#include <array>
#include <vector>

#include "support/intern_index.h"

namespace graphopt {
namespace {

enum class Family : std::uint8_t { Other, Float, Signed, Unsigned };

struct DTypeRow {
  std::string_view name;
  std::uint8_t bits;
  Family family;
};

// Indexed by DType. Bool, complex and string belong to no numeric family: no caller of is_float or is_int
// wants them.
constexpr DTypeRow kRows[] = {
    {"undefined", 0, Family::Other},      {"float", 32, Family::Float},
    {"uint8", 8, Family::Unsigned},       {"int8", 8, Family::Signed},
    {"uint16", 16, Family::Unsigned},     {"int16", 16, Family::Signed},
    {"int32", 32, Family::Signed},        {"int64", 64, Family::Signed},
    {"string", 0, Family::Other},         {"bool", 8, Family::Other},
    {"float16", 16, Family::Float},       {"double", 64, Family::Float},
    {"uint32", 32, Family::Unsigned},     {"uint64", 64, Family::Unsigned},
    {"complex64", 64, Family::Other},     {"complex128", 128, Family::Other},
    {"bfloat16", 16, Family::Float},      {"float8e4m3fn", 8, Family::Float},
    {"float8e4m3fnuz", 8, Family::Float}, {"float8e5m2", 8, Family::Float},
    {"float8e5m2fnuz", 8, Family::Float}, {"uint4", 4, Family::Unsigned},
    {"int4", 4, Family::Signed},          {"float4e2m1", 4, Family::Float},
    {"float8e8m0", 8, Family::Float},     {"uint2", 2, Family::Unsigned},
    {"int2", 2, Family::Signed},          {"float6e2m3", 6, Family::Float},
    {"float6e3m2", 6, Family::Float},
};
static_assert(std::size(kRows) == static_cast<std::size_t>(DType::Float6E3M2) + 1);

const DTypeRow* row(DType t) {
  const auto i = static_cast<std::size_t>(t);
  return i < std::size(kRows) ? &kRows[i] : nullptr;
}
Family family(DType t) { return row(t) ? row(t)->family : Family::Other; }

}  // namespace

int bits_of(DType t) { return row(t) ? row(t)->bits : 0; }

std::optional<std::uint64_t> raw_size(DType t, std::uint64_t elements) {
  const auto bits = static_cast<std::uint64_t>(bits_of(t));
  if (bits == 0) return std::nullopt;
  // Whole groups of eight elements take `bits` bytes, so that only the byte count can overflow, not the bit
  // count.
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(elements / 8, bits, &bytes)) return std::nullopt;
  if (__builtin_add_overflow(bytes, (elements % 8 * bits + 7) / 8, &bytes)) return std::nullopt;
  return bytes;
}

std::string_view dtype_name(DType t) { return row(t) ? row(t)->name : std::string_view{}; }

std::optional<DType> dtype_from_name(std::string_view name) {
  for (std::size_t i = 1; i < std::size(kRows); ++i)
    if (kRows[i].name == name) return static_cast<DType>(i);
  return std::nullopt;
}

bool is_float(DType t) { return family(t) == Family::Float; }
bool is_signed_int(DType t) { return family(t) == Family::Signed; }
bool is_unsigned_int(DType t) { return family(t) == Family::Unsigned; }

namespace {

constexpr std::uint32_t kChunkBits = 10;
constexpr std::uint32_t kChunkSize = 1U << kChunkBits;
constexpr std::size_t kDimBlock = 4096;

// One round of a multiply-and-fold hash; dims are dense small integers, so every bit has to be spread.
std::uint64_t mix_type(std::uint64_t h, std::uint64_t v) {
  h = (h ^ v) * 0x9E3779B97F4A7C15U;
  return h ^ (h >> 29);
}

std::uint64_t hash_of(const Type& t, std::uint64_t seed) {
  std::uint64_t h = static_cast<std::uint64_t>(t.kind) | static_cast<std::uint64_t>(t.elem) << 8 |
                    std::uint64_t{t.has_rank} << 16 | std::uint64_t{t.inner.index()} << 32;
  h = mix_type(seed, h);
  h = mix_type(h, t.dims.size());
  for (const DimId d : t.dims) h = mix_type(h, d.index());
  return h;
}

bool same(const Type& a, const Type& b) {
  return a.kind == b.kind && a.elem == b.elem && a.has_rank == b.has_rank && a.inner == b.inner &&
         std::ranges::equal(a.dims, b.dims);
}

constexpr Type kUnknown{};

}  // namespace

struct TypePool::State {
  State() : seed(reinterpret_cast<std::uintptr_t>(this) * 0x2545F4914F6CDD1DU) {}

  Type& record(std::uint32_t id) { return chunks[id >> kChunkBits][id & (kChunkSize - 1)]; }

  std::span<const DimId> keep(std::span<const DimId> dims) {
    if (dims.empty()) return {};
    DimId* place = nullptr;
    if (dims.size() > kDimBlock / 4) {
      blocks.push_back(std::make_shared_for_overwrite<DimId[]>(dims.size()));
      place = blocks.back().get();
    } else {
      if (dims.size() > room) {
        blocks.push_back(std::make_shared_for_overwrite<DimId[]>(kDimBlock));
        free_dims = blocks.back().get();
        room = kDimBlock;
      }
      place = free_dims;
      free_dims += dims.size();
      room -= dims.size();
    }
    std::ranges::copy(dims, place);
    return {place, dims.size()};
  }

  TypeId intern(Type type) {
    const auto add = [&] {
      if (std::size_t{count} == chunks.size() * kChunkSize)
        chunks.push_back(std::make_shared<Type[]>(kChunkSize));
      type.dims = keep(type.dims);
      record(count) = type;
      return count++;
    };
    return TypeId{index.find_or_add(
        hash_of(type, seed), [&](std::uint32_t id) { return same(record(id), type); }, add)};
  }

  std::uint64_t seed;  // as in StringPool: ids do not depend on it
  std::uint32_t count = 0;
  InternIndex index{64};
  std::vector<std::shared_ptr<Type[]>> chunks;  // as in StringPool
  std::vector<std::shared_ptr<DimId[]>> blocks;
  DimId* free_dims = nullptr;
  std::size_t room = 0;
};

TypePool::TypePool() : s_(std::make_unique<State>()) { s_->intern(kUnknown); }
TypePool::~TypePool() = default;
TypePool::TypePool(TypePool&&) noexcept = default;
TypePool& TypePool::operator=(TypePool&&) noexcept = default;
TypePool::TypePool(std::unique_ptr<State> s) : s_(std::move(s)) {}

TypePool TypePool::clone() const {
  auto s = std::make_unique<State>(*s_);
  if (const std::uint32_t used = s->count & (kChunkSize - 1)) {
    const auto shared = s->chunks.back();
    s->chunks.back() = std::make_shared<Type[]>(kChunkSize);
    std::copy_n(shared.get(), used, s->chunks.back().get());
  }
  s->free_dims = nullptr;
  s->room = 0;
  return TypePool(std::move(s));
}

TypeId TypePool::unknown() const { return TypeId{std::uint32_t{0}}; }

TypeId TypePool::tensor(DType elem) { return s_->intern({.kind = TypeKind::Tensor, .elem = elem}); }

TypeId TypePool::tensor(DType elem, std::span<const DimId> dims) {
  return s_->intern({.kind = TypeKind::Tensor, .elem = elem, .has_rank = true, .dims = dims});
}

TypeId TypePool::sparse(DType elem, bool has_rank, std::span<const DimId> dims) {
  if (!has_rank) dims = {};
  return s_->intern({.kind = TypeKind::SparseTensor, .elem = elem, .has_rank = has_rank, .dims = dims});
}

TypeId TypePool::sequence(TypeId inner) { return s_->intern({.kind = TypeKind::Sequence, .inner = inner}); }

TypeId TypePool::optional(TypeId inner) { return s_->intern({.kind = TypeKind::Optional, .inner = inner}); }

TypeId TypePool::map(DType key, TypeId value) {
  return s_->intern({.kind = TypeKind::Map, .elem = key, .inner = value});
}

TypeId TypePool::opaque() { return s_->intern({.kind = TypeKind::Opaque}); }

const Type& TypePool::operator[](TypeId id) const {
  return id && id.index() < s_->count ? s_->record(id.index()) : kUnknown;
}

std::size_t TypePool::size() const { return s_->count; }

}  // namespace graphopt
