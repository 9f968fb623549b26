#include "draft/shapes.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "support/hash_chains.h"

namespace graphopt {

ShapeId ShapeTable::intern(std::span<const DimId> given) {
  const auto begin = static_cast<std::uint32_t>(dims_.size());
  std::uint64_t hash = given.size();
  for (const DimId d : given) {
    DimId c = d ? pool_.canonical(d) : DimId{};
    if (c)
      if (const auto v = pool_.value(c)) c = pool_.constant(*v);
    if (!c) {
      dims_.resize(begin);
      return {};
    }
    dims_.push_back(c);
    hash = mix_hash(hash, c.index());
  }
  const auto mine = std::span<const DimId>(dims_).subspan(begin);
  const auto equal = [&](std::uint32_t id) { return std::ranges::equal(dims(ShapeId{id}), mine); };
  const auto add = [&] {
    const auto next = static_cast<std::uint32_t>(shapes_.size());
    shapes_.push_back({begin, static_cast<std::uint32_t>(given.size()), {}, false, next});
    return static_cast<std::uint32_t>(shapes_.size() - 1);
  };
  const std::size_t known = shapes_.size();
  const ShapeId s{index_.find_or_add(hash, equal, add)};
  if (shapes_.size() == known) dims_.resize(begin);
  return s;
}

ShapeId ShapeTable::intern(std::span<const std::int64_t> given) {
  std::vector<DimId> dims;
  for (const std::int64_t d : given) dims.push_back(pool_.constant(d));
  return intern(std::span<const DimId>(dims));
}

std::span<const DimId> ShapeTable::dims(ShapeId s) const {
  const Entry& e = shapes_[s.index()];
  return std::span<const DimId>(dims_).subspan(e.first, e.rank);
}

DimId ShapeTable::product(std::span<const DimId> dims) {
  const DimId p = pool_.product(dims);
  return p ? pool_.canonical(p) : p;
}

DimId ShapeTable::product(ShapeId s) {
  if (!shapes_[s.index()].multiplied) {
    shapes_[s.index()].product = product(dims(s));
    shapes_[s.index()].multiplied = true;
  }
  return shapes_[s.index()].product;
}

bool ShapeTable::all_ones(ShapeId s) const {
  return std::ranges::all_of(dims(s), [this](DimId d) { return is_one(d); });
}

std::optional<std::vector<std::int64_t>> ShapeTable::numbers(ShapeId s) const {
  std::vector<std::int64_t> out;
  for (const DimId d : dims(s)) {
    const auto v = number(d);
    if (!v) return std::nullopt;
    out.push_back(*v);
  }
  return out;
}

bool ShapeTable::same_count(ShapeId a, ShapeId b) {
  if (!a || !b) return false;
  if (class_of(a) == class_of(b)) return true;
  const DimId p = product(a);
  return p && p == product(b);
}

void ShapeTable::state_same_count(ShapeId a, ShapeId b) {
  if (a && b) shapes_[class_of(a)].class_parent = class_of(b);
}

std::uint32_t ShapeTable::class_of(ShapeId s) {
  std::uint32_t at = s.index();
  while (shapes_[at].class_parent != at) {
    std::uint32_t& parent = shapes_[at].class_parent;
    parent = shapes_[parent].class_parent;  // halves the path
    at = parent;
  }
  return at;
}

DeformForm deform_form(ShapeTable& shapes, ShapeId from, ShapeId to) {
  if (!from || !to || (from != to && !shapes.same_count(from, to))) return {};
  return deform_form(shapes.pool(), shapes.dims(from), shapes.dims(to), std::equal_to<DimId>{});
}

std::vector<DimGroup> dim_groups(ShapeTable& shapes, std::span<const DimId> a, std::span<const DimId> b) {
  std::vector<DimGroup> out;
  const auto na = static_cast<std::uint32_t>(a.size()), nb = static_cast<std::uint32_t>(b.size());
  DimPool& pool = shapes.pool();
  std::uint32_t i = 0, j = 0;
  while (i < na || j < nb) {
    DimGroup g{i, i, j, j};
    DimId p = pool.constant(1), q = p;
    if (i < na) p = a[i++];
    if (j < nb) q = b[j++];
    while (p != q) {
      // Extends the side whose product divides the other's; of two numbers, the smaller.
      const auto number_p = pool.value(p), number_q = pool.value(q);
      bool grow_a = i < na;
      if (j < nb && grow_a) {
        if (number_p && number_q) grow_a = *number_p < *number_q;
        else if (shapes.divide(q, p)) grow_a = true;
        else if (shapes.divide(p, q)) grow_a = false;
      }
      if (grow_a) p = pool.mul(p, a[i++]);
      else if (j < nb) q = pool.mul(q, b[j++]);
      else return {};
      if (!p || !q) return {};
      p = pool.canonical(p);
      q = pool.canonical(q);
    }
    g.a_end = i;
    g.b_end = j;
    out.push_back(g);
  }
  return out;
}

std::vector<DimGroup> common_end(const ShapeTable& shapes, std::span<const DimId> a,
                                 std::span<const DimId> b) {
  auto i = static_cast<std::uint32_t>(a.size()), j = static_cast<std::uint32_t>(b.size());
  std::vector<DimGroup> out;
  for (; i > 0 && j > 0 && a[i - 1] == b[j - 1] && shapes.pool().range(a[i - 1]).low >= 1; --i, --j)
    out.push_back({i - 1, i, j - 1, j});
  if (i == 0 || j == 0) return {};
  out.push_back({0, i, 0, j});
  std::ranges::reverse(out);
  return out;
}

}  // namespace graphopt
