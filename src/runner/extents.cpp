// See extents.h.
#include "runner/extents.h"

#include <algorithm>
#include <utility>

#include "support/checked.h"

namespace graphopt::runner {
namespace {

using Kind = deploy::LayoutTree::Kind;
using BindingSpan = std::span<const DimPool::Binding>;

constexpr std::int64_t kMostTries = std::int64_t{1} << 20;

// A piece that continues the last one becomes part of it.
void append(std::vector<Piece>& pieces, const Piece& piece) {
  if (piece.count == 0) return;
  if (!pieces.empty() && pieces.back().from + pieces.back().count == piece.from &&
      pieces.back().to + pieces.back().count == piece.to)
    pieces.back().count += piece.count;
  else pieces.push_back(piece);
}

// Returns the product; a factor of 0 makes it 0 whatever the others are.
std::optional<std::int64_t> product_of(std::span<const std::int64_t> factors) {
  if (std::ranges::find(factors, 0) != factors.end()) return 0;
  std::optional<std::int64_t> out = 1;
  for (const std::int64_t f : factors) out = checked_mul(out, f);
  return out;
}

}  // namespace

std::string to_string(const Extents& extents) {
  constexpr std::size_t kMost = 10;
  std::string out;
  std::size_t written = 0;
  for (const auto& [symbol, n] : extents) {
    if (written++ == kMost) return out + ", ...";
    out += (out.empty() ? "" : ", ") + symbol + " = " + std::to_string(n);
  }
  return out;
}

DimId Formulas::read(std::string_view extent) {
  if (extent == deploy::kUnknownExtent) return {};
  const auto names = deploy::symbols_of_extent(extent);
  if (!names) return {};
  for (const std::string& name : *names) pool_.symbol(name);
  return pool_.parse(extent);
}

Bindings Formulas::bind(const Extents& extents) const {
  Bindings out;
  for (const auto& [name, n] : extents)
    if (const DimId symbol = pool_.find_symbol(name)) out.push_back({symbol, n});
  return out;
}

std::optional<std::int64_t> Formulas::value(DimId formula, BindingSpan at) const {
  return formula ? pool_.evaluate(formula, at) : std::nullopt;
}

AxisLayout::AxisLayout(Formulas& formulas, const deploy::LayoutTree& tree) : text_(tree.text()) {
  root_ = read(formulas, tree);
  DimPool& pool = formulas.pool();
  is_symbol_ = is_leaf() && root_.extent && pool.is_symbol(root_.extent);
  const DimId size = never_negative_ ? whole(pool, root_) : DimId{};
  for (const DimId s : symbols_) {
    const DimId more = size ? pool.substitute(size, s, pool.add(s, pool.constant(1))) : DimId{};
    grows_.push_back(more && pool.less_equal(size, more) == Tri::Yes);
  }
}

AxisLayout::Part AxisLayout::read(Formulas& formulas, const deploy::LayoutTree& tree) {
  Part out;
  out.kind = tree.kind;
  for (const deploy::LayoutTree& part : tree.parts) out.parts.push_back(read(formulas, part));
  if (tree.kind != Kind::Extent) return out;
  out.extent = formulas.read(tree.extent);
  known_ = known_ && out.extent;
  never_negative_ = known_ && never_negative_ && formulas.pool().range(out.extent).low >= 0;
  if (out.extent)
    for (const DimId s : formulas.pool().symbols_of(out.extent))
      if (std::ranges::find(symbols_, s) == symbols_.end()) symbols_.push_back(s);
  return out;
}

// The size as one expression; none where the pool has no such expression.
DimId AxisLayout::whole(DimPool& pool, const Part& part) const {
  if (part.kind == Kind::Extent) return part.extent;
  DimId out = pool.constant(part.kind == Kind::Product ? 1 : 0);
  for (const Part& p : part.parts) {
    const DimId size = whole(pool, p);
    if (!out || !size) return {};
    out = part.kind == Kind::Product ? pool.mul(out, size) : pool.add(out, size);
  }
  return out;
}

std::optional<std::int64_t> AxisLayout::size_of(const Formulas& formulas, const Part& part, BindingSpan at) {
  if (part.kind == Kind::Extent) {
    const auto n = formulas.value(part.extent, at);
    return n && *n >= 0 ? n : std::nullopt;
  }
  std::vector<std::int64_t> sizes;
  for (const Part& p : part.parts) {
    const auto n = size_of(formulas, p, at);
    if (!n) return std::nullopt;
    sizes.push_back(*n);
  }
  if (part.kind == Kind::Product) return product_of(sizes);
  std::optional<std::int64_t> sum = 0;
  for (const std::int64_t n : sizes) sum = checked_add(sum, n);
  return sum;
}

std::optional<std::int64_t> AxisLayout::size(const Formulas& formulas, BindingSpan at) const {
  return size_of(formulas, root_, at);
}

// All places are below the sizes of the axis, which are known to fit.
std::optional<std::vector<Piece>> AxisLayout::pieces_of(const Formulas& formulas, const Part& part,
                                                        BindingSpan extents, BindingSpan padded) {
  const auto inner = size_of(formulas, part, extents), outer = size_of(formulas, part, padded);
  if (!inner || !outer || *inner > *outer) return std::nullopt;
  std::vector<Piece> out;
  if (part.kind == Kind::Extent) {
    append(out, {0, 0, *inner});
    return out;
  }
  if (part.kind == Kind::Segments) {
    Piece begin;
    for (const Part& p : part.parts) {
      const auto pieces = pieces_of(formulas, p, extents, padded);
      if (!pieces) return std::nullopt;
      for (const Piece& r : *pieces) append(out, {begin.from + r.from, begin.to + r.to, r.count});
      begin.from += *size_of(formulas, p, extents);
      begin.to += *size_of(formulas, p, padded);
    }
    return out;
  }
  // Of no elements there are no pieces; the checks of the parts come first.
  std::vector<std::vector<Piece>> pieces;
  for (const Part& p : part.parts) {
    auto of_part = pieces_of(formulas, p, extents, padded);
    if (!of_part) return std::nullopt;
    pieces.push_back(*std::move(of_part));
  }
  if (*inner == 0) return out;
  out = {{0, 0, 1}};
  for (std::size_t k = 0; k < part.parts.size(); ++k) {
    const std::int64_t n = *size_of(formulas, part.parts[k], extents);
    const std::int64_t m = *size_of(formulas, part.parts[k], padded);
    std::vector<Piece> next;
    for (const Piece& rows : out) {
      if (n == m) {  // nothing of this part is padded: rows stay next to each other
        append(next, {rows.from * n, rows.to * n, rows.count * n});
        continue;
      }
      for (std::int64_t i = 0; i < rows.count; ++i)
        for (const Piece& r : pieces[k])
          append(next, {(rows.from + i) * n + r.from, (rows.to + i) * m + r.to, r.count});
    }
    out = std::move(next);
  }
  return out;
}

std::optional<std::vector<Piece>> AxisLayout::pieces(const Formulas& formulas, BindingSpan extents,
                                                     BindingSpan padded) const {
  return pieces_of(formulas, root_, extents, padded);
}

std::optional<std::int64_t> AxisLayout::solve(const Formulas& formulas, Bindings at, DimId symbol,
                                              std::int64_t wanted, std::int64_t low,
                                              std::int64_t high) const {
  if (low > high) return std::nullopt;
  at.push_back({symbol, low});
  const auto size_at = [&](std::int64_t extent) {
    at.back().value = extent;
    return size(formulas, at);
  };
  const auto place = std::ranges::find(symbols_, symbol);
  const bool grows = place != symbols_.end() && grows_[static_cast<std::size_t>(place - symbols_.begin())];
  if (grows) {
    // The least extent whose size is not below the wanted one; a size that has no number is above it. Each
    // round halves what is left.
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      const auto n = size_at(middle);
      if (n && *n < wanted) low = middle + 1;
      else high = middle;
    }
    return size_at(low) == wanted ? std::optional(low) : std::nullopt;
  }
  if (high - low >= kMostTries) high = low + kMostTries - 1;
  for (std::int64_t extent = low; extent <= high; ++extent)
    if (size_at(extent) == wanted) return extent;
  return std::nullopt;
}

SizeFormulas::SizeFormulas(std::span<const deploy::Size> sizes) {
  for (const deploy::Size& s : sizes)
    entries_.push_back({s.bytes, s.formula.empty() ? DimId{} : formulas_.read(s.formula)});
}

std::vector<std::optional<std::uint64_t>> SizeFormulas::bytes(const Extents& extents) const {
  const Bindings at = formulas_.bind(extents);
  std::vector<std::optional<std::uint64_t>> out;
  for (const Entry& e : entries_) {
    out.push_back(e.bytes);
    const auto n = e.bytes ? std::nullopt : formulas_.value(e.formula, at);
    if (n && *n >= 0) out.back() = static_cast<std::uint64_t>(*n);
  }
  return out;
}

}  // namespace graphopt::runner
