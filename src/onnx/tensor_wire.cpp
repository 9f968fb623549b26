// See tensor_wire.h.
//
// Payloads come in three kinds: raw_data, typed lists (float_data and double_data are already raw when packed
// in one piece; lists of varints are unpacked on first use, by decode()), and external data.
#include "onnx/tensor_wire.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "onnx/fields.h"
#include "support/checked.h"

namespace graphopt {

static_assert(std::endian::native == std::endian::little, "raw_data is little-endian and used as it stands");

namespace {

namespace tf = field::tensor;
using wire::Field;
using wire::Fields;
using wire::Kind;

struct TypedField {
  std::uint32_t number;
  std::uint64_t entries;  // required number of entries of the field
};

// Returns the typed field that holds elements of a type, and the number of entries that n elements take.
std::optional<TypedField> typed_field(DType t, std::uint64_t n) {
  switch (t) {
    case DType::Float: return TypedField{tf::kFloats, n};
    case DType::Complex64: return TypedField{tf::kFloats, 2 * n};
    case DType::Double: return TypedField{tf::kDoubles, n};
    case DType::Complex128: return TypedField{tf::kDoubles, 2 * n};
    case DType::Int64: return TypedField{tf::kInt64s, n};
    case DType::UInt32:
    case DType::UInt64: return TypedField{tf::kUint64s, n};
    case DType::String: return TypedField{tf::kStrings, n};
    case DType::Undefined: return std::nullopt;
    default: break;
  }
  const int bits = bits_of(t);
  if (bits == 0) return std::nullopt;
  if (bits == 4) return TypedField{tf::kInt32s, n / 2 + n % 2};
  if (bits == 2) return TypedField{tf::kInt32s, n / 4 + (n % 4 != 0)};
  return TypedField{tf::kInt32s, n};
}

// Returns the number of varints in a packed field; nothing when one is truncated or too long.
std::optional<std::uint64_t> count_varints(Bytes packed) {
  std::uint64_t count = 0;
  std::size_t run = 0;
  for (const char c : packed) {
    if ((c & 0x80) == 0) {
      ++count;
      run = 0;
    } else if (++run == 10) {
      return std::nullopt;
    }
  }
  return run == 0 ? std::optional(count) : std::nullopt;
}

struct Parts {
  std::vector<std::int64_t> dims;
  std::int64_t type = 0;
  std::string_view name;
  Bytes raw;
  bool has_raw = false, external = false, has_segment = false, broken = false;
  ExternalEntry entry;
  Bytes floats, doubles;          // when packed in one piece
  std::uint64_t counts[12] = {};  // entries of the typed field with this number
  std::uint32_t pieces[12] = {};
};

void count_entries(const Field& f, Parts& p) {
  std::uint64_t& count = p.counts[f.number];
  ++p.pieces[f.number];
  switch (f.number) {
    case tf::kFloats:
      if (f.kind == Kind::Fixed32) ++count;
      else if (f.kind == Kind::Length && f.bytes.size() % 4 == 0)
        count += f.bytes.size() / 4, p.floats = f.bytes;
      else p.broken = true;
      break;
    case tf::kDoubles:
      if (f.kind == Kind::Fixed64) ++count;
      else if (f.kind == Kind::Length && f.bytes.size() % 8 == 0)
        count += f.bytes.size() / 8, p.doubles = f.bytes;
      else p.broken = true;
      break;
    case tf::kStrings:
      if (f.kind == Kind::Length) ++count;
      else p.broken = true;
      break;
    default: {
      if (f.kind == Kind::Varint) {
        ++count;
      } else if (f.kind == Kind::Length) {
        const std::optional<std::uint64_t> n = count_varints(f.bytes);
        if (n) count += *n;
        else p.broken = true;
      } else {
        p.broken = true;
      }
    }
  }
}

void read_entry(Bytes bytes, ExternalEntry& out) {
  std::string_view key, value;
  Fields fields(bytes);
  for (Field f; fields.next(f);) {
    if (f.kind != Kind::Length) continue;
    if (f.number == field::entry::kKey) key = f.bytes;
    if (f.number == field::entry::kValue) value = f.bytes;
  }
  if (key == "location") out.location = value, out.has_location = true;
  else if (key == "offset") out.offset = value, out.has_offset = true;
  else if (key == "length") out.length = value, out.has_length = true;
}

std::optional<Fault> read_parts(Bytes proto, Parts& p) {
  Fields fields(proto);
  for (Field f; fields.next(f);) {
    switch (f.number) {
      case tf::kDims:
        if (!wire::append_varints(f, p.dims)) p.broken = true;
        break;
      case tf::kType:
        if (f.kind == Kind::Varint) p.type = wire::as_int32(f);
        break;
      case tf::kSegment: p.has_segment = true; break;
      case tf::kName:
        if (f.kind == Kind::Length) p.name = f.bytes;
        break;
      case tf::kRaw:
        if (f.kind == Kind::Length) p.raw = f.bytes, p.has_raw = true;
        break;
      case tf::kExternal:
        if (f.kind == Kind::Length) read_entry(f.bytes, p.entry);
        break;
      case tf::kLocation:
        if (f.kind == Kind::Varint) p.external = f.value == 1;
        break;
      case tf::kFloats:
      case tf::kInt32s:
      case tf::kStrings:
      case tf::kInt64s:
      case tf::kDoubles:
      case tf::kUint64s: count_entries(f, p); break;
      default: break;
    }
  }
  if (fields.broken()) return Fault{std::string("its bytes are broken: ") + fields.what(), kDamaged};
  if (p.broken) return Fault{"its list of elements is broken", kDamaged};
  return std::nullopt;
}

template <class T> void append_as(std::uint64_t value, std::string& raw) {
  const T v = static_cast<T>(value);
  raw.append(reinterpret_cast<const char*>(&v), sizeof v);
}

void append_element(DType t, std::uint64_t value, std::string& raw) {
  switch (bits_of(t)) {
    case 16: append_as<std::uint16_t>(value, raw); break;
    case 32: append_as<std::uint32_t>(value, raw); break;
    case 64: append_as<std::uint64_t>(value, raw); break;
    default: append_as<std::uint8_t>(value, raw); break;  // 8 bits; or a byte of packed smaller ones
  }
}

// One 6-bit element per entry becomes a bit stream, lowest bit first.
std::string pack_six_bits(const std::string& entries) {
  std::string raw((entries.size() * 6 + 7) / 8, '\0');
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const unsigned v = static_cast<unsigned char>(entries[i]) & 0x3Fu;
    const std::size_t bit = i * 6;
    raw[bit / 8] = static_cast<char>(static_cast<unsigned char>(raw[bit / 8]) | (v << (bit % 8)));
    if (bit % 8 > 2) raw[bit / 8 + 1] = static_cast<char>(v >> (8 - bit % 8));
  }
  return raw;
}

// Tensor::decode: the payload of typed fields in raw form.
bool decode(Bytes proto, Unpacked& out) {
  Parts p;
  if (read_parts(proto, p)) return false;
  const auto t = static_cast<DType>(p.type);
  const std::optional<TypedField> typed = typed_field(t, 0);
  if (!typed) return false;
  Fields fields(proto);
  for (Field f; fields.next(f);) {
    if (f.number != typed->number) continue;
    if (t == DType::String) {
      out.strings.emplace_back(f.bytes);
    } else if (f.number == tf::kFloats || f.number == tf::kDoubles) {
      if (f.kind == Kind::Length) out.raw.append(f.bytes);
      else out.raw.append(reinterpret_cast<const char*>(&f.value), f.kind == Kind::Fixed32 ? 4 : 8);
    } else if (f.kind == Kind::Varint) {
      append_element(t, f.value, out.raw);
    } else {
      const char* at = f.bytes.data();
      const char* const end = at + f.bytes.size();
      while (at < end) {
        std::uint64_t v = 0;
        at += wire::read_varint(at, end, v);  // checked when it was loaded: each varint ends
        append_element(t, v, out.raw);
      }
    }
  }
  if (bits_of(t) == 6) out.raw = pack_six_bits(out.raw);
  return true;
}

std::string count_text(std::uint64_t n, const char* unit) {
  return std::to_string(n) + " " + unit + (n == 1 ? "" : "s");
}

}  // namespace

