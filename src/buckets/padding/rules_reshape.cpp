// Reshape and Flatten.
//
// Problem: the target [b*s, 12] of a tensor [b, s, 12] puts element (i, j) at i*s + j in one run and at i*S +
// j in the other. Method: the operand's axes, cut into leaves (parts of products), are matched in row-major
// order with the target's extents. Leaves that one target extent takes whole form a product. An unpadded leaf
// may be cut anywhere; a padded leaf only such that the inner part has a constant extent, and its own padding
// then remains a multiple of it. Everything else mixes true and padding elements across axes. An extent of 0
// divides nothing, but then there is no element that could lie elsewhere. Ends: each step takes a leaf, or a
// factor of one or of the target; there are at most kMaxSteps.
//
//   [b, s, 12] -> [b*s, 12]        (b x s), 12
//   [(b x s), 12] -> [b, s, 3, 4]  b, s, 3, 4
//   [s] -> [floor(s/2), 2]         with s mod 2 == 0 for each bucket and each run
#include <algorithm>
#include <numeric>

#include "buckets/padding/rules.h"

namespace graphopt::padding {
namespace {

constexpr int kMaxSteps = 256;

struct Leaf {
  LayoutId layout;
  std::size_t axis;  // of the operand
};

class Matcher {
 public:
  Matcher(PaddingContext& c, const PaddedValue& v, std::vector<DimId> target)
      : c_(c), target_(std::move(target)) {
    for (std::size_t i = v.rank(); i-- > 0;) {
      const Layout& l = c.layouts[v.layouts[i]];
      if (l.kind != LayoutKind::Product) push({v.layouts[i], i});
      else
        for (std::size_t k = l.parts.size(); k-- > 0;) push({l.parts[k], i});
    }
  }

  bool match() {
    for (std::size_t i = 0; i < target_.size(); ++i) {
      std::vector<LayoutId> taken;
      AxisMask from = 0;
      if (!take(i, taken, from)) return false;
      layouts.push_back(c_.layouts.product(taken));
      sources.push_back(from);
    }
    return leaves_.empty();
  }

  std::vector<LayoutId> layouts;
  std::vector<AxisMask> sources;  // by axis of the result: axes of the operand
  std::vector<Divisibility> divisible;

 private:
  void push(Leaf leaf) {
    if (!c_.is_one(c_.layouts.extent(leaf.layout))) leaves_.push_back(leaf);
  }

  // Takes the leaves whose extents multiply to target i.
  bool take(std::size_t i, std::vector<LayoutId>& taken, AxisMask& from) {
    DimId open = target_[i];
    while (!c_.is_one(open)) {
      if (leaves_.empty() || ++steps_ > kMaxSteps) return false;
      const Leaf leaf = leaves_.back();
      const DimId size = c_.layouts.extent(leaf.layout);
      leaves_.pop_back();
      from |= bit(leaf.axis);
      if (const DimId rest = c_.dims.exact_div(open, size, true)) {
        taken.push_back(leaf.layout);
        open = rest;
        continue;
      }
      DimId inner;
      const LayoutId outer = cut(leaf, i, open, taken.empty(), inner);
      if (!outer) return false;
      taken.push_back(outer);
      if (inner) push({c_.layouts.same(inner), leaf.axis});
      open = c_.dims.exact_div(open, c_.layouts.extent(outer), true);
      if (!open) return false;
    }
    return true;
  }

  // Returns the outer part of a leaf that target extent `open` contains, and the extent of the inner part.
  LayoutId cut(const Leaf& leaf, std::size_t i, DimId open, bool first, DimId& inner) {
    const DimId size = c_.layouts.extent(leaf.layout);
    const LayoutKind kind = c_.layouts[leaf.layout].kind;
    if (kind != LayoutKind::Same && kind != LayoutKind::Prefix) return {};
    inner = c_.dims.exact_div(size, open, true);
    const bool keeps = inner && (kind == LayoutKind::Same || !c_.a.bucketed(inner));
    if (keeps) return kind == LayoutKind::Same ? c_.layouts.same(open) : c_.layouts.prefix(open);
    inner = {};
    if (kind == LayoutKind::Same) {
      const auto a = c_.dims.value(size), b = c_.dims.value(open);
      if (!a || !b || *a <= 0 || *b <= 0) return {};
      const std::int64_t common = std::gcd(*a, *b);
      if (common <= 1) return {};
      inner = c_.dims.constant(*a / common);
      return c_.layouts.same(c_.dims.constant(common));
    }
    // floor(s / k) rows of k: for those s that k divides.
    if (!first) return {};
    std::int64_t k = 1;
    for (std::size_t t = i + 1; t < target_.size(); ++t) {
      const auto factor = c_.dims.value(target_[t]);
      if (!factor || *factor <= 0 || *factor > (std::int64_t{1} << 31) / k) return {};
      k *= *factor;
      if (c_.dims.equal(c_.dims.floor_div(size, c_.dims.constant(k)), open) != Tri::Yes) continue;
      divisible.push_back({size, k});
      inner = c_.dims.constant(k);
      return c_.layouts.prefix(open);
    }
    return {};
  }

  PaddingContext& c_;
  std::vector<DimId> target_;
  std::vector<Leaf> leaves_;  // the next one last
  int steps_ = 0;
};

}  // namespace

bool reshape(PaddingContext& c) {
  const PaddedValue& v = c.in(0);
  const auto targets = c.inferred(0);
  if (!targets) return c.refuse("its target has an extent without a formula");
  std::vector<DimId> target;
  for (const LayoutId l : *targets) target.push_back(c.layouts.extent(l));
  std::string text;
  for (const DimId d : target) text += (text.empty() ? "[" : ", ") + c.dims.print(d);
  Matcher matcher(c, v, target);
  if (!matcher.match()) {
    std::string from;
    for (const LayoutId l : v.layouts) from += (from.empty() ? "[" : ", ") + c.layouts.text(l);
    return c.refuse("it mixes a padded extent across axes: " + from + "] -> " + text + "]");
  }
  for (const Divisibility& d : matcher.divisible) c.need_divisible(d.extent, d.divisor);
  // Two axes of the result may come from one padded axis: then each holds what that axis holds anywhere.
  AxisMask once = 0, twice = 0;
  for (std::size_t i = 0; i < target.size(); ++i) {
    if (!matcher.layouts[i] || !c.layouts.padded(matcher.layouts[i])) continue;
    twice |= once & matcher.sources[i] & v.padded;
    once |= matcher.sources[i] & v.padded;
  }
  PaddedValue out = c.make(v.type, matcher.layouts, [&](AxisMask region) {
    if (region == 0) return v.true_part();
    AxisMask base = 0;
    for (std::size_t i = 0; i < target.size(); ++i)
      if ((region >> i & 1u) != 0) base |= matcher.sources[i] & v.padded;
    // A product is in its padding where one of its leaves is or more are.
    std::optional<Content> joined;
    for_each_subset(base, [&](AxisMask s) {
      if (s == 0) return;
      bool possible = true;
      for (std::size_t i = 0; i < target.size() && twice == 0; ++i)
        if ((region >> i & 1u) != 0 && (matcher.sources[i] & s) == 0) possible = false;
      if (possible) joined = joined ? c.math.join(*joined, v.at(s)) : v.at(s);
    });
    return joined.value_or(ContentMath::anything());
  });
  out.origin = v.origin;
  return c.set(0, std::move(out));
}

}  // namespace graphopt::padding
