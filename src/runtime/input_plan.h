// What an InputPlan holds. Seen by input_plan.cpp, which makes it, and inputs.cpp, which draws values from
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

// What the name or the place of a symbol tells about its size.
enum class SymbolClass : std::uint8_t { Batch, Past, Sequence, Picture, Feature, Audio, General, Rank };
inline constexpr std::size_t kSymbolClasses = 8;

struct PlannedSymbol {
  std::string name;  // as a user reads it: "batch", or "input.axis" for a dim without a name
  DimId id;
  Range range;
  SymbolClass cls = SymbolClass::General;
};

// How the elements of a tensor are drawn.
enum class Fill : std::uint8_t {
  Numbers,    // floats around 0; integers around 0 (any bits for 8 bits and less); Bool: either
  ByMeaning,  // as `uses.meaning` says
  Mask,       // 1 for a prefix of each row, 0 behind it
  Positions,  // 0, 1, 2 ... along the last axis
  Lengths,    // 1 .. 4
  Texts,      // of `uses.texts`
  Keys,       // of `uses.keys`
};

struct PlannedTensor {
  DType dtype = DType::Undefined;
  std::vector<DimId> dims;  // of the plan's pool
  DimId rank;               // for unknown ranks: a symbol that counts dims
  Fill fill = Fill::Numbers;
  InputUses uses;  // dims translated to the plan's pool
};

struct PlannedInput {
  std::string name;
  TypeKind kind = TypeKind::Tensor;  // Tensor, Sequence or Map; an optional is fed with what it holds
  PlannedTensor tensor;              // itself, a sequence's elements, a map's values
  DType key = DType::Undefined;      // of a map
  bool has_default = false;          // an initializer stands for it
  HostValue fallback;                // that default, when it is small enough to keep
};

struct InputPlan::State {
  DimPool dims;
  std::vector<PlannedSymbol> symbols;
  std::vector<PlannedInput> inputs;
  // May floats be huge, NaN or infinite? Not where they end up as coordinates, sizes or numbers of rounds.
  bool takes_specials = true;
};

}  // namespace graphopt
