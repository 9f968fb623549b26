// See array_writer.h. Version 1.0 of the NPY format: a header of 64 dims has less than 65,536 bytes.
#include "runtime/array_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "runtime/array_bits.h"
#include "support/checked.h"
#include "support/quote_name.h"
#include "support/utf8.h"

namespace graphopt {
namespace {

constexpr std::size_t kMostDims = 64;          // NPY_MAXDIMS
constexpr std::size_t kMostName = 0xFFFF - 4;  // of an entry, with ".npy"
constexpr std::size_t kPiece = std::size_t{1} << 16;

Error not_written(std::string what, std::string remedy) {
  return {ErrorKind::Output, {}, std::move(what), std::move(remedy)};
}

// The array of an entry. The value outlives it.
struct OutArray {
  std::string name;
  const HostValue* value = nullptr;
};

// --- texts -------------------------------------------------------------------------------------------------

// Calls `see` with each character of a text in UTF-8.
template <class See> void for_each_character(std::string_view text, See see) {
  for (std::size_t i = 0; i < text.size();) {
    const auto first = static_cast<unsigned char>(text[i++]);
    const int more = first < 0xC0 ? 0 : first < 0xE0 ? 1 : first < 0xF0 ? 2 : 3;
    std::uint32_t code = more == 0 ? first : first & (0x3FU >> more);
    for (int k = 0; k < more; ++k) code = code << 6 | (static_cast<unsigned char>(text[i++]) & 0x3FU);
    see(code);
  }
}

struct TextForm {
  bool unicode = true;
  std::uint64_t length = 1;  // characters, or bytes: NumPy has no texts without room
};

TextForm text_form(const std::vector<std::string>& texts) {
  TextForm out;
  out.unicode = std::ranges::all_of(texts, is_utf8);
  for (const std::string& text : texts) {
    std::uint64_t length = text.size();
    if (out.unicode) {
      length = 0;
      for_each_character(text, [&](std::uint32_t) { ++length; });
    }
    out.length = std::max(out.length, length);
  }
  return out;
}

// Gathers bytes into larger pieces.
class Gathered {
 public:
  explicit Gathered(const ZipWriter::Sink& sink) : sink_(sink) { bytes_.reserve(kPiece); }
  ~Gathered() {
    if (wanted_ && !bytes_.empty()) sink_(bytes_);
  }
  Gathered(const Gathered&) = delete;
  Gathered& operator=(const Gathered&) = delete;
  bool wanted() const { return wanted_; }
  void put(char byte) {
    bytes_ += byte;
    if (bytes_.size() < kPiece) return;
    wanted_ = wanted_ && sink_(bytes_);
    bytes_.clear();
  }

