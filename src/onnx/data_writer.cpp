// See data_writer.h.
#include "onnx/data_writer.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <unordered_map>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "onnx/fields.h"
#include "onnx/wire.h"
#include "onnx/written_model.h"

namespace graphopt {
namespace {

constexpr std::uint64_t kPage = 4096;  // large tensors start on a page, so that a runtime can map them
constexpr std::uint64_t kLarge = 64 * 1024;
constexpr std::uint64_t kSmallAlignment = 64;

using wire::Field;
using wire::Fields;

std::string_view location_of(Bytes proto) {
  std::string_view location;
  Fields fields(proto);
  for (Field f; fields.next(f);) {
    if (f.number != field::tensor::kExternal || f.kind != wire::Kind::Length) continue;
    std::string_view key, value;
    Fields entry(f.bytes);
    for (Field e; entry.next(e);) {
      if (e.number == field::entry::kKey) key = e.bytes;
      if (e.number == field::entry::kValue) value = e.bytes;
    }
    if (key == "location") location = value;
  }
  return location;
}

std::string resolved(const std::string& path) {
  char* real = ::realpath(path.c_str(), nullptr);
  if (real == nullptr) return path;
  std::string out = real;
  std::free(real);
  return out;
}

std::string base_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// Returns true if it is the name of a data file that belongs to the model file `model`.
bool is_ours(std::string_view name, std::string_view model) {
  constexpr std::string_view kEnd = ".data";
  if (name.size() != model.size() + 1 + 16 + kEnd.size() || !name.starts_with(model) || !name.ends_with(kEnd))
    return false;
  if (name[model.size()] != '.') return false;
  const std::string_view digits = name.substr(model.size() + 1, 16);
  return digits.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// Initializers that are written, in file order.
std::vector<TensorId> initializers(const Model& m, const ModelPart* part) {
  const WrittenModel written(m, part);
  std::vector<TensorId> out;
  for (std::uint32_t g = 0; g < m.graph_count(); ++g) {
    const Graph& graph = m.graph(GraphId{g});
    if (!graph.alive || graph.function || !written.has(GraphId{g})) continue;
    for (const ValueId v : written.initializers(GraphId{g}))
      if (m.alive(v) && m.value(v).is_initializer && m.value(v).tensor) out.push_back(m.value(v).tensor);
  }
  return out;
}

class Hasher {
 public:
  Hasher() : state_(XXH3_createState(), &XXH3_freeState) { XXH3_64bits_reset(state_.get()); }
  void add(const void* p, std::size_t n) { XXH3_64bits_update(state_.get(), p, n); }
  // Writes the content of a range; holes of a sparse file are not read.
  void add(Bytes bytes) {
    const FileImage* image = FileImage::holding(bytes);
    if (image == nullptr || image->descriptor() < 0) return add(bytes.data(), bytes.size());
    static constexpr std::array<char, 65536> kZeros{};
    const char* const base = image->bytes().data();
    auto at = static_cast<std::uint64_t>(bytes.data() - base);
    const std::uint64_t end = at + bytes.size();
    while (at < end) {
      const off_t data = ::lseek(image->descriptor(), static_cast<off_t>(at), SEEK_DATA);
      std::uint64_t begin =
          data < 0 ? (errno == ENXIO ? end : at) : std::min(static_cast<std::uint64_t>(data), end);
      for (; at < begin;) {
        const std::uint64_t n = std::min<std::uint64_t>(kZeros.size(), begin - at);
        add(kZeros.data(), n);
        at += n;
      }
      if (at == end) break;
      const off_t hole = ::lseek(image->descriptor(), static_cast<off_t>(at), SEEK_HOLE);
      const std::uint64_t stop =
          hole > static_cast<off_t>(at) ? std::min(static_cast<std::uint64_t>(hole), end) : end;
      add(base + at, stop - at);
      at = stop;
    }
  }
  std::string hex() const {
    static constexpr std::string_view kDigits = "0123456789abcdef";
    const std::uint64_t h = XXH3_64bits_digest(state_.get());
    std::string out;
    for (int shift = 60; shift >= 0; shift -= 4) out += kDigits[(h >> shift) & 15];
    return out;
  }

 private:
  std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> state_;
};

}  // namespace

bool DataPlan::found_from(const std::string& folder, const Tensor& t) {
  const FileImage* image = FileImage::holding(t.raw);
  if (image == nullptr || !image->mapped()) return t.raw.empty() && !t.proto.empty();
  const std::string_view location = location_of(t.proto);
  for (const Known& k : known_)
    if (k.image == image && k.location == location) return k.found;
  const bool found =
      !location.empty() && location.front() != '/' && image->is_file(folder + "/" + std::string(location));
  known_.push_back({image, std::string(location), found});
  return found;
}

DataPlan::DataPlan(const Model& m, const SaveOptions& options, bool files_allowed, bool all_large) {
  using External = SaveOptions::External;
  const bool always = files_allowed && (options.external == External::Always || all_large);
  if (!m.had_external_data && !always) return;
  forms_.assign(m.tensor_count(), Form::AsIs);
  const std::string target = resolved(options.path);
  const std::string folder = folder_of(target);
  std::vector<TensorId> data;
  std::vector<bool> seen(m.tensor_count(), false);
  for (const TensorId t : initializers(m, options.part)) {
    if (seen[t.index()]) continue;
    seen[t.index()] = true;
    const Tensor& tensor = m.tensor(t);
    if (tensor.dtype == DType::String || bits_of(tensor.dtype) == 0) continue;
    const std::uint64_t size =
        raw_size(tensor.dtype, static_cast<std::uint64_t>(tensor.elements)).value_or(0);
    if (size == 0) {
      if (tensor.external) forms_[t.index()] = Form::Inline, moves_ = true;
      continue;
    }
    const bool large = size >= options.external_threshold;
    if (files_allowed && options.external != External::Never) {
      if (tensor.external && found_from(folder, tensor)) {
        kept_bytes_ += size;
        continue;
      }
      const bool made_here = tensor.proto.empty() && m.had_external_data;
      if (always ? large : tensor.external || (made_here && large)) {
        forms_[t.index()] = Form::Data;
        data.push_back(t);
        continue;
      }
    }
    if (tensor.external) forms_[t.index()] = Form::Inline, moves_ = true;
  }
  // External payloads elsewhere (attributes, function bodies) must be moved, too.
  for (std::uint32_t i = 0; i < m.tensor_count(); ++i) {
    const Tensor& tensor = m.tensor(TensorId{i});
    if (seen[i] || !tensor.external) continue;
    if (!files_allowed || options.external == External::Never || !found_from(folder, tensor))
      forms_[i] = Form::Inline, moves_ = true;
  }
  if (data.empty()) return;
  moves_ = true;
  lay_out(m, data, target);
}

void DataPlan::lay_out(const Model& m, const std::vector<TensorId>& tensors, const std::string& target) {
  range_of_.assign(m.tensor_count(), 0xFFFFFFFFu);
  std::unordered_map<const char*, std::uint32_t> shared;  // two tensors may view one range
  Hasher hash;
  for (const TensorId t : tensors) {
    const std::optional<Bytes> raw = m.raw(t);
    if (!raw || raw->empty()) {
      forms_[t.index()] = Form::AsIs;
      continue;
    }
    if (const auto it = shared.find(raw->data());
        it != shared.end() && ranges_[it->second].length == raw->size()) {
      range_of_[t.index()] = it->second;
      continue;
    }
    const std::uint64_t alignment = raw->size() >= kLarge ? kPage : kSmallAlignment;
    const std::uint64_t offset = (size_ + alignment - 1) / alignment * alignment;
    shared.emplace(raw->data(), static_cast<std::uint32_t>(ranges_.size()));
    range_of_[t.index()] = static_cast<std::uint32_t>(ranges_.size());
    ranges_.push_back({{}, offset, raw->size()});
    data_.push_back({*raw, offset});
    size_ = offset + raw->size();
    const std::uint64_t place[2] = {offset, raw->size()};
    hash.add(place, sizeof place);
    hash.add(*raw);
  }
  name_ = base_of(target) + "." + hash.hex() + ".data";
  for (DataRange& r : ranges_) r.location = name_;
}

const DataRange* DataPlan::range(TensorId t) const {
  if (t.index() >= range_of_.size() || range_of_[t.index()] == 0xFFFFFFFFu) return nullptr;
  return &ranges_[range_of_[t.index()]];
}

Status DataPlan::write(const Model&, const std::string& target, std::optional<OutputFile>& file) const {
  const std::string path = folder_of(target) + "/" + name_;
  struct stat info{};
  if (::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
      static_cast<std::uint64_t>(info.st_size) == size_)
    return Done{};
  Result<OutputFile> created = OutputFile::create(path);
  if (!created) return created.errors();
  file.emplace(*std::move(created));
  for (const Slice& slice : data_) {
    if (Status s = file->skip_to(slice.offset); !s) return s;
    const FileImage* image = FileImage::holding(slice.bytes);
    Status s =
        image != nullptr && image->mapped()
            ? file->copy(*image, static_cast<std::uint64_t>(slice.bytes.data() - image->bytes().data()),
                         slice.bytes.size())
            : file->write(slice.bytes);
    if (!s) return s;
  }
  return file->finish();
}

std::vector<std::string> locations(const Model& m, const DataPlan& plan) {
  std::vector<std::string> out;
  const auto add = [&out](std::string_view location) {
    if (!location.empty() && (out.empty() || out.back() != location)) out.emplace_back(location);
  };
  add(plan.file_name());
  for (std::uint32_t i = 0; i < m.tensor_count(); ++i)
    if (m.tensor(TensorId{i}).external && plan.form(TensorId{i}) == DataPlan::Form::AsIs)
      add(location_of(m.tensor(TensorId{i}).proto));
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

void remove_old_data(const Model& m, const std::string& target, const std::vector<std::string>& referred) {
  const std::string folder = folder_of(target);
  const std::string base = base_of(target);
  std::vector<std::string> old;
  DIR* dir = ::opendir(folder.c_str());
  if (dir == nullptr) return;
  while (const dirent* entry = ::readdir(dir)) {
    const std::string name = entry->d_name;
    if (is_ours(name, base) && std::ranges::find(referred, name) == referred.end())
      old.push_back(folder + "/" + name);
  }
  ::closedir(dir);
  if (old.empty()) return;
  if (resolved(m.file) != target) {  // the model that was read may be a copy that uses the same data file
    for (std::uint32_t i = 0; i < m.tensor_count(); ++i) {
      const Tensor& t = m.tensor(TensorId{i});
      const FileImage* image = t.external ? FileImage::holding(t.raw) : nullptr;
      if (image != nullptr) std::erase_if(old, [&](const std::string& path) { return image->is_file(path); });
    }
  }
  for (const std::string& path : old) ::unlink(path.c_str());
}

}  // namespace graphopt
