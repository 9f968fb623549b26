// The notation of the rows of the operator table. For facts.cpp alone.
//
// A row lists: operator, first opset, class, operand counts, result counts, roles of the operands,
// attributes, pad rule, reason. Deviations from the defaults follow as .axis_attribute(...), .broadcast(...)
// and so on. The defaults are: pure, no broadcasting, no axis, not commutative. An operator with a Shape
// operand has output dims that depend on it. All functions are consteval: the program contains only the
// finished rows.
#pragma once

#include <initializer_list>

#include "ops/facts.h"

namespace graphopt::table {

using enum OpClass;
using enum Purity;
using enum Role;
using B = Broadcast;
using P = PadRule;
using W = AxisWork;

#define ONNX(name) OpKind::name, "", #name
#define ML(name) OpKind::Ml##name, "ai.onnx.ml", #name
#define PREVIEW(name) OpKind::Preview##name, "ai.onnx.preview", #name
#define TRAINING(name) OpKind::PreviewTraining##name, "ai.onnx.preview.training", #name
#define MICROSOFT(name) OpKind::Ms##name, "com.microsoft", #name

struct Count {
  std::uint8_t least, most;  // 255: variadic
};

enum Sign : bool { kNonNegative, kNegative };  // whether an axis may count from the end
enum Absent : bool { kGiven, kAll };           // whether a list of axes may be absent, and then means all

template <Role... R> inline constexpr Role kRoleArray[] = {R...};
template <Role... R> inline constexpr std::span<const Role> roles = kRoleArray<R...>;
template <> inline constexpr std::span<const Role> roles<> = {};

// --- attributes --------------------------------------------------------------------------------------------

consteval AttrFact attribute(std::string_view name, AttrType type, AttrDefaultValue fallback = {}) {
  return {.name = name, .type = type, .required = false, .fallback = fallback};
}
consteval AttrFact integer(std::string_view name) { return attribute(name, AttrType::Int); }
consteval AttrFact integer(std::string_view name, std::int64_t v) {
  return attribute(name, AttrType::Int, v);
}
consteval AttrFact number(std::string_view name) { return attribute(name, AttrType::Float); }
consteval AttrFact number(std::string_view name, float v) { return attribute(name, AttrType::Float, v); }
consteval AttrFact text(std::string_view name) { return attribute(name, AttrType::String); }
consteval AttrFact text(std::string_view name, std::string_view v) {
  return attribute(name, AttrType::String, v);
}
consteval AttrFact ints(std::string_view name) { return attribute(name, AttrType::Ints); }
consteval AttrFact ints(std::string_view name, std::span<const std::int64_t> v) {
  return attribute(name, AttrType::Ints, v);
}
consteval AttrFact floats(std::string_view name) { return attribute(name, AttrType::Floats); }
consteval AttrFact texts(std::string_view name) { return attribute(name, AttrType::Strings); }
consteval AttrFact texts(std::string_view name, std::span<const std::string_view> v) {
  return attribute(name, AttrType::Strings, v);
}
consteval AttrFact tensor(std::string_view name) { return attribute(name, AttrType::Tensor); }
consteval AttrFact sparse(std::string_view name) { return attribute(name, AttrType::SparseTensor); }
consteval AttrFact graph(std::string_view name) { return attribute(name, AttrType::Graph); }
consteval AttrFact type(std::string_view name) { return attribute(name, AttrType::TypeProto); }

consteval AttrFact needed(AttrFact a) {
  a.required = true;
  return a;
}

// --- rows --------------------------------------------------------------------------------------------------

struct Row {
  OpFacts facts;

