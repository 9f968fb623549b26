// Dense, typed 32-bit ids. An id is an index into an array that its owner keeps; the type tells the arrays
// apart, so that the id of a node cannot be used for a value. The default id is "none".
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace graphopt {

template <class Tag> class Id {
 public:
  constexpr Id() = default;
  constexpr explicit Id(std::uint32_t index) : index_(index) {}
  constexpr explicit Id(std::size_t index) : index_(static_cast<std::uint32_t>(index)) {}

  constexpr std::uint32_t index() const { return index_; }
  constexpr bool valid() const { return index_ != kNone; }
  constexpr explicit operator bool() const { return valid(); }
  friend constexpr auto operator<=>(Id, Id) = default;

 private:
  static constexpr std::uint32_t kNone = 0xFFFFFFFFu;
  std::uint32_t index_ = kNone;
};

using NameId = Id<struct NameTag>;  // an interned string
using NodeId = Id<struct NodeTag>;
using ValueId = Id<struct ValueTag>;
using GraphId = Id<struct GraphTag>;
using FunctionId = Id<struct FunctionTag>;
using TensorId = Id<struct TensorTag>;
using TypeId = Id<struct TypeTag>;
using DimId = Id<struct DimTag>;  // a symbolic expression; none means "unknown"
using OpId = Id<struct OpTag>;    // an operator as a model names it: domain, type, overload
using UseId = Id<struct UseTag>;  // one operand slot of one node

}  // namespace graphopt

template <class Tag> struct std::hash<graphopt::Id<Tag>> {
  std::size_t operator()(graphopt::Id<Tag> id) const noexcept { return id.index(); }
};
