// Protobuf's wire format, limited to what a walk requires.
//
// Reading: Fields iterates over the fields of one message. It returns views and copies nothing, so a field of
// 5 GiB costs as much as one of 5 bytes. (protobuf's CodedInputStream counts in int and cannot read beyond 2
// GiB.)
//
// Writing: BackwardWriter takes the byte ranges of a message from the last to the first. A length precedes
// the content that it measures, so in backward order each length is known when it is written: one pass, no
// table of sizes. Ranges that are views of the model file are not copied, and a range that ends where the
// next one begins is joined with it: an unchanged model is a few ranges, however many nodes it has.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace graphopt::wire {

using Bytes = std::string_view;

enum class Kind : std::uint8_t { Varint = 0, Fixed64 = 1, Length = 2, Group = 3, GroupEnd = 4, Fixed32 = 5 };

inline constexpr int kMaxDepth = 100;  // nesting of messages, protobuf's default limit

struct Field {
  std::uint32_t number = 0;
  Kind kind = Kind::Varint;
  std::uint64_t value = 0;  // Varint, Fixed64, Fixed32
  Bytes bytes;              // Length: the content; Group: all of it
  Bytes whole;              // with its tag
};

// Known fields are written by number, unknown ones after them in their original order.
inline std::uint32_t rank_of(const Field& f) { return f.number < 64 ? f.number : 64; }

// Returns the length of the varint at `p`; 0 when there is no whole varint of at most ten bytes.
std::size_t read_varint(const char* p, const char* end, std::uint64_t& value);

class Fields {
 public:
  explicit Fields(Bytes message) : p_(message.data()), end_(message.data() + message.size()) {}
  // Advances to the next field; returns false at the end and at the first broken field.
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

// Returns the first field of a message; one of number 0 when there is none.
inline Field first_field(Bytes message) {
  Field f;
  Fields(message).next(f);
  return f;
}

// Returns true when the whole message can be walked (one level).
bool well_formed(Bytes message);
// Return a field's value as protobuf's int32 and int64.
inline std::int64_t as_int64(const Field& f) { return static_cast<std::int64_t>(f.value); }
inline std::int32_t as_int32(const Field& f) { return static_cast<std::int32_t>(f.value); }
float as_float(const Field& f);
// Appends the elements of a repeated varint field, packed or not; returns false when it is broken.
bool append_varints(const Field& f, std::vector<std::int64_t>& out);
bool append_floats(const Field& f, std::vector<float>& out);

struct ByteRange {
  const char* data;
  std::uint64_t size;
};

class BackwardWriter {
 public:
  // `image`: bytes that outlive the writer and its result (the model file); may be empty.
  explicit BackwardWriter(Bytes image) : image_(image) {}

  std::uint64_t size() const { return size_; }  // written so far
  void raw(Bytes bytes);                        // bytes must outlive the writer; small ones are copied
  void copy(Bytes bytes);
  void tag(std::uint32_t number, Kind kind);
  void varint(std::uint64_t value);

  // Fields. A nested message: const auto end = size(); write its fields, last to first; close(number, end).
  void close(std::uint32_t number, std::uint64_t end_size) {
    varint(size_ - end_size);
    tag(number, Kind::Length);
  }
  void field_bytes(std::uint32_t number, Bytes content);  // content must outlive the writer
  void field_copy(std::uint32_t number, Bytes content);
  void field_varint(std::uint32_t number, std::uint64_t value);
  void field_int(std::uint32_t number, std::int64_t value) {
    field_varint(number, static_cast<std::uint64_t>(value));
  }
  void field_float(std::uint32_t number, float value);

  // Returns the ranges, first to last. The writer must not be used afterwards.
  std::vector<ByteRange> take();

 private:
  static constexpr std::size_t kBlock = 32 * 1024;
  char* room(std::size_t n);
  bool in_image(Bytes b) const {
    return b.data() >= image_.data() && b.data() + b.size() <= image_.data() + image_.size();
  }

  Bytes image_;
  std::vector<ByteRange> ranges_;  // last to first
  std::vector<std::unique_ptr<char[]>> blocks_;
  char* free_ = nullptr;  // free space ends here
  std::size_t left_ = 0;
  std::uint64_t size_ = 0;
};

}  // namespace graphopt::wire