  consteval Row axis_attribute(std::int8_t fallback, Sign sign) const {
    return with({AxisIn::Attribute, 0, fallback, false, sign == kNegative});
  }
  consteval Row axis_needed(Sign sign) const { return axis_attribute(0, sign); }
  consteval Row axis_or_all(Sign sign) const {
    return with({AxisIn::Attribute, 0, 0, true, sign == kNegative});
  }
  consteval Row axes_attribute(Absent absent, Sign sign) const {
    return with({AxisIn::AttributeList, 0, 0, absent == kAll, sign == kNegative});
  }
  consteval Row axis_operand(std::uint8_t slot, std::int8_t fallback, Sign sign = kNegative) const {
    return with({AxisIn::Operand, slot, fallback, false, sign == kNegative});
  }
  consteval Row axes_operand(std::uint8_t slot, Absent absent, Sign sign) const {
    return with({AxisIn::OperandList, slot, 0, absent == kAll, sign == kNegative});
  }
  consteval Row broadcast(Broadcast b) const {
    Row r = *this;
    r.facts.broadcast = b;
    return r;
  }
  consteval Row works(AxisWork w) const {
    Row r = *this;
    r.facts.work = w;
    return r;
  }
  consteval Row purity(Purity p) const {
    Row r = *this;
    r.facts.purity = p;
    return r;
  }
  // The results that a node may do without, by number; with an operand of `unless` none.
  consteval Row may_leave_out(std::initializer_list<int> results,
                              std::initializer_list<int> unless = {}) const {
    Row r = *this;
    for (const int i : results) r.facts.leave_out.results |= static_cast<std::uint8_t>(1u << i);
    for (const int i : unless) r.facts.leave_out.unless_operands |= 1u << i;
    return r;
  }
  // The same where a node has all of them or none.
  consteval Row may_leave_out_together(std::initializer_list<int> results,
                                       std::initializer_list<int> unless = {}) const {
    Row r = may_leave_out(results, unless);
    r.facts.leave_out.all_or_none = true;
    return r;
  }
  consteval Row by_values() const {  // output dims depend on the values of data operands
    Row r = *this;
    r.facts.shape_from_values = true;
    return r;
  }
  consteval Row inferred_by_body() const {
    Row r = *this;
    r.facts.inferred_by_body = true;
    return r;
  }
  consteval Row misnames_extents() const {
    Row r = *this;
    r.facts.misnames_extents = true;
    return r;
  }
  consteval Row kernel_takes_more() const {
    Row r = *this;
    r.facts.kernel_takes_more = true;
    return r;
  }
  consteval Row runtime_refuses_axis() const {
    Row r = *this;
    r.facts.runtime_refuses_axis = true;
    return r;
  }
  consteval Row writes(std::initializer_list<int> operands, std::string_view if_set) const {
    Row r = *this;
    for (const int i : operands) r.facts.writes.operands |= static_cast<std::uint8_t>(1u << i);
    r.facts.writes.if_set = if_set;
    return r;
  }
  consteval Row pads(PadRule rule) const {
    Row r = *this;
    r.facts.pad = rule;
    return r;
  }
  consteval Row commutes() const {
    Row r = *this;
    r.facts.commutative = true;
    return r;
  }

