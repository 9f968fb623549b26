// The file form of bucket marks (parse_marks.h), and both forms together.
#include <fmt/format.h>

#include <array>
#include <filesystem>

#include "buckets/marks/group_draft.h"
#include "buckets/marks/lengths.h"
#include "buckets/marks/number_text.h"
#include "buckets/marks/parse_marks.h"
#include "support/file.h"
#include "support/json_scan.h"
#include "support/json_walk.h"

namespace graphopt {
namespace {

using Json = JsonWalk::Json;
using Path = JsonWalk::Path;

constexpr std::size_t kMaxDepth = 16;
constexpr std::int64_t kAny = std::numeric_limits<std::int64_t>::min();
constexpr std::array<std::string_view, 5> kMethods = {"pow2", "step", "geo", "hist", "max"};

class MarksReader {
 public:
  MarksReader(const std::string& file, BucketMarks& marks) : walk_(file, ErrorKind::Usage), marks_(marks) {}

  void read(const Json& j);
  Errors errors() {
    Errors out = walk_.errors();
    for (Error& e : others_)
      if (out.size() < kMaxErrors) out.push_back(std::move(e));
    return out;
  }

 private:
  void group(const Json& j, const Path& path);
  void method(const Json& j, const Path& path, GroupDraft& d);
  void hist(const Json& j, const Path& path, BucketGroup& g);
  void input(const std::string& name, const Json& j, const Path& path);
  std::optional<MarkNumber> number(const Json& j, const Path& path);

