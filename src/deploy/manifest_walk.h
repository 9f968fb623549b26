// What the readers of a manifest's parts share: forms of texts, references, types and sizes. Internal.
//
// A reference is a text in the document and a position in the struct. It may come before what it names, since
// keys are sorted: the names are collected first (Ids), and each reference is resolved, or refused at its
// place, when it is met.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "deploy/manifest.h"
#include "support/json_walk.h"

namespace graphopt::deploy {

// What a key of an object holds, and what a list does; nothing for other values: their readers refuse them.
const JsonWalk::Json& member_of(const JsonWalk::Json& j, std::string_view key);
const JsonWalk::Json& entries_of(const JsonWalk::Json& j);

// Names by position. `plural` is what messages call them.
class Ids {
 public:
  explicit Ids(std::string_view plural) : plural_(plural) {}
  // Takes the text `key` of each entry of a list; of an entry that has none, a name that nothing refers to.
  Ids(const JsonWalk::Json& list, std::string_view key, std::string_view plural);

  void add(const std::string& name);
  std::optional<Index> find(const std::string& name) const;
  const std::vector<std::string>& names() const { return names_; }
  std::size_t size() const { return names_.size(); }
  // Whether it is known what may be referred to. Where the list is missing or an id in it is wrong, that is a
  // mistake of its own, and what refers to it is none.
  bool is_complete() const { return complete_; }
  std::string_view plural() const { return plural_; }

 private:
  std::string_view plural_;
  std::vector<std::string> names_;
  std::unordered_map<std::string, Index> index_;  // of equal names the first
  bool complete_ = true;
};

class ManifestWalk : public JsonWalk {
 public:
  using JsonWalk::JsonWalk;

  // Reads the id of the entry `i` of a list; an entry before it must not have the same.
  Read to_id(std::string& to, const Ids& all, std::size_t i);
  Read to_hash(std::string& to);    // "sha256:" and 64 digits
  Read to_digest(std::string& to);  // 64 digits
  Read to_path(std::string& to);    // relative, with forward slashes, never out of the folder
  Read to_path_or_null(std::string& to);
  Read to_count(std::uint64_t& to, std::uint64_t least = 0);
  Read to_count_or_null(std::optional<std::uint64_t>& to);
  Read to_reference(Index& to, const Ids& all);
  Read to_references(std::vector<Index>& to, const Ids& all);  // each at most once
  Read to_type(ValueType& to);
  Read to_size(Size& to);
  template <class E> Read to_word(E& to) {
    return [this, &to](const Json& j, const Path& path) {
      if (const auto i = choice(j, path, Words<E>::all, Words<E>::plural)) to = static_cast<E>(*i);
    };
  }
  template <class E> Read to_word(std::optional<E>& to) {
    return [this, &to](const Json& j, const Path& path) { to_word(to.emplace())(j, path); };
  }
  // Reads a list, each entry with `read(entry, path, place in the list)`.
  template <class T, class F> Read to_list(std::vector<T>& to, std::string_view of, F read) {
    return [this, &to, of, read](const Json& j, const Path& path) {
      list(j, path, 0, of, [&](const Json& entry, const Path& at) {
        const std::size_t i = to.size();
        read(entry, at, to.emplace_back(), i);
      });
    };
  }

  // Refuses a name that was read before: "PATH: found "NAME" a second time".
  void twice(const Path& path, const std::string& name, std::string remedy);
  // Refuses a name that is none of these, if they are complete.
  void unknown(const Path& path, const std::string& name, const Ids& all);

 private:
  std::optional<Index> reference(const Json& j, const Path& path, const Ids& all);
  void type(const Json& j, const Path& path, ValueType& to);
  void shape(const Json& j, const Path& path, ValueType& to);
};

}  // namespace graphopt::deploy