 private:
  consteval Row with(AxisFact axis) const {
    Row r = *this;
    r.facts.axis = axis;
    return r;
  }
};

using Roles = std::span<const Role>;
using Attributes = std::span<const AttrFact>;
using Text = std::string_view;

consteval Row row(OpKind kind, Text domain, Text name, int since, OpClass cls, Count in, Count out,
                  Roles roles, Attributes attributes, PadRule pad, Text because) {
  bool shape = false;
  for (const Role role : roles) shape = shape || role == Shape;
  return {OpFacts{.kind = kind,
                  .domain = domain,
                  .name = name,
                  .since = static_cast<std::uint16_t>(since),
                  .cls = cls,
                  .purity = Pure,
                  .broadcast = B::None,
                  .min_inputs = in.least,
                  .max_inputs = in.most,
                  .min_outputs = out.least,
                  .max_outputs = out.most,
                  .leave_out = {},
                  .roles = roles,
                  .attributes = attributes,
                  .axis = {},
                  .work = AxisWork::None,
                  .pad = pad,
                  .shape_from_values = shape,
                  .commutative = false,
                  .inferred_by_body = false,
                  .misnames_extents = false,
                  .kernel_takes_more = false,
                  .runtime_refuses_axis = false,
                  .writes = {},
                  .deprecated = false,
                  .because = because}};
}

// y[i] from x[i] alone.
consteval Row unary(OpKind kind, Text domain, Text name, int since, Attributes attributes, Text because) {
  return row(kind, domain, name, since, Unary, {1, 1}, {1, 1}, roles<Data>, attributes, P::Elementwise,
             because);
}

// y[i] from a[i] and b[i], broadcast by NumPy's rules.
consteval Row binary(OpKind kind, Text domain, Text name, int since, Attributes attributes, Text because) {
  return row(kind, domain, name, since, Nary, {2, 2}, {1, 1}, roles<Data, Data>, attributes, P::Elementwise,
             because)
      .broadcast(B::Multi);
}

// The same before opset 7.
consteval Row legacy(OpKind kind, Text domain, Text name, int since, Attributes attributes, Text because) {
  return binary(kind, domain, name, since, attributes, because).broadcast(B::LegacyAxis);
}

// An operator that `since` removes. Only its signature is given.
consteval Row gone(OpKind kind, Text domain, Text name, int since, Count in, Count out, Attributes attributes,
                   Text because) {
  Row r = row(kind, domain, name, since, Barrier, in, out, roles<Data>, attributes, P::Opaque, because)
              .purity(Unknown)
              .by_values();
  r.facts.deprecated = true;
  return r;
}

// --- attributes that several families share ----------------------------------------------------------------

inline constexpr std::int64_t kAxes023[] = {0, 2, 3};
inline constexpr std::string_view kTanhTanh[] = {"Tanh", "Tanh"};
inline constexpr Attributes kNone{};

inline constexpr AttrFact kAlphaOneHundredth[] = {number("alpha", 0.01f)};
inline constexpr AttrFact kAxis0Keepdims[] = {integer("axis", 0), integer("keepdims", 1)};
inline constexpr AttrFact kAxis1[] = {integer("axis", 1)};
inline constexpr AttrFact kAxisLast[] = {integer("axis", -1)};
inline constexpr AttrFact kAxisNeeded[] = {needed(integer("axis"))};
inline constexpr AttrFact kAxisNoDefault[] = {integer("axis")};
inline constexpr AttrFact kAxesKeepdims[] = {ints("axes"), integer("keepdims", 1)};
inline constexpr AttrFact kConv[] = {text("auto_pad", "NOTSET"), ints("dilations"), integer("group", 1),
                                     ints("kernel_shape"),       ints("pads"),      ints("strides")};
inline constexpr AttrFact kGridSample16[] = {integer("align_corners", 0), text("mode", "bilinear"),
                                             text("padding_mode", "zeros")};
inline constexpr AttrFact kKeepdimsNoop[] = {integer("keepdims", 1), integer("noop_with_empty_axes", 0)};
inline constexpr AttrFact kLSTM7[] = {
    floats("activation_alpha"),   floats("activation_beta"), texts("activations"),      number("clip"),
    text("direction", "forward"), integer("hidden_size"),    integer("input_forget", 0)};
inline constexpr AttrFact kMode[] = {text("mode", "constant")};
inline constexpr AttrFact kNormalization[] = {integer("axis", -1), number("epsilon", 1e-5f),
                                              integer("stash_type", 1)};
inline constexpr AttrFact kSeed[] = {integer("seed")};
inline constexpr AttrFact kTrilu[] = {integer("upper", 1)};

// --- reductions --------------------------------------------------------------------------------------------

// Axes in an attribute.
consteval Row reduction(OpKind kind, Text domain, Text name, int since, Sign sign, PadRule pad,
                        Text because) {
  return row(kind, domain, name, since, Anchor, {1, 1}, {1, 1}, roles<Data>, kAxesKeepdims, pad, because)
      .axes_attribute(kAll, sign)
      .works(W::Reduce);
}

// Axes in an operand. Absent or empty means all, unless noop_with_empty_axes is set.
consteval Row reduction_by_operand(OpKind kind, Text domain, Text name, int since, PadRule pad,
                                   Text because) {
  return row(kind, domain, name, since, Anchor, {1, 2}, {1, 1}, roles<Data, Shape>, kKeepdimsNoop, pad,
             because)
      .axes_operand(1, kAll, kNegative)
      .works(W::Reduce);
}

}  // namespace graphopt::table
