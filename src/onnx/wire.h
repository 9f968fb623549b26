// Protobuf's wire format, as little of it as a walk needs.
//
// Reading: Fields steps over the fields of one message. It hands out views and copies nothing, so a field of
// 5 GiB costs as much as one of 5 bytes. (protobuf's CodedInputStream counts in int and cannot see past 2
// GiB.)
//
// Writing: BackwardWriter takes the pieces of a message from the last to the first. A length stands before
// what it measures, so written backward each length is known when its turn comes: one pass, no sizes kept.
// Pieces that are views of the model file are not copied, and a piece that ends where the one after it begins
// is joined with it: an unchanged model is a handful of ranges, however many nodes it has.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace graphopt::wire {

using Bytes = std::string_view;

enum class Kind : std::uint8_t { Varint = 0, Fixed64 = 1, Length = 2, Group = 3, GroupEnd = 4, Fixed32 = 5 };

inline constexpr int kMaxDepth = 100;  // messages within messages, as protobuf takes them by default

struct Field {
  std::uint32_t number = 0;
  Kind kind = Kind::Varint;
  std::uint64_t value = 0;  // Varint, Fixed64, Fixed32
  Bytes bytes;              // Length: the content; Group: all of it
  Bytes whole;              // with its tag
};

// Known fields are written by number, and unknown ones behind them in the order in which they came.
inline std::uint32_t rank_of(const Field& f) { return f.number < 64 ? f.number : 64; }

// 0 when `p` holds no whole varint of at most ten bytes; else its length.
std::size_t read_varint(const char* p, const char* end, std::uint64_t& value);

class Fields {
 public:
  explicit Fields(Bytes message) : p_(message.data()), end_(message.data() + message.size()) {}
  // The next field; false at the end and at the first broken field.
  bool next(Field& f);
  bool broken() const { return what_ != nullptr; }
  const char* what() const { return what_; }  // "a field is longer than what holds it", ...
  const char* where() const { return p_; }    // of the broken field

 private:
  bool fail(const char* what) {
    what_ = what;
    return false;
  }
  bool skip_group(std::uint32_t number);

  const char* p_;
  const char* end_;
  const char* what_ = nullptr;
};

// True when the whole message can be walked (one level).
bool well_formed(Bytes message);
// A field as protobuf's int32 and int64 read it.
inline std::int64_t as_int64(const Field& f) { return static_cast<std::int64_t>(f.value); }
inline std::int32_t as_int32(const Field& f) { return static_cast<std::int32_t>(f.value); }
float as_float(const Field& f);
// Elements of a repeated varint field, packed or not; false when broken.
bool append_varints(const Field& f, std::vector<std::int64_t>& out);
bool append_floats(const Field& f, std::vector<float>& out);

struct Piece {
  const char* data;
  std::uint64_t size;
};

class BackwardWriter {
 public:
  // `image`: bytes that outlive the writer and everything made of it (the model file); may be empty.
  explicit BackwardWriter(Bytes image) : image_(image) {}

  std::uint64_t size() const { return size_; }  // written so far
  void raw(Bytes bytes);                        // outlives the writer; small ones are copied anyhow
  void copy(Bytes bytes);
  void tag(std::uint32_t number, Kind kind);
  void varint(std::uint64_t value);

  // Fields. A nested message: const auto end = size(); write its fields, last to first; close(number, end).
  void close(std::uint32_t number, std::uint64_t end_size) {
    varint(size_ - end_size);
    tag(number, Kind::Length);
  }
  void field_bytes(std::uint32_t number, Bytes content);  // content outlives the writer
  void field_copy(std::uint32_t number, Bytes content);
  void field_varint(std::uint32_t number, std::uint64_t value);
  void field_int(std::uint32_t number, std::int64_t value) {
    field_varint(number, static_cast<std::uint64_t>(value));
  }
  void field_float(std::uint32_t number, float value);

  // The pieces, first to last. The writer is done.
  std::vector<Piece> take();

 private:
  static constexpr std::size_t kBlock = 32 * 1024;
  char* room(std::size_t n);
  bool in_image(Bytes b) const {
    return b.data() >= image_.data() && b.data() + b.size() <= image_.data() + image_.size();
  }

  Bytes image_;
  std::vector<Piece> pieces_;  // last to first
  std::vector<std::unique_ptr<char[]>> blocks_;
  char* free_ = nullptr;  // free space ends here
  std::size_t left_ = 0;
  std::uint64_t size_ = 0;
};

}  // namespace graphopt::wire