  JsonWalk walk_;
  Errors others_;  // of files of lengths
  BucketMarks& marks_;
};

std::optional<MarkNumber> MarksReader::number(const Json& j, const Path& path) {
  if (j == "inf" || j == "-inf") return read_number(j.get_ref<const std::string&>());
  if (j.is_number()) return walk_.number(j, path);
  walk_.refuse(j, path, "a number, \"inf\" or \"-inf\"");
  return std::nullopt;
}

void MarksReader::hist(const Json& j, const Path& path, BucketGroup& g) {
  bool is_auto = false, has_share = false;
  const auto buckets = [&](const Json& v, const Path& at) {
    is_auto = v == "auto";
    if (v.is_string() && !is_auto) return walk_.refuse(v, at, "a whole number of at least 1, or \"auto\"");
    if (!is_auto) g.most = walk_.integer(v, at, 1);
  };
  const auto share = [&](const Json& v, const Path& at) {
    has_share = true;
    if (!v.is_number()) return walk_.refuse(v, at, "a number from 0 to 1");
    g.share = v.get<double>();
  };
  walk_.object(
      j, path,
      {{"file", walk_.to_text(g.lengths_file, false), true}, {"buckets", buckets, true}, {"share", share}});
  if (has_share && !is_auto)
    walk_.problem(path, "\"share\" is given with a number of buckets",
                  "write \"buckets\": \"auto\", or leave \"share\" out");
}

void MarksReader::method(const Json& j, const Path& path, GroupDraft& d) {
  constexpr std::string_view kAllowed =
      "an object with one key: {\"pow2\": {}}, {\"max\": {}}, {\"step\": 64}, {\"geo\": 1.25}, "
      "{\"hist\": {\"file\": FILE, \"buckets\": 8}}";
  if (!j.is_object() || j.size() != 1) return walk_.refuse(j, path, std::string(kAllowed));
  const std::string& name = j.begin().key();
  const Json& v = j.begin().value();
  const Path at = json_path(path, name);
  BucketGroup& g = d.group;
  d.has_method = true;
  if (name == "pow2" || name == "max") {
    g.method = name == "max" ? BucketMethod::Max : BucketMethod::Pow2;
    if (!v.is_object() || !v.empty()) walk_.refuse(v, at, "{}");
  } else if (name == "step") {
    g.method = BucketMethod::Step;
    if (const auto step = walk_.integer(v, at, 1)) g.step = *step;
  } else if (name == "geo") {
    g.method = BucketMethod::Geo;
    if (v.is_number()) g.ratio = ratio_of(v.get<double>());
    else walk_.refuse(v, at, "a number above 1");
  } else if (name == "hist") {
    g.method = BucketMethod::Hist;
    hist(v, at, g);
  } else {
    walk_.refuse_name(name, path, kMethods, "methods");
  }
}

void MarksReader::group(const Json& j, const Path& path) {
  const std::size_t before = walk_.errors().size();
  GroupDraft d;
  d.group.from = path;
  // Unlike JsonWalk::range(), both ends are needed, and complete() says what to write for a reversed range.
  const auto range = [&](const Json& v, const Path& at) {
    if (!v.is_array() || v.size() != 2) return walk_.refuse(v, at, "[least, greatest]");
    const auto low = walk_.integer(v[0], json_path(at, 0)), high = walk_.integer(v[1], json_path(at, 1));
    if (low && high) d.range = IntRange{*low, *high};
  };
  const auto values = [&](const Json& v, const Path& at) {
    d.values.emplace();
    walk_.list(v, at, 1, "sizes", [&](const Json& entry, const Path& to) {
      if (const auto i = walk_.integer(entry, to, 0)) d.values->push_back(*i);
    });
  };
  walk_.object(j, path,
               {{"symbols", walk_.to_texts(d.group.symbols, 1, "names"), true},
                {"range", range},
                {"method", [&](const Json& v, const Path& at) { method(v, at, d); }},
                {"values", values},
                {"min", [&](const Json& v, const Path& at) { d.min = walk_.integer(v, at, 0); }},
                {"align", walk_.to_integer(d.group.align, kAny)},
                {"pad", [&](const Json& v, const Path& at) { d.group.pad = number(v, at); }},
                {"fixed", walk_.to_boolean(d.group.fixed)}});
  if (walk_.errors().size() > before) return;
  if (auto p = complete(d)) return walk_.problem(path, p->what, std::move(p->remedy));
  BucketGroup& g = d.group;
  if (g.method == BucketMethod::Hist) {
    const std::filesystem::path folder = std::filesystem::path(marks_.file).parent_path();
    auto lengths = load_lengths((folder / g.lengths_file).string(), g.range, marks_.file + ", " + path);
    if (!lengths) {
      others_.insert(others_.end(), lengths.errors().begin(), lengths.errors().end());
      return;
    }
    g.lengths = *std::move(lengths);
  }
  marks_.groups.push_back(std::move(g));
}

void MarksReader::input(const std::string& name, const Json& j, const Path& path) {
  InputMark& mark = marks_.inputs.emplace_back();
  mark.input = name;
  const auto values = [&](const Json& v, const Path& at) {
    if (!v.is_array() || v.size() != 2) return walk_.refuse(v, at, "[least, greatest]");
    const auto low = number(v[0], json_path(at, 0)), high = number(v[1], json_path(at, 1));
    if (low && high) mark.values = {*low, *high};
  };
  walk_.object(
      j, path,
      {{"pad", [&](const Json& v, const Path& at) { mark.pad = number(v, at); }}, {"values", values}});
}

void MarksReader::read(const Json& j) {
  const auto groups = [&](const Json& v, const Path& at) {
    walk_.list(v, at, 0, "objects", [&](const Json& entry, const Path& to) { group(entry, to); });
  };
  const auto inputs = [&](const Json& v, const Path& at) {
    walk_.members(v, at, [&](const std::string& name, const Json& m, const Path& to) { input(name, m, to); });
  };
  const auto dims = [&](const Json& v, const Path& at) {
    walk_.members(v, at, [&](const std::string& name, const Json& m, const Path& to) {
      if (auto text = walk_.text(m, to, false)) marks_.dims.push_back({name, *std::move(text)});
    });
  };
  const auto count = [&](const Json& v, const Path& at) {
    const auto most = walk_.integer(v, at, 1);
    if (most && *most > kMaxBucketLimit)
      walk_.refuse(v, at, fmt::format("a whole number from 1 to {}", kMaxBucketLimit));
    else if (most) marks_.limit = *most;
  };
  const auto limit = [&](const Json& v, const Path& at) { walk_.object(v, at, {{"count", count}}); };
  const auto require = [&](const Json& v, const Path& at) {
    using Allowed = Words<BucketRequire>;
    if (const auto i = walk_.choice(v, at, Allowed::all, Allowed::plural))
      marks_.require = static_cast<BucketRequire>(*i);
  };
  walk_.object(j, "",
               {{"groups", groups},
                {"inputs", inputs},
                {"dims", dims},
                {"limit", limit},
                {"where", walk_.to_text(marks_.where, false)},
                {"require", require}});
}

}  // namespace

Result<BucketMarks> read_marks(std::string_view text, const std::string& file) {
  if (Errors errors = scan_json(text, file, kMaxDepth, ErrorKind::Usage); !errors.empty()) return errors;
  BucketMarks marks;
  marks.file = file;
  MarksReader reader(file, marks);
  reader.read(Json::parse(text, nullptr, false));
  if (Errors errors = reader.errors(); !errors.empty()) return errors;
  return marks;
}

Result<BucketMarks> parse_marks(std::span<const std::string> specs, const std::string& path,
                                std::string_view option) {
  BucketMarks marks;
  Errors errors;
  const auto note = [&](const Errors& more) {
    for (const Error& e : more)
      if (errors.size() < kMaxErrors) errors.push_back(e);
  };
  if (!path.empty()) {
    const Result<std::shared_ptr<const FileImage>> image = FileImage::open(path, kMaxMarksBytes + 1);
    if (!image) {
      Error e = image.error();
      e.kind = ErrorKind::Usage;
      note({e});
    } else if ((*image)->bytes().size() > kMaxMarksBytes) {
      note({{ErrorKind::Usage,
             {path, {}, {}, {}, {}},
             fmt::format("has {} bytes", (*image)->bytes().size()),
             fmt::format("a file of bucket marks has at most {}", kMaxMarksBytes)}});
    } else {
      auto read = read_marks((*image)->bytes(), path);
      if (read) marks = *std::move(read);
      else note(read.errors());
    }
  }
  for (const std::string& spec : specs) {
    auto group = parse_bucket_spec(spec, option);
    if (group) marks.groups.push_back(*std::move(group));
    else note(group.errors());
  }
  if (!errors.empty()) return errors;
  note(check_marks(marks));
  if (!errors.empty()) return errors;
  return marks;
}

}  // namespace graphopt
