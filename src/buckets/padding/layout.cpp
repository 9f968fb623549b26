#include "buckets/padding/layout.h"

#include <algorithm>
#include <utility>

namespace graphopt {

LayoutId LayoutPool::intern(Layout layout) {
  const auto [at, fresh] = index_.try_emplace({layout.kind, layout.extent, layout.parts}, LayoutId{});
  if (fresh) {
    at->second = LayoutId{layouts_.size()};
    layouts_.push_back(std::move(layout));
  }
  return at->second;
}

LayoutId LayoutPool::leaf(LayoutKind kind, DimId extent) {
  if (!extent) return {};
  return intern({.kind = kind, .padded = kind == LayoutKind::Prefix, .extent = extent, .parts = {}});
}

// Parts are in normal form, so one level is enough.
void LayoutPool::flatten(LayoutKind kind, std::span<const LayoutId> parts, std::vector<LayoutId>& out) const {
  for (const LayoutId id : parts) {
    const Layout& l = layouts_[id.index()];
    if (l.kind == kind) out.insert(out.end(), l.parts.begin(), l.parts.end());
    else out.push_back(id);
  }
}

LayoutId LayoutPool::joined(LayoutKind kind, std::vector<LayoutId> parts) {
  if (parts.empty()) return same(dims_.constant(kind == LayoutKind::Product ? 1 : 0));
  if (parts.size() == 1) return parts[0];
  DimId extent = this->extent(parts[0]);
  bool is_padded = false;
  std::uint32_t depth = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0)
      extent = kind == LayoutKind::Product ? dims_.mul(extent, this->extent(parts[i]))
                                           : dims_.add(extent, this->extent(parts[i]));
    is_padded = is_padded || padded(parts[i]);
    depth = std::max(depth, layouts_[parts[i].index()].depth + 1);
  }
  if (!extent || depth > kMaxLayoutDepth) return {};
  return intern(
      {.kind = kind, .padded = is_padded, .depth = depth, .extent = extent, .parts = std::move(parts)});
}

LayoutId LayoutPool::product(std::span<const LayoutId> parts) {
  std::vector<LayoutId> flat, out;
  for (const LayoutId id : parts)
    if (!id) return {};
  flatten(LayoutKind::Product, parts, flat);
  for (const LayoutId id : flat) {
    const Layout& l = layouts_[id.index()];
    if (l.kind == LayoutKind::Same && dims_.is_constant(l.extent, 1)) continue;
    if (!out.empty() && l.kind == LayoutKind::Same) {
      const Layout& left = layouts_[out.back().index()];
      if (left.kind == LayoutKind::Same || left.kind == LayoutKind::Prefix) {
        out.back() = leaf(left.kind, dims_.mul(left.extent, l.extent));
        if (!out.back()) return {};
        continue;
      }
    }
    out.push_back(id);
  }
  return joined(LayoutKind::Product, std::move(out));
}

LayoutId LayoutPool::segments(std::span<const LayoutId> parts) {
  std::vector<LayoutId> flat, out;
  for (const LayoutId id : parts)
    if (!id) return {};
  flatten(LayoutKind::Segments, parts, flat);
  for (const LayoutId id : flat) {
    const Layout& l = layouts_[id.index()];
    if (l.kind == LayoutKind::Same && dims_.is_constant(l.extent, 0)) continue;
    if (!out.empty() && (l.kind == LayoutKind::Same || l.kind == LayoutKind::Prefix)) {
      const Layout& left = layouts_[out.back().index()];
      if (left.kind == LayoutKind::Same) {
        out.back() = leaf(l.kind, dims_.add(left.extent, l.extent));
        if (!out.back()) return {};
        continue;
      }
    }
    out.push_back(id);
  }
  return joined(LayoutKind::Segments, std::move(out));
}

// Parts of a part are between parentheses.
std::string LayoutPool::text(LayoutId id) const {
  struct Item {
    LayoutId id;
    std::string_view before;
    bool grouped;
  };
  std::string out;
  std::vector<Item> todo{{id, "", false}};
  while (!todo.empty()) {
    const Item item = todo.back();
    todo.pop_back();
    out += item.before;
    if (!item.id) continue;  // the end of a group
    const Layout& l = layouts_[item.id.index()];
    if (l.parts.empty()) {
      out += dims_.print(l.extent);
      continue;
    }
    if (item.grouped) {
      out += '(';
      todo.push_back({{}, ")", false});
    }
    const std::string_view between = l.kind == LayoutKind::Product ? " x " : " ++ ";
    for (std::size_t i = l.parts.size(); i-- > 0;)
      todo.push_back({l.parts[i], i > 0 ? between : std::string_view{}, true});
  }
  return out;
}

}  // namespace graphopt
