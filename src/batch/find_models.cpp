// Folders are read one after the other, from a list: first those that are real, then those to which links
// lead. Each has an identity (device and inode), and one that was read is not read again. So it ends, and a
// folder that is there and linked is mirrored under its own name.
#include "batch/find_models.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "batch/glob.h"
#include "onnx/text_form.h"
#include "support/file.h"

namespace graphopt {
namespace {

namespace fs = std::filesystem;
using Identity = std::pair<std::uint64_t, std::uint64_t>;

Error refused(ErrorKind kind, const std::string& file, std::string what, std::string remedy) {
  return {kind, {file, {}, {}, {}, {}}, std::move(what), std::move(remedy)};
}

std::optional<struct stat> looked_up(const std::string& path) {
  struct stat s = {};
  if (::stat(path.c_str(), &s) != 0) return std::nullopt;
  return s;
}

Identity identity_of(const struct stat& s) { return {s.st_dev, s.st_ino}; }

bool matches_any(const std::vector<std::string>& patterns, const std::string& path) {
  return std::ranges::any_of(patterns, [&](const std::string& p) { return path_matches(p, path); });
}

// The folder that all paths have in common.
fs::path common_folder(const std::vector<fs::path>& paths) {
  fs::path common;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const fs::path folder = paths[i].parent_path();
    if (i == 0) {
      common = folder;
      continue;
    }
    const auto [in_common, in_folder] =
        std::mismatch(common.begin(), common.end(), folder.begin(), folder.end());
    fs::path shared;
    for (auto part = common.begin(); part != in_common; ++part) shared /= *part;
    common = shared;
  }
  return common;
}

// A file or folder, and its path below the input: "a/b.onnx", "a/" or "".
struct Way {
  std::string path, below;
};

class Finder {
 public:
  explicit Finder(const BatchOptions& options) : options_(options) {
    if (const auto s = looked_up(options.output)) output_ = identity_of(*s);
  }

  Status take(const std::string& input) {
    if (input.size() > 1 && input.front() == '@') return take_list(input.substr(1));
    const auto s = looked_up(input);
    if (!s)
      return refused(ErrorKind::Input, input, "there is no such file or folder",
                     input.starts_with('-') ? "graphopt batch --help lists the options"
                                            : "give files, folders or @LIST");
    if (S_ISDIR(s->st_mode)) return take_folder(input, *s);
    if (!S_ISREG(s->st_mode))
      return refused(ErrorKind::Input, input, "it is a pipe or a device, which a batch cannot read again",
                     "give files, folders or @LIST; one model from a pipe is a run of its own");
    if (matches_any(options_.exclude, last_part(input))) return Done{};
    return add(input, last_part(input));
  }

  Result<FoundModels> finish() {
    for (auto& [name, way] : by_name_) {
      const auto s = looked_up(way.path);
      found_.models.push_back({way.path, name, way.below, s ? static_cast<std::uint64_t>(s->st_size) : 0});
    }
    return std::move(found_);
  }

 private:
  Status add(const std::string& path, const std::string& below) {
    const std::string name = output_name(below);
    const auto [at, is_new] = by_name_.emplace(name, Way{path, below});
    const std::string& other = at->second.path;
    if (is_new || other == path) return Done{};
    std::error_code ignored;
    if (fs::equivalent(other, path, ignored)) return Done{};
    return refused(
        ErrorKind::Usage, path,
        "it and '" + other + "' would both be '" + name + "' in '" + options_.output + "'",
        "give the folder above both, whose folders are then mirrored, or leave one out (--exclude)");
  }

  Status take_list(const std::string& list) {
    std::ifstream file;
    if (list != "-") {
      file.open(list);
      const auto s = looked_up(list);
      if (!file || (s && S_ISDIR(s->st_mode)))
        return refused(ErrorKind::Input, list, "the list of models cannot be read",
                       "give a text file with a path in each line, or ./@NAME for a file of that name");
    }
    std::istream& in = list == "-" ? std::cin : file;
    std::vector<fs::path> paths;
    std::string line;
    for (std::size_t number = 1; std::getline(in, line); ++number) {
      if (!line.empty() && line.back() == '\r') line.pop_back();
      if (line.empty() || line.front() == '#') continue;
      const auto s = line.find('\0') == std::string::npos ? looked_up(line) : std::nullopt;
      constexpr std::size_t kShown = 80;
      if (!s || !S_ISREG(s->st_mode))
        return refused(ErrorKind::Input, list,
                       "line " + std::to_string(number) + " is no file: '" + line.substr(0, kShown) + "'",
                       "a list has the path of one model in each line, from the current folder");
      paths.emplace_back(fs::path(line).lexically_normal());
    }
    const fs::path common = common_folder(paths);
    for (const fs::path& path : paths) {
      const std::string below = common.empty() ? path.string() : path.lexically_relative(common).string();
      if (matches_any(options_.exclude, below)) continue;
      if (!options_.include.empty() && !matches_any(options_.include, below)) continue;
      if (below.starts_with("..") || fs::path(below).is_absolute())
        return refused(ErrorKind::Usage, path.string(),
                       "it and another path of the list '" + list + "' have no folder in common",
                       "write all paths of the list from one folder");
      if (Status added = add(path.string(), below); !added) return added;
    }
    return Done{};
  }

