// What a pass is: one file with a class and a PassInfo record; registry.cpp lists the records.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "rewrite/context.h"

namespace graphopt {

struct Counter {
  std::string_view name, text;
  std::uint64_t value = 0;
};

class Pass {
 public:
  virtual ~Pass() = default;
  // Returns whether the model changed. It may leave inference out of date; the manager updates it.
  virtual bool run(PassContext& c) = 0;
  virtual std::span<const Counter> counters() const { return {}; }
};

enum class Exact : std::uint8_t { Yes, No };

// Whether a pass may write nodes of operators that the graph did not have. A pass that does not runs in
// models where a function has an operator's name, too (ops/hidden_operators.h).
enum class NewOperators : std::uint8_t { Maybe, Never };

struct PassInfo {
  std::string_view name;     // kebab-case
  std::string_view summary;  // one help line
  Exact exact;
  int level;  // runs from -O<level> on
  std::unique_ptr<Pass> (*make)();
  int rounds_from = 0;  // an exact pass: the level from which on some of its rules round; 0: none does
  bool search = false;  // expensive on any graph: waits until the passes before it reach a fixed point
  NewOperators new_operators = NewOperators::Maybe;
};

template <class P> std::unique_ptr<Pass> make_pass() { return std::make_unique<P>(); }

std::span<const PassInfo* const> all_passes();  // the one list, in the order of --list-passes
const PassInfo* find_pass(std::string_view name);

}  // namespace graphopt
