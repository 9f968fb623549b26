#include "onnx/data_layout.h"

#include <algorithm>
#include <array>
#include <memory>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "support/sha256.h"
#include "support/sparse_bytes.h"

namespace graphopt {

using wire::Bytes;

namespace {

constexpr std::uint64_t kPage = 4096;  // large tensors start on a page, so that a runtime can map them
constexpr std::uint64_t kLarge = 64 * 1024;
constexpr std::uint64_t kSmallAlignment = 64;

class Hasher {
 public:
  Hasher() : state_(XXH3_createState(), &XXH3_freeState) { XXH3_64bits_reset(state_.get()); }
  void add(const void* p, std::size_t n) { XXH3_64bits_update(state_.get(), p, n); }
  void add(Bytes bytes) {
    for_each_piece(bytes, [this](Bytes piece) { add(piece.data(), piece.size()); });
  }
  std::uint64_t value() const { return XXH3_64bits_digest(state_.get()); }

 private:
  std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> state_;
};

}  // namespace

std::uint32_t DataLayout::place(Bytes bytes) {
  const std::uint64_t alignment = bytes.size() >= kLarge ? kPage : kSmallAlignment;
  const std::uint64_t offset = (size_ + alignment - 1) / alignment * alignment;
  slices_.push_back({bytes, offset});
  size_ = offset + bytes.size();
  return static_cast<std::uint32_t>(slices_.size() - 1);
}

std::uint32_t DataLayout::add(Bytes bytes) {
  const auto known = by_range_.find(bytes.data());
  if (known != by_range_.end() && slices_[known->second].bytes.size() == bytes.size()) return known->second;
  if (share_ == Share::Ranges) {
    const std::uint32_t slice = place(bytes);
    by_range_.emplace(bytes.data(), slice);
    return slice;
  }
  Hasher hash;
  hash.add(bytes);
  const auto [first, last] = by_content_.equal_range(hash.value());
  const auto same =
      std::find_if(first, last, [&](const auto& e) { return slices_[e.second].bytes == bytes; });
  const std::uint32_t slice = same != last ? same->second : place(bytes);
  if (same == last) by_content_.emplace(hash.value(), slice);
  by_range_.emplace(bytes.data(), slice);
  return slice;
}

std::string DataLayout::short_hash() const {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  Hasher hash;
  for (const Slice& s : slices_) {
    const std::array<std::uint64_t, 2> at = {s.offset, s.bytes.size()};
    hash.add(at.data(), sizeof at);
    hash.add(s.bytes);
  }
  std::string out;
  for (int shift = 60; shift >= 0; shift -= 4) out += kDigits[(hash.value() >> shift) & 15];
  return out;
}

std::string DataLayout::sha256() const {
  static constexpr std::array<char, kPage> kZeros{};
  Sha256 hash;
  std::uint64_t at = 0;
  for (const Slice& s : slices_) {
    hash.add({kZeros.data(), s.offset - at});  // a gap is smaller than the largest alignment
    for_each_piece(s.bytes, [&hash](Bytes piece) { hash.add(piece); });
    at = s.offset + s.bytes.size();
  }
  return hash.hex();
}

Status DataLayout::write(OutputFile& out) const {
  for (const Slice& slice : slices_) {
    if (Status s = out.skip_to(slice.offset); !s) return s;
    const FileImage* image = FileImage::holding(slice.bytes);
    Status s = image != nullptr && image->mapped()
                   ? out.copy(*image, static_cast<std::uint64_t>(slice.bytes.data() - image->bytes().data()),
                              slice.bytes.size())
                   : out.write(slice.bytes);
    if (!s) return s;
  }
  return out.finish();
}

}  // namespace graphopt
