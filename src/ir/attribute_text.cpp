#include "ir/attribute_text.h"

#include <charconv>

#include "ir/type_text.h"

namespace graphopt {
namespace {

std::string text_of(std::int64_t i) { return std::to_string(i); }

std::string text_of(float f) {
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, f).ptr;
  return {buffer, end};
}

std::string text_of(Bytes s) { return "\"" + std::string(s) + "\""; }

template <class List> std::string list_text(const List& list) {
  std::string out = "[";
  for (const auto& x : list) out += (out.size() == 1 ? "" : ", ") + text_of(x);
  return out + "]";
}

std::string tensor_text(const Model& m, TensorId t) {
  constexpr std::size_t kDigits = 8;
  std::string dims;
  for (const std::int64_t d : m.tensor(t).dims) dims += (dims.empty() ? "" : ",") + std::to_string(d);
  std::uint64_t hash = m.content_hash(t).low;
  std::string digits;
  for (std::size_t i = 0; i < kDigits; ++i, hash >>= 4) digits += "0123456789abcdef"[hash & 15];
  return std::string(dtype_name(m.tensor(t).dtype)) + "[" + dims + "] tensor " + digits;
}

}  // namespace

std::string attribute_text(const Model& m, const Attr& a) {
  if (a.ref) return "= " + std::string(m.text(a.ref));
  switch (a.kind) {
    case AttrKind::Float: return text_of(a.f);
    case AttrKind::Int: return text_of(a.i);
    case AttrKind::String: return text_of(a.s);
    case AttrKind::Tensor: return a.tensor ? tensor_text(m, a.tensor) : "tensor";
    case AttrKind::Floats: return list_text(a.floats);
    case AttrKind::Ints: return list_text(a.ints);
    case AttrKind::Strings: return list_text(a.strings);
    default: return "?";
  }
}

}  // namespace graphopt
