// See request_list.h.
#include "runner/request_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <unordered_map>
#include <utility>

#include "support/file.h"
#include "support/json_scan.h"
#include "support/json_walk.h"
#include "support/quote_name.h"

namespace graphopt::runner {
namespace {

using Json = JsonWalk::Json;
using Path = JsonWalk::Path;

constexpr std::size_t kMostDepth = 8;                         // of objects and lists in a line
constexpr std::uint64_t kMostInput = std::uint64_t{1} << 32;  // bytes of a list from a pipe

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

// Returns the number behind the last '.' of an id, and what is before it: "c.12" is number 12 of c. None
// where id_of() would not write it so.
struct NumberedId {
  std::string_view id;
  std::uint64_t number = 0;
};
std::optional<NumberedId> numbered_id(std::string_view id) {
  const std::size_t dot = id.rfind('.');
  if (dot == std::string_view::npos || dot == 0) return std::nullopt;
  const std::string_view digits = id.substr(dot + 1);
  NumberedId out{id.substr(0, dot), 0};
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out.number);
  const bool whole = !digits.empty() && error == std::errc() && end == digits.data() + digits.size();
  if (!whole || (digits.size() > 1 && digits.front() == '0')) return std::nullopt;
  return out;
}

class ListReader {
 public:
  explicit ListReader(const std::string& file)
      : file_(file), folder_(file == "-" ? std::string(".") : folder_of(file)) {}

  Result<RequestList> run(std::string_view text) {
    for (std::size_t line = 1; !text.empty() && errors_.size() < kMaxErrors; ++line) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      std::string_view content = text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
      if (content.ends_with('\r')) content.remove_suffix(1);
      if (content.find_first_not_of(" \t") == std::string_view::npos) continue;
      read(content, line);
    }
    if (errors_.empty()) check_ids();
    if (errors_.empty() && out_.lines.empty())
      errors_.push_back({ErrorKind::Usage,
                         {file_, {}, {}, {}, {}},
                         "it has no request",
                         "write a JSON object on each line, as {\"inputs\": \"all.npz\"}"});
    if (!errors_.empty()) return std::move(errors_);
    return std::move(out_);
  }

 private:
  void refuse(std::size_t line, const std::string& what, std::string remedy) {
    if (errors_.size() < kMaxErrors)
      errors_.push_back({ErrorKind::Usage,
                         {file_, {}, {}, {}, {}},
                         fmt::format("line {}: {}", line, what),
                         std::move(remedy)});
  }

  void read(std::string_view content, std::size_t line) {
    if (content.size() > kLongestLine)
      return refuse(line, "it is longer than 1 MiB", "put the arrays into files and name these");
    const Errors wrong = scan_json(content, file_, kMostDepth);
    for (const Error& error : wrong) {
      // The scanner counts lines, too, and knows of one.
      constexpr std::string_view kFirst = "line 1, ";
      const std::string_view what = error.what;
      refuse(line, std::string(what.starts_with(kFirst) ? what.substr(kFirst.size()) : what), error.remedy);
    }
    if (!wrong.empty()) return;
    const Json json = Json::parse(content, nullptr, false);
    JsonWalk walk(file_);
    ListedRequest request;
    request.line = line;
    read(json, walk, request);
    for (const Error& error : walk.errors()) refuse(line, error.what, error.remedy);
    if (!walk.errors().empty()) return;
    out_.requests += request.repeat;
    if (out_.requests > kMostRequests)
      return refuse(line, fmt::format("the list asks for more than {} requests", kMostRequests),
                    "give a smaller \"repeat\"");
    out_.lines.push_back(std::move(request));
  }

  void read(const Json& json, JsonWalk& walk, ListedRequest& request) {
    std::optional<std::string> id;
    std::optional<std::int64_t> seed, repeat;
    std::optional<std::vector<GivenFile>> files;
    std::optional<std::vector<DimOption>> dims;
    const bool object = walk.object(
        json, "",
        {{"id", [&](const Json& j, const Path& at) { id = walk.text(j, at); }},
         {"network", walk.to_text(request.network, false)},
         {"inputs", [&](const Json& j, const Path& at) { read_files(j, at, walk, files.emplace()); }},
         {"draw", [&](const Json& j, const Path& at) { read_dims(j, at, walk, dims.emplace()); }},
         {"seed", [&](const Json& j, const Path& at) { seed = walk.integer(j, at, 0); }},
         {"repeat", [&](const Json& j, const Path& at) { repeat = walk.integer(j, at, 1); }}});
    if (!object) return;
    if (files && dims)
      walk.problem("", "it has \"inputs\" and \"draw\"", "give one of both: inputs are either read or drawn");
    if (!files && !dims)
      walk.problem("", "it has neither \"inputs\" nor \"draw\"",
                   "give \"inputs\": FILE.npz, or \"draw\": {} for drawn inputs");
    if (seed && files && !dims) walk.problem("seed", "nothing is drawn", "leave it out, or give \"draw\"");
    if (repeat && static_cast<std::uint64_t>(*repeat) > kMostRequests)
      walk.problem("repeat", fmt::format("found {}", *repeat),
                   fmt::format("allowed: at most {}", kMostRequests));
    request.id = id ? *id : std::to_string(request.line);
    request.numbered = repeat.has_value();
    request.repeat = static_cast<std::uint64_t>(repeat.value_or(1));
    if (const std::string wrong = wrong_id(request.id); !wrong.empty())
      walk.problem(
          "id", wrong,
          fmt::format("ids become names of files: give up to {} letters, digits, '.', '_' and '-'", kMostId));
    if (files) request.source = *std::move(files);
    else if (dims)
      request.source = DrawnInputs{*std::move(dims), static_cast<std::uint64_t>(seed.value_or(0))};
  }

