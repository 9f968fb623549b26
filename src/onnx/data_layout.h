// The content of a data file: payloads of tensors, each at its place.
//
// Method: payloads are placed in the order in which they are added. One that is there already is found by the
// range of memory that it views (two tensors may view one range of a file), and for a set of models by its
// content as well: XXH3 finds candidates, a comparison of the bytes decides.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "onnx/wire.h"
#include "support/file.h"

namespace graphopt {

class DataLayout {
 public:
  enum class Share : std::uint8_t {
    Ranges,    // payloads that view the same bytes
    Contents,  // and all others of equal bytes
  };
  struct Slice {
    wire::Bytes bytes;  // must outlive the layout
    std::uint64_t offset;
  };

  explicit DataLayout(Share share) : share_(share) {}

  // Returns the index of the slice that holds these bytes (at least one).
  std::uint32_t add(wire::Bytes bytes);
  const Slice& slice(std::uint32_t index) const { return slices_[index]; }
  bool empty() const { return slices_.empty(); }
  std::uint64_t size() const { return size_; }

  std::string short_hash() const;  // 16 hexadecimal digits (XXH3) that tell the layouts of one model apart
  std::string sha256() const;      // of the file
  Status write(OutputFile& out) const;

 private:
  std::uint32_t place(wire::Bytes bytes);

  Share share_;
  std::vector<Slice> slices_;
  std::uint64_t size_ = 0;
  std::unordered_map<const char*, std::uint32_t> by_range_;           // the first slice that begins there
  std::unordered_multimap<std::uint64_t, std::uint32_t> by_content_;  // by XXH3
};

}  // namespace graphopt
