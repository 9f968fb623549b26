#include "draft/data_movement.h"

#include <cstring>
#include <string>
#include <vector>

namespace graphopt {
namespace {

// Returns row-major strides in elements.
std::vector<std::int64_t> strides_of(std::span<const std::int64_t> dims) {
  std::vector<std::int64_t> out(dims.size(), 1);
  for (std::size_t i = dims.size(); i-- > 1;) out[i - 1] = out[i] * dims[i];
  return out;
}

// Returns the bytes of one element; 0 for packed types and types without a raw form.
std::size_t element_size(DType t) { return static_cast<std::size_t>(bits_of(t)) / 8; }

// Returns a constant of `dims` whose element at an index is the source's element at the sum of index * step
// over all dims; none if it is over the limit of elements or the source's bytes are not at hand.
DValue gathered(Draft& d, DValue constant, std::span<const std::int64_t> dims,
                std::span<const std::int64_t> steps) {
  Model& m = d.model();
  const TensorId t = d[constant].tensor;
  const std::size_t size = element_size(d[constant].dtype);
  std::int64_t count = 1;
  for (const std::int64_t n : dims) {
    count *= n;
    if (count > kSearchLimits.constant_elements) {
      d.hit_limit(SearchLimit::ConstantElements);
      return {};
    }
  }
  const auto source = m.raw(t);
  if (!d.shapes().pool().is_constant(d.shapes().product(d.shape(constant)), m.tensor(t).elements)) return {};
  if (size == 0 || !source || source->size() != size * static_cast<std::size_t>(m.tensor(t).elements))
    return {};
  std::string out(static_cast<std::size_t>(count) * size, '\0');
  std::vector<std::int64_t> index(dims.size());
  std::int64_t at = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    std::memcpy(out.data() + static_cast<std::size_t>(i) * size,
                source->data() + static_cast<std::size_t>(at) * size, size);
    for (std::size_t k = dims.size(); k-- > 0;) {
      at += steps[k];
      if (++index[k] < dims[k]) break;
      at -= steps[k] * dims[k];
      index[k] = 0;
    }
  }
  const TensorId made = m.make_tensor(d[constant].dtype, dims, std::move(out));
  return d.new_constant(made, d.shapes().intern(dims), d[constant].dtype);
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
  const auto dims = *d.shapes().numbers(d.shape(constant));
  const auto strides = strides_of(dims);
  std::vector<std::int64_t> to, steps;
  for (const std::int64_t p : perm) {
    to.push_back(dims[static_cast<std::size_t>(p)]);
    steps.push_back(strides[static_cast<std::size_t>(p)]);
  }
  return gathered(d, constant, to, steps);
}

DValue expanded_constant(Draft& d, DValue constant, std::span<const std::int64_t> dims) {
  const auto have = *d.shapes().numbers(d.shape(constant));
  const auto strides = strides_of(have);
  std::vector<std::int64_t> steps(dims.size(), 0);
  const std::size_t lead = dims.size() - have.size();
  for (std::size_t k = 0; k < have.size(); ++k) {
    if (have[k] == 1) continue;
    if (have[k] != dims[lead + k]) return {};
    steps[lead + k] = strides[k];
  }
  return gathered(d, constant, dims, steps);
}

DValue joined_constants(Draft& d, std::span<const DValue> constants, std::size_t axis) {
  Model& m = d.model();
  const DType type = d[constants[0]].dtype;
  const std::size_t size = element_size(type);
  auto dims = *d.shapes().numbers(d.shape(constants[0]));
  if (size == 0) return {};
  std::int64_t outer = 1, inner = 1, total = 0;
  for (std::size_t k = 0; k < axis; ++k) outer *= dims[k];
  for (std::size_t k = axis + 1; k < dims.size(); ++k) inner *= dims[k];
  struct Block {
    Bytes raw;
    std::size_t bytes;
  };
  std::vector<Block> blocks;
  for (const DValue v : constants) {
    const auto raw = m.raw(d[v].tensor);
    const std::int64_t extent = *d.shapes().number(d.shapes().dims(d.shape(v))[axis]);
    const std::size_t block = static_cast<std::size_t>(extent * inner) * size;
    if (!raw || raw->size() != block * static_cast<std::size_t>(outer)) return {};
    total += extent;
    if (total * inner * outer > kSearchLimits.constant_elements) {
      d.hit_limit(SearchLimit::ConstantElements);
      return {};
    }
    blocks.push_back({*raw, block});
  }
  std::string out;
  for (std::size_t o = 0; o < static_cast<std::size_t>(outer); ++o)
    for (const Block& b : blocks) out.append(b.raw.substr(o * b.bytes, b.bytes));
  dims[axis] = total;
  const TensorId t = m.make_tensor(type, dims, std::move(out));
  return d.new_constant(t, d.shapes().intern(std::span<const std::int64_t>(dims)), type);
}

}  // namespace graphopt
