// See array_file.h. Files come from users: every length is compared with what is there before it is used, and
// none decides how much memory is taken.
#include "runtime/array_file.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstring>
#include <optional>

#include "runtime/byte_reader.h"
#include "runtime/zip_reader.h"
#include "support/checked.h"
#include "support/nearest.h"
#include "support/quote_name.h"

namespace graphopt {
namespace {

using namespace std::string_view_literals;

Error refused(const std::string& file, std::string what, std::string remedy) {
  return {ErrorKind::Input, {file, {}, {}, {}, {}}, std::move(what), std::move(remedy)};
}

constexpr const char* kSaveAgain = "save it again with numpy.save, or numpy.savez";

// --- .npy --------------------------------------------------------------------------------------------------

struct Header {
  std::string_view descr;
  bool fortran = false;
  std::vector<std::int64_t> dims;
};

// Takes the value of one key from the header, which is the text of a Python dict. NumPy writes the keys in
// this form; no value of the three holds a quoted key.
std::optional<std::string_view> value_of(std::string_view dict, std::string_view key) {
  const std::size_t at = dict.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  const std::size_t colon = dict.find_first_not_of(' ', at + key.size());
  if (colon == std::string_view::npos || dict[colon] != ':') return std::nullopt;
  const std::size_t begin = dict.find_first_not_of(' ', colon + 1);
  return begin == std::string_view::npos ? std::nullopt : std::optional(dict.substr(begin));
}

std::optional<std::vector<std::int64_t>> read_dims(std::string_view text) {
  if (!text.starts_with('(')) return std::nullopt;
  text = text.substr(1, text.find(')') - 1);
  std::vector<std::int64_t> dims;
  while (true) {
    const std::size_t begin = text.find_first_not_of(" ,");
    if (begin == std::string_view::npos) return dims;
    text.remove_prefix(begin);
    std::int64_t dim = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), dim);
    if (error != std::errc() || dim < 0) return std::nullopt;
    dims.push_back(dim);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.starts_with('L')) text.remove_prefix(1);  // as Python 2 wrote integers
  }
}

std::optional<Header> read_header(std::string_view dict) {
  Header out;
  const auto descr = value_of(dict, "'descr'"), order = value_of(dict, "'fortran_order'"),
             shape = value_of(dict, "'shape'");
  if (!descr || !order || !shape) return std::nullopt;
  if (descr->starts_with('\'')) {
    const std::size_t end = descr->find('\'', 1);
    if (end == std::string_view::npos) return std::nullopt;
    out.descr = descr->substr(1, end - 1);
  }  // else a list of fields: the text stays empty
  out.fortran = order->starts_with("True");
  auto dims = read_dims(*shape);
  if (!dims) return std::nullopt;
  out.dims = *std::move(dims);
  return out;
}

struct Element {
  DType dtype = DType::Undefined;
  std::uint64_t bytes = 0;
  bool wide = false;  // a text of 4 bytes per character
};

std::optional<Element> element_of(std::string_view descr) {
  struct Known {
    std::string_view name;
    DType dtype;
  };
  constexpr auto kKnown = std::to_array<Known>({{"b1", DType::Bool},
                                                {"i1", DType::Int8},
                                                {"i2", DType::Int16},
                                                {"i4", DType::Int32},
                                                {"i8", DType::Int64},
                                                {"u1", DType::UInt8},
                                                {"u2", DType::UInt16},
                                                {"u4", DType::UInt32},
                                                {"u8", DType::UInt64},
                                                {"f2", DType::Float16},
                                                {"f4", DType::Float},
                                                {"f8", DType::Double},
                                                {"c8", DType::Complex64},
                                                {"c16", DType::Complex128}});
  if (descr.empty()) return std::nullopt;
  const char order = descr.front();
  const std::string_view name = descr.substr(1);
  const bool is_text = name.starts_with('U') || name.starts_with('S');
  if (is_text) {
    std::uint64_t length = 0;
    const auto [end, error] = std::from_chars(name.data() + 1, name.data() + name.size(), length);
    if (error != std::errc() || end != name.data() + name.size() || length > (1U << 30)) return std::nullopt;
    const bool wide = name.front() == 'U';
    if (wide && order != '<') return std::nullopt;
    return Element{DType::String, wide ? length * 4 : length, wide};
  }
  for (const Known& k : kKnown) {
    if (k.name != name) continue;
    const auto bytes = static_cast<std::uint64_t>(bits_of(k.dtype)) / 8;
    if (order == '<' || (order == '|' && bytes == 1)) return Element{k.dtype, bytes, false};
  }
  return std::nullopt;
}

