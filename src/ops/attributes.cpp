// See attributes.h. An attribute's default is looked up only when the node does not have the attribute, so
// the usual case costs a scan of the few attributes of the node.
#include "ops/attributes.h"

#include <algorithm>
#include <variant>

#include "ops/constants.h"
#include "ops/node_facts.h"

namespace graphopt {
namespace {

const Attr* find_written(std::span<const Attr> written, NameId name) {
  const auto at = std::ranges::find(written, name, &Attr::name);
  return at == written.end() ? nullptr : &*at;
}

// Returns the attribute as T (through `get`), or its default in the row, which is asked for only then.
template <class T, class Get, class Row>
std::optional<T> value_of(const Model& m, const Attr* a, NameId name, AttrKind kind, Get get, Row row) {
  if (a != nullptr) {
    if (a->kind != kind || a->ref) return std::nullopt;
    return get(*a);
  }
  const AttrFact* fact = find_attribute(row(), m.text(name));
  if (fact == nullptr) return std::nullopt;
  const T* v = std::get_if<T>(&fact->fallback);
  return v == nullptr ? std::nullopt : std::optional<T>(*v);
}

template <class T, class Get>
std::optional<T> value_of(const Model& m, NodeId n, NameId name, AttrKind kind, Get get) {
  return value_of<T>(m, m.find_attr(n, name), name, kind, get,
                     [&]() -> const OpFacts& { return facts_of(m, n); });
}

template <class T, class Get>
std::optional<T> value_of(const Attributes& a, NameId name, AttrKind kind, Get get) {
  return value_of<T>(a.model, find_written(a.written, name), name, kind, get,
                     [&]() -> const OpFacts& { return a.row; });
}

constexpr auto kInt = [](const Attr& a) { return a.i; };
constexpr auto float_of = [](const Attr& a) { return a.f; };
constexpr auto kString = [](const Attr& a) { return a.s; };
constexpr auto ints_of = [](const Attr& a) { return a.ints; };
constexpr auto floats_of = [](const Attr& a) { return a.floats; };
using Ints = std::span<const std::int64_t>;
using Floats = std::span<const float>;

TensorId tensor_of(const Attr* a) {
  return a != nullptr && a->kind == AttrKind::Tensor && !a->ref ? a->tensor : TensorId{};
}

}  // namespace

std::optional<std::int64_t> int_attr(const Model& m, NodeId n, NameId name) {
  return value_of<std::int64_t>(m, n, name, AttrKind::Int, kInt);
}
std::optional<std::int64_t> int_attr(const Attributes& a, NameId name) {
  return value_of<std::int64_t>(a, name, AttrKind::Int, kInt);
}

std::optional<float> float_attr(const Model& m, NodeId n, NameId name) {
  return value_of<float>(m, n, name, AttrKind::Float, float_of);
}
std::optional<float> float_attr(const Attributes& a, NameId name) {
  return value_of<float>(a, name, AttrKind::Float, float_of);
}

std::optional<std::string_view> string_attr(const Model& m, NodeId n, NameId name) {
  return value_of<std::string_view>(m, n, name, AttrKind::String, kString);
}
std::optional<std::string_view> string_attr(const Attributes& a, NameId name) {
  return value_of<std::string_view>(a, name, AttrKind::String, kString);
}

std::optional<Ints> ints_attr(const Model& m, NodeId n, NameId name) {
  return value_of<Ints>(m, n, name, AttrKind::Ints, ints_of);
}
std::optional<Ints> ints_attr(const Attributes& a, NameId name) {
  return value_of<Ints>(a, name, AttrKind::Ints, ints_of);
}

std::optional<Floats> floats_attr(const Model& m, NodeId n, NameId name) {
  return value_of<Floats>(m, n, name, AttrKind::Floats, floats_of);
}

TensorId tensor_attr(const Model& m, NodeId n, NameId name) { return tensor_of(m.find_attr(n, name)); }
TensorId tensor_attr(const Attributes& a, NameId name) { return tensor_of(find_written(a.written, name)); }

bool has_attr(const Attributes& a, NameId name) { return find_written(a.written, name) != nullptr; }

bool has_attr(const Model& m, NodeId n, NameId name) { return m.find_attr(n, name) != nullptr; }

bool attributes_known(const Model& m, NodeId n) {
  if (!is_known(m, n)) return false;
  const OpFacts& row = facts_of(m, n);
  return std::ranges::all_of(
      m.attrs(n), [&](const Attr& a) { return !a.ref && find_attribute(row, m.text(a.name)) != nullptr; });
}

std::optional<std::vector<std::int64_t>> int_operand(const Model& m, NodeId n, std::size_t slot) {
  return int_list(m, m.input(n, slot));
}

std::optional<std::vector<std::int64_t>> axes_of(const Model& m, NodeId n) {
  const AxisFact& axis = facts_of(m, n).axis;
  using List = std::vector<std::int64_t>;
  switch (axis.in) {
    case AxisIn::None: return std::nullopt;
    case AxisIn::Attribute: {
      if (!has_attr(m, n, names::axis)) return List{axis.fallback};
      const std::optional<std::int64_t> v = int_attr(m, n, names::axis);
      return v ? std::optional<List>(List{*v}) : std::nullopt;
    }
    case AxisIn::AttributeList: {
      if (!has_attr(m, n, names::axes))
        return axis.absent_means_all ? std::optional<List>(List{}) : std::nullopt;
      const auto v = ints_attr(m, n, names::axes);
      return v ? std::optional<List>(List(v->begin(), v->end())) : std::nullopt;
    }
    case AxisIn::Operand:
      if (!m.input(n, axis.operand)) return List{axis.fallback};
      return int_operand(m, n, axis.operand);
    case AxisIn::OperandList:
      if (!m.input(n, axis.operand))
        return axis.absent_means_all ? std::optional<List>(List{}) : std::nullopt;
      return int_operand(m, n, axis.operand);
  }
  return std::nullopt;
}

std::optional<std::int64_t> normalize_axis(std::int64_t axis, std::size_t rank) {
  const std::int64_t r = static_cast<std::int64_t>(rank);
  if (axis < -r || axis >= r) return std::nullopt;
  return axis < 0 ? axis + r : axis;
}

std::optional<std::vector<std::int64_t>> normalize_axes(std::span<const std::int64_t> axes,
                                                        std::size_t rank) {
  if (axes.size() > rank) return std::nullopt;
  std::vector<bool> seen(rank);
  std::vector<std::int64_t> out;
  out.reserve(axes.size());
  for (const std::int64_t a : axes) {
    const std::optional<std::int64_t> v = normalize_axis(a, rank);
    if (!v || seen[static_cast<std::size_t>(*v)]) return std::nullopt;
    seen[static_cast<std::size_t>(*v)] = true;
    out.push_back(*v);
  }
  return out;
}

}  // namespace graphopt
