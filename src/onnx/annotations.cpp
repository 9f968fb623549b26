#include "onnx/annotations.h"

#include "onnx/fields.h"
#include "onnx/wire.h"

namespace graphopt {

using wire::Field;
using wire::Fields;
using wire::Kind;

std::vector<std::string_view> annotation_parameters(const Model& m,
                                                    const std::function<bool(std::string_view)>& wanted) {
  std::vector<std::string_view> out;
  for (const Bytes whole : m.graph(m.main()).rest) {
    const Field annotation = wire::first_field(whole);
    if (annotation.number != field::graph::kQuantization || annotation.kind != Kind::Length) continue;
    std::string_view tensor;
    std::vector<std::string_view> parameters;
    Fields fields(annotation.bytes);
    for (Field f; fields.next(f);) {
      if (f.kind != Kind::Length) continue;
      if (f.number == field::annotation::kTensor) tensor = f.bytes;
      if (f.number != field::annotation::kParameters) continue;
      Fields entry(f.bytes);
      for (Field e; entry.next(e);)
        if (e.number == field::entry::kValue && e.kind == Kind::Length) parameters.push_back(e.bytes);
    }
    if (wanted(tensor)) out.insert(out.end(), parameters.begin(), parameters.end());
  }
  return out;
}

}  // namespace graphopt
