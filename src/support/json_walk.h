// Walks a tree of JSON values and collects every mistake with its path, what was found and what is allowed.
//
// Each function returns the value, or nothing after noting why not; so a reader goes on after a mistake.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "graphopt/error.h"
#include "support/int_range.h"

namespace graphopt {

using JsonNumber = std::variant<std::int64_t, double>;  // a whole number that int64 holds is one

class JsonWalk {
 public:
  using Json = nlohmann::ordered_json;
  using Path = std::string;
  using Read = std::function<void(const Json&, const Path&)>;
  struct Key {
    std::string_view name;
    Read read;
    bool required = false;
  };

  // `file` is for messages, `kind` that of all errors.
  explicit JsonWalk(std::string file, ErrorKind kind = ErrorKind::Input)
      : file_(std::move(file)), kind_(kind) {}
  const Errors& errors() const { return errors_; }

  // "PATH: WHAT"; an empty path is that of the whole.
  void problem(const Path& path, const std::string& what, std::string remedy);
  // "PATH: found FOUND", "allowed: ALLOWED".
  void refuse(const Json& found, const Path& path, const std::string& allowed);
  // The same of a text that is not one of the names; the remedy begins with the nearest ones.
  void refuse_name(const std::string& found, const Path& path, std::span<const std::string_view> names,
                   std::string_view plural);

  // Reads the members of an object in the order of the file. False when it is no object.
  bool object(const Json& j, const Path& path, std::initializer_list<Key> keys);
  bool members(const Json& j, const Path& path,
               const std::function<void(const std::string&, const Json&, const Path&)>& read);
  // Reads the entries of a list. False when it is no list, or has fewer than `least`.
  bool list(const Json& j, const Path& path, std::size_t least, std::string_view of, const Read& read);

  std::optional<std::int64_t> integer(const Json& j, const Path& path,
                                      std::int64_t least = std::numeric_limits<std::int64_t>::min());
  std::optional<bool> boolean(const Json& j, const Path& path);
  std::optional<std::string> text(const Json& j, const Path& path, bool may_be_empty = true);
  std::optional<std::size_t> choice(const Json& j, const Path& path, std::span<const std::string_view> names,
                                    std::string_view plural);
  // [low, high]; high may be null.
  std::optional<IntRange> range(const Json& j, const Path& path,
                                std::int64_t least = std::numeric_limits<std::int64_t>::min());
  std::optional<JsonNumber> number(const Json& j, const Path& path);

  // Functions that read a member into a variable, for tables of keys. A value that is refused leaves it.
  template <class T> Read to_integer(T& to, std::int64_t least) {
    return [this, &to, least](const Json& j, const Path& path) {
      if (const auto v = integer(j, path, least)) to = *v;
    };
  }
  // The same, where null is "none".
  Read to_integer_or_null(std::optional<std::int64_t>& to, std::int64_t least);
  template <class T> Read to_boolean(T& to) {
    return [this, &to](const Json& j, const Path& path) {
      if (const auto v = boolean(j, path)) to = *v;
    };
  }
  Read to_text(std::string& to, bool may_be_empty = true);
  Read to_texts(std::vector<std::string>& to, std::size_t least, std::string_view of);
  Read to_range(std::optional<IntRange>& to, std::int64_t least);
  template <class E> Read to_choice(E& to, std::span<const std::string_view> names, std::string_view plural) {
    return [this, &to, names, plural](const Json& j, const Path& path) {
      if (const auto v = choice(j, path, names, plural)) to = static_cast<E>(*v);
    };
  }

 private:
  std::string file_;
  ErrorKind kind_;
  Errors errors_;
};

}  // namespace graphopt
