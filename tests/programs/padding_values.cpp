// What the analysis of padding says of every value, for tests/property/bucket_graphs.py.
//
//   graphopt_padding_values MODEL BUCKETS.json [INPUT=any|finite]...
//
// Inputs are padded as the marks say, or with 0, or as the further words say. A line of JSON for each value
// of the main graph that is not contaminated, behind one for the inputs: its layout, and for each set of
// padded axes the content of that region. Bounds are numbers, "inf", "-inf", or expressions over the symbols
// s and their slacks 's#'.
#include <cmath>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

#include "buckets/decision.h"
#include "buckets/marks/parse_marks.h"
#include "buckets/promise.h"
#include "buckets/symbols.h"
#include "onnx/reader.h"
#include "passes/pipeline.h"

namespace graphopt {
namespace {

using Json = nlohmann::ordered_json;

int fail(const Errors& errors) {
  for (const Error& e : errors) std::fprintf(stderr, "%s\n", to_string(e).c_str());
  return 1;
}

Json bound(const DimPool& dims, const Bound& b) {
  if (b.expression) return dims.print(b.expression);
  if (std::isinf(b.number)) return b.number < 0 ? "-inf" : "inf";
  return b.number;
}

Json region(const DimPool& dims, const Content& c, AxisMask axes) {
  Json out;
  out["axes"] = Json::array();
  for (int i = 0; i < 32; ++i)
    if ((axes >> i & 1u) != 0) out["axes"].push_back(i);
  out["low"] = bound(dims, c.low);
  out["high"] = bound(dims, c.high);
  out["nan"] = c.nan;
  out["inf"] = c.infinite;
  out["pinf"] = c.positive_infinite;
  out["rounding"] = c.rounding;
  return out;
}

Json line(const Model& m, const PaddingAnalysis& a, ValueId v) {
  const PaddedValue& p = a.value(v);
  Json out;
  out["value"] = std::string(m.text(m.value(v).name));
  out["layout"] = layouts_of(a, v);
  out["regions"] = Json::array();
  for_each_subset(p.padded, [&](AxisMask s) { out["regions"].push_back(region(m.dims, p.at(s), s)); });
  return out;
}

// How the inputs are padded, as the verdict says it.
Json inputs(const Model& m, const PaddingAnalysis& a, const PaddingOptions& options) {
  Json out = Json::object();
  for (const ValueId v : m.graph_inputs(m.main())) {
    if (!a.is_padded_input(v)) continue;
    const auto pad = options.pads.find(v);
    const PadElement element = pad == options.pads.end() ? PadElement{} : pad->second;
    const char* kind = element.kind == PadElement::Kind::Number   ? "const"
                       : element.kind == PadElement::Kind::Finite ? "finite"
                                                                  : "any";
    const bool least = std::isinf(element.number);
    out[std::string(m.text(m.value(v).name))] = {{"dims", layouts_of(a, v)},
                                                 {"pad", least ? Json("-inf") : Json(element.number)},
                                                 {"pad_class", kind},
                                                 {"side", "end"}};
  }
  return out;
}

int run(const std::string& path, const std::string& marks_path, std::span<char*> words) {
  Result<BucketMarks> marks = parse_marks({}, marks_path);
  if (!marks) return fail(marks.errors());
  std::vector<Warning> warnings;
  LoadOptions load;
  load.path = path;
  Result<Model> m = load_model(load, warnings);
  if (!m) return fail(m.errors());
  if (Status ok = prepare_symbols(*m, *marks); !ok) return fail(ok.errors());
  Inference inference(*m, promised(*m, *marks));
  inference.run();
  Result<PaddingOptions> options = padding_options(*m, *marks);
  if (!options) return fail(options.errors());
  for (const char* text : words) {
    const std::string_view word = text;
    const std::size_t equals = word.rfind('=');
    const auto kind = word.substr(equals + 1) == "any" ? PadElement::Kind::Any : PadElement::Kind::Finite;
    for (const ValueId v : m->graph_inputs(m->main()))
      if (m->text(m->value(v).name) == word.substr(0, equals)) options->pads[v] = {kind, 0};
  }
  PaddingAnalysis a(*m, inference, *options);
  a.run();
  std::printf("%s\n", Json{{"inputs", inputs(*m, a, *options)}}.dump().c_str());
  for (NodeId n = m->first_node(m->main()); n; n = m->next_node(n))
    for (const ValueId v : m->outputs(n))
      if (v && a.value(v).known && !a.value(v).bad) std::printf("%s\n", line(*m, a, v).dump().c_str());
  return 0;
}

}  // namespace
}  // namespace graphopt

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  return graphopt::run(argv[1], argv[2], std::span(argv + 3, argv + argc));
}
