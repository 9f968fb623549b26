#include "ops/same_attributes.h"

#include <algorithm>
#include <bit>

#include "ops/node_facts.h"

namespace graphopt {
namespace {

bool same_content(const Model& m, const Attr& a, const Attr& b) {
  if (a.kind != b.kind || a.ref != b.ref) return false;
  if (a.ref) return true;
  switch (a.kind) {
    case AttrKind::Int: return a.i == b.i;
    case AttrKind::Float: return std::bit_cast<std::uint32_t>(a.f) == std::bit_cast<std::uint32_t>(b.f);
    case AttrKind::String: return a.s == b.s;
    case AttrKind::Ints: return std::ranges::equal(a.ints, b.ints);
    case AttrKind::Floats:
      return std::ranges::equal(
          a.floats, b.floats, {}, [](float f) { return std::bit_cast<std::uint32_t>(f); },
          [](float f) { return std::bit_cast<std::uint32_t>(f); });
    case AttrKind::Strings: return std::ranges::equal(a.strings, b.strings);
    case AttrKind::Tensor:
      return a.tensor && b.tensor && m.content_hash(a.tensor) == m.content_hash(b.tensor);
    default: return !a.proto.empty() && a.proto == b.proto;  // kinds that are stored only as bytes
  }
}

bool attributes_cover(const Model& m, const OpFacts& row, NodeId a, NodeId b) {
  for (const Attr& x : m.attrs(a)) {
    const Attr* y = m.find_attr(b, x.name);
    if (y ? !same_content(m, x, *y) : !is_default_attribute(find_attribute(row, m.text(x.name)), x))
      return false;
  }
  return true;
}

}  // namespace

bool is_default_attribute(const AttrFact* fact, const Attr& a) {
  if (fact == nullptr || a.ref) return false;
  if (const auto* i = std::get_if<std::int64_t>(&fact->fallback)) return a.kind == AttrKind::Int && a.i == *i;
  if (const auto* f = std::get_if<float>(&fact->fallback))
    return a.kind == AttrKind::Float && std::bit_cast<std::uint32_t>(a.f) == std::bit_cast<std::uint32_t>(*f);
  if (const auto* s = std::get_if<std::string_view>(&fact->fallback))
    return a.kind == AttrKind::String && a.s == *s;
  return false;
}

bool same_attributes(const Model& m, NodeId a, NodeId b) {
  const OpFacts& row = facts_of(m, a);
  return attributes_cover(m, row, a, b) && attributes_cover(m, row, b, a);
}

}  // namespace graphopt
