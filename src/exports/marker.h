// What says that graphopt wrote a folder, and which manifest it belongs to: a small file in it.
#pragma once

#include <string>
#include <string_view>

namespace graphopt {

inline constexpr const char* kMarkerFile = "graphopt.json";

// `form`: "triton", "genai". `manifest`: its name as seen from the folder, and the SHA-256 of its text.
std::string marker_text(std::string_view form, std::string_view manifest, std::string_view sha256);
// Returns true if the folder, no link to one, has the marker of this form in it, or of any form where it is
// "".
bool has_marker(const std::string& folder, std::string_view form = {});

}  // namespace graphopt