  std::string path_of(const std::string& name) const {
    if (name.starts_with('/') || folder_ == ".") return name;
    return folder_ + (folder_.ends_with('/') ? "" : "/") + name;
  }

  void read_files(const Json& json, const Path& path, JsonWalk& walk, std::vector<GivenFile>& to) const {
    const auto add = [&](std::string input, const Json& j, const Path& at) {
      if (const auto name = walk.text(j, at, false)) to.push_back({std::move(input), path_of(*name)});
    };
    if (json.is_string()) {
      if (!json.get_ref<const std::string&>().ends_with(".npz"))
        walk.refuse(json, path, "an archive (FILE.npz), or an object with a file for each input");
      else add({}, json, path);
      return;
    }
    if (!json.is_object())
      return walk.refuse(json, path, "an archive (FILE.npz), or an object with a file for each input");
    walk.members(json, path, [&](const std::string& input, const Json& j, const Path& at) {
      if (input.empty()) walk.problem(at, "an input has a name", "give the name of an input as the key");
      else add(input, j, at);
    });
  }

  static void read_dims(const Json& json, const Path& path, JsonWalk& walk, std::vector<DimOption>& to) {
    walk.members(json, path, [&](const std::string& symbol, const Json& j, const Path& at) {
      DimOption dim{symbol, 0, 0};
      if (j.is_array()) {
        const auto range = walk.range(j, at, 0);
        if (!range) return;
        if (j[1].is_null()) return walk.refuse(j, at, "[least, greatest], both numbers");
        dim.low = range->low;
        dim.high = range->high;
      } else if (const auto size = walk.integer(j, at, 0)) {
        dim.low = dim.high = *size;
      } else {
        return;
      }
      to.push_back(std::move(dim));
    });
  }

  // Two ids are the same if they differ in case only, since file systems may take such names as one.
  void check_ids() {
    std::unordered_map<std::string, std::size_t> places;  // of lines, by their ids
    const std::vector<ListedRequest>& lines = out_.lines;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const auto [at, added] = places.try_emplace(lower_case(lines[i].id), i);
      if (!added) twice(lines[i], lines[i].id, lines[at->second]);
    }
    for (const ListedRequest& one : lines) {
      if (one.numbered) continue;
      const std::string id = lower_case(one.id);
      const auto numbered = numbered_id(id);
      if (!numbered) continue;
      const auto at = places.find(std::string(numbered->id));
      if (at == places.end()) continue;
      const ListedRequest& other = lines[at->second];
      if (other.numbered && numbered->number < other.repeat) twice(one, one.id, other);
    }
  }

  void twice(const ListedRequest& request, std::string_view id, const ListedRequest& other) {
    const bool differs = !other.numbered && !request.numbered && other.id != id;
    refuse(request.line,
           differs ? fmt::format("id: that of line {}, {}, differs in case only", other.line,
                                 quote_name(other.id))
                   : fmt::format("id: line {} has {}, too", other.line, quote_name(id)),
           "give each request an id of its own");
  }

  const std::string& file_;
  std::string folder_;
  RequestList out_;
  Errors errors_;
};

}  // namespace

std::string id_of(const ListedRequest& request, std::uint64_t i) {
  return request.numbered ? fmt::format("{}.{}", request.id, i) : request.id;
}

std::string wrong_id(std::string_view id) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  };
  if (id.empty()) return "it is empty";
  if (id.size() > kMostId) return fmt::format("it has {} bytes", id.size());
  const auto wrong = std::ranges::find_if_not(id, allowed);
  if (wrong != id.end() && *wrong > ' ' && *wrong < 127) return fmt::format("it has a '{}'", *wrong);
  if (wrong != id.end()) return "it has a blank, or a character that is not in ASCII";
  if (id.front() == '.' || id.back() == '.' || id.find("..") != std::string_view::npos)
    return "it begins or ends with '.', or has \"..\"";
  return {};
}

Result<RequestList> read_request_list(std::string_view text, const std::string& file) {
  return ListReader(file).run(text);
}

Result<RequestList> open_request_list(const std::string& file) {
  const Result<std::shared_ptr<const FileImage>> image = FileImage::open(file, kMostInput);
  if (!image) return image.errors();
  return read_request_list((*image)->bytes(), file);
}

}  // namespace graphopt::runner