void append_utf8(std::string& out, std::uint32_t c) {
  const auto put = [&out](std::uint32_t byte) { out += static_cast<char>(byte); };
  if (c < 0x80) return put(c);
  if (c < 0x800) put(0xC0 | c >> 6);
  else {
    if (c < 0x10000) put(0xE0 | c >> 12);
    else {
      put(0xF0 | (c >> 18 & 7));
      put(0x80 | (c >> 12 & 0x3F));
    }
    put(0x80 | (c >> 6 & 0x3F));
  }
  put(0x80 | (c & 0x3F));
}

// NumPy fills texts with zeros up to the length of the longest.
std::string text_of(std::string_view bytes, bool wide) {
  std::string out;
  if (!wide) return std::string(bytes.substr(0, bytes.find_last_not_of('\0') + 1));
  std::size_t end = bytes.size();
  const auto at = [bytes](std::size_t i) {
    std::uint32_t c = 0;
    std::memcpy(&c, bytes.data() + i, sizeof c);
    return c;
  };
  while (end >= 4 && at(end - 4) == 0) end -= 4;
  for (std::size_t i = 0; i < end; i += 4) append_utf8(out, at(i));
  return out;
}

// Calls `visit` with the place of each element in the file, in the order of C.
template <class Visit> void in_c_order(const Header& h, std::uint64_t elements, Visit visit) {
  std::vector<std::int64_t> index(h.dims.size(), 0);
  std::vector<std::uint64_t> stride(h.dims.size(), 1);
  for (std::size_t i = 1; i < h.dims.size(); ++i)
    stride[i] = stride[i - 1] * static_cast<std::uint64_t>(h.dims[i - 1]);
  std::uint64_t place = 0;
  for (std::uint64_t n = 0; n < elements; ++n) {
    visit(h.fortran ? place : n);
    for (std::size_t i = h.dims.size(); h.fortran && i-- > 0;) {
      place += stride[i];
      if (++index[i] < h.dims[i]) break;
      place -= stride[i] * static_cast<std::uint64_t>(h.dims[i]);
      index[i] = 0;
    }
  }
}

// --- .npz --------------------------------------------------------------------------------------------------

std::string_view array_name(const ZipEntry& entry) {
  constexpr std::string_view kSuffix = ".npy";
  std::string_view name = entry.name;
  if (name.ends_with(kSuffix)) name.remove_suffix(kSuffix.size());
  return name;
}

Result<HostValue> read_entry(const ZipEntry& entry, const std::string& file) {
  const std::string name = quote_name(array_name(entry));
  switch (entry.state) {
    case ZipEntry::State::Packed:
      return refused(file, "array " + name + " is compressed",
                     "save it with numpy.savez, not numpy.savez_compressed");
    case ZipEntry::State::Cut: return refused(file, "array " + name + " is cut short", kSaveAgain);
    case ZipEntry::State::Stored: break;
  }
  if (!entry.is_undamaged())
    return refused(file, "array " + name + " is damaged: its checksum is another one", kSaveAgain);
  Result<HostValue> value = read_npy(entry.bytes, file);
  if (value) return value;
  Errors errors = value.errors();
  for (Error& error : errors) error.what = "array " + name + ": " + error.what;
  return errors;
}

// Calls `see` with each entry until it returns false.
template <class See> Status for_each_entry(std::string_view bytes, const std::string& file, See see) {
  std::optional<ZipReader> zip = ZipReader::open(bytes);
  if (!zip) return refused(file, "this is no .npz archive", kSaveAgain);
  while (const std::optional<ZipEntry> entry = zip->next())
    if (!see(*entry)) return Done{};
  if (zip->broken()) return refused(file, "its list of arrays is broken", kSaveAgain);
  return Done{};
}

}  // namespace