 private:
  const ZipWriter::Sink& sink_;
  std::string bytes_;
  bool wanted_ = true;
};

void make_texts(const std::vector<std::string>& texts, TextForm form, const ZipWriter::Sink& sink) {
  Gathered out(sink);
  for (const std::string& text : texts) {
    std::uint64_t length = 0;
    if (form.unicode)
      for_each_character(text, [&](std::uint32_t code) {
        for (int i = 0; i < 4; ++i) out.put(static_cast<char>(code >> (8 * i)));
        ++length;
      });
    else
      for (const char c : text) out.put(c), ++length;
    for (; length < form.length && out.wanted(); ++length)
      for (int i = 0; i < (form.unicode ? 4 : 1); ++i) out.put('\0');
    if (!out.wanted()) return;
  }
}

// --- arrays ------------------------------------------------------------------------------------------------

std::string_view numpy_name(DType type) {
  switch (type) {
    case DType::Bool: return "|b1";
    case DType::Int8: return "|i1";
    case DType::UInt8: return "|u1";
    case DType::Int16: return "<i2";
    case DType::UInt16: return "<u2";
    case DType::Int32: return "<i4";
    case DType::UInt32: return "<u4";
    case DType::Int64: return "<i8";
    case DType::UInt64: return "<u8";
    case DType::Float16: return "<f2";
    case DType::Float: return "<f4";
    case DType::Double: return "<f8";
    case DType::Complex64: return "<c8";
    case DType::Complex128: return "<c16";
    default: return {};
  }
}

std::string npy_head(std::string_view descr, const std::vector<std::int64_t>& dims) {
  std::string shape;
  for (const std::int64_t d : dims) shape += fmt::format("{}{}", shape.empty() ? "" : ", ", d);
  if (dims.size() == 1) shape += ',';
  std::string dict = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr, shape);
  constexpr std::size_t kBegin = 10, kAlignment = 64;  // the elements begin at a multiple of it
  dict.append(kAlignment - 1 - (kBegin + dict.size()) % kAlignment, ' ');
  dict += '\n';
  std::string out("\x93NUMPY\x01\x00", 8);
  out += static_cast<char>(dict.size());
  out += static_cast<char>(dict.size() >> 8);
  return out + dict;
}

std::optional<Error> add_array(const OutArray& array, ZipWriter& zip, ArchiveNotes& notes) {
  const HostValue& v = *array.value;
  const std::string shown = quote_name(array.name);
  if (v.dims.size() > kMostDims)
    return not_written(fmt::format("{} has {} dims", shown, v.dims.size()),
                       fmt::format("NumPy has at most {}: leave this output out", kMostDims));
  if (array.name.size() > kMostName || array.name.find('\0') != std::string::npos)
    return not_written(fmt::format("{} cannot be the name of an array in an archive", shown),
                       fmt::format("a name has at most {} bytes and no zero byte", kMostName));
  std::optional<std::int64_t> elements = 1;
  for (const std::int64_t d : v.dims) elements = checked_mul(elements, std::optional(d));
  const auto count = static_cast<std::uint64_t>(elements.value_or(-1));
  const bool texts = v.dtype == DType::String;
  if (!elements || *elements < 0 ||
      (texts ? v.strings.size() != count : raw_size(v.dtype, count) != v.raw.size()))
    return Error{ErrorKind::Internal, {}, shown + " does not have the elements that its dims say", {}};
  if (texts) {
    const auto ends_in_zero = [](const std::string& text) { return text.ends_with('\0'); };
    if (std::ranges::any_of(v.strings, ends_in_zero))
      return not_written(fmt::format("a text of {} ends in a zero byte, which NumPy drops", shown),
                         "leave this output out");
    const TextForm form = text_form(v.strings);
    const std::string descr = fmt::format("{}{}", form.unicode ? "<U" : "|S", form.length);
    const std::string head = npy_head(descr, v.dims);
    const Status added = zip.add(array.name + ".npy", [&](const ZipWriter::Sink& sink) {
      if (sink(head)) make_texts(v.strings, form, sink);
    });
    return added ? std::nullopt : std::optional(added.error());
  }
  const std::optional<DType> bits = bits_type(v.dtype);
  const std::string_view descr = numpy_name(bits.value_or(v.dtype));
  if (descr.empty()) return Error{ErrorKind::Internal, {}, shown + " has no type that can be written", {}};
  const std::string head = npy_head(descr, v.dims);
  const bool packed = bits && bits_of(v.dtype) < 8;
  const Status added = zip.add(array.name + ".npy", [&](const ZipWriter::Sink& sink) {
    if (!sink(head)) return;
    if (!packed) {
      sink(v.raw);
      return;
    }
    Gathered out(sink);
    for (std::uint64_t i = 0; i < count && out.wanted(); ++i)
      out.put(static_cast<char>(packed_element(v.raw, v.dtype, i)));
  });
  if (!added) return added.error();
  if (bits) notes.bits.push_back(array.name);
  return std::nullopt;
}

// Returns the arrays of all values, with those of sequences and maps in their places.
std::vector<OutArray> arrays_of(std::span<const NamedValue> values, ArchiveNotes& notes) {
  std::vector<OutArray> out, open;  // `open`: what is to be looked at, the first one last
  for (const NamedValue& named : values) {
    open.push_back({named.name, &named.value});
    while (!open.empty()) {
      OutArray next = std::move(open.back());
      open.pop_back();
      const HostValue& v = *next.value;
      switch (v.kind) {
        case HostValue::Kind::Tensor: out.push_back(std::move(next)); break;
        case HostValue::Kind::Absent: notes.absent.push_back(std::move(next.name)); break;
        case HostValue::Kind::Sequence:
          for (std::size_t i = v.items.size(); i-- > 0;)
            open.push_back({fmt::format("{}[{}]", next.name, i), &v.items[i]});
          notes.apart.push_back(std::move(next.name));
          break;
        case HostValue::Kind::Map:
          for (std::size_t i = std::min<std::size_t>(v.items.size(), 2); i-- > 0;)
            open.push_back({next.name + (i == 0 ? ".keys" : ".values"), &v.items[i]});
          notes.apart.push_back(std::move(next.name));
          break;
      }
    }
  }
  return out;
}

}  // namespace

Result<ArchiveNotes> write_npz(OutputFile& to, std::span<const NamedValue> values, ZipLimits limits) {
  ArchiveNotes notes;
  ZipWriter zip(to, limits);
  std::unordered_set<std::string> names;
  for (const OutArray& array : arrays_of(values, notes)) {
    std::optional<Error> failed;
    if (!names.insert(array.name).second)
      failed = not_written(fmt::format("two arrays have the name {}", quote_name(array.name)),
                           "give outputs names of their own");
    else failed = add_array(array, zip, notes);
    if (!failed) continue;
    if (failed->place.file.empty()) failed->place.file = to.target();
    return *std::move(failed);
  }
  if (Status done = zip.finish(); !done) return done.errors();
  return notes;
}

Result<ArchiveNotes> write_npz(const std::string& path, std::span<const NamedValue> values,
                               const ArchiveOptions& options) {
  Result<OutputFile> file = OutputFile::create(path, options.force);
  if (!file) return file.errors();
  if (!options.lasting) file->need_not_last();
  Result<ArchiveNotes> notes = write_npz(*file, values, options.limits);
  if (!notes) return notes;
  if (Status done = file->commit(); !done) return done.errors();
  return notes;
}

}  // namespace graphopt
