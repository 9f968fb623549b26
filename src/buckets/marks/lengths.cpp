// See lengths.h. Both forms give (length, count, place) one by one to a Collector, which checks and adds.
#include "buckets/marks/lengths.h"

#include <fmt/format.h>

#include <algorithm>

#include "buckets/marks/number_text.h"
#include "support/checked.h"
#include "support/file.h"
#include "support/json_scan.h"
#include "support/json_walk.h"

namespace graphopt {
namespace {

using Json = JsonWalk::Json;

constexpr std::string_view kLineForm =
    "write a length, or a length and a count, on each line: '128' or '128 40'";

class Collector {
 public:
  Collector(const std::string& file, IntRange range) : file_(file), range_(range) {}

  bool full() const { return errors_.size() == kMaxErrors; }
  void error(std::string what, std::string remedy) {
    if (!full())
      errors_.push_back({ErrorKind::Usage, {file_, {}, {}, {}, {}}, std::move(what), std::move(remedy)});
  }

  template <class PlaceText> void add(std::int64_t length, std::int64_t count, const PlaceText& place) {
    if (length < 0)
      return error(fmt::format("{}: the length {} is negative", place(), length), std::string(kLineForm));
    if (count < 0)
      return error(fmt::format("{}: the count {} is negative", place(), count), std::string(kLineForm));
    least_ = std::min(least_, length);
    greatest_ = std::max(greatest_, length);
    if (!range_.holds(length)) {
      if (outside_++ == 0) first_outside_ = fmt::format("{}: the length {}", place(), length);
      return;
    }
    const auto sum = checked_add(total_, count);
    if (!sum || *sum > kMaxLengthCount) {
      if (!overflow_)
        error(fmt::format("{}: the counts add up to more than {}", place(), kMaxLengthCount),
              "divide all counts by one number");
      overflow_ = true;
      return;
    }
    total_ = *sum;
    if (count > 0) counts_.push_back({length, count});
  }

  Result<std::vector<LengthCount>> finish() {
    if (outside_ > 0)
      error(fmt::format("{} is outside the range {}..{} of the buckets ({} such in all)", first_outside_,
                        range_.low, range_.high, outside_),
            fmt::format("let the range be {}..{}, or take these lengths out of the file",
                        std::min(least_, range_.low), std::max(greatest_, range_.high)));
    if (errors_.empty() && counts_.empty())
      error("has no length", "give a file with lengths that were observed, or take another method: geo=1.25");
    if (!errors_.empty()) return std::move(errors_);
    std::ranges::sort(counts_, {}, &LengthCount::length);
    std::vector<LengthCount> out;
    for (const LengthCount& c : counts_) {
      if (!out.empty() && out.back().length == c.length) out.back().count += c.count;
      else out.push_back(c);
    }
    return out;
  }

 private:
  const std::string& file_;
  IntRange range_;
  Errors errors_;
  std::vector<LengthCount> counts_;
  std::int64_t total_ = 0, outside_ = 0;
  std::int64_t least_ = kMaxBucketExtent, greatest_ = 0;
  std::string first_outside_;
  bool overflow_ = false;
};

void read_lines(std::string_view text, Collector& out) {
  for (std::int64_t number = 1; !text.empty() && !out.full(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    line = line.substr(0, line.find('#'));
    if (line.ends_with('\r')) line.remove_suffix(1);
    line = trimmed(line);
    if (line.empty()) continue;
    const auto place = [number] { return fmt::format("line {}", number); };
    const std::size_t blank = std::min(line.find_first_of(" \t"), line.size());
    const std::string_view second = trimmed(line.substr(blank));
    const auto length = read_whole(line.substr(0, blank), "a length");
    const auto count = second.empty() ? std::variant<std::int64_t, MarkProblem>(std::int64_t{1})
                                      : read_whole(second, "a count");
    const auto* wrong = std::get_if<MarkProblem>(&length);
    if (wrong == nullptr) wrong = std::get_if<MarkProblem>(&count);
    if (wrong != nullptr) out.error(place() + ": " + wrong->what.substr(0, 200), std::string(kLineForm));
    else out.add(std::get<std::int64_t>(length), std::get<std::int64_t>(count), place);
  }
}

Result<std::vector<LengthCount>> read_json(std::string_view text, const std::string& file, IntRange range) {
  if (Errors errors = scan_json(text, file, 1, ErrorKind::Usage); !errors.empty()) return errors;
  const Json json = Json::parse(text, nullptr, false);
  JsonWalk walk(file, ErrorKind::Usage);
  Collector out(file, range);
  if (json.is_array()) {
    walk.list(json, "", 0, "lengths", [&](const Json& j, const JsonWalk::Path& at) {
      if (const auto length = walk.integer(j, at, 0)) out.add(*length, 1, [&] { return at; });
    });
  } else {
    walk.members(json, "", [&](const std::string& name, const Json& j, const JsonWalk::Path& at) {
      const auto length = read_whole(name, "a length");
      if (const auto* wrong = std::get_if<MarkProblem>(&length))
        return walk.problem(at, wrong->what, "a key is a length: {\"128\": 40}");
      if (const auto count = walk.integer(j, at, 0))
        out.add(std::get<std::int64_t>(length), *count, [&] { return at; });
    });
  }
  if (!walk.errors().empty()) return walk.errors();
  return out.finish();
}

}  // namespace

Result<std::vector<LengthCount>> read_lengths(std::string_view text, const std::string& file,
                                              IntRange range) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && (text[first] == '[' || text[first] == '{'))
    return read_json(text, file, range);
  Collector out(file, range);
  read_lines(text, out);
  return out.finish();
}

Result<std::vector<LengthCount>> load_lengths(const std::string& path, IntRange range,
                                              const std::string& from) {
  const Result<std::shared_ptr<const FileImage>> image = FileImage::open(path, kMaxLengthsBytes + 1);
  if (!image) {
    Error e = image.error();
    e.kind = ErrorKind::Usage;
    e.what += fmt::format(" ({} names it)", from);
    return e;
  }
  if ((*image)->bytes().size() > kMaxLengthsBytes)
    return Error{ErrorKind::Usage,
                 {path, {}, {}, {}, {}},
                 fmt::format("has {} bytes ({} names it)", (*image)->bytes().size(), from),
                 fmt::format("a file of lengths has at most {}: count equal lengths, 'LENGTH COUNT' a line",
                             kMaxLengthsBytes)};
  return read_lengths((*image)->bytes(), path, range);
}

}  // namespace graphopt
