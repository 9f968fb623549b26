#include "onnx/write_steps.h"

#include <sys/stat.h>

#include "support/sha256.h"
#include "support/sparse_bytes.h"

namespace graphopt {
namespace {

constexpr std::uint64_t kWorthCopying = 64 * 1024;

// A file of this name is another program's, or another model's weights, unless OUT is there and refers to it.
bool belongs_to(const std::string& target, const std::string& data_name) {
  const auto old = FileImage::open(target);
  return old && (*old)->bytes().find(data_name) != std::string_view::npos;
}

}  // namespace

std::optional<Error> shrunk_input(const Model& m) {
  const auto check = [](Bytes bytes) -> std::optional<Error> {
    const FileImage* image = bytes.empty() ? nullptr : FileImage::holding(bytes);
    if (image == nullptr || image->still_whole()) return std::nullopt;
    Error e{ErrorKind::Input,
            {},
            "the file became shorter while it was read",
            "run again when nothing else writes to it"};
    e.place.file = image->path();
    return e;
  };
  if (!m.rest.empty())
    if (std::optional<Error> e = check(m.rest.front())) return e;
  if (!m.had_external_data) return std::nullopt;
  const FileImage* last = nullptr;
  for (std::uint32_t i = 0; i < m.tensor_count(); ++i) {
    const Tensor& t = m.tensor(TensorId{i});
    if (!t.external) continue;
    const FileImage* image = FileImage::holding(t.raw);
    if (image == last) continue;
    last = image;
    if (std::optional<Error> e = check(t.raw)) return e;
  }
  return std::nullopt;
}

std::optional<Error> hits_weights(const Model& m, const std::string& path) {
  struct stat info{}, own{};
  if (path == "-" || ::stat(path.c_str(), &info) != 0 || !FileImage::maps(info.st_dev, info.st_ino))
    return std::nullopt;
  // The model itself may be replaced: its map lives on, and what is left of it is in no other file.
  if (m.file != "-" && ::stat(m.file.c_str(), &own) == 0 && own.st_dev == info.st_dev &&
      own.st_ino == info.st_ino)
    return std::nullopt;
  Error e{ErrorKind::Output,
          {},
          "the model that was read keeps its weights in this file",
          "write to another name"};
  e.place.file = path;
  return e;
}

std::optional<Error> bad_data_name(const SaveOptions& options, const std::string& target) {
  const std::string path = folder_of(target) + '/' + options.data_name;
  const auto refused = [&path](const char* what) {
    Error e{ErrorKind::Output, {}, what, "give the weights a name of their own"};
    e.place.file = path;
    return e;
  };
  if (resolved(path) == resolved(target) || options.data_name == last_part(target))
    return refused("the model itself is written to this file");
  struct stat info{};
  if (::stat(path.c_str(), &info) == 0 && FileImage::maps(info.st_dev, info.st_ino))
    return refused("this file is being read: it belongs to the model that is optimized");
  if (::lstat(path.c_str(), &info) == 0 && !options.force && !belongs_to(target, options.data_name)) {
    Error e = refused("this file is there already, and is not the data file of an earlier OUT of this name");
    e.remedy = "give the weights a name of their own, or replace the file with --force";
    return e;
  }
  return std::nullopt;
}

Error too_large(const std::string& path, std::uint64_t bytes, std::string remedy) {
  Error e{ErrorKind::Output,
          {},
          "the model has " + std::to_string(bytes) + " bytes, and a single ONNX file can have " +
              std::to_string(kLargestMessage) + " at most",
          std::move(remedy)};
  e.place.file = path;
  return e;
}

Status write_ranges(const std::vector<wire::ByteRange>& ranges, OutputFile& out) {
  for (const wire::ByteRange& range : ranges) {
    const Bytes bytes(range.data, range.size);
    const FileImage* image = range.size >= kWorthCopying ? FileImage::holding(bytes) : nullptr;
    Status s =
        image != nullptr
            ? out.copy(*image, static_cast<std::uint64_t>(bytes.data() - image->bytes().data()), bytes.size())
            : out.write(bytes);
    if (!s) return s;
  }
  return Done{};
}

std::string sha256_of(const std::vector<wire::ByteRange>& ranges) {
  Sha256 hash;
  for (const wire::ByteRange& range : ranges) {
    const Bytes bytes(range.data, range.size);
    if (range.size < kWorthCopying) hash.add(bytes);
    else for_each_piece(bytes, [&hash](Bytes piece) { hash.add(piece); });
  }
  return hash.hex();
}

}  // namespace graphopt
