// Switches that tests/planted/mutants.py, and run.py for planted defects, put into copies of the sources.
// GRAPHOPT_MUTANT in the environment is the number of the one condition or statement that is dropped, or of
// the one defect that is wanted (0: none). GRAPHOPT_MUTANT_TRACE names a file in which byte N becomes 1 when
// dropping number N would have changed something: a condition of && was false, one of || true, a statement
// was reached. The file is mapped, so that a crash loses nothing.
#pragma once

namespace graphopt_mutants {

inline constexpr unsigned kMost = 1u << 17;

extern unsigned active;
extern unsigned char* met;

constexpr bool dropped(unsigned number) {
  if (__builtin_is_constant_evaluated()) return false;
  met[number] = 1;
  return number == active;
}

template <class T> constexpr bool all(unsigned number, const T& operand) {
  return static_cast<bool>(operand) || dropped(number);
}

template <class T> constexpr bool any(unsigned number, const T& operand) {
  return static_cast<bool>(operand) && !dropped(number);
}

constexpr bool done(unsigned number) { return !dropped(number); }

struct Not {
  unsigned number;
};

// Of all operators ->* alone binds as tightly as a `!` that stands before its operand.
template <class T> constexpr bool operator->*(Not n, const T& operand) {
  return static_cast<bool>(operand) == dropped(n.number);
}

}  // namespace graphopt_mutants
