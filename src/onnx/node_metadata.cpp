#include "onnx/node_metadata.h"

#include <string>

#include "onnx/fields.h"
#include "onnx/wire.h"

namespace graphopt {
namespace {

namespace nf = field::node;
using wire::Field;
using wire::Fields;
using wire::Kind;

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
  if (node_metadata(m, n, key) == value) return false;
  // Operands, results, operator and attributes of a changed node are written from the IR (node_writer.cpp):
  // only fields that exist nowhere but in these bytes must be in the new ones.
  std::string proto;
  Fields fields(m.node(n).proto);
  for (Field f; fields.next(f);) {
    const bool from_ir = f.kind == Kind::Length && (f.number == nf::kInput || f.number == nf::kOutput ||
                                                    f.number == nf::kOpType || f.number == nf::kAttribute);
    if (from_ir || (is_metadata(f) && entry_of(f.bytes).key == key)) continue;
    proto += f.whole;
  }
  if (value) {
    wire::BackwardWriter w({});
    w.field_copy(field::entry::kValue, *value);
    w.field_copy(field::entry::kKey, key);
    w.close(nf::kMetadata, 0);
    for (const wire::ByteRange& range : w.take()) proto.append(range.data, range.size);
  }
  m.set_bytes(n, m.keep(proto));
  return true;
}

}  // namespace graphopt
