// The words of an enum: what reports, manifests, options and messages call its values.
//
// Each enum has its table next to it:
//
//   template <> struct Words<PadClass> {
//     static constexpr std::string_view plural = "classes";  // what messages call the words
//     static constexpr std::array<std::string_view, 4> all = {"const", "finite", "any", "none"};
//   };
//
// `all` has a word for each value, in the order of the values, which count from 0.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace graphopt {

template <class E> struct Words;

// Returns true if the enum has a value of this name and number: compilers print any other as a number.
template <class E, E e> constexpr bool is_enumerator() {
  const std::string_view here = __PRETTY_FUNCTION__;  // "... e = graphopt::PadClass::Any]"
  return here[here.rfind("e = ") + 4] != '(';
}

template <class E> constexpr std::string_view word(E e) {
  constexpr std::size_t kCount = Words<E>::all.size();
  static_assert(is_enumerator<E, E(kCount - 1)>() && !is_enumerator<E, E(kCount)>(), "a word for each value");
  return Words<E>::all[static_cast<std::size_t>(e)];
}

}  // namespace graphopt
