// See build.h. Planned collects what the node will have; make() adds it if nothing was refused.
#include "rewrite/build.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "ops/attributes.h"
#include "ops/node_facts.h"
#include "support/half.h"

namespace graphopt {
namespace {

template <class T> std::string bytes_of(T x) {
  std::string raw(sizeof x, '\0');
  std::memcpy(raw.data(), &x, sizeof x);
  return raw;
}

template <class T> std::optional<std::string> integer_bytes(double x) {
  const double above = std::ldexp(1.0, std::numeric_limits<T>::digits);  // the first number that is too large
  const bool fits =
      x == std::floor(x) && x >= static_cast<double>(std::numeric_limits<T>::min()) && x < above;
  return fits ? std::optional(bytes_of(static_cast<T>(x))) : std::nullopt;
}

// Returns the bytes of one element; nothing where the type cannot say x exactly, or holds no numbers.
std::optional<std::string> exact_bytes(DType type, double x) {
  const float narrow = static_cast<float>(x);
  const auto if_exact = [x](double said, std::string bytes) {
    return said == x || (std::isnan(said) && std::isnan(x)) ? std::optional(std::move(bytes)) : std::nullopt;
  };
  switch (type) {
    case DType::Double: return bytes_of(x);
    case DType::Float: return if_exact(narrow, bytes_of(narrow));
    case DType::Float16: {
      const std::uint16_t half = float_to_half(narrow);
      return if_exact(half_to_float(half), bytes_of(half));
    }
    case DType::BFloat16: {
      const std::uint16_t brain = float_to_bfloat16(narrow);
      return if_exact(bfloat16_to_float(brain), bytes_of(brain));
    }
    case DType::Int8: return integer_bytes<std::int8_t>(x);
    case DType::UInt8: return integer_bytes<std::uint8_t>(x);
    case DType::Int16: return integer_bytes<std::int16_t>(x);
    case DType::UInt16: return integer_bytes<std::uint16_t>(x);
    case DType::Int32: return integer_bytes<std::int32_t>(x);
    case DType::UInt32: return integer_bytes<std::uint32_t>(x);
    case DType::Int64: return integer_bytes<std::int64_t>(x);
    case DType::UInt64: return integer_bytes<std::uint64_t>(x);
    default: return std::nullopt;
  }
}

// A node that is being collected.
class Planned {
 public:
  Planned(const Site& at, OpKind kind)
      : at_(at), row_(facts(kind, static_cast<int>(at.model.opset(at.graph, kEmptyName)))), kind_(kind) {
    require(row_.kind == kind);
  }

  const OpFacts& row() const { return row_; }
  bool takes(NameId attribute) const { return find_attribute(row_, at_.model.text(attribute)) != nullptr; }
  void require(bool condition) { possible_ = possible_ && condition; }

  void axes(Numbers list) {
    require(row_.axis.negative || std::ranges::all_of(list, [](std::int64_t a) { return a >= 0; }));
  }
  void attribute(NameId name, std::int64_t value) {
    Attr a = named(name, AttrKind::Int);
    a.i = value;
    attribute(a);
  }
  void attribute(NameId name, float value) {
    Attr a = named(name, AttrKind::Float);
    a.f = value;
    attribute(a);
  }
  void attribute(NameId name, std::string_view value) {
    Attr a = named(name, AttrKind::String);
    a.s = value;
    attribute(a);
  }
  void operand(std::size_t slot, ValueId v) { in(slot).value = v; }
  // A list as the opset has it: an attribute, or an operand in `slot`.
  void list(NameId name, std::size_t slot, Numbers numbers) {
    list(name, slot, numbers, at_.model.text(name));
  }
  void list(NameId name, std::size_t slot, Numbers numbers, std::string_view what) {
    if (takes(name)) {
      Attr a = named(name, AttrKind::Ints);
      a.ints = numbers;
      attribute(a);
    } else if (at_.list) {
      operand(slot, at_.list);
    } else {
      constant(slot, what, numbers);
    }
  }
  void constant(std::size_t slot, std::string_view what, Numbers numbers) {
    in(slot) = {.what = what, .type = DType::Int64, .numbers = numbers};
  }
  // The same for a number of a type; the attribute is a float.
  void number(NameId name, std::size_t slot, DType type, double number) {
    if (takes(name)) {
      const float narrow = static_cast<float>(number);
      require(static_cast<double>(narrow) == number);
      attribute(name, narrow);
    } else {
      require(exact_bytes(type, number).has_value());
      in(slot) = {.what = at_.model.text(name), .type = type, .number = number};
    }
  }

