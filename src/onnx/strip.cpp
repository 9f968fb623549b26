// See strip.h. A message is read once: `without` returns nothing when it has none of the fields that go.
#include "onnx/strip.h"

#include <optional>
#include <string>
#include <vector>

#include "ir/reader_access.h"
#include "onnx/append_fields.h"
#include "onnx/fields.h"
#include "onnx/wire.h"

namespace graphopt {
namespace {

namespace af = field::attribute;
using wire::Field;
using wire::Fields;
using wire::Kind;

constexpr std::uint32_t kNone = 0;  // no field has this number

class Stripper {
 public:
  Stripper(Model& m, StrippedTexts what) : m_(m), what_(what) {}

  void run() {
    drop(m_.rest, field::model::kDocString, field::model::kMetadata);
    for (std::size_t g = 0; g < m_.graph_count(); ++g)
      if (m_.graph(GraphId{g}).alive) strip_graph(GraphId{g});
    for (std::size_t f = 0; f < m_.function_count(); ++f) strip_function(FunctionId{f});
    for (std::size_t v = 0; v < m_.value_count(); ++v)
      if (m_.alive(ValueId{v})) strip_value(ValueId{v});
    for (std::size_t n = 0; n < m_.node_count(); ++n)
      if (m_.alive(NodeId{n}) && !m_.is_return(NodeId{n})) strip_node(NodeId{n});
  }

 private:
  // Whether a field is one of those that go, given its number as doc_string and as metadata.
  bool goes(const Field& f, std::uint32_t doc, std::uint32_t metadata) const {
    if (f.kind != Kind::Length) return false;
    return (what_.doc && f.number == doc) || (what_.metadata && f.number == metadata);
  }

  // Removes fields that are kept with their tags; returns whether there were some.
  bool drop(std::vector<Bytes>& rest, std::uint32_t doc, std::uint32_t metadata) const {
    return std::erase_if(rest, [&](Bytes whole) { return goes(wire::first_field(whole), doc, metadata); }) >
           0;
  }

  // Returns the message without its texts, and with each other field as `inside` returns its content; nothing
  // when that changes nothing.
  template <class Inside>
  std::optional<std::string> without(Bytes message, std::uint32_t doc, std::uint32_t metadata,
                                     Inside inside) const {
    std::string out;
    bool changed = false;
    Bytes same;  // what was read since the last change
    const auto keep = [&out, &same] { out += same, same = {}; };
    Fields fields(message);
    for (Field f; fields.next(f);) {
      if (goes(f, doc, metadata)) {
        keep();
        changed = true;
        continue;
      }
      const std::optional<std::string> content =
          f.kind == Kind::Length ? inside(f) : std::optional<std::string>();
      if (content) {
        keep();
        changed = true;
        wire::append_field(out, f.number, *content);
        continue;
      }
      const bool follows = !same.empty() && same.data() + same.size() == f.whole.data();
      if (!follows) keep();
      same = follows ? Bytes(same.data(), same.size() + f.whole.size()) : f.whole;
    }
    if (!changed) return std::nullopt;
    keep();
    return out;
  }
  static std::optional<std::string> as_it_is(const Field&) { return std::nullopt; }

  std::optional<std::string> tensor(Bytes proto) const {
    return without(proto, field::tensor::kDocString, field::tensor::kMetadata, as_it_is);
  }
  std::optional<std::string> sparse(Bytes proto) const {
    return without(proto, kNone, kNone, [this](const Field& f) {
      const bool inner = f.number == field::sparse::kValues || f.number == field::sparse::kIndices;
      return inner ? tensor(f.bytes) : std::nullopt;
    });
  }
  std::optional<std::string> value_info(Bytes proto) const {
    return without(proto, field::value_info::kDocString, field::value_info::kMetadata, as_it_is);
  }

