// The contents of an InputPlan. For input_plan.cpp, which makes it, and inputs.cpp, which draws values from
// it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/dim.h"
#include "ir/types.h"
#include "runtime/host_value.h"
#include "runtime/input_uses.h"
#include "runtime/inputs.h"

namespace graphopt {

// What the name or the position of a symbol suggests about its size.
enum class SymbolClass : std::uint8_t { Batch, Past, Sequence, Picture, Feature, Audio, General, Rank };
inline constexpr std::size_t kSymbolClasses = 8;

struct PlannedSymbol {
  std::string name;  // shown to the user: "batch", or "input.axis" for a dim without a name
  DimId id;
  Range range;
  SymbolClass cls = SymbolClass::General;
};

// The distribution of a tensor's elements.
enum class Fill : std::uint8_t {
  Numbers,    // floats around 0; integers around 0 (any bits for 8 bits and less); Bool: either
  ByMeaning,  // given by `uses.meaning`
  Mask,       // 1 for a prefix of each row, 0 after it
  Positions,  // 0, 1, 2 ... along the last axis
  Lengths,    // 1 .. 4
  Texts,      // from `uses.texts`
  Keys,       // from `uses.keys`
};

struct PlannedTensor {
  DType dtype = DType::Undefined;
  std::vector<DimId> dims;  // of the plan's pool
  DimId rank;               // for unknown ranks: a symbol that counts dims
  Fill fill = Fill::Numbers;
  InputUses uses;  // dims are those of the plan's pool
};

struct PlannedInput {
  std::string name;
  TypeKind kind = TypeKind::Tensor;  // Tensor, Sequence or Map; an optional is given its content
  PlannedTensor tensor;              // itself, a sequence's elements, a map's values
  DType key = DType::Undefined;      // of a map
  bool has_default = false;          // an initializer is its default
  HostValue fallback;                // that default, when it is small enough to keep
};

struct InputPlan::State {
  DimPool dims;
  std::vector<PlannedSymbol> symbols;
  std::vector<PlannedInput> inputs;
  // Returns true if floats may be huge, NaN or infinite: not where they become coordinates, sizes or numbers
  // of iterations.
  bool takes_specials = true;
  DType coarsest_float = DType::Undefined;  // of what nodes give; Undefined when none gives floats
  std::vector<bool> rounds_at_one;          // by graph output
};

}  // namespace graphopt