  Status take_folder(const std::string& root, const struct stat& s) {
    if (Status outside = check_outside(root, s); !outside) return outside;
    seen_.clear();
    seen_.emplace(identity_of(s), root);
    std::deque<Way> real = {{root, ""}}, linked;
    while (!real.empty() || !linked.empty()) {
      std::deque<Way>& next = real.empty() ? linked : real;
      const Way folder = std::move(next.front());
      next.pop_front();
      if (&next == &linked && !is_first_way(folder)) continue;
      if (Status read = read_folder(folder, real, linked); !read) return read;
    }
    return Done{};
  }

  // A folder that a link leads to.
  bool is_first_way(const Way& folder) {
    const auto s = looked_up(folder.path);
    if (!s) return false;
    if (output_ && identity_of(*s) == *output_) return false;
    const auto [at, is_new] = seen_.emplace(identity_of(*s), folder.path);
    if (!is_new)
      found_.warnings.push_back("'" + folder.path + "' is a link to '" + at->second +
                                "', whose models are taken there");
    return is_new;
  }

  // Outputs that are inputs of the next run, or that replace inputs, are never wanted.
  Status check_outside(const std::string& root, const struct stat& s) const {
    if (output_ && identity_of(s) == *output_)
      return refused(ErrorKind::Usage, root, "the models and the outputs are in one folder",
                     "give -o another folder; a model is optimized in place by graphopt MODEL -o MODEL");
    std::error_code ignored;
    const fs::path in = fs::weakly_canonical(root, ignored),
                   out = fs::weakly_canonical(options_.output, ignored);
    const auto [rest, unused] = std::mismatch(out.begin(), out.end(), in.begin(), in.end());
    if (!out.empty() && rest == out.end())
      return refused(ErrorKind::Usage, root,
                     "it is inside the folder of the outputs, '" + options_.output + "'",
                     "give -o another folder");
    return Done{};
  }

  Status read_folder(const Way& folder, std::deque<Way>& real, std::deque<Way>& linked) {
    std::error_code failure;
    std::vector<fs::directory_entry> entries;
    for (fs::directory_iterator it(folder.path, failure), end; !failure && it != end; it.increment(failure))
      entries.push_back(*it);
    if (failure)
      return refused(ErrorKind::Input, folder.path, "the folder cannot be read: " + failure.message(),
                     "make it readable, or leave it out with --exclude");
    std::ranges::sort(entries, {}, [](const fs::directory_entry& e) { return e.path().native(); });
    for (const fs::directory_entry& entry : entries) {
      const std::string leaf = entry.path().filename().string(), below = folder.below + leaf;
      if (leaf.starts_with('.') || matches_any(options_.exclude, below)) continue;
      const std::string path = entry.path().string();
      const auto s = looked_up(path);
      const int failed = errno;
      std::error_code ignored;
      const bool is_link = entry.is_symlink(ignored);
      if (!s && !is_link && entry.is_directory(ignored))
        return refused(ErrorKind::Input, path,
                       "the folder cannot be read: " + std::generic_category().message(failed),
                       "make it readable, or leave it out with --exclude");
      if (s && S_ISDIR(s->st_mode)) {
        if (output_ && identity_of(*s) == *output_) continue;
        if (!is_link && !seen_.emplace(identity_of(*s), path).second) continue;
        (is_link ? linked : real).push_back({path, below + '/'});
        continue;
      }
      static const std::vector<std::string> default_patterns = {"*.onnx"};
      if (!matches_any(options_.include.empty() ? default_patterns : options_.include, below)) continue;
      if (s && !S_ISREG(s->st_mode)) continue;  // a pipe, which nobody feeds
      if (Status added = add(path, below); !added) return added;
    }
    return Done{};
  }

  const BatchOptions& options_;
  std::optional<Identity> output_;
  std::map<Identity, std::string> seen_;  // folders that were read, by the first way to each
  std::map<std::string, Way> by_name_;
  FoundModels found_;
};

}  // namespace

std::string output_name(std::string_view name) {
  if (name.ends_with(".onnx") || text_form(name) != TextForm::None) return std::string(name);
  const std::size_t leaf = name.rfind('/') == std::string_view::npos ? 0 : name.rfind('/') + 1;
  const std::size_t dot = name.rfind('.');
  const bool has_ending = dot != std::string_view::npos && dot > leaf;
  return std::string(has_ending ? name.substr(0, dot) : name) + ".onnx";
}

Result<FoundModels> find_models(const BatchOptions& options) {
  Finder finder(options);
  for (const std::string& input : options.inputs)
    if (Status taken = finder.take(input); !taken) return taken.errors();
  return finder.finish();
}

}  // namespace graphopt
