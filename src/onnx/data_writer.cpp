// See data_writer.h.
#include "onnx/data_writer.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "onnx/external.h"
#include "support/file.h"

namespace graphopt {
namespace {

// Returns true if it is the name of a data file that belongs to the model file `model`.
bool is_ours(std::string_view name, std::string_view model) {
  constexpr std::string_view kEnd = ".data";
  if (name.size() != model.size() + 1 + 16 + kEnd.size() || !name.starts_with(model) || !name.ends_with(kEnd))
    return false;
  if (name[model.size()] != '.') return false;
  const std::string_view digits = name.substr(model.size() + 1, 16);
  return digits.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::uint64_t payload_size(const Tensor& t) {
  return raw_size(t.dtype, static_cast<std::uint64_t>(t.elements)).value_or(0);
}

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

// Finds what is written and numbers it: initializers, and of a part tensors of attributes, too, which matter
// where a file of the input holds payloads.
void DataPlan::find_tensors() {
  std::vector<TensorId> found;
  for (const GraphId g : written_.graphs()) {
    if (m_.graph(g).function) continue;
    for (const ValueId v : written_.initializers(g))
      if (m_.alive(v) && m_.value(v).is_initializer && m_.value(v).tensor &&
          !written_.is_constant_node(m_.graph(g), v))  // ONNX Runtime reads no data files for nodes
        found.push_back(m_.value(v).tensor);
  }
  if (!written_.whole()) {
    tensors_ = found;
    if (m_.had_external_data) {
      for (const GraphId g : written_.graphs()) {
        for (const ValueId v : written_.initializers(g))  // of functions as well
          if (m_.value(v).tensor) tensors_.push_back(m_.value(v).tensor);
        written_.nodes_backwards(g, [this](NodeId n) {
          for (const Attr& a : m_.attrs(n))
            if (a.tensor) tensors_.push_back(a.tensor);
        });
      }
    }
    std::ranges::sort(tensors_);
    tensors_.erase(std::unique(tensors_.begin(), tensors_.end()), tensors_.end());
  }
  forms_.assign(tensor_count(), Form::AsIs);
  is_initializer_.assign(tensor_count(), false);
  for (const TensorId t : found) {
    const std::size_t i = number(t);
    if (!is_initializer_[i]) initializers_.push_back(t);
    is_initializer_[i] = true;
  }
}

std::size_t DataPlan::number(TensorId t) const {
  if (written_.whole()) return t.index();
  const auto at = std::ranges::lower_bound(tensors_, t);
  return at != tensors_.end() && *at == t ? static_cast<std::size_t>(at - tensors_.begin()) : kNone;
}

namespace {

// Targets of Reshape, parts of Split, scales of Resize: a runtime reads them while it infers shapes, and ONNX
// Runtime reads no data files there. So small vectors stay inside, whatever the threshold.
bool may_be_shape(const Tensor& t) {
  constexpr std::int64_t kMostDims = 64;
  return t.dims.size() <= 1 && t.elements <= kMostDims;
}

}  // namespace

DataPlan::DataPlan(const Model& m, const SaveOptions& options, bool files_allowed, bool all_large)
    : m_(m), written_(m, options.part) {
  using External = SaveOptions::External;
  const bool always = files_allowed && (options.external == External::Always || all_large);
  if (!m.had_external_data && !always) return;
  find_tensors();
  const std::string target = resolved(options.path);
  const std::string folder = folder_of(target);
  std::vector<TensorId> data;
  for (const TensorId t : initializers_) {
    Form& form = forms_[number(t)];
    const Tensor& tensor = m.tensor(t);
    if (tensor.dtype == DType::String || bits_of(tensor.dtype) == 0) continue;
    const std::uint64_t size = payload_size(tensor);
    if (size == 0) {
      if (tensor.external) form = Form::Inline, moves_ = true;
      continue;
    }
    const bool large = size >= options.external_threshold && !may_be_shape(tensor);
    if (files_allowed && options.external != External::Never) {
      if (tensor.external && options.data_name.empty() && found_from(folder, tensor)) {
        kept_bytes_ += size;
        continue;
      }
      const bool made_here = tensor.proto.empty() && m.had_external_data;
      if (always ? large : tensor.external || (made_here && large)) {
        form = Form::Data;
        data.push_back(t);
        continue;
      }
    }
    if (tensor.external) form = Form::Inline, moves_ = true;
  }
  const bool may_refer = files_allowed && options.external != External::Never;
  inline_others(may_refer ? std::optional(folder) : std::nullopt);
  if (data.empty()) return;
  lay_out(data);
  name_ = options.data_name;
  named_ = !name_.empty();
  force_ = options.force;
  if (!named_) name_ = last_part(target) + "." + own_.short_hash() + ".data";
}

DataPlan::DataPlan(const Model& m, const SaveOptions& options, DataLayout& shared, const KeptFields* kept)
    : m_(m), written_(m, options.part, kept), layout_(&shared) {
  find_tensors();
  std::vector<TensorId> data;
  for (const TensorId t : initializers_) {
    Form& form = forms_[number(t)];
    const Tensor& tensor = m.tensor(t);
    if (tensor.dtype == DType::String || bits_of(tensor.dtype) == 0) continue;
    const std::uint64_t size = payload_size(tensor);
    if (size > 0 && size >= options.external_threshold && !may_be_shape(tensor) &&
        options.external != SaveOptions::External::Never) {
      form = Form::Data;
      data.push_back(t);
    } else if (tensor.external) {
      form = Form::Inline, moves_ = true;
    }
  }
  inline_others(std::nullopt);
  if (!data.empty()) lay_out(data);
}

// External payloads elsewhere (attributes, function bodies) are written into the message, except those that a
// model in this folder finds.
void DataPlan::inline_others(const std::optional<std::string>& folder) {
  if (!m_.had_external_data) return;
  for (std::size_t i = 0; i < tensor_count(); ++i) {
    const Tensor& t = m_.tensor(tensor(i));
    if (is_initializer_[i] || !t.external) continue;
    if (!folder || !found_from(*folder, t)) forms_[i] = Form::Inline, moves_ = true;
  }
}

void DataPlan::lay_out(const std::vector<TensorId>& tensors) {
  slice_of_.assign(tensor_count(), kNoSlice);
  moves_ = true;
  for (const TensorId t : tensors) {
    const std::optional<Bytes> raw = m_.raw(t);
    if (!raw || raw->empty()) {
      forms_[number(t)] = Form::AsIs;
      continue;
    }
    slice_of_[number(t)] = layout_->add(*raw);
    has_data_ = true;
  }
}

std::optional<DataRange> DataPlan::range(TensorId t) const {
  const std::size_t i = slice_of_.empty() ? kNone : number(t);
  if (i >= slice_of_.size() || slice_of_[i] == kNoSlice) return std::nullopt;
  const DataLayout::Slice& slice = layout_->slice(slice_of_[i]);
  return DataRange{name_, slice.offset, slice.bytes.size()};
}

Status DataPlan::write(const std::string& target, std::optional<OutputFile>& file) const {
  const std::string path = folder_of(target) + "/" + name_;
  struct stat info{};
  if (!named_ && ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
      static_cast<std::uint64_t>(info.st_size) == layout_->size())
    return Done{};
  Result<OutputFile> created = OutputFile::create(path, force_);
  if (!created) return created.errors();
  file.emplace(*std::move(created));
  return layout_->write(*file);
}

std::vector<std::string> locations(const Model& m, const DataPlan& plan) {
  std::vector<std::string> out;
  const auto add = [&out](std::string_view location) {
    if (!location.empty() && (out.empty() || out.back() != location)) out.emplace_back(location);
  };
  add(plan.file_name());
  for (std::uint32_t i = 0; i < m.tensor_count(); ++i)
    if (m.tensor(TensorId{i}).external && plan.has(TensorId{i}) &&
        plan.form(TensorId{i}) == DataPlan::Form::AsIs)
      add(location_of(m.tensor(TensorId{i}).proto));
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

void remove_old_data(const Model& m, const std::string& target, const std::vector<std::string>& referred) {
  const std::string folder = folder_of(target);
  const std::string base = last_part(target);
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
