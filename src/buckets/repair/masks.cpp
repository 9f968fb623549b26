#include "buckets/repair/masks.h"

#include <cmath>

namespace graphopt {
namespace {

constexpr int kMostNested = 8;  // of products within segments within products

// Two layouts of different analyses have one key if they are the same.
std::string key_of(const LayoutPool& pool, const DimPool& dims, LayoutId id) {
  const Layout& l = pool[id];
  std::string out;
  switch (l.kind) {
    case LayoutKind::Same: out = "="; break;
    case LayoutKind::Prefix: out = "<"; break;
    case LayoutKind::Product: out = "x("; break;
    case LayoutKind::Segments: out = "+("; break;
  }
  if (l.parts.empty()) return out + dims.print(l.extent);
  for (const LayoutId part : l.parts) out += key_of(pool, dims, part) + ", ";
  return out + ")";
}

// The number of the type that stands for a fill; nothing where there is none that a double holds.
std::optional<double> fill_of(DType type, double fill) {
  if (is_float(type) || !std::isinf(fill)) return fill;
  if (!is_int(type)) return std::nullopt;
  const int bits = bits_of(type);
  if (fill < 0) return is_signed_int(type) ? -std::ldexp(1, bits - 1) : 0;
  if (bits > 32) return std::nullopt;
  return std::ldexp(1, is_signed_int(type) ? bits - 1 : bits) - 1;
}

}  // namespace

std::string Masks::obstacle(const PaddingContext& c, LayoutId id, int depth) const {
  if (depth > kMostNested) return "its axes are joined too often";
  const Layout& l = c.layouts[id];
  if (l.parts.empty()) {
    if (l.kind == LayoutKind::Same && c.a.bucketed(l.extent)) return "an extent is not what its padding says";
    if (std::string why = extents_.obstacle(l.extent, ExtentOf::ThisRun); !why.empty()) return why;
    return l.kind == LayoutKind::Same ? std::string() : extents_.obstacle(l.extent, ExtentOf::TrueRun);
  }
  for (const LayoutId part : l.parts)
    if (std::string why = obstacle(c, part, depth + 1); !why.empty()) return why;
  return {};
}

std::string Masks::obstacle(const PaddingContext& c, std::size_t i, AxisMask axes) const {
  if (extents_.front().opset() < 11)
    return "opset " + std::to_string(extents_.front().opset()) + " has no Range to make a mask of";
  const PaddedValue& v = c.in(i);
  for (std::size_t k = 0; k < v.rank(); ++k)
    if ((axes >> k & 1u) != 0)
      if (std::string why = obstacle(c, v.layouts[k], 0); !why.empty()) return why;
  return {};
}

ValueId Masks::made(const PaddingContext& c, LayoutId id) {
  Emitter& front = extents_.front();
  const Layout& l = c.layouts[id];
  std::vector<ValueId> parts;
  for (std::size_t k = 0; k < l.parts.size(); ++k)
    parts.push_back(along(c, l.parts[k], l.kind == LayoutKind::Product ? l.parts.size() - 1 - k : 0));
  if (l.kind == LayoutKind::Segments)
    return front.node(OpKind::Concat, parts, "mask", std::vector<IntAttr>{{names::axis, 0}});
  if (l.kind == LayoutKind::Product) {
    ValueId all = parts[0];
    for (std::size_t k = 1; k < parts.size(); ++k) all = front.node(OpKind::And, {all, parts[k]}, "mask");
    return front.built("mask",
                       [&](const Site& s) { return add_reshape(s, all, std::vector<std::int64_t>{-1}); });
  }
  const ValueId dim = extents_.value(l.extent, ExtentOf::ThisRun);
  const ValueId most = l.kind == LayoutKind::Same ? dim : extents_.value(l.extent, ExtentOf::TrueRun);
  const ValueId positions = front.node(OpKind::Range, {front.number(0), dim, front.number(1)}, "positions");
  return front.node(OpKind::Less, {positions, most}, "mask");
}

ValueId Masks::along(const PaddingContext& c, LayoutId id, std::size_t trailing) {
  const std::string key = std::to_string(trailing) + key_of(c.layouts, m_.dims, id);
  if (const auto at = known_.find(key); at != known_.end()) return at->second;
  ValueId out;
  if (trailing == 0) {
    out = made(c, id);
  } else {
    const ValueId flat = along(c, id, 0);
    std::vector<std::int64_t> axes;
    for (std::size_t i = 1; i <= trailing; ++i) axes.push_back(static_cast<std::int64_t>(i));
    out = extents_.front().built("mask", [&](const Site& s) { return add_unsqueeze(s, flat, axes); });
  }
  known_.emplace(key, out);
  return out;
}

ValueId Masks::mask(const PaddingContext& c, std::size_t i, AxisMask axes) {
  const PaddedValue& v = c.in(i);
  std::string key;
  ValueId out;
  for (std::size_t k = 0; k < v.rank(); ++k) {
    if ((axes >> k & 1u) == 0) continue;
    const std::size_t trailing = v.rank() - 1 - k;
    const ValueId one = along(c, v.layouts[k], trailing);
    key += std::to_string(trailing) + key_of(c.layouts, m_.dims, v.layouts[k]) + " and ";
    if (!out) {
      out = one;
      continue;
    }
    ValueId& both = known_[key];
    if (!both) both = extents_.front().node(OpKind::And, {out, one}, "mask");
    out = both;
  }
  return out;
}

std::string Masks::obstacle(const PaddingContext& c, std::size_t i, AxisMask axes, double fill) const {
  const DType type = c.in(i).type;
  if (std::string why = obstacle(c, i, axes); !why.empty()) return why;
  if (type == DType::Bool) return fill == 0 ? std::string() : "a Bool can be masked with false alone";
  if (type == DType::BFloat16 && extents_.front().opset() < 16)
    return "Where takes no bfloat16 before opset 16";
  const auto number = fill_of(type, fill);
  if (!number || std::isnan(*number))
    return "no number of the type " + std::string(dtype_name(type)) + " is known to be neutral";
  const bool holds = is_int(type) || bits_of(type) >= 16;
  return holds ? std::string() : "the type " + std::string(dtype_name(type)) + " cannot be masked";
}

ValueId Masks::replaced(const PaddingContext& c, std::size_t i, AxisMask axes, ValueId x, DType type,
                        double fill, Emitter& at) {
  const ValueId where = mask(c, i, axes);
  if (type == DType::Bool) return at.node(OpKind::And, {x, where}, "masked");
  const ValueId number = at.scalar(type, *fill_of(type, fill));
  return at.node(OpKind::Where, {where, x, number}, "masked");
}

bool Masks::mistaken(const PaddingAnalysis& analysis) const {
  for (const auto& [key, v] : known_) {
    const PaddedValue& p = analysis.value(v);
    if (!p.known || p.bad || !analysis.math().is(p.true_part(), 1)) return true;
  }
  return false;
}

}  // namespace graphopt
