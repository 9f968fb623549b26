// Interned strings. Equal strings have equal ids; text lives as long as the pool. intern_view does not copy a
// string that already lives long enough (in the mapped model file).
//
// The names of attributes have fixed ids (known_names.h), so that selecting one compares two integers.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "support/ids.h"

namespace graphopt {

class StringPool {
 public:
  StringPool();
  ~StringPool();
  StringPool(StringPool&&) noexcept;
  StringPool& operator=(StringPool&&) noexcept;
  // Returns a pool with the same texts and ids. Both may grow; they share the memory of what they have.
  StringPool clone() const;

  NameId intern(std::string_view text);  // copies text when it is new
  // Returns the id of a text that the pool does not contain yet; none when it does.
  NameId intern_new(std::string_view text);
  NameId intern_view(std::string_view text);  // the caller keeps text alive and unchanged
  NameId find(std::string_view text) const;   // none when it was never interned
  std::string_view text(NameId id) const;     // "" for none
  std::size_t size() const;

 private:
  struct State;
  explicit StringPool(std::unique_ptr<State> s);
  std::unique_ptr<State> s_;
};

inline constexpr NameId kEmptyName{std::uint32_t{0}};  // ""

}  // namespace graphopt
