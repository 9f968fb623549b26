// Values and types for tests of the runner, by hand.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "deploy/layout_tree.h"
#include "deploy/manifest.h"
#include "graphopt/error.h"
#include "runtime/host_value.h"

namespace graphopt::runner::test {

template <class T>
HostValue tensor(DType type, std::vector<std::int64_t> dims, const std::vector<T>& elements) {
  HostValue out;
  out.kind = HostValue::Kind::Tensor;
  out.dtype = type;
  out.dims = std::move(dims);
  out.raw.assign(reinterpret_cast<const char*>(elements.data()), elements.size() * sizeof(T));
  return out;
}
inline HostValue bytes(std::vector<std::int64_t> dims, const std::vector<std::int8_t>& elements) {
  return tensor<std::int8_t>(DType::Int8, std::move(dims), elements);
}
inline HostValue empty(DType type, std::vector<std::int64_t> dims) {
  return tensor<char>(type, std::move(dims), {});
}
inline std::vector<int> elements(const HostValue& v) {
  std::vector<int> out;
  for (const char c : v.raw) out.push_back(static_cast<signed char>(c));
  return out;
}

inline deploy::LayoutTree layout(std::string_view text) {
  auto out = deploy::parse_layout(text);
  EXPECT_TRUE(out.has_value()) << text;
  return out.value_or(deploy::LayoutTree{});
}

inline deploy::NetworkValue network_value(std::string name, DType type,
                                          std::optional<std::vector<deploy::ValueDim>> shape) {
  deploy::NetworkValue out;
  out.name = std::move(name);
  out.type.dtype = type;
  out.type.shape = std::move(shape);
  return out;
}

std::string problem(const auto& result) { return result.ok() ? "" : to_string(result.error()); }

}  // namespace graphopt::runner::test
