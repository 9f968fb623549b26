// What a tree of JSON values would hide: keys that occur twice, the depth, and the place of a syntax error.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "graphopt/error.h"

namespace graphopt {

// Returns the errors of the text, none when it is JSON with at most `depth` objects and arrays inside each
// other and no key twice in one object. A syntax error ends the search. `file` is for messages, `kind` that
// of all errors.
Errors scan_json(std::string_view text, const std::string& file, std::size_t depth,
                 ErrorKind kind = ErrorKind::Input);

// Appends ".key" ("key" to an empty path), or ["key"] when the key is no plain name; and "[3]".
std::string json_path(const std::string& path, std::string_view key);
std::string json_path(const std::string& path, std::size_t index);

}  // namespace graphopt
