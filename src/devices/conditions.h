// Conditions on numbers and texts: an attribute's value, or the elements of a constant.
//
// A number in a profile is compared as the value's type writes it: 0.1 is met by the float nearest to 0.1,
// and an upper bound of 0.1 lets that float pass, although it is greater than 0.1.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "devices/profile.h"
#include "ir/model.h"

namespace graphopt {

// The elements of an attribute or a constant; only the list of their kind has some.
struct Elements {
  enum class Kind : std::uint8_t { Ints, Reals, Texts };
  Kind kind = Kind::Ints;
  DType type = DType::Undefined;  // of Reals
  std::vector<std::int64_t> ints;
  std::vector<double> reals;
  std::vector<std::string_view> texts;  // views of the model, or of the fact table

  std::size_t size() const { return ints.size() + reals.size() + texts.size(); }
};

// Constants with more elements are not looked at: a condition on them fails.
inline constexpr std::int64_t kMostConditionElements = std::int64_t{1} << 20;

// Returns the elements of a constant; nothing where it has too many, its payload is broken, or its type has
// no numbers and no texts.
std::optional<Elements> elements_of(const Model& m, TensorId t);
// Returns those of an attribute as written at the node, or its default in the fact table; nothing where the
// attribute refers to one of a caller, is of another kind, or is absent without a default.
std::optional<Elements> elements_of(const Model& m, NodeId n, std::string_view attribute);

// Returns whether enum, range and length hold; `present` is not looked at.
bool meets(const ValueCondition& c, const Elements& e);

// Returns the first few elements: "7", "[1, 1, 2, ...]", "'linear'".
std::string element_text(const Elements& e);

// Returns the attribute of the node, null when it is not written there.
const Attr* written_attribute(const Model& m, NodeId n, std::string_view name);

}  // namespace graphopt