std::string_view tensor_name(Bytes proto) {
  std::string_view name;
  Fields fields(proto);
  for (Field f; fields.next(f);)
    if (f.number == tf::kName && f.kind == Kind::Length) name = f.bytes;
  return name;
}

std::optional<Fault> read_tensor(Bytes proto, ExternalFiles& external, Tensor& out, std::string_view& name) {
  Parts p;
  std::optional<Fault> fault = read_parts(proto, p);
  name = p.name;
  if (fault) return fault;
  out.proto = proto;
  out.dims = std::move(p.dims);
  out.external = p.external;
  out.dtype = p.type > 0 && p.type < 256 ? static_cast<DType>(p.type) : DType::Undefined;

  std::int64_t elements = 1;
  bool zero = false, overflow = false;
  for (const std::int64_t d : out.dims) {
    if (d < 0) return Fault{"it has the negative dim " + std::to_string(d), kReport};
    zero = zero || d == 0;
    if (const std::optional<std::int64_t> product = checked_mul(elements, d)) elements = *product;
    else overflow = true;
    if (elements == 0) elements = 1;  // go on checking the other dims
  }
  if (overflow && !zero) return Fault{"the product of its dims does not fit in 64 bits", kReport};
  out.elements = zero ? 0 : elements;
  const auto n = static_cast<std::uint64_t>(out.elements);

  if (p.type == 0) return Fault{"it has no element type", kReport};
  const bool known = bits_of(out.dtype) != 0 || out.dtype == DType::String;
  if (!known || p.has_segment) {  // kept unchanged; its content is not available
    if (p.external)
      return Fault{
          "its element type " + std::to_string(p.type) + " is unknown, so its external data cannot be found",
          "a newer version of graphopt may know it"};
    return std::nullopt;
  }

  if (out.dtype != DType::String) {
    const std::optional<std::uint64_t> size = raw_size(out.dtype, n);
    if (!size) return Fault{"its size does not fit in 64 bits", kReport};
    if (p.external) {
      std::string_view bytes;
      if (std::optional<Fault> f = external.find(p.entry, *size, bytes)) return f;
      external.note(bytes, p.name);
      out.raw = bytes;
      out.ready = true;
      return std::nullopt;
    }
    if (p.has_raw && (n > 0 || !p.raw.empty())) {
      if (p.raw.size() != *size)
        return Fault{"its type and dims need " + count_text(*size, "byte") + ", but it holds " +
                         count_text(p.raw.size(), "byte"),
                     kReport};
      out.raw = p.raw;
      out.ready = true;
      return std::nullopt;
    }
  } else if (p.external || p.has_raw) {
    return Fault{"its elements are strings, which cannot be raw or external data", kReport};
  }
  if (n == 0) {
    out.ready = true;
    if (out.dtype == DType::String) out.owned = std::make_shared<Unpacked>();
    return std::nullopt;
  }
  if (n > (std::uint64_t{1} << 61))
    return Fault{"its dims ask for more elements than any file holds", kReport};
  const TypedField typed = *typed_field(out.dtype, n);
  const std::uint64_t have = p.counts[typed.number];
  if (have != typed.entries)
    return Fault{"its type and dims need " + std::to_string(typed.entries) + " elements" + ", but it holds " +
                     std::to_string(have),
                 kReport};
  const Bytes packed = typed.number == tf::kFloats    ? p.floats
                       : typed.number == tf::kDoubles ? p.doubles
                                                      : Bytes{};
  if (packed.data() != nullptr && p.pieces[typed.number] == 1) {
    out.raw = packed;
    out.ready = true;
  } else {
    out.decode = decode;
  }
  return std::nullopt;
}

