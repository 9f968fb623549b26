// What inference states about a small model, and what folding makes of its nodes, as text: the rows of
// tests/vectors/stated. See tests/unit/stated_test.cpp.
#pragma once

#include <charconv>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "infer/infer.h"
#include "onnx/reader.h"
#include "ops/fold.h"

namespace graphopt {

class StatedCase {
 public:
  // `text` is a whole model in ONNX text or binary. The result has one part for each value about which there
  // is something to say, in the order of the values, with "; " between:
  //   y: float[2, N] = 1, ?, N   a type; elements where some are known
  //   y -> {1.5, 2}              what folding of its node gives, where all operands of the node are constants
  //   y is no float[3]           what the model declares of it, in error
  //   y -> bad operands          why it gives nothing; operators that cannot be folded are left out
  // A dim that is no expression over symbols of inputs is ?1, ?2, ..., with the bounds that are known.
  static std::string of(std::string text) { return StatedCase(std::move(text)).out_; }

 private:
  explicit StatedCase(std::string text) {
    std::vector<Warning> warnings;
    auto loaded = load_model_from_memory(std::move(text), "case", "", warnings);
    if (!loaded) {
      out_ = "not loaded";
      return;
    }
    model_ = std::make_unique<Model>(std::move(*loaded));
    InferOptions options;
    options.max_elements = 12;  // few, so that small models meet the limit
    facts_ = std::make_unique<Inference>(*model_, std::move(options));
    facts_->run();
    for (std::size_t i = 0; i < model_->value_count(); ++i) value(ValueId{i});
    for (const FalseClaim& claim : facts_->false_claims())
      out_ += std::string(model_->text(model_->value(claim.value).name)) + " is no " + claim.declared + "; ";
    for (NodeId n = model_->first_node(model_->main()); n; n = model_->next_node(n)) folded(n);
  }

  void value(ValueId v) {
    const Value& x = model_->value(v);
    if (!model_->alive(v) || x.tensor || model_->text(x.name).empty()) return;
    const TypeId found = facts_->type(v);
    if (found == model_->types.unknown()) return;
    if (x.is_input && x.declared && x.graph == model_->main() && found == x.declared) return;
    out_ += std::string(model_->text(x.name)) + ": " + type(found);
    if (const SymbolicTensor* t = facts_->symbolic(v)) {
      out_ += " =";
      for (std::size_t i = 0; i < t->elements.size(); ++i) out_ += (i > 0 ? ", " : " ") + dim(t->elements[i]);
    }
    out_ += "; ";
  }

  std::string type(TypeId id) {
    const Type& t = model_->types[id];
    switch (t.kind) {
      case TypeKind::Unknown: return "?";
      case TypeKind::Sequence: return "seq(" + type(t.inner) + ')';
      case TypeKind::Optional: return "optional(" + type(t.inner) + ')';
      case TypeKind::Map: return "map(" + std::string(dtype_name(t.elem)) + ", " + type(t.inner) + ')';
      case TypeKind::Opaque: return "opaque";
      case TypeKind::Tensor:
      case TypeKind::SparseTensor: break;
    }
    std::string out = (t.kind == TypeKind::SparseTensor ? "sparse " : "") + std::string(dtype_name(t.elem));
    if (!t.has_rank) return out;
    out += '[';
    for (std::size_t i = 0; i < t.dims.size(); ++i) out += (i > 0 ? ", " : "") + dim(t.dims[i]);
    return out + ']';
  }

  std::string dim(DimId d) {
    if (!d) return "?";
    if (model_->dims.linked(d)) return model_->dims.print(d);
    d = model_->dims.canonical(d);
    const auto [it, added] = fresh_.try_emplace(d.index(), fresh_.size() + 1);
    std::string out = '?' + std::to_string(it->second);
    const Range r = model_->dims.range(d);
    if (added && !(r == Range{})) out += '{' + std::to_string(r.low) + ".." + std::to_string(r.high) + '}';
    return out;
  }

  void folded(NodeId n) {
    std::vector<TensorId> operands;
    for (std::size_t i = 0; i < model_->input_count(n); ++i) {
      const ValueId v = model_->input(n, i);
      const TensorId t = v ? model_->constant_of(v) : TensorId{};
      if (v && !t) return;
      operands.push_back(t);
    }
    const FoldExactness exact = fold_exactness(*model_, n, operands);
    const Folded f = fold(*model_, n, operands, {.max_result_bytes = 1 << 12, .max_work = 1 << 14});
    if (exact == FoldExactness::No && f.refusal == FoldRefusal::NotFoldable) return;
    const ValueId first = model_->output_count(n) > 0 ? model_->output(n, 0) : ValueId{};
    out_ += (first ? std::string(model_->text(model_->value(first).name)) : std::string("node")) +
            (exact == FoldExactness::Rounds ? " ~>"
             : exact == FoldExactness::No   ? " !>"
                                            : " ->");
    constexpr const char* kRefusals[] = {"", " not folded", " too big", " bad operands"};
    out_ += kRefusals[static_cast<std::size_t>(f.refusal)];
    for (const Tensor& t : f.results) tensor(t);
    out_ += "; ";
  }

  void tensor(const Tensor& t) {
    out_ += ' ' + std::string(dtype_name(t.dtype)) + '[';
    for (std::size_t i = 0; i < t.dims.size(); ++i) out_ += (i > 0 ? ", " : "") + std::to_string(t.dims[i]);
    out_ += "]{";
    if (t.dtype == DType::String) {
      if (t.owned)
        for (const std::string& s : t.owned->strings) out_ += (out_.back() == '{' ? "" : ", ") + s;
    } else if (!t.raw.empty()) {
      elements(t);
    }
    out_ += '}';
  }

  template <class T> void numbers(std::string_view raw) {
    for (std::size_t at = 0; at + sizeof(T) <= raw.size(); at += sizeof(T)) {
      T x;
      std::memcpy(&x, raw.data() + at, sizeof x);
      char text[32];
      char* end = text + sizeof text;
      if constexpr (sizeof(T) == 1) end = std::to_chars(text, end, int{x}).ptr;
      else end = std::to_chars(text, end, x).ptr;
      out_ += (at > 0 ? ", " : "") + std::string(text, static_cast<std::size_t>(end - text));
    }
  }

  void elements(const Tensor& t) {
    switch (t.dtype) {
      case DType::Float: return numbers<float>(t.raw);
      case DType::Double: return numbers<double>(t.raw);
      case DType::Int64: return numbers<std::int64_t>(t.raw);
      case DType::UInt64: return numbers<std::uint64_t>(t.raw);
      case DType::Int32: return numbers<std::int32_t>(t.raw);
      case DType::UInt32: return numbers<std::uint32_t>(t.raw);
      case DType::Int16: return numbers<std::int16_t>(t.raw);
      case DType::UInt16:
      case DType::Float16:
      case DType::BFloat16: return numbers<std::uint16_t>(t.raw);  // bits
      case DType::Int8: return numbers<std::int8_t>(t.raw);
      default: return numbers<std::uint8_t>(t.raw);  // bytes
    }
  }

  std::unique_ptr<Model> model_;
  std::unique_ptr<Inference> facts_;
  std::map<std::size_t, std::size_t> fresh_;  // numbers of dims that are not linked
  std::string out_;
};

}  // namespace graphopt