  NodeId make(std::size_t results) {
    Model& m = at_.model;
    require(at_.results.empty() || at_.results.size() == results);
    require(row_.max_inputs == kVariadic || operands_.size() <= row_.max_inputs);
    if (!possible_) return {};
    std::vector<TensorId> tensors;
    for (const Operand& o : operands_)
      tensors.push_back(o.type == DType::Undefined ? TensorId{}
                        : o.number                 ? make_scalar(m, o.type, *o.number)
                                                   : m.make_int64s(o.numbers));
    std::vector<ValueId> in;
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      const std::string base = std::string(at_.base) + "_" + std::string(operands_[i].what);
      in.push_back(tensors[i] ? m.add_initializer(at_.graph, base, tensors[i]) : operands_[i].value);
    }
    const OpId op = standard_op(m, kind_);
    std::vector<ValueId> out(at_.results.begin(), at_.results.end());
    while (out.size() < results) out.push_back(m.add_value(at_.graph, m.fresh_name(at_.base)));
    const NodeId n = m.add_node(at_.graph, op, in, out, at_.before, at_.name);
    for (Attr a : attributes_) {
      a.s = m.keep(a.s);
      a.ints = m.keep(a.ints);
      m.set_attr(n, a);
    }
    return n;
  }

 private:
  struct Operand {
    ValueId value = {};
    std::string_view what = {};     // for its name
    DType type = DType::Undefined;  // of a new constant, which has `number` or `numbers`
    Numbers numbers = {};
    std::optional<double> number = {};
  };

  static Attr named(NameId name, AttrKind kind) {
    Attr a;
    a.name = name;
    a.kind = kind;
    return a;
  }
  Operand& in(std::size_t slot) {
    if (slot >= operands_.size()) operands_.resize(slot + 1);
    return operands_[slot];
  }
  void attribute(const Attr& a) {
    require(takes(a.name));
    attributes_.push_back(a);
  }

  const Site& at_;
  const OpFacts& row_;
  OpKind kind_;
  bool possible_ = true;
  std::vector<Operand> operands_;
  std::vector<Attr> attributes_;
};

Planned plan(const Site& at, OpKind kind, ValueId x) {
  Planned p(at, kind);
  p.require(x.valid());
  p.operand(0, x);
  return p;
}

NodeId add_with_axes(const Site& at, OpKind kind, ValueId x, Numbers axes) {
  Planned p = plan(at, kind, x);
  p.require(!axes.empty());
  p.axes(axes);
  p.list(names::axes, 1, axes);
  return p.make(1);
}

}  // namespace

NodeId add_operator(const Site& at, OpKind kind, std::span<const ValueId> operands,
                    std::span<const IntAttr> attributes, std::size_t results) {
  Planned p(at, kind);
  for (std::size_t i = 0; i < operands.size(); ++i) p.operand(i, operands[i]);
  for (const IntAttr& a : attributes) p.attribute(a.name, a.value);
  return p.make(at.results.empty() ? results : at.results.size());
}

bool is_operand(const Model& m, GraphId g, OpKind kind, NameId list) {
  const OpFacts& row = facts(kind, static_cast<int>(m.opset(g, kEmptyName)));
  return find_attribute(row, m.text(list)) == nullptr;
}

NodeId add_split(const Site& at, ValueId x, std::int64_t axis, Numbers lengths) {
  Planned p = plan(at, OpKind::Split, x);
  p.require(!lengths.empty());
  p.axes(std::span(&axis, 1));
  p.attribute(names::axis, axis);
  p.list(names::split, 1, lengths, "lengths");
  return p.make(lengths.size());
}

NodeId add_even_split(const Site& at, ValueId x, std::int64_t axis, std::int64_t parts) {
  Planned p = plan(at, OpKind::Split, x);
  p.require(parts > 0);
  p.axes(std::span(&axis, 1));
  p.attribute(names::axis, axis);
  if (p.takes(names::num_outputs)) p.attribute(names::num_outputs, parts);
  return p.make(static_cast<std::size_t>(parts));
}

NodeId add_reshape(const Site& at, ValueId x, Numbers target) {
  Planned p = plan(at, OpKind::Reshape, x);
  p.list(names::shape, 1, target);
  return p.make(1);
}

