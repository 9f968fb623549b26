#include "onnx/node_metadata.h"

#include <string>

#include "onnx/append_fields.h"
#include "onnx/fields.h"
#include "onnx/wire.h"

namespace graphopt {
namespace {

namespace nf = field::node;
using wire::append_field;
using wire::append_varint;
using wire::Field;
using wire::field_size;
using wire::Fields;
using wire::Kind;
using wire::tag_of;

struct Entry {
  std::string_view key, value;
};

Entry entry_of(Bytes bytes) {
  Entry e;
  Fields fields(bytes);
  for (Field f; fields.next(f);) {
    if (f.kind != Kind::Length) continue;
    if (f.number == field::entry::kKey) e.key = f.bytes;
    if (f.number == field::entry::kValue) e.value = f.bytes;
  }
  return e;
}

bool is_metadata(const Field& f) { return f.number == nf::kMetadata && f.kind == Kind::Length; }

}  // namespace

std::optional<std::string_view> node_metadata(const Model& m, NodeId n, std::string_view key) {
  std::optional<std::string_view> found;  // the last one counts, as in a map
  Fields fields(m.node(n).proto);
  for (Field f; fields.next(f);) {
    if (!is_metadata(f)) continue;
    if (const Entry e = entry_of(f.bytes); e.key == key) found = e.value;
  }
  return found;
}

bool set_node_metadata(Model& m, NodeId n, std::string_view key, std::optional<std::string_view> value) {
  const NodeText entry{n, value};
  return set_node_metadata(m, key, {&entry, 1}) != 0;
}

// Operands, results, operator and attributes of a changed node are written from the IR (node_writer.cpp):
// only fields that exist nowhere but in its bytes must be in the new ones. One walk over them finds the
// present text and gathers those fields; the new entry follows, whose first bytes are the same for all nodes.
std::size_t set_node_metadata(Model& m, std::string_view key, std::span<const NodeText> entries) {
  std::string key_field, proto;
  append_field(key_field, field::entry::kKey, key);
  std::size_t changed = 0;
  for (const NodeText& entry : entries) {
    std::optional<std::string_view> now;
    int stated = 0;
    proto.clear();
    Fields fields(m.node(entry.node).proto);
    for (Field f; fields.next(f);) {
      if (wire::in_ir(f)) continue;
      if (is_metadata(f))
        if (const Entry e = entry_of(f.bytes); e.key == key) {
          now = e.value;
          ++stated;
          continue;
        }
      proto += f.whole;
    }
    if (now == entry.text && stated <= 1) continue;
    if (entry.text) {
      append_varint(proto, tag_of(nf::kMetadata));
      append_varint(proto, key_field.size() + field_size(entry.text->size()));
      proto += key_field;
      append_field(proto, field::entry::kValue, *entry.text);
    }
    m.set_bytes(entry.node, m.keep(proto));
    ++changed;
  }
  return changed;
}

}  // namespace graphopt
