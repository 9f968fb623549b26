// See external.h.
#include "onnx/external.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <tuple>

#include "onnx/fields.h"
#include "onnx/wire.h"
#include "support/file.h"
#include "support/quote_name.h"

namespace graphopt {
namespace {

std::optional<std::uint64_t> parse_number(std::string_view text) {
  std::uint64_t v = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return v;
}

bool lies_in(const std::string& path, const std::string& folder) {
  if (folder.empty() || path.size() <= folder.size()) return false;
  return path.starts_with(folder) && (folder.back() == '/' || path[folder.size()] == '/');
}

bool goes_up(std::string_view location) {
  while (!location.empty()) {
    const std::size_t slash = location.find('/');
    if (location.substr(0, slash) == "..") return true;
    if (slash == std::string_view::npos) return false;
    location.remove_prefix(slash + 1);
  }
  return false;
}

}  // namespace

std::string_view location_of(std::string_view tensor) {
  std::string_view location;
  wire::Fields fields(tensor);
  for (wire::Field f; fields.next(f);) {
    if (f.number != field::tensor::kExternal || f.kind != wire::Kind::Length) continue;
    std::string_view key, value;
    wire::Fields entry(f.bytes);
    for (wire::Field e; entry.next(e);) {
      if (e.number == field::entry::kKey && e.kind == wire::Kind::Length) key = e.bytes;
      if (e.number == field::entry::kValue && e.kind == wire::Kind::Length) value = e.bytes;
    }
    if (key == "location") location = value;
  }
  return location;
}

std::optional<Fault> ExternalFiles::open(const std::string& location, Opened& out) {
  const std::string shown = quote_name(location);
  const std::string help_root =
      "give --external-root with the folder that holds the data, if you trust this model";
  if (location.empty() || location.find('\0') != std::string::npos)
    return Fault{"the location of its external data is not a file name", kReport};
  const bool absolute = location.front() == '/';
  if (root_.empty() && absolute)
    return Fault{"its weights are in " + shown + ": an absolute path is not followed", help_root};
  if (root_.empty() && goes_up(location))
    return Fault{"its weights are in " + shown + ", outside the model's folder", help_root};

  const std::string real_folder = real_path(folder_);
  const std::string real_root = root_.empty() ? std::string() : real_path(root_);
  if (!root_.empty() && real_root.empty())
    return Fault{"the folder " + quote_name(root_) + " of --external-root is not there",
                 "check the path given with --external-root"};
  std::vector<std::string> candidates;
  if (absolute) candidates = {location};
  else candidates = {folder_ + "/" + location};
  if (!root_.empty() && !absolute) candidates.push_back(root_ + "/" + location);

  bool outside = false;
  for (const std::string& candidate : candidates) {
    const std::string real = real_path(candidate);
    if (real.empty()) continue;
    if (!lies_in(real, real_folder) && !lies_in(real, real_root)) {
      outside = true;
      continue;
    }
    const int fd = ::open(real.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) {
      return Fault{"its weights are in " + shown + ", which may not be read",
                   "ask the owner of " + shown + " for the right to read it"};
    }
    struct stat info{};
    if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
      ::close(fd);
      return Fault{"its weights are in " + shown + ", which is not a regular file",
                   "put the data file there"};
    }
    Result<std::shared_ptr<const FileImage>> image = FileImage::adopt(fd, candidate);
    if (!image) return Fault{"its weights are in " + shown + ": " + image.error().what, image.error().remedy};
    out.image = *std::move(image);
    total_ += out.image->bytes().size();
    return std::nullopt;
  }
  if (outside)
    return Fault{"its weights are in " + shown + ", which leads out of the model's folder", help_root};
  return Fault{"its weights are in " + shown + ", which is not there",
               "put " + shown + " next to the model, or give --external-root DIR"};
}

std::optional<Fault> ExternalFiles::find(const ExternalEntry& entry, std::uint64_t size,
                                         std::string_view& bytes) {
  if (!entry.has_location) return Fault{"it has external data without a location", kReport};
  std::uint64_t offset = 0;
  if (entry.has_offset) {
    const std::optional<std::uint64_t> v = parse_number(entry.offset);
    if (!v)
      return Fault{"the offset " + quote_name(entry.offset) + " of its external data is not a number",
                   kReport};
    offset = *v;
  }
  if (entry.has_length) {
    const std::optional<std::uint64_t> v = parse_number(entry.length);
    if (!v)
      return Fault{"the length " + quote_name(entry.length) + " of its external data is not a number",
                   kReport};
    if (*v != size)
      return Fault{"its external data have " + std::to_string(*v) + " bytes, but its type and dims need " +
                       std::to_string(size),
                   kReport};
  }
  const auto [it, fresh] = files_.try_emplace(std::string(entry.location));
  Opened& file = it->second;
  if (fresh) {
    if (std::optional<Fault> fault = open(it->first, file)) {
      file.reported = true;
      return fault;
    }
  }
  if (file.reported) return Fault{};
  const std::string_view all = file.image->bytes();
  if (offset > all.size() || size > all.size() - offset)
    return Fault{"its external data are bytes " + std::to_string(offset) + " and following of " +
                     quote_name(entry.location) + ", " + std::to_string(size) +
                     " in number, but that file has only " + std::to_string(all.size()) + " bytes",
                 "the data file is cut off or belongs to another model: copy it again"};
  bytes = all.substr(offset, size);
  return std::nullopt;
}

void ExternalFiles::note(std::string_view bytes, std::string_view tensor) {
  if (bytes.empty()) return;
  const FileImage* file = FileImage::holding(bytes);
  if (file == nullptr) return;
  const auto begin = static_cast<std::uint64_t>(bytes.data() - file->bytes().data());
  ranges_.push_back({file, begin, begin + bytes.size(), tensor});
}

void ExternalFiles::check_overlaps(Problems& problems) {
  std::ranges::sort(ranges_, [](const Range& a, const Range& b) {
    return std::tuple(a.file, a.begin, a.end, a.tensor) < std::tuple(b.file, b.begin, b.end, b.tensor);
  });
  for (std::size_t i = 1; i < ranges_.size(); ++i) {
    const Range& a = ranges_[i - 1];
    const Range& b = ranges_[i];
    if (a.file != b.file || b.begin >= a.end || (a.begin == b.begin && a.end == b.end)) continue;
    Place place;
    place.slot = "tensor " + quote_name(b.tensor);
    problems.add(
        std::move(place),
        "its external data overlap those of tensor " + quote_name(a.tensor) + " in '" + b.file->path() + "'",
        kReport);
  }
}

std::vector<std::pair<std::string, std::shared_ptr<const FileImage>>> ExternalFiles::files() const {
  std::vector<std::pair<std::string, std::shared_ptr<const FileImage>>> out;
  for (const auto& [location, file] : files_)
    if (file.image) out.emplace_back(location, file.image);
  return out;
}

}  // namespace graphopt
