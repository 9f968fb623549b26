// How often a test draws.
#pragma once

namespace graphopt {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif
#else
inline constexpr bool kSanitized = false;
#endif

// The given number; an eighth of it with sanitizers, where a round takes ten times as long and what it draws
// has been drawn in the build without them as well.
constexpr int rounds(int n) { return kSanitized ? n / 8 : n; }

}  // namespace graphopt
