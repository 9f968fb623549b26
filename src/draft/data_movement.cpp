#include "draft/data_movement.h"

#include <optional>
#include <utility>
#include <vector>

#include "ops/fold.h"
#include "support/known_names.h"

namespace graphopt {
namespace {

// Returns the constant's elements with the dims that the draft gives it; nothing if its bytes are not at
// hand, and for strings and packed types, which stay in nodes.
std::optional<Tensor> tensor_of(Draft& d, DValue constant) {
  if (bits_of(d[constant].dtype) < 8) return std::nullopt;
  std::optional<Tensor> t = unpacked(d.model(), d[constant].tensor);
  const auto dims = d.shapes().numbers(d.shape(constant));
  if (t && dims) t->dims = *dims;
  return dims ? t : std::nullopt;
}

// Returns the constant that the operator makes of these; none if it has more elements than the limit allows,
// or the operator does not take the type.
DValue computed(Draft& d, OpKind kind, const Attr* attribute, std::span<const Tensor* const> operands) {
  const std::uint64_t most = static_cast<std::uint64_t>(kSearchLimits.constant_elements);
  const Operation operation{kind, kNewestOpset, std::span(attribute, attribute == nullptr ? 0 : 1)};
  Folded made =
      evaluate(d.model(), operation, operands, {.max_result_bytes = ~std::uint64_t{0}, .max_work = most});
  if (made.refusal == FoldRefusal::TooBig) d.hit_limit(SearchLimit::ConstantElements);
  if (!made) return {};
  const DType type = made.results[0].dtype;
  const ShapeId shape = d.shapes().intern(std::span<const std::int64_t>(made.results[0].dims));
  return d.new_constant(d.model().add_tensor(std::move(made.results[0])), shape, type);
}

}  // namespace

bool type_can_move(const Draft& d, DType type) {
  return moves_type(d.model().opset(d.graph(), NameId{std::uint32_t{0}}), type);
}

void set_lengths(Draft& d, DNode split) {
  std::vector<std::int64_t> lengths;
  for (const DValue v : d.outs(split))
    lengths.push_back(*d.shapes().number(d.shapes().dims(d.shape(v))[d[split].axis]));
  d.set_list(split, d.intern_list(std::move(lengths)));
}

DValue reshaped_constant(Draft& d, DValue constant, ShapeId to) {
  if (d.shape(constant) == to) return constant;
  return d.new_constant(d[constant].tensor, to, d[constant].dtype);
}

DValue transposed_constant(Draft& d, DValue constant, std::span<const std::int64_t> perm) {
  const auto x = tensor_of(d, constant);
  const Attr attribute = ints_attribute(names::perm, perm);
  const Tensor* const operands[] = {x ? &*x : nullptr};
  return x ? computed(d, OpKind::Transpose, &attribute, operands) : DValue{};
}

DValue expanded_constant(Draft& d, DValue constant, std::span<const std::int64_t> dims) {
  const auto x = tensor_of(d, constant);
  if (!x) return {};
  const auto have = *d.shapes().numbers(d.shape(constant));
  const auto from_the_end = [](std::span<const std::int64_t> list, std::size_t k) {
    return list[list.size() - 1 - k];
  };
  if (have.size() > dims.size()) return {};
  for (std::size_t k = 0; k < have.size(); ++k)  // Expand would broadcast the target to the operand, too
    if (from_the_end(have, k) != 1 && from_the_end(have, k) != from_the_end(dims, k)) return {};
  const Tensor target = int64_tensor(dims);
  const Tensor* const operands[] = {&*x, &target};
  return computed(d, OpKind::Expand, nullptr, operands);
}

DValue joined_constants(Draft& d, std::span<const DValue> constants, std::size_t axis) {
  std::vector<Tensor> parts;
  for (const DValue v : constants) {
    auto t = tensor_of(d, v);
    if (!t) return {};
    parts.push_back(*std::move(t));
  }
  std::vector<const Tensor*> operands;
  for (const Tensor& t : parts) operands.push_back(&t);
  const Attr attribute = int_attribute(names::axis, static_cast<std::int64_t>(axis));
  return computed(d, OpKind::Concat, &attribute, operands);
}

}  // namespace graphopt
