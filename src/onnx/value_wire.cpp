// See value_wire.h.
#include "onnx/value_wire.h"

#include <memory>
#include <utility>

#include "onnx/external.h"
#include "onnx/fields.h"
#include "onnx/tensor_wire.h"
#include "onnx/wire.h"

namespace graphopt {
namespace {

namespace sf = field::stored_value;

constexpr const char* kStoreAgain =
    "store the value again: onnx.save_tensor(onnx.numpy_helper.from_array(a), FILE)";

bool is_external(Bytes tensor) {
  wire::Fields fields(tensor);
  for (wire::Field f; fields.next(f);) {
    if (f.number == field::tensor::kExternal) return true;
    if (f.number == field::tensor::kLocation && f.kind == wire::Kind::Varint && f.value == 1) return true;
  }
  return false;
}

std::optional<Fault> add_tensor(Bytes proto, StoredValue& out) {
  if (is_external(proto))
    return Fault{"its elements are in another file, which is not looked for",
                 "store them in the file itself, as onnx.numpy_helper.from_array does"};
  ExternalFiles none({}, {});
  Tensor t;
  std::string_view name;
  if (std::optional<Fault> fault = read_tensor(proto, none, t, name))
    return Fault{std::move(fault->what), kStoreAgain};
  if (out.name.empty()) out.name = name;
  if (!t.ready) {
    auto unpacked = std::make_shared<Unpacked>();
    if (t.decode == nullptr || !t.decode(proto, *unpacked))
      return Fault{"its elements have a type that is not known, or are in segments", kStoreAgain};
    t.raw = unpacked->raw;
    t.owned = std::move(unpacked);
    t.ready = true;
  }
  out.tensors.push_back(std::move(t));
  return std::nullopt;
}

// Reads the fields of a SequenceProto or an OptionalProto. `sequence`: the SequenceProto in an OptionalProto;
// null where there can be none.
std::optional<Fault> read_fields(Bytes proto, StoredValue& out, std::optional<Bytes>* sequence) {
  wire::Fields fields(proto);
  for (wire::Field f; fields.next(f);) {
    if (f.number < sf::kName || f.number > sf::kOptional || f.number == sf::kType) continue;
    if (f.kind != wire::Kind::Length)
      return Fault{"it is not what the type of this value asks for", kStoreAgain};
    switch (f.number) {
      case sf::kName: out.name = f.bytes; break;
      case sf::kTensor:
        out.content = StoredValue::Content::Tensor;
        if (std::optional<Fault> fault = add_tensor(f.bytes, out)) return fault;
        break;
      case sf::kSequence:
        if (sequence != nullptr) {
          *sequence = f.bytes;
          break;
        }
        [[fallthrough]];
      default:
        return Fault{"it holds sparse tensors, maps, or sequences or optionals inside others",
                     "give a tensor, a sequence of tensors, or an optional of one of both"};
    }
  }
  if (fields.broken()) return Fault{std::string("its bytes are broken: ") + fields.what(), kStoreAgain};
  return std::nullopt;
}

}  // namespace

std::optional<Fault> read_stored_value(Bytes proto, StoredKind kind, StoredValue& out) {
  out = {};
  if (kind == StoredKind::Tensor) {
    out.content = StoredValue::Content::Tensor;
    return add_tensor(proto, out);
  }
  std::optional<Bytes> sequence;
  const bool optional = kind == StoredKind::Optional;
  if (std::optional<Fault> fault = read_fields(proto, out, optional ? &sequence : nullptr)) return fault;
  if (optional && out.tensors.size() + (sequence ? 1 : 0) > 1)
    return Fault{"it holds more than one value", kStoreAgain};
  if (sequence) {
    const std::string_view name = out.name;
    if (std::optional<Fault> fault = read_fields(*sequence, out, nullptr)) return fault;
    if (!name.empty()) out.name = name;
  }
  if (!optional || sequence) out.content = StoredValue::Content::Sequence;
  return std::nullopt;
}

}  // namespace graphopt
