// One node with constant operands, folded: for the tests of fold kernels.
//
//   FoldCase c(13);                                    // opset
//   c.i64({3}, {1, 2, 3}).absent().f32({}, {2});       // operands
//   c.attr("axis", 0);
//   c.fold(OpKind::Gather)                             // refusal; then c.dims(0), c.i64s(0), ...
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "ir/model.h"
#include "ops/facts.h"
#include "ops/fold.h"

namespace graphopt {

class FoldCase {
 public:
  using Dims = std::vector<std::int64_t>;

  explicit FoldCase(int opset) { m.opset_tables[0] = {{kEmptyName, opset}}; }

  template <class T> FoldCase& operand(DType type, Dims dims, const std::vector<T>& values) {
    std::string raw(values.size() * sizeof(T), '\0');
    if (!values.empty()) std::memcpy(raw.data(), values.data(), raw.size());
    return bytes(type, std::move(dims), std::move(raw));
  }
  FoldCase& bytes(DType type, Dims dims, std::string raw) {
    operands.push_back(m.make_tensor(type, dims, std::move(raw)));
    return *this;
  }
  FoldCase& f32(Dims dims, std::vector<float> v) { return operand(DType::Float, std::move(dims), v); }
  FoldCase& f64(Dims dims, std::vector<double> v) { return operand(DType::Double, std::move(dims), v); }
  FoldCase& i64(Dims dims, std::vector<std::int64_t> v) { return operand(DType::Int64, std::move(dims), v); }
  FoldCase& i32(Dims dims, std::vector<std::int32_t> v) { return operand(DType::Int32, std::move(dims), v); }
  FoldCase& i8(Dims dims, std::vector<std::int8_t> v) { return operand(DType::Int8, std::move(dims), v); }
  FoldCase& u8(Dims dims, std::vector<std::uint8_t> v) { return operand(DType::UInt8, std::move(dims), v); }
  FoldCase& bools(Dims dims, std::vector<std::uint8_t> v) { return operand(DType::Bool, std::move(dims), v); }
  FoldCase& strings(Dims dims, std::vector<std::string> v) {
    Tensor t;
    t.dtype = DType::String;
    t.dims = std::move(dims);
    t.elements = static_cast<std::int64_t>(v.size());
    auto payload = std::make_shared<Unpacked>();
    payload->strings = std::move(v);
    t.owned = std::move(payload);
    t.ready = true;
    operands.push_back(m.add_tensor(std::move(t)));
    return *this;
  }
  FoldCase& absent() {
    operands.emplace_back();
    return *this;
  }

  FoldCase& attr(std::string_view name, std::int64_t v) {
    Attr a;
    a.kind = AttrKind::Int;
    a.i = v;
    return attr(name, a);
  }
  FoldCase& attr(std::string_view name, std::string_view v) {
    Attr a;
    a.kind = AttrKind::String;
    a.s = m.keep(v);
    return attr(name, a);
  }
  FoldCase& attr(std::string_view name, Dims v) {
    Attr a;
    a.kind = AttrKind::Ints;
    a.ints = m.keep(std::span<const std::int64_t>(v));
    return attr(name, a);
  }
  FoldCase& attr(std::string_view name, Attr a) {
    a.name = m.names.intern(name);
    attrs.push_back(a);
    return *this;
  }

  FoldRefusal fold(OpKind kind, std::size_t outputs = 1) {
    std::vector<ValueId> in, out;
    for (const TensorId t : operands) in.push_back(t ? m.add_initializer(m.main(), "operand", t) : ValueId{});
    for (std::size_t i = 0; i < outputs; ++i) out.push_back(m.add_value(m.main(), m.fresh_name("result")));
    node = m.add_node(m.main(), m.intern_op(kind, op_domain(kind), op_name(kind)), in, out);
    for (const Attr& a : attrs) m.set_attr(node, a);
    folded = graphopt::fold(m, node, operands, limits);
    without_node(kind, outputs);
    return folded.refusal;
  }

  // evaluate() gives the same as fold().
  void without_node(OpKind kind, std::size_t outputs) {
    std::vector<const Tensor*> tensors;
    std::vector<Tensor> kept;
    kept.reserve(operands.size());
    for (const TensorId t : operands) {
      if (t) kept.push_back(unpacked(m, t).value());
      tensors.push_back(t ? &kept.back() : nullptr);
    }
    const Folded other = evaluate(m, {kind, m.opset(node), attrs, outputs}, tensors, limits);
    EXPECT_EQ(other.refusal, folded.refusal);
    EXPECT_EQ(other.exactness, folded.exactness);
    ASSERT_EQ(other.results.size(), folded.results.size());
    for (std::size_t i = 0; i < other.results.size(); ++i) {
      EXPECT_EQ(other.results[i].dtype, folded.results[i].dtype);
      EXPECT_EQ(other.results[i].dims, folded.results[i].dims);
      EXPECT_EQ(other.results[i].raw, folded.results[i].raw);
      const bool strings = folded.results[i].dtype == DType::String && folded.results[i].owned;
      if (strings) {
        EXPECT_EQ(other.results[i].owned->strings, folded.results[i].owned->strings);
      }
    }
  }

  const Tensor& result(std::size_t i = 0) const { return folded.results.at(i); }
  Dims dims(std::size_t i = 0) const { return result(i).dims; }
  template <class T> std::vector<T> values(std::size_t i = 0) const {
    std::vector<T> v(result(i).raw.size() / sizeof(T));
    if (!v.empty()) std::memcpy(v.data(), result(i).raw.data(), v.size() * sizeof(T));
    return v;
  }
  std::vector<std::int64_t> i64s(std::size_t i = 0) const { return values<std::int64_t>(i); }
  std::vector<std::int32_t> i32s(std::size_t i = 0) const { return values<std::int32_t>(i); }
  std::vector<float> f32s(std::size_t i = 0) const { return values<float>(i); }

  Model m;
  std::vector<TensorId> operands;
  std::vector<Attr> attrs;
  NodeId node;
  Folded folded;
  FoldLimits limits{.max_result_bytes = 1 << 20, .max_work = 1 << 20};
};

inline constexpr FoldRefusal kFolded = FoldRefusal::None;
inline constexpr FoldRefusal kBadOperands = FoldRefusal::BadOperands;
inline constexpr FoldRefusal kCannot = FoldRefusal::NotFoldable;
inline constexpr FoldRefusal kBomb = FoldRefusal::TooBig;

}  // namespace graphopt
