// See json_walk.h.
#include "support/json_walk.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "support/json_scan.h"
#include "support/nearest.h"

namespace graphopt {
namespace {

using Json = JsonWalk::Json;

constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();

std::string join(std::span<const std::string_view> names) {
  std::string out;
  for (const std::string_view name : names) out.append(out.empty() ? "" : ", ").append(name);
  return out;
}

std::string shortened(std::string text) {
  constexpr std::size_t kMost = 60;
  if (text.size() > kMost) text.replace(kMost, std::string::npos, "...");
  return text;
}

std::string describe(const Json& j) {
  if (j.is_object()) return "an object";
  if (j.is_array()) return j.size() == 1 ? "a list of 1" : fmt::format("a list of {}", j.size());
  return shortened(j.dump(-1, ' ', false, Json::error_handler_t::replace));
}

// Returns the number if it is a whole one that int64 holds; 2.0 is one.
std::optional<std::int64_t> whole(const Json& j) {
  if (j.is_number_unsigned()) {
    const auto u = j.get<std::uint64_t>();
    if (u > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return std::nullopt;
    return static_cast<std::int64_t>(u);
  }
  if (j.is_number_integer()) return j.get<std::int64_t>();
  if (!j.is_number_float()) return std::nullopt;
  const double d = j.get<double>();
  if (!(std::fabs(d) < 0x1p53) || std::nearbyint(d) != d) return std::nullopt;
  return static_cast<std::int64_t>(d);
}

std::string whole_number(std::int64_t least) {
  if (least == kLeast) return "a whole number of 64 bits";
  return fmt::format("a whole number of at least {}", least);
}

}  // namespace

void JsonWalk::problem(const Path& path, const std::string& what, std::string remedy) {
  if (errors_.size() == kMaxErrors) return;
  errors_.push_back(
      {kind_, {file_, {}, {}, {}, {}}, path.empty() ? what : path + ": " + what, std::move(remedy)});
}

void JsonWalk::refuse(const Json& found, const Path& path, const std::string& allowed) {
  problem(path, "found " + describe(found), "allowed: " + allowed);
}

void JsonWalk::refuse_name(const std::string& found, const Path& path,
                           std::span<const std::string_view> names, std::string_view plural) {
  constexpr std::size_t kShort = 12;
  std::string remedy;
  if (names.size() > kShort) {
    remedy = suggest(found, names, plural);
  } else {
    if (!nearest(found, names).empty()) remedy = suggest(found, names, plural) + " ";
    remedy += "allowed: " + join(names);
  }
  problem(path, "found " + describe(Json(found)), std::move(remedy));
}

bool JsonWalk::object(const Json& j, const Path& path, std::initializer_list<Key> keys) {
  std::vector<std::string_view> names;
  for (const Key& key : keys) names.push_back(key.name);
  if (!j.is_object()) {
    refuse(j, path, "an object with the keys " + join(names));
    return false;
  }
  for (const auto& [name, member] : j.items()) {
    const auto key = std::find_if(keys.begin(), keys.end(), [&](const Key& k) { return k.name == name; });
    const Path at = json_path(path, name);
    if (key != keys.end()) {
      key->read(member, at);
      continue;
    }
    const bool near = !nearest(name, names).empty();
    problem(at, "there is no such key",
            (near ? suggest(name, names, "keys") + " " : "") + "allowed: " + join(names));
  }
  for (const Key& key : keys)
    if (key.required && !j.contains(key.name))
      problem(path, fmt::format("the key \"{}\" is missing", key.name), "add it");
  return true;
}

bool JsonWalk::members(const Json& j, const Path& path,
                       const std::function<void(const std::string&, const Json&, const Path&)>& read) {
  if (!j.is_object()) {
    refuse(j, path, "an object");
    return false;
  }
  for (const auto& [name, member] : j.items()) read(name, member, json_path(path, name));
  return true;
}

bool JsonWalk::list(const Json& j, const Path& path, std::size_t least, std::string_view of,
                    const Read& read) {
  if (!j.is_array() || j.size() < least) {
    refuse(
        j, path,
        least == 0 ? fmt::format("a list of {}", of) : fmt::format("a list of {}, at least {}", of, least));
    return false;
  }
  for (std::size_t i = 0; i < j.size(); ++i) read(j[i], json_path(path, i));
  return true;
}

std::optional<std::int64_t> JsonWalk::integer(const Json& j, const Path& path, std::int64_t least) {
  const std::optional<std::int64_t> i = whole(j);
  if (i && *i >= least) return i;
  refuse(j, path, whole_number(least));
  return std::nullopt;
}

std::optional<bool> JsonWalk::boolean(const Json& j, const Path& path) {
  if (j.is_boolean()) return j.get<bool>();
  refuse(j, path, "true or false");
  return std::nullopt;
}

std::optional<std::string> JsonWalk::text(const Json& j, const Path& path, bool may_be_empty) {
  if (j.is_string() && (may_be_empty || !j.get_ref<const std::string&>().empty()))
    return j.get<std::string>();
  refuse(j, path, may_be_empty ? "a text" : "a text that is not empty");
  return std::nullopt;
}

std::optional<std::size_t> JsonWalk::choice(const Json& j, const Path& path,
                                            std::span<const std::string_view> names,
                                            std::string_view plural) {
  if (!j.is_string()) {
    refuse(j, path, "one of " + join(names));
    return std::nullopt;
  }
  const std::string& found = j.get_ref<const std::string&>();
  const auto at = std::find(names.begin(), names.end(), found);
  if (at != names.end()) return static_cast<std::size_t>(at - names.begin());
  refuse_name(found, path, names, plural);
  return std::nullopt;
}

std::optional<IntRange> JsonWalk::range(const Json& j, const Path& path, std::int64_t least) {
  if (!j.is_array() || j.size() != 2) {
    refuse(j, path, "[least, greatest]; null as greatest: no end");
    return std::nullopt;
  }
  IntRange out;
  const std::optional<std::int64_t> low = integer(j[0], json_path(path, 0), least);
  if (!low) return std::nullopt;
  out.low = *low;
  if (j[1].is_null()) return out;
  const std::optional<std::int64_t> high = whole(j[1]);
  if (!high) {
    refuse(j[1], json_path(path, 1), fmt::format("{}, or null", whole_number(kLeast)));
    return std::nullopt;
  }
  out.high = *high;
  if (out.low <= out.high) return out;
  problem(path, fmt::format("found [{}, {}]: no number is in it", out.low, out.high),
          "give the least number first");
  return std::nullopt;
}

std::optional<JsonNumber> JsonWalk::number(const Json& j, const Path& path) {
  if (const auto i = whole(j)) return JsonNumber(*i);
  if (j.is_number_float()) return JsonNumber(j.get<double>());
  refuse(j, path, "a number; a whole one has 64 bits at most");
  return std::nullopt;
}

JsonWalk::Read JsonWalk::to_integer_or_null(std::optional<std::int64_t>& to, std::int64_t least) {
  return [this, &to, least](const Json& j, const Path& path) {
    if (j.is_null()) return;
    const auto i = whole(j);
    if (i && *i >= least) to = i;
    else refuse(j, path, whole_number(least) + ", or null");
  };
}

JsonWalk::Read JsonWalk::to_text(std::string& to, bool may_be_empty) {
  return [this, &to, may_be_empty](const Json& j, const Path& path) {
    if (auto v = text(j, path, may_be_empty)) to = *std::move(v);
  };
}

JsonWalk::Read JsonWalk::to_texts(std::vector<std::string>& to, std::size_t least, std::string_view of) {
  return [this, &to, least, of](const Json& j, const Path& path) {
    list(j, path, least, of, [&](const Json& entry, const Path& at) {
      if (auto v = text(entry, at, false)) to.push_back(*std::move(v));
    });
  };
}

JsonWalk::Read JsonWalk::to_range(std::optional<IntRange>& to, std::int64_t least) {
  return [this, &to, least](const Json& j, const Path& path) {
    if (const auto v = range(j, path, least)) to = v;
  };
}

}  // namespace graphopt
