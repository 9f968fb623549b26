// The limit of a process's data, which --max-memory sets.
#pragma once

#include <cstdint>
#include <optional>

namespace graphopt {

// Returns RLIMIT_DATA in bytes; none where there is no limit.
std::optional<std::uint64_t> memory_limit();

}  // namespace graphopt
