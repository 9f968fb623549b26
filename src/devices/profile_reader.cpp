// See profile_reader.h. A function for each kind of object, with the table of its keys.
#include "devices/profile_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <set>

#include "support/json_scan.h"
#include "support/json_walk.h"
#include "support/sha256.h"

namespace graphopt {
namespace {

using Json = JsonWalk::Json;
using Path = JsonWalk::Path;
using Read = JsonWalk::Read;

constexpr std::int64_t kAny = std::numeric_limits<std::int64_t>::min();

// In the order of the enums.
constexpr std::array<std::string_view, 3> kShapes = {"any", "bounded", "static"};
constexpr std::array<std::string_view, 3> kPresences = {"optional", "required", "absent"};
constexpr std::array<std::string_view, 2> kControlFlows = {"none", "whole"};
constexpr std::array<std::string_view, 2> kOmittedBy = {"source", "converter"};
constexpr std::array<std::string_view, 6> kAtomics = {"qdq",      "state", "sequence",
                                                      "optional", "chain", "nodes"};
class Reader {
 public:
  explicit Reader(const std::string& file) : walk_(file) {}
  JsonWalk& walk() { return walk_; }

  void profile(const Json& j, Profile& p);

 private:
  void about(const Json& j, const Path& path, Profile& p);
  void source(const Json& j, const Path& path, Profile& p);
  void ep(const Json& j, const Path& path, Profile& p);
  void rule(const Json& j, const Path& path, SupportRule& r);
  void omitted(const Json& j, const Path& path, OmittedOperator& o);
  void check_omitted(const Profile& p);
  void operand(const Json& j, const Path& path, std::vector<OperandCondition>& all);
  void dim(const Json& j, const Path& path, DimCondition& d);
  void condition(const Json& j, const Path& path, ValueCondition& c);
  void interval(const Json& j, const Path& path, ValueCondition& c);
  void choices(const Json& j, const Path& path, ValueCondition& c);
  void atomic(const Json& j, const Path& path, AtomicRule& a);
  void cost(const Json& j, const Path& path, DeviceCost& c);
  void flops(const Json& j, const Path& path, DeviceCost& c);
  std::vector<DType> dtypes(const Json& j, const Path& path);
  Read to_dtypes(std::optional<std::vector<DType>>& to) {
    return [this, &to](const Json& j, const Path& path) { to = dtypes(j, path); };
  }