Result<HostValue> read_npy(std::string_view bytes, const std::string& file) {
  const ByteReader reader(bytes);
  const auto broken = [&](const char* what) { return refused(file, what, kSaveAgain); };
  constexpr std::string_view kMagic = "\x93NUMPY"sv;
  if (!bytes.starts_with(kMagic) || bytes.size() < 8) return broken("this is no array of NumPy");
  const bool old = bytes[6] == 1;
  const std::uint64_t begin = old ? 10 : 12;
  const auto length = old ? std::optional<std::uint64_t>(reader.number<std::uint16_t>(8))
                          : std::optional<std::uint64_t>(reader.number<std::uint32_t>(8));
  const auto dict = length ? reader.piece(begin, *length) : std::nullopt;
  if (!dict) return broken("its header is cut short");
  const std::optional<Header> header = read_header(*dict);
  if (!header) return broken("its header cannot be read");
  const std::optional<Element> element = element_of(header->descr);
  if (!element)
    return refused(file, fmt::format("elements of type '{}' are not read", header->descr),
                   "give little-endian booleans, integers, floats, complex numbers or texts: "
                   "array.astype('float32')");
  // NumPy gives texts at least one character; else any number of them would take no bytes.
  if (element->bytes == 0) return broken("its texts have no room for a character");
  std::optional<std::int64_t> elements = 1;
  for (const std::int64_t d : header->dims) elements = elements ? checked_mul(*elements, d) : std::nullopt;
  const auto wanted =
      elements ? checked_mul(*elements, static_cast<std::int64_t>(element->bytes)) : std::nullopt;
  const std::uint64_t there = bytes.size() - begin - *length;
  if (!wanted || static_cast<std::uint64_t>(*wanted) != there)
    return broken("it does not hold as many elements as its header says");
  HostValue out;
  out.kind = HostValue::Kind::Tensor;
  out.dtype = element->dtype;
  out.dims = header->dims;
  const std::string_view data = bytes.substr(begin + *length);
  const auto count = static_cast<std::uint64_t>(*elements);
  if (element->dtype != DType::String && !header->fortran) {
    out.raw = data;
    return out;
  }
  in_c_order(*header, count, [&](std::uint64_t place) {
    const std::string_view one = data.substr(place * element->bytes, element->bytes);
    if (element->dtype == DType::String) out.strings.push_back(text_of(one, element->wide));
    else out.raw += one;
  });
  return out;
}

Result<std::vector<NamedValue>> read_npz(std::string_view bytes, const std::string& file) {
  std::vector<NamedValue> out;
  Errors errors;
  const Status walked = for_each_entry(bytes, file, [&](const ZipEntry& entry) {
    Result<HostValue> value = read_entry(entry, file);
    if (value) out.push_back({std::string(array_name(entry)), *std::move(value)});
    else errors = value.errors();
    return errors.empty();
  });
  if (!walked) return walked.errors();
  if (!errors.empty()) return errors;
  return out;
}

Result<std::vector<std::string>> npz_names(std::string_view bytes, const std::string& file) {
  std::vector<std::string> out;
  const Status walked = for_each_entry(bytes, file, [&](const ZipEntry& entry) {
    out.emplace_back(array_name(entry));
    return true;
  });
  if (!walked) return walked.errors();
  return out;
}

Result<HostValue> read_npz_array(std::string_view bytes, const std::string& file, const std::string& name,
                                 ErrorKind missing) {
  std::optional<ZipEntry> found, first;
  std::vector<std::string> names;
  const Status walked = for_each_entry(bytes, file, [&](const ZipEntry& entry) {
    if (!first) first = entry;
    if (array_name(entry) == name) found = entry;
    names.emplace_back(array_name(entry));
    return !found;
  });
  if (!walked) return walked.errors();
  if (!found && names.size() == 1) found = first;
  if (found) return read_entry(*found, file);
  Error none = refused(file, "it has no array " + quote_name(name), suggest(name, names, "arrays"));
  none.kind = missing;
  return none;
}

}  // namespace graphopt