NodeId add_squeeze(const Site& at, ValueId x, Numbers axes) {
  return add_with_axes(at, OpKind::Squeeze, x, axes);
}
NodeId add_unsqueeze(const Site& at, ValueId x, Numbers axes) {
  return add_with_axes(at, OpKind::Unsqueeze, x, axes);
}

NodeId add_reduction(const Site& at, OpKind kind, ValueId x, Numbers axes, bool keepdims) {
  Planned p = plan(at, kind, x);
  p.require(p.row().work == AxisWork::Reduce);
  p.axes(axes);
  if (!axes.empty()) p.list(names::axes, 1, axes);
  p.attribute(names::keepdims, std::int64_t{keepdims});
  return p.make(1);
}

NodeId add_slice(const Site& at, ValueId x, const SliceNumbers& numbers) {
  Planned p = plan(at, OpKind::Slice, x);
  const std::size_t count = numbers.starts.size();
  const auto fits = [count](Numbers list) { return list.empty() || list.size() == count; };
  p.require(count > 0 && numbers.ends.size() == count && fits(numbers.axes) && fits(numbers.steps));
  p.axes(numbers.axes);
  p.list(names::starts, 1, numbers.starts);
  p.list(names::ends, 2, numbers.ends);
  if (!numbers.axes.empty()) p.list(names::axes, 3, numbers.axes);
  const bool plain = std::ranges::all_of(numbers.steps, [](std::int64_t s) { return s == 1; });
  if (!plain) p.constant(4, "steps", numbers.steps);
  return p.make(1);
}

NodeId add_pad(const Site& at, ValueId x, const PadNumbers& numbers) {
  Planned p = plan(at, OpKind::Pad, x);
  const bool named = !numbers.axes.empty(), by_operand = p.row().axis.in == AxisIn::OperandList;
  std::vector<std::int64_t> all(numbers.pads.begin(), numbers.pads.end());
  p.require(!all.empty() && all.size() % 2 == 0 && (!named || all.size() == 2 * numbers.axes.size()));
  if (named && by_operand) p.list(names::axes, 3, numbers.axes);
  if (named && !by_operand) {
    const auto axes = normalize_axes(numbers.axes, numbers.rank);
    p.require(axes.has_value());
    all.assign(2 * numbers.rank, 0);
    for (std::size_t i = 0; axes && 2 * i + 1 < numbers.pads.size() && i < axes->size(); ++i) {
      const auto axis = static_cast<std::size_t>((*axes)[i]);
      all[axis] = numbers.pads[i];
      all[numbers.rank + axis] = numbers.pads[axes->size() + i];
    }
  }
  p.list(p.takes(names::paddings) ? names::paddings : names::pads, 1, all);
  if (numbers.value) p.number(names::value, 2, numbers.type, *numbers.value);
  p.require(numbers.mode != "wrap" || at.model.opset(at.graph, kEmptyName) >= 19);
  if (numbers.mode != "constant") p.attribute(names::mode, numbers.mode);
  return p.make(1);
}

NodeId add_clip(const Site& at, ValueId x, DType type, std::optional<double> low,
                std::optional<double> high) {
  Planned p = plan(at, OpKind::Clip, x);
  if (low) p.number(names::min, 1, type, *low);
  if (high) p.number(names::max, 2, type, *high);
  return p.make(1);
}

NodeId add_dropout(const Site& at, ValueId x, float ratio) {
  Planned p = plan(at, OpKind::Dropout, x);
  p.number(names::ratio, 1, DType::Float, static_cast<double>(ratio));
  if (p.takes(names::is_test)) p.attribute(names::is_test, std::int64_t{1});
  return p.make(std::max<std::size_t>(at.results.size(), 1));
}

NodeId add_top_k(const Site& at, ValueId x, std::int64_t k, std::int64_t axis, bool largest, bool sorted) {
  Planned p = plan(at, OpKind::TopK, x);
  p.axes(std::span(&axis, 1));
  p.attribute(names::axis, axis);
  if (p.takes(names::k)) p.attribute(names::k, k);
  else p.list(names::k, 1, std::span(&k, 1));
  // Before opset 11 there are only the largest, and they are sorted.
  if (!largest) p.attribute(names::largest, std::int64_t{0});
  if (!sorted && p.takes(names::sorted)) p.attribute(names::sorted, std::int64_t{0});
  return p.make(2);
}

TensorId make_scalar(Model& m, DType type, double number) {
  std::optional<std::string> raw = exact_bytes(type, number);
  return raw ? m.make_tensor(type, {}, std::move(*raw)) : TensorId{};
}

}  // namespace graphopt
