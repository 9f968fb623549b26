// See wire.h.
#include "onnx/wire.h"

#include <google/protobuf/io/coded_stream.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace graphopt::wire {

using google::protobuf::io::CodedOutputStream;

std::size_t read_varint(const char* p, const char* end, std::uint64_t& value) {
  if (p < end && (*p & 0x80) == 0) {  // the usual case
    value = static_cast<std::uint8_t>(*p);
    return 1;
  }
  std::uint64_t v = 0;
  const std::size_t limit = std::min<std::size_t>(10, static_cast<std::size_t>(end - p));
  for (std::size_t i = 0; i < limit; ++i) {
    const auto byte = static_cast<std::uint8_t>(p[i]);
    v |= static_cast<std::uint64_t>(byte & 0x7F) << (7 * i);
    if ((byte & 0x80) == 0) {
      value = v;
      return i + 1;
    }
  }
  return 0;
}

bool Fields::skip_group(std::uint32_t number) {
  // Protobuf's schemas have no groups any more; one may still be among unknown fields.
  std::array<std::uint32_t, kMaxDepth> open{};
  std::size_t depth = 0;
  open[depth++] = number;
  while (depth > 0) {
    std::uint64_t key = 0;
    const std::size_t n = read_varint(p_, end_, key);
    if (n == 0) return fail("a group does not end");
    p_ += n;
    const auto inner = static_cast<std::uint32_t>(key >> 3);
    std::uint64_t value = 0;
    switch (key & 7) {
      case 0: {
        const std::size_t m = read_varint(p_, end_, value);
        if (m == 0) return fail("a number does not end");
        p_ += m;
        break;
      }
      case 1:
      case 5: {
        const std::ptrdiff_t m = (key & 7) == 1 ? 8 : 4;
        if (end_ - p_ < m) return fail("a number does not end");
        p_ += m;
        break;
      }
      case 2: {
        const std::size_t m = read_varint(p_, end_, value);
        if (m == 0 || value > static_cast<std::uint64_t>(end_ - p_ - static_cast<std::ptrdiff_t>(m)))
          return fail("a field is longer than what holds it");
        p_ += m + value;
        break;
      }
      case 3:
        if (depth == open.size()) return fail("groups are nested too deep");
        open[depth++] = inner;
        break;
      case 4:
        if (open[--depth] != inner) return fail("a group ends that was not begun");
        break;
      default: return fail("a field has an unknown wire type");
    }
  }
  return true;
}

bool Fields::next(Field& f) {
  if (p_ >= end_ || what_ != nullptr) return false;
  const char* const start = p_;
  std::uint64_t key = 0;
  std::size_t n = read_varint(p_, end_, key);
  if (n == 0 || key > 0xFFFFFFFFu) return fail("a field's tag is broken");
  f.number = static_cast<std::uint32_t>(key >> 3);
  if (f.number == 0) return fail("a field has number 0");
  const char* p = p_ + n;
  switch (key & 7) {
    case 0:
      n = read_varint(p, end_, f.value);
      if (n == 0) return fail("a number does not end");
      f.kind = Kind::Varint;
      p += n;
      break;
    case 1:
      if (end_ - p < 8) return fail("a number does not end");
      f.kind = Kind::Fixed64;
      std::memcpy(&f.value, p, 8);
      p += 8;
      break;
    case 2: {
      std::uint64_t length = 0;
      n = read_varint(p, end_, length);
      if (n == 0) return fail("a length does not end");
      p += n;
      if (length > static_cast<std::uint64_t>(end_ - p)) return fail("a field is longer than what holds it");
      f.kind = Kind::Length;
      f.bytes = Bytes(p, length);
      p += length;
      break;
    }
    case 3:
      f.kind = Kind::Group;
      p_ = p;
      if (!skip_group(f.number)) return false;
      p = p_;
      f.bytes = Bytes(start, static_cast<std::size_t>(p - start));
      break;
    case 5: {
      if (end_ - p < 4) return fail("a number does not end");
      f.kind = Kind::Fixed32;
      std::uint32_t v = 0;
      std::memcpy(&v, p, 4);
      f.value = v;
      p += 4;
      break;
    }
    default: return fail("a field has an unknown wire type");
  }
  f.whole = Bytes(start, static_cast<std::size_t>(p - start));
  p_ = p;
  return true;
}

bool well_formed(Bytes message) {
  Fields fields(message);
  for (Field f; fields.next(f);) {
  }
  return !fields.broken();
}

float as_float(const Field& f) { return std::bit_cast<float>(static_cast<std::uint32_t>(f.value)); }