  // Entries of value_info or outputs among fields that are kept with their tags.
  bool strip_infos(std::vector<Bytes>& rest, std::uint32_t number) {
    bool changed = false;
    for (Bytes& whole : rest) {
      const Field f = wire::first_field(whole);
      if (f.number != number || f.kind != Kind::Length) continue;
      const std::optional<std::string> now = value_info(f.bytes);
      if (!now) continue;
      std::string entry;
      wire::append_field(entry, number, *now);
      whole = m_.keep(entry);
      changed = true;
    }
    return changed;
  }

  void strip_graph(GraphId g) {
    std::vector<Bytes>& rest = ReaderAccess::graph(m_, g).rest;
    bool changed = drop(rest, field::graph::kDocString, field::graph::kMetadata);
    changed = strip_infos(rest, field::graph::kOutput) || changed;
    changed = strip_infos(rest, field::graph::kValueInfo) || changed;
    if (changed) m_.mark_dirty(g);
  }

  void strip_function(FunctionId f) {
    Function& function = ReaderAccess::function(m_, f);
    drop(function.rest, field::function::kDocString, field::function::kMetadata);
    strip_infos(function.rest, field::function::kValueInfo);
    for (Attr& a : function.defaults) strip_attribute(a);
  }

  void strip_value(ValueId v) {
    Value& value = ReaderAccess::value(m_, v);
    bool changed = false;
    if (const auto info = value_info(value.info)) value.info = m_.keep(*info), changed = true;
    if (const auto bytes = sparse(value.sparse)) value.sparse = m_.keep(*bytes), changed = true;
    // The tensor of a Constant node is that of its attribute.
    if (value.is_initializer && value.tensor)
      if (const TensorId now = stripped(value.tensor)) value.tensor = now, changed = true;
    if (changed) m_.mark_dirty(value.graph);
  }

  // Returns a tensor with the same payload; none when it has no texts.
  TensorId stripped(TensorId t) {
    const std::optional<std::string> proto = tensor(m_.tensor(t).proto);
    if (!proto) return {};
    Tensor now = m_.tensor(t);
    now.proto = m_.keep(*proto);
    return m_.add_tensor(std::move(now));
  }

  bool strip_attribute(Attr& a) {
    if (a.proto.empty() && !a.tensor) return false;
    bool changed = false;
    if (a.tensor)
      if (const TensorId now = stripped(a.tensor)) a.tensor = now, changed = true;
    // Graphs are in the IR.
    const auto now = without(a.proto, af::kDocString, kNone, [this](const Field& f) {
      switch (f.number) {
        case af::kTensor:
        case af::kTensors: return tensor(f.bytes);
        case af::kSparse:
        case af::kSparses: return sparse(f.bytes);
        default: return std::optional<std::string>();
      }
    });
    if (now) a.proto = m_.keep(*now), changed = true;
    return changed;
  }

  void strip_node(NodeId n) {
    std::vector<Attr> attrs(m_.attrs(n).begin(), m_.attrs(n).end());
    bool changed = false;
    for (Attr& a : attrs) changed = strip_attribute(a) || changed;
    if (changed) {
      ReaderAccess::set_attrs(m_, n, attrs);
      const bool constant = m_.kind(n) == OpKind::Constant && m_.output_count(n) > 0 && m_.output(n, 0);
      for (const Attr& a : attrs)
        if (constant && a.tensor) ReaderAccess::value(m_, m_.output(n, 0)).tensor = a.tensor;
    }
    std::string bytes;
    bool stated = false;
    Fields fields(m_.node(n).proto);
    for (Field f; fields.next(f);) {
      if (goes(f, field::node::kDocString, field::node::kMetadata)) stated = true;
      else if (!wire::in_ir(f)) bytes += f.whole;
    }
    if (changed || stated) m_.set_bytes(n, m_.keep(bytes));
  }

  Model& m_;
  const StrippedTexts what_;
};

}  // namespace

void strip_texts(Model& m, StrippedTexts what) {
  if (what.doc || what.metadata) Stripper(m, what).run();
}

}  // namespace graphopt
