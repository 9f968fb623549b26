// See manifest_walk.h.
#include "deploy/manifest_walk.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "deploy/value_types.h"
#include "devices/profile.h"
#include "support/json_scan.h"

namespace graphopt::deploy {
namespace {

using Json = JsonWalk::Json;

constexpr std::string_view kHashPrefix = "sha256:";

bool is_digest(std::string_view text) {
  constexpr std::size_t kDigits = 64;
  return text.size() == kDigits &&
         std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool is_id(std::string_view text) {
  constexpr std::size_t kMost = 64;
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  return !text.empty() && text.size() <= kMost && letter(text.front()) &&
         std::ranges::all_of(text, [&](char c) { return letter(c) || c == '.' || c == '_' || c == '-'; });
}

bool is_path(std::string_view text) {
  if (text.empty() || text.front() == '/' || text.find('\\') != std::string_view::npos) return false;
  if (text.size() > 1 && text[1] == ':') return false;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('/'), text.size());
    if (text.substr(0, end) == "..") return false;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return true;
}

}  // namespace

const Json& member_of(const Json& j, std::string_view key) {
  static const Json nothing;
  const auto at = j.is_object() ? j.find(key) : j.end();
  return at == j.end() ? nothing : *at;
}

const Json& entries_of(const Json& j) {
  static const Json nothing = Json::array();
  return j.is_array() ? j : nothing;
}

Ids::Ids(const Json& list, std::string_view key, std::string_view plural) : plural_(plural) {
  for (const Json& entry : entries_of(list)) {
    const Json& id = member_of(entry, key);
    add(id.is_string() ? id.get<std::string>() : std::string());
    complete_ = complete_ && is_id(names_.back());
  }
  complete_ = complete_ && list.is_array() && index_.size() == names_.size();
}

void Ids::add(const std::string& name) {
  index_.emplace(name, static_cast<Index>(names_.size()));
  names_.push_back(name);
}

std::optional<Index> Ids::find(const std::string& name) const {
  const auto at = index_.find(name);
  return at == index_.end() || name.empty() ? std::nullopt : std::optional(at->second);
}

void ManifestWalk::twice(const Path& path, const std::string& name, std::string remedy) {
  problem(path, "found \"" + name + "\" a second time", std::move(remedy));
}

void ManifestWalk::unknown(const Path& path, const std::string& name, const Ids& all) {
  if (!all.is_complete()) return;
  const std::vector<std::string_view> names(all.names().begin(), all.names().end());
  refuse_name(name, path, names, all.plural());
}

JsonWalk::Read ManifestWalk::to_id(std::string& to, const Ids& all, std::size_t i) {
  return [this, &to, &all, i](const Json& j, const Path& path) {
    if (!j.is_string() || !is_id(j.get_ref<const std::string&>()))
      return refuse(j, path, "1 to 64 letters, digits, '.', '_' and '-', a letter or digit first");
    to = j.get<std::string>();
    if (all.find(to) != i)
      twice(path, to, "each of the " + std::string(all.plural()) + " has an id of its own");
  };
}

JsonWalk::Read ManifestWalk::to_hash(std::string& to) {
  return [this, &to](const Json& j, const Path& path) {
    const std::string text = j.is_string() ? j.get<std::string>() : std::string();
    if (!text.starts_with(kHashPrefix) || !is_digest(std::string_view(text).substr(kHashPrefix.size())))
      return refuse(j, path, "\"sha256:\" and 64 hexadecimal digits in lower case");
    to = text;
  };
}

JsonWalk::Read ManifestWalk::to_digest(std::string& to) {
  return [this, &to](const Json& j, const Path& path) {
    if (!j.is_string() || !is_digest(j.get_ref<const std::string&>()))
      return refuse(j, path, "64 hexadecimal digits in lower case");
    to = j.get<std::string>();
  };
}

JsonWalk::Read ManifestWalk::to_path(std::string& to) {
  return [this, &to](const Json& j, const Path& path) {
    if (!j.is_string() || !is_path(j.get_ref<const std::string&>()))
      return refuse(j, path, "a path from the manifest's folder, with forward slashes and without '..'");
    to = j.get<std::string>();
  };
}

JsonWalk::Read ManifestWalk::to_path_or_null(std::string& to) {
  return [this, &to](const Json& j, const Path& path) {
    if (!j.is_null()) to_path(to)(j, path);
  };
}

JsonWalk::Read ManifestWalk::to_count(std::uint64_t& to, std::uint64_t least) {
  return [this, &to, least](const Json& j, const Path& path) {
    if (j.is_number_unsigned() && j.get<std::uint64_t>() >= least) to = j.get<std::uint64_t>();
    else refuse(j, path, "a whole number of at least " + std::to_string(least));
  };
}

JsonWalk::Read ManifestWalk::to_count_or_null(std::optional<std::uint64_t>& to) {
  return [this, &to](const Json& j, const Path& path) {
    if (!j.is_null()) to_count(to.emplace())(j, path);
  };
}

std::optional<Index> ManifestWalk::reference(const Json& j, const Path& path, const Ids& all) {
  const auto name = text(j, path);
  if (!name) return std::nullopt;
  const auto i = all.find(*name);
  if (!i) unknown(path, *name, all);
  return i;
}

JsonWalk::Read ManifestWalk::to_reference(Index& to, const Ids& all) {
  return [this, &to, &all](const Json& j, const Path& path) {
    if (const auto i = reference(j, path, all)) to = *i;
  };
}

JsonWalk::Read ManifestWalk::to_references(std::vector<Index>& to, const Ids& all) {
  return [this, &to, &all](const Json& j, const Path& path) {
    std::unordered_set<Index> seen;
    list(j, path, 0, all.plural(), [&](const Json& entry, const Path& at) {
      const auto i = reference(entry, at, all);
      if (!i) return;
      if (seen.insert(*i).second) to.push_back(*i);
      else twice(at, all.names()[*i], "name each of the " + std::string(all.plural()) + " once");
    });
  };
}

void ManifestWalk::shape(const Json& j, const Path& path, ValueType& to) {
  if (j.is_null()) return;
  to.shape.emplace();
  list(j, path, 0, "dims", [&](const Json& entry, const Path& at) {
    ValueDim& d = to.shape->emplace_back();
    if (entry.is_null()) return;
    if (entry.is_string() && !entry.get_ref<const std::string&>().empty()) d = entry.get<std::string>();
    else if (entry.is_number_unsigned()) d = entry.get<std::int64_t>();
    else refuse(entry, at, "a whole number of at least 0, a name or an expression, or null");
  });
}

// Types nest no deeper than the whole text may.
void ManifestWalk::type(const Json& j, const Path& path, ValueType& to) {
  const auto kind = j.is_object() ? j.find("kind") : j.end();
  if (kind != j.end()) {
    const auto i = choice(*kind, json_path(path, "kind"), Words<ValueKind>::all, Words<ValueKind>::plural);
    if (!i) return;
    to.kind = static_cast<ValueKind>(*i);
  }
  const auto done = [](const Json&, const Path&) {};
  const auto dtype = [&](const Json& v, const Path& at) {
    if (v == kUndefined) return;
    if (const auto i = choice(v, at, kDTypeNames, "element types")) to.dtype = static_cast<DType>(*i + 1);
  };
  const auto elem = [&](const Json& v, const Path& at) {
    if (!v.is_null()) type(v, at, to.elem.emplace_back());
  };
  switch (to.kind) {
    case ValueKind::Tensor:
    case ValueKind::SparseTensor:
      object(j, path,
             {{"kind", done, true},
              {"dtype", dtype, true},
              {"shape", [&](const Json& v, const Path& at) { shape(v, at, to); }, true}});
      break;
    case ValueKind::Sequence:
    case ValueKind::Optional: object(j, path, {{"kind", done, true}, {"elem", elem, true}}); break;
    case ValueKind::Map:
      object(j, path, {{"kind", done, true}, {"key", dtype, true}, {"elem", elem, true}});
      break;
  }
}

JsonWalk::Read ManifestWalk::to_type(ValueType& to) {
  return [this, &to](const Json& j, const Path& path) { type(j, path, to); };
}

JsonWalk::Read ManifestWalk::to_size(Size& to) {
  return [this, &to](const Json& j, const Path& path) {
    const auto formula = [&](const Json& v, const Path& at) {
      if (v.is_string() && symbols_of_extent(v.get_ref<const std::string&>()))
        to.formula = v.get<std::string>();
      else refuse(v, at, "an expression over symbols");
    };
    object(j, path, {{"bytes", to_count_or_null(to.bytes), true}, {"formula", formula}});
    if (to.bytes && !to.formula.empty())
      problem(path, "both a number of bytes and a formula are given", "leave one of them out");
  };
}

}  // namespace graphopt::deploy
