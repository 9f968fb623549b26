// Texts for Graphviz.
#pragma once

#include <string>
#include <string_view>

namespace graphopt {

// Returns the text for a quoted string of dot, cut after 60 characters, with '?' for bytes that are no
// printable ASCII.
std::string escaped_for_dot(std::string_view text);

}  // namespace graphopt
