// Reads device profiles from JSON text.
//
// Problem: profiles are written by people. A key that is misspelt must not be a condition that silently never
// applies, and one run should show more than the first mistake.
// Method: one pass over the tokens finds what a tree of values would hide (duplicate keys, depth, the place
// of a syntax error); a second one walks the tree with a table of the keys of each kind of object. Every
// mistake is an Error with the file, a path such as "rules[3].inputs[0].dtypes[1]", what was found, what is
// allowed, and the nearest name; at most kMaxErrors of them. Nothing is thrown.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "devices/profile.h"
#include "graphopt/error.h"

namespace graphopt {

inline constexpr std::size_t kMaxProfileBytes = std::size_t{8} << 20;
inline constexpr std::size_t kMaxProfileDepth = 32;  // objects and arrays inside each other

// `file` is for messages and becomes Profile::file. Errors are of ErrorKind::Input.
Result<Profile> read_profile(std::string_view text, const std::string& file);

}  // namespace graphopt