bool append_varints(const Field& f, std::vector<std::int64_t>& out) {
  if (f.kind == Kind::Varint) {
    out.push_back(as_int64(f));
    return true;
  }
  if (f.kind != Kind::Length) return false;
  const char* p = f.bytes.data();
  const char* const end = p + f.bytes.size();
  while (p < end) {
    std::uint64_t v = 0;
    const std::size_t n = read_varint(p, end, v);
    if (n == 0) return false;
    out.push_back(static_cast<std::int64_t>(v));
    p += n;
  }
  return true;
}

bool append_floats(const Field& f, std::vector<float>& out) {
  if (f.kind == Kind::Fixed32) {
    out.push_back(as_float(f));
    return true;
  }
  if (f.kind != Kind::Length || f.bytes.size() % 4 != 0) return false;
  const std::size_t old_size = out.size();
  out.resize(old_size + f.bytes.size() / 4);
  if (!f.bytes.empty()) std::memcpy(out.data() + old_size, f.bytes.data(), f.bytes.size());
  return true;
}

// --- BackwardWriter ----------------------------------------------------------------------------------------

char* BackwardWriter::room(std::size_t n) {
  if (n > left_) {
    const std::size_t size = std::max(n, kBlock);
    blocks_.push_back(std::make_unique_for_overwrite<char[]>(size));
    free_ = blocks_.back().get() + size;
    left_ = size;
  }
  free_ -= n;
  left_ -= n;
  return free_;
}

void BackwardWriter::copy(Bytes bytes) {
  if (bytes.empty()) return;
  char* to = room(bytes.size());
  std::memcpy(to, bytes.data(), bytes.size());
  size_ += bytes.size();
  if (!ranges_.empty() && ranges_.back().data == to + bytes.size()) {
    ranges_.back().data = to;
    ranges_.back().size += bytes.size();
  } else {
    ranges_.push_back({to, bytes.size()});
  }
}

void BackwardWriter::raw(Bytes bytes) {
  const bool image = in_image(bytes);
  if (!image && bytes.size() <= 256) return copy(bytes);
  if (bytes.empty()) return;
  size_ += bytes.size();
  if (image && !ranges_.empty() && ranges_.back().data == bytes.data() + bytes.size()) {
    ranges_.back().data = bytes.data();
    ranges_.back().size += bytes.size();
  } else {
    ranges_.push_back({bytes.data(), bytes.size()});
  }
}

void BackwardWriter::varint(std::uint64_t value) {
  std::array<std::uint8_t, 10> bytes{};
  const std::uint8_t* end = CodedOutputStream::WriteVarint64ToArray(value, bytes.data());
  copy({reinterpret_cast<const char*>(bytes.data()), static_cast<std::size_t>(end - bytes.data())});
}

void BackwardWriter::tag(std::uint32_t number, Kind kind) {
  varint((std::uint64_t{number} << 3) | static_cast<std::uint64_t>(kind));
}

void BackwardWriter::field_bytes(std::uint32_t number, Bytes content) {
  // In the file the content follows its tag and length. If these are the bytes that would be written now, the
  // whole field is one range of the file, and joins with its neighbours.
  std::array<std::uint8_t, 16> head{};
  std::uint8_t* p = CodedOutputStream::WriteVarint32ToArray((number << 3) | 2, head.data());
  p = CodedOutputStream::WriteVarint64ToArray(content.size(), p);
  const auto n = static_cast<std::size_t>(p - head.data());
  if (in_image(content) && static_cast<std::size_t>(content.data() - image_.data()) >= n &&
      std::memcmp(content.data() - n, head.data(), n) == 0)
    return raw({content.data() - n, content.size() + n});
  raw(content);
  copy({reinterpret_cast<const char*>(head.data()), n});
}

void BackwardWriter::field_copy(std::uint32_t number, Bytes content) {
  copy(content);
  varint(content.size());
  tag(number, Kind::Length);
}

void BackwardWriter::field_varint(std::uint32_t number, std::uint64_t value) {
  varint(value);
  tag(number, Kind::Varint);
}

void BackwardWriter::field_float(std::uint32_t number, float value) {
  std::array<char, 4> bytes{};
  std::memcpy(bytes.data(), &value, 4);
  copy({bytes.data(), 4});
  tag(number, Kind::Fixed32);
}

std::vector<ByteRange> BackwardWriter::take() {
  std::reverse(ranges_.begin(), ranges_.end());
  return std::move(ranges_);
}

}  // namespace graphopt::wire