  JsonWalk walk_;
};

std::vector<DType> Reader::dtypes(const Json& j, const Path& path) {
  std::vector<DType> out;
  walk_.list(j, path, 0, "element types", [&](const Json& entry, const Path& at) {
    const auto i = walk_.choice(entry, at, kDTypeNames, "element types");
    if (!i) return;
    const auto type = static_cast<DType>(*i + 1);
    if (std::find(out.begin(), out.end(), type) != out.end())
      walk_.problem(at, fmt::format("found \"{}\" a second time", kDTypeNames[*i]), "name each type once");
    else out.push_back(type);
  });
  return out;
}

void Reader::choices(const Json& j, const Path& path, ValueCondition& c) {
  walk_.list(j, path, 1, "texts and numbers", [&](const Json& entry, const Path& at) {
    if (entry.is_string()) {
      c.choices.emplace_back(entry.get<std::string>());
    } else if (!entry.is_number()) {
      walk_.refuse(entry, at, "a text or a number");
    } else if (const auto n = walk_.number(entry, at)) {
      std::visit([&](auto v) { c.choices.emplace_back(v); }, *n);
    }
  });
}

void Reader::interval(const Json& j, const Path& path, ValueCondition& c) {
  if (!j.is_array() || j.size() != 2)
    return walk_.refuse(j, path, "[least, greatest]; null for either: no end");
  const auto end = [&](std::size_t i, std::optional<ProfileNumber>& to) {
    if (!j[i].is_null()) to = walk_.number(j[i], json_path(path, i));
  };
  end(0, c.low);
  end(1, c.high);
  const auto real = [](const ProfileNumber& n) {
    return std::visit([](auto v) { return static_cast<double>(v); }, n);
  };
  if (c.low && c.high && real(*c.low) > real(*c.high))
    walk_.problem(path, fmt::format("found [{}, {}]: no number is in it", real(*c.low), real(*c.high)),
                  "give the least number first");
}

void Reader::condition(const Json& j, const Path& path, ValueCondition& c) {
  const bool is_object =
      walk_.object(j, path,
                   {{"enum", [&](const Json& v, const Path& at) { choices(v, at, c); }},
                    {"range", [&](const Json& v, const Path& at) { interval(v, at, c); }},
                    {"length", [&](const Json& v, const Path& at) { c.length = walk_.range(v, at, 0); }},
                    {"present", walk_.to_boolean(c.present)}});
  if (is_object && j.empty())
    walk_.problem(path, "found no condition", "allowed: enum, range, length, present");
  if (c.present == false && (!c.choices.empty() || c.low || c.high || c.length))
    walk_.problem(path, "what is not present can meet no other condition",
                  "write two rules: one with present false, one with the other conditions");
}

void Reader::dim(const Json& j, const Path& path, DimCondition& d) {
  walk_.object(j, path,
               {{"axis", walk_.to_integer(d.axis, kAny), true},
                {"range", walk_.to_range(d.range, kAny)},
                {"multiple_of", walk_.to_integer(d.multiple_of, 1)},
                {"static", walk_.to_boolean(d.is_static)}});
}

void Reader::operand(const Json& j, const Path& path, std::vector<OperandCondition>& all) {
  OperandCondition o;
  const auto index = [&](const Json& v, const Path& at) {
    constexpr std::int64_t kMost = 0x7FFFFFFF;
    const bool rest = v.is_string() && v.get_ref<const std::string&>() == "rest";
    if (!rest && (!v.is_number() || (v.is_number_float() && v.get<double>() < 0)))
      return walk_.refuse(v, at, "a whole number of at least 0, or \"rest\"");
    const auto i = rest ? std::optional<std::int64_t>(OperandCondition::kRest) : walk_.integer(v, at, 0);
    if (!i) return;
    if (!rest && *i > kMost) return walk_.refuse(v, at, fmt::format("at most {}", kMost));
    o.index = static_cast<std::uint32_t>(*i);
    const auto same = std::ranges::find(all, o.index, &OperandCondition::index);
    if (same != all.end())
      walk_.problem(at, "found " + v.dump() + " a second time", "put both conditions into one object");
  };
  const auto value = [&](const Json& v, const Path& at) { condition(v, at, o.value.emplace()); };
  const auto dims = [&](const Json& v, const Path& at) {
    walk_.list(v, at, 0, "objects",
               [&](const Json& entry, const Path& to) { dim(entry, to, o.dims.emplace_back()); });
  };
  walk_.object(j, path,
               {{"index", index, true},
                {"presence", walk_.to_choice(o.presence, kPresences, "values")},
                {"dtypes", to_dtypes(o.dtypes)},
                {"ranks", walk_.to_range(o.ranks, 0)},
                {"extents", walk_.to_range(o.extents, 0)},
                {"constant", walk_.to_boolean(o.constant)},
                {"value", value},
                {"dims", dims},
                {"bytes", walk_.to_range(o.bytes, 0)}});
  if (o.constant == false && o.value)
    walk_.problem(path, "\"value\" asks for a constant, and \"constant\" is false", "remove one of both");
  all.push_back(std::move(o));
}

void Reader::rule(const Json& j, const Path& path, SupportRule& r) {
  const auto operands = [this](std::vector<OperandCondition>& to) {
    return [this, &to](const Json& v, const Path& at) {
      walk_.list(v, at, 0, "objects", [&](const Json& entry, const Path& p) { operand(entry, p, to); });
    };
  };
  const auto attributes = [&](const Json& v, const Path& at) {
    walk_.members(v, at, [&](const std::string& name, const Json& member, const Path& to) {
      AttributeCondition& a = r.attributes.emplace_back();
      a.name = name;
      condition(member, to, a.value);
    });
  };
  const auto same_dtype = [&](const Json& v, const Path& at) {
    walk_.list(v, at, 0, "input numbers", [&](const Json& entry, const Path& to) {
      const auto i = walk_.integer(entry, to, 0);
      if (i && *i > 0x7FFFFFFF) walk_.refuse(entry, to, "the number of an input");
      else if (i) r.same_dtype.push_back(static_cast<std::uint32_t>(*i));
    });
  };
  const auto shapes = [&](const Json& v, const Path& at) {
    if (const auto i = walk_.choice(v, at, kShapes, "values")) r.shapes = static_cast<ShapeNeed>(*i);
  };
  const auto opset = [&](const Json& v, const Path& at) {
    if (const auto range = walk_.range(v, at, 0)) r.opset = *range;
  };
  walk_.object(j, path,
               {{"op", walk_.to_text(r.op, false), true},
                {"domain", walk_.to_text(r.domain)},
                {"opset", opset},
                {"inputs", operands(r.inputs)},
                {"outputs", operands(r.outputs)},
                {"attributes", attributes},
                {"shapes", shapes},
                {"same_dtype", same_dtype},
                {"qdq", walk_.to_boolean(r.qdq)},
                {"note", walk_.to_text(r.note)}});
  if (r.domain == "ai.onnx") r.domain.clear();
}

void Reader::omitted(const Json& j, const Path& path, OmittedOperator& o) {
  walk_.object(j, path,
               {{"op", walk_.to_text(o.op, false), true},
                {"domain", walk_.to_text(o.domain)},
                {"by", walk_.to_choice(o.by, kOmittedBy, "values"), true},
                {"note", walk_.to_text(o.note)}});
  if (o.domain == "ai.onnx") o.domain.clear();
}

// An operator is left out once, and then has no rule.
void Reader::check_omitted(const Profile& p) {
  std::set<std::pair<std::string, std::string>> ruled, seen;
  for (const SupportRule& r : p.rules) ruled.insert({r.domain, r.op});
  for (std::size_t i = 0; i < p.omitted->size(); ++i) {
    const OmittedOperator& o = (*p.omitted)[i];
    const Path at = json_path("omitted", i);
    if (ruled.contains({o.domain, o.op}))
      walk_.problem(at, fmt::format("\"{}\" has a rule", o.op), "remove it here, or its rules");
    if (!seen.insert({o.domain, o.op}).second)
      walk_.problem(at, fmt::format("found \"{}\" a second time", o.op), "name each operator once");
  }
}

void Reader::atomic(const Json& j, const Path& path, AtomicRule& a) {
  if (!j.is_object()) return walk_.refuse(j, path, "an object with the key kind");
  const auto kind = j.find("kind");
  const bool chain = kind != j.end() && *kind == "chain", nodes = kind != j.end() && *kind == "nodes";
  const Read read_kind = walk_.to_choice(a.kind, kAtomics, "kinds");
  if (chain) {
    walk_.object(j, path,
                 {{"kind", read_kind, true}, {"ops", walk_.to_texts(a.members, 2, "operators"), true}});
  } else if (nodes) {
    walk_.object(j, path,
                 {{"kind", read_kind, true}, {"names", walk_.to_texts(a.members, 2, "node names"), true}});
  } else {
    walk_.object(j, path, {{"kind", read_kind, true}});
  }
}

void Reader::flops(const Json& j, const Path& path, DeviceCost& c) {
  walk_.members(j, path, [&](const std::string& name, const Json& member, const Path& at) {
    DType type = DType::Undefined;
    if (name != "*") {
      const auto known = std::find(kDTypeNames.begin(), kDTypeNames.end(), name);
      if (known == kDTypeNames.end()) return walk_.refuse_name(name, path, kDTypeNames, "element types");
      type = static_cast<DType>(known - kDTypeNames.begin() + 1);
    }
    if (const auto v = walk_.integer(member, at, 1)) c.flops_per_s.emplace_back(type, *v);
  });
  std::sort(c.flops_per_s.begin(), c.flops_per_s.end());
}

void Reader::cost(const Json& j, const Path& path, DeviceCost& c) {
  const auto table = [&](const Json& v, const Path& at) {
    const auto file = walk_.text(v, at, false);
    if (!file) return;
    if (file->front() == '/') walk_.refuse(v, at, "a path relative to the profile");
    else c.table = *file;
  };
  walk_.object(j, path,
               {{"flops_per_s", [&](const Json& v, const Path& at) { flops(v, at, c); }},
                {"memory_bytes_per_s", walk_.to_integer(c.memory_bytes_per_s, 1)},
                {"node_ns", walk_.to_integer(c.node_ns, 0)},
                {"table", table}});
}

void Reader::source(const Json& j, const Path& path, Profile& p) {
  ProfileSource& s = p.sources.emplace_back();
  walk_.object(j, path,
               {{"document", walk_.to_text(s.document), true},
                {"version", walk_.to_text(s.version)},
                {"date", walk_.to_text(s.date)}});
}

void Reader::about(const Json& j, const Path& path, Profile& p) {
  const auto sources = [&](const Json& v, const Path& at) {
    walk_.list(v, at, 1, "objects", [&](const Json& entry, const Path& to) { source(entry, to, p); });
  };
  walk_.object(j, path,
               {{"version", walk_.to_text(p.profile_version), true},
                {"source", sources, true},
                {"measured", walk_.to_boolean(p.measured)},
                {"notes", walk_.to_texts(p.notes, 0, "texts")}});
}

void Reader::ep(const Json& j, const Path& path, Profile& p) {
  const auto options = [&](const Json& v, const Path& at) {
    walk_.members(v, at, [&](const std::string& name, const Json& member, const Path& to) {
      if (auto value = walk_.text(member, to)) p.ep_options.emplace_back(name, *std::move(value));
    });
  };
  walk_.object(j, path, {{"name", walk_.to_text(p.ep), true}, {"options", options}});
}

bool valid_id(std::string_view id) {
  constexpr std::size_t kMost = 64;
  const auto letter = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  return !id.empty() && id.size() <= kMost && letter(id.front()) &&
         std::ranges::all_of(id, [&](char c) { return letter(c) || c == '.' || c == '_' || c == '-'; });
}

// "1.", and digits.
bool readable_version(std::string_view version) {
  return version.size() > 2 && version.starts_with("1.") &&
         version.substr(2).find_first_not_of("0123456789") == std::string_view::npos;
}

void Reader::profile(const Json& j, Profile& p) {
  const auto format = [&](const Json& v, const Path& at) {
    if (v != "graphopt.device") walk_.refuse(v, at, "\"graphopt.device\"");
  };
  const auto version = [&](const Json& v, const Path& at) {
    if (!v.is_string() || !readable_version(v.get_ref<const std::string&>()))
      walk_.refuse(v, at, "\"1.0\", or 1 with another number after the dot");
  };
  const auto id = [&](const Json& v, const Path& at) {
    if (v.is_string() && valid_id(v.get_ref<const std::string&>())) p.id = v.get<std::string>();
    else walk_.refuse(v, at, "1 to 64 letters, digits, '.', '_' and '-', a letter or digit first");
  };
  const auto rules = [&](const Json& v, const Path& at) {
    walk_.list(v, at, 0, "objects",
               [&](const Json& entry, const Path& to) { rule(entry, to, p.rules.emplace_back()); });
  };
  const auto left_out = [&](const Json& v, const Path& at) {
    auto& all = p.omitted.emplace();
    walk_.list(v, at, 0, "objects",
               [&](const Json& entry, const Path& to) { omitted(entry, to, all.emplace_back()); });
  };
  const auto groups = [&](const Json& v, const Path& at) {
    walk_.list(v, at, 0, "objects",
               [&](const Json& entry, const Path& to) { atomic(entry, to, p.atomic.emplace_back()); });
  };
  walk_.object(j, "",
               {{"format", format, true},
                {"version", version, true},
                {"id", id, true},
                {"kind", walk_.to_choice(p.kind, Words<DeviceKind>::all, Words<DeviceKind>::plural), true},
                {"host", walk_.to_boolean(p.host)},
                {"priority", walk_.to_integer(p.priority, 0)},
                {"profile", [&](const Json& v, const Path& at) { about(v, at, p); }, true},
                {"memory_bytes", walk_.to_integer_or_null(p.memory_bytes, 0)},
                {"launch_ns", walk_.to_integer(p.launch_ns, 0)},
                {"to_device_bytes_per_s", walk_.to_integer_or_null(p.to_device_bytes_per_s, 1)},
                {"from_device_bytes_per_s", walk_.to_integer_or_null(p.from_device_bytes_per_s, 1)},
                {"transfer_latency_ns", walk_.to_integer(p.transfer_latency_ns, 0)},
                {"connected", walk_.to_boolean(p.connected)},
                {"min_nodes", walk_.to_integer(p.min_nodes, 1)},
                {"max_subgraphs", walk_.to_integer_or_null(p.max_subgraphs, 1)},
                {"control_flow", walk_.to_choice(p.control_flow, kControlFlows, "values")},
                {"shapes", walk_.to_choice(p.shapes, kShapes, "values")},
                {"ranks", walk_.to_range(p.ranks, 0)},
                {"dtypes", to_dtypes(p.dtypes)},
                {"extents", walk_.to_range(p.extents, 0)},
                {"ep", [&](const Json& v, const Path& at) { ep(v, at, p); }},
                {"openvino_device", walk_.to_text(p.openvino_device)},
                {"rules", rules},
                {"omitted", left_out},
                {"allow_nodes", walk_.to_texts(p.allow_nodes, 0, "globs")},
                {"deny_nodes", walk_.to_texts(p.deny_nodes, 0, "globs")},
                {"atomic", groups},
                {"cost", [&](const Json& v, const Path& at) { cost(v, at, p.cost.emplace()); }}});
  if (p.omitted) check_omitted(p);
}

}  // namespace

Result<Profile> read_profile(std::string_view text, const std::string& file) {
  if (text.size() > kMaxProfileBytes)
    return Error{ErrorKind::Input,
                 {file, {}, {}, {}, {}},
                 fmt::format("is no device profile: it has {} bytes", text.size()),
                 fmt::format("a profile has at most {} bytes", kMaxProfileBytes)};
  if (Errors errors = scan_json(text, file, kMaxProfileDepth); !errors.empty()) return errors;
  const Json json = Json::parse(text, nullptr, false);
  Reader reader(file);
  Profile profile;
  profile.file = file;
  profile.sha256 = sha256_hex(text);
  reader.profile(json, profile);
  if (!reader.walk().errors().empty()) return reader.walk().errors();
  return profile;
}

}  // namespace graphopt