void write_tensor(wire::BackwardWriter& w, const Tensor& t, const TensorForm& form) {
  // Fields of the old message in the order in which they are written: by number, unknown ones last.
  std::vector<Field> kept;
  {
    Fields fields(t.proto);
    for (Field f; fields.next(f);) {
      const bool payload = f.number == tf::kFloats || f.number == tf::kInt32s || f.number == tf::kStrings ||
                           f.number == tf::kInt64s || f.number == tf::kRaw || f.number == tf::kDoubles ||
                           f.number == tf::kUint64s || f.number == tf::kExternal || f.number == tf::kLocation;
      if (f.number == tf::kName || (form.new_payload && payload)) continue;
      kept.push_back(f);
    }
  }
  std::ranges::stable_sort(kept, {}, wire::rank_of);
  const auto keep_above =
      [&](std::uint32_t low) {  // writes kept fields numbered `low` and above, last to first
        while (!kept.empty() && kept.back().number >= low) {
          w.raw(kept.back().whole);
          kept.pop_back();
        }
      };
  keep_above(tf::kLocation + 1);
  if (form.new_payload && form.range != nullptr) {
    w.field_varint(tf::kLocation, 1);
    const auto entry = [&w](std::string_view key, std::string_view value) {
      const std::uint64_t end = w.size();
      w.field_copy(field::entry::kValue, value);
      w.field_copy(field::entry::kKey, key);
      w.close(tf::kExternal, end);
    };
    entry("length", std::to_string(form.range->length));
    entry("offset", std::to_string(form.range->offset));
    entry("location", form.range->location);
  }
  keep_above(tf::kRaw + 1);
  if (form.new_payload && form.range == nullptr && form.strings == nullptr) w.field_bytes(tf::kRaw, form.raw);
  keep_above(tf::kName + 1);
  if (form.has_name) w.field_copy(tf::kName, form.name);
  keep_above(tf::kStrings + 1);
  if (form.new_payload && form.strings != nullptr)
    for (auto it = form.strings->rbegin(); it != form.strings->rend(); ++it) w.field_copy(tf::kStrings, *it);
  keep_above(0);
  if (!t.proto.empty()) return;
  w.field_varint(tf::kType, static_cast<std::uint64_t>(t.dtype));
  for (auto it = t.dims.rbegin(); it != t.dims.rend(); ++it) w.field_int(tf::kDims, *it);
}

}  // namespace graphopt
