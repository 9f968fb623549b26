// Elements of types that NumPy lacks, as the unsigned integers of their bits: bfloat16 as uint16, floats of 8
// bits as uint8, and an element of 2, 4 or 6 bits as one uint8. An int4 of -1 is 15.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "ir/types.h"
#include "runtime/host_value.h"

namespace graphopt {

// Returns the type of the integers; none for a type that NumPy has, and for one that has no size.
std::optional<DType> bits_type(DType type);

// Returns element `i` of packed elements of less than 8 bits. Precondition: it is there.
std::uint8_t packed_element(std::string_view raw, DType type, std::uint64_t i);

// Turns an array of these integers into one of `type`. False, and nothing changes, where it is not one: it
// has another type, or an integer has more bits.
bool take_bits(HostValue& value, DType type);

}  // namespace graphopt
