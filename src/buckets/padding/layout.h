// How the index set of an axis in a run on true data lies in that of a run on padded data.
//
// Problem: when an input is padded from extent s to S, an element that stood at index i of an axis may stand
// elsewhere. Merged and concatenated axes get padding in their middle, so "the first s entries" is not
// enough. Method: a layout per axis, which is an injection of true positions into padded positions:
//
//   same E       the extent E is the same in both runs: position i stays i
//   prefix E     true extent E(s), padded extent E(S); position i stays i, padding is at the end
//   product      axes in row-major order, as Reshape merges them: (a, b) stands at a * size(b) + b, with the
//                sizes of the respective run
//   segments     one after another, as Concat joins them
//
// Layouts are interned, so equal layouts have equal ids. They have a normal form: products and segments are
// flat; in a product an extent without padding merges into its left neighbour (prefix s times 12 is prefix
// 12 s), in segments into its right one (5 and then prefix s is prefix s + 5). A prefix followed by one entry
// stays two segments: the padding is between them.
//
//   (batch x seq)   batch*seq entries, padded in each row and by whole rows
//   (past ++ seq)   a cache with new entries behind it
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "ir/dim.h"
#include "support/ids.h"

namespace graphopt {

using LayoutId = Id<struct LayoutTag>;

enum class LayoutKind : std::uint8_t { Same, Prefix, Product, Segments };

// Products in segments in products: each is a Concat or a Reshape. Deeper ones are not representable.
inline constexpr std::uint32_t kMaxLayoutDepth = 256;

struct Layout {
  LayoutKind kind = LayoutKind::Same;
  bool padded = false;
  std::uint32_t depth = 0;      // of products and segments inside each other
  DimId extent;                 // of the true run, also of Product and Segments
  std::vector<LayoutId> parts;  // of Product and Segments: two or more
};

class LayoutPool {
 public:
  explicit LayoutPool(DimPool& dims) : dims_(dims) {}

  LayoutId same(DimId extent) { return leaf(LayoutKind::Same, extent); }
  LayoutId prefix(DimId extent) { return leaf(LayoutKind::Prefix, extent); }
  // Both return none where the result or an extent of it is not representable.
  LayoutId product(std::span<const LayoutId> parts);
  LayoutId segments(std::span<const LayoutId> parts);

  const Layout& operator[](LayoutId id) const { return layouts_[id.index()]; }
  DimId extent(LayoutId id) const { return layouts_[id.index()].extent; }
  bool padded(LayoutId id) const { return layouts_[id.index()].padded; }
  bool is_prefix(LayoutId id) const { return layouts_[id.index()].kind == LayoutKind::Prefix; }
  // "seq", "batch x seq", "past ++ seq", "batch x (past ++ seq)".
  std::string text(LayoutId id) const;

 private:
  LayoutId leaf(LayoutKind kind, DimId extent);
  LayoutId joined(LayoutKind kind, std::vector<LayoutId> parts);
  LayoutId intern(Layout layout);
  void flatten(LayoutKind kind, std::span<const LayoutId> parts, std::vector<LayoutId>& out) const;

  DimPool& dims_;
  std::deque<Layout> layouts_;  // a deque: references stay valid
  std::map<std::tuple<LayoutKind, DimId, std::vector<LayoutId>>, LayoutId> index_;
};

}  // namespace graphopt
