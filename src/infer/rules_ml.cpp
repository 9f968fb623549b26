// Some operators of ai.onnx.ml, and operators without a row in the fact table.
#include "infer/rules.h"

namespace graphopt::rules {

void ml_scaler(NodeContext& c) {
  if (c.ranked(0)) c.tensor(0, DType::Float, c.shape(0));
  else c.tensor(0, DType::Float);
}

void ml_one_hot(NodeContext& c) {
  const Attr* a = c.attr("cats_int64s");
  const Attr* b = c.attr("cats_strings");
  const std::size_t n = a && !a->ints.empty() ? a->ints.size() : b ? b->strings.size() : 0;
  if (!c.ranked(0)) return c.tensor(0, DType::Float);
  Dims d(c.shape(0).begin(), c.shape(0).end());
  d.push_back(n > 0 ? c.constant(static_cast<std::int64_t>(n)) : DimId{});
  c.tensor(0, DType::Float, d);
}

namespace {

// Label and scores of one row of the operand each. A vector is one row. `scores`: how many of a row, from the
// number of labels; 0 where it is not known.
template <class Scores> void classifier(NodeContext& c, Scores scores) {
  const Attr* ints = c.attr("classlabels_int64s");
  if (!ints) ints = c.attr("classlabels_ints");
  const Attr* strings = c.attr("classlabels_strings");
  const bool text = strings && !strings->strings.empty();
  const std::size_t labels = text ? strings->strings.size() : ints ? ints->ints.size() : 0;
  const DimId rows = !c.ranked(0)     ? DimId{}
                     : c.rank(0) == 1 ? c.constant(1)
                     : c.rank(0) == 2 ? c.shape(0)[0]
                                      : DimId{};
  const DimId label[] = {rows};
  c.tensor(0, text ? DType::String : DType::Int64, label);
  const std::size_t n = scores(labels);
  const DimId score[] = {rows, n > 0 ? c.constant(static_cast<std::int64_t>(n)) : DimId{}};
  c.tensor(1, DType::Float, score);
}

}  // namespace

void ml_tree_classifier(NodeContext& c) {
  classifier(c, [](std::size_t labels) { return labels > 1 ? labels : 0; });
}

// One score for each intercept; for one intercept and two labels that of the other label, too.
void ml_linear_classifier(NodeContext& c) {
  const Attr* intercepts = c.attr("intercepts");
  const std::size_t n = intercepts ? intercepts->floats.size() : 0;
  classifier(c, [n](std::size_t labels) { return n > 1 ? n : n == 1 && labels == 2 ? 2 : 0; });
}

// With probabilities one score for each label, else one for each pair of labels, or of support vectors.
void ml_svm_classifier(NodeContext& c) {
  classifier(c, [](std::size_t) { return std::size_t{0}; });
}

void ml_zip_map(NodeContext& c) {
  const Attr* text = c.attr("classlabels_strings");
  const bool strings = text && !text->strings.empty();
  c.set(0, c.m.types.sequence(
               c.m.types.map(strings ? DType::String : DType::Int64, c.m.types.tensor(DType::Float, {}))));
}

// Nothing contradicts the file's claim about such a result, so its element type, rank and numbers are used;
// names of symbols are not: exporters give one name to dims that differ.
void opaque(NodeContext& c) {
  for (std::size_t i = 0; i < c.output_count(); ++i) {
    const ValueId v = c.m.output(c.n, i);
    if (!v || !c.m.value(v).declared) continue;
    const Type& t = c.m.types[c.m.value(v).declared];
    if (t.kind != TypeKind::Tensor) {
      c.set(i, c.m.value(v).declared);
    } else if (!t.has_rank) {
      c.tensor(i, t.elem);
    } else {
      Dims d;
      for (const DimId x : t.dims) d.push_back(x && c.value(x) ? x : DimId{});
      c.tensor(i, t.elem, d);
    }
  }
}

}  // namespace graphopt::rules
