// Operators of com.microsoft that transformers of ONNX Runtime's tools have.
#include <algorithm>
#include <array>

#include "buckets/padding/rules.h"

namespace graphopt::padding {

// A product with packed weights. Each row of the operand is computed alone.
bool packed_product(PaddingContext& c) {
  const PaddedValue& x = c.in(0);
  if (x.rank() == 0 || x.is_padded(x.rank() - 1))
    return c.refuse("its rows are padded", {.axis = static_cast<int>(x.rank()) - 1});
  if (!c.unpadded_from(1, "weights are")) return false;
  std::vector<LayoutId> l = x.layouts;
  l.back() = c.inferred(0, l.size() - 1);
  if (!l.back()) return c.unknown_extent(0, l.size() - 1);
  const Content weights = c.weights(2);  // scales and zero points; the weights themselves are bits
  return c.set_result(std::move(l), [&](AxisMask region) {
    Content out = ContentMath::combined({x.at(region), weights});
    out.rounding = kRounding;
    return out;
  });
}

// Rows of tables, chosen by words, segments and positions, are added and normalized. The positions are 0, 1,
// ... unless they are given. The second result counts the ones of the mask in each row.
bool embedding(PaddingContext& c) {
  enum Slot : std::size_t {
    kWords,
    kSegments,
    kWordTable,
    kPositionTable,
    kSegmentTable,
    kGamma,
    kBeta,
    kMask,
    kPositions
  };
  const PaddedValue& words = c.in(kWords);
  if (words.rank() != 2) return c.refuse("its words have another rank than 2");
  for (const std::size_t i : {kWordTable, kPositionTable, kSegmentTable, kGamma, kBeta})
    if (c.has(i) && c.in(i).padded != 0) return c.refuse("its tables are padded");
  struct Choice {
    std::size_t index, table;
  };
  for (const Choice k :
       {Choice{kWords, kWordTable}, Choice{kSegments, kSegmentTable}, Choice{kPositions, kPositionTable}}) {
    if (!c.has(k.index)) continue;
    const PaddedValue& ids = c.in(k.index);
    if (ids.layouts != words.layouts && k.index != kPositions)
      return c.refuse("its operands have different layouts of padding");
    if (k.index == kPositions && (ids.rank() != 2 || ids.layouts[1] != words.layouts[1] ||
                                  (ids.layouts[0] != words.layouts[0] && !c.is_one(c.extent(k.index, 0)))))
      return c.refuse("its positions have another layout of padding");
    if (!c.has(k.table)) continue;
    const DimId rows = c.extent(k.table, 0), last = c.dims.sub(rows, c.dims.constant(1));
    const Content* bad = c.bad_padding(ids, ids.padded, [&](const Content& p) {
      return last && c.math.at_least(p, 0) && c.math.less_equal(p.high, {0, last});
    });
    if (bad && !ids.pure)
      return c.refuse("padding of its numbers holds " + c.math.text(*bad) +
                      ", which may be outside of the table");
  }
  if (c.has_output(1)) {
    const bool has_mask = c.has(kMask);
    const PaddedValue& mask = c.in(kMask);
    const bool zero =
        !has_mask || (mask.layouts == words.layouts &&
                      !c.bad_padding(mask, bit(1), [&](const Content& p) { return c.math.is_zero(p); }));
    if (zero) {
      // The kernel counts elements that are 1, whatever else the mask holds in rows of padding.
      const DimId length = c.extent(kWords, 1), padded = c.a.in_padded_run(length);
      const bool ok = c.set(1, c.make(DType::Int32, {words.layouts[0]}, [&](AxisMask region) {
        if (!has_mask) return ContentMath::number(0);
        const DimId most = region == 0 ? length : padded;
        return most ? ContentMath::between(c.dims.constant(0), most) : ContentMath::any_finite();
      }));
      if (!ok) return false;
    } else {
      c.refuse("it counts padding of its mask");
      c.contaminate(1);
    }
  }
  std::vector<LayoutId> l = words.layouts;
  l.push_back(c.inferred(0, 2));
  if (!l.back()) return c.unknown_extent(0, 2);
  constexpr std::array<std::size_t, 3> kTables{kWordTable, kPositionTable, kSegmentTable};
  constexpr std::array<std::size_t, 2> kScaling{kGamma, kBeta};
  const Content sum = ContentMath::combined({c.whole(kTables)});
  const bool divides_by_zero = !(c.attr_real(names::epsilon, 1e-12) > 0);
  const Content scaled =
      divides_by_zero ? ContentMath::anything() : ContentMath::combined({sum, c.whole(kScaling)});
  for (const std::size_t i : {std::size_t{0}, std::size_t{2}}) {
    const Content content = i == 0 ? scaled : sum;
    if (c.has_output(i) && !c.set(i, c.make(c.output_type(i), l, [&](AxisMask) { return content; })))
      return false;
  }
  return true;
}

// Attention with packed weights over rows [batch, sequence, features]. Its mask is [batch, sequence], or
// counts the keys of each row; what it hides gets -10000 in place of the score, which is taken to outweigh
// the scores.
bool packed_attention(PaddingContext& c) {
  enum Slot : std::size_t { kRows, kWeights, kBias, kMask, kPast, kScores, kPastLength };
  const PaddedValue& x = c.in(kRows);
  if (x.rank() != 3 || x.is_padded(2)) return c.refuse("its features are padded", {.axis = 2});
  for (const std::size_t i : {kWeights, kBias})
    if (c.has(i) && c.in(i).padded != 0) return c.refuse("its weights are padded");
  if (c.has(kPast) || c.has(kScores) || c.has(kPastLength) || c.has_output(1))
    return c.refuse("with a cache, or added scores, it is not analysed");
  const bool keys_padded = x.is_padded(1);
  if (keys_padded && !c.layouts.is_prefix(x.layouts[1]))
    return c.refuse("its rows have padding inside", {.axis = 1});
  if (c.has(kMask)) {
    const PaddedValue& mask = c.in(kMask);
    const bool by_key =
        mask.rank() == 2 && mask.layouts[0] == x.layouts[0] && mask.layouts[1] == x.layouts[1];
    const bool by_count = mask.rank() == 1 && mask.layouts[0] == x.layouts[0];
    if (!by_key && !by_count)
      return c.refuse("its mask is of another form, or has another layout of padding");
    const bool hides = by_key
                           ? !c.bad_padding(mask, bit(1), [&](const Content& p) { return c.math.is_zero(p); })
                           : c.math.less_equal(mask.true_part().high, {0, c.extent(kRows, 1)});
    // The kernel refuses counts below 0; older ones write in front of their memory.
    const Content* bad =
        by_key ? nullptr
               : c.bad_padding(mask, bit(0), [&](const Content& p) { return c.math.at_least(p, 0); });
    if (bad && !mask.pure)
      return c.refuse("padding of its lengths holds " + c.math.text(*bad) + ", which may be less than 0");
    if (keys_padded && !hides) return c.refuse("its mask does not hide the padding of its keys", {.axis = 1});
  } else if (keys_padded && c.attr(c.m.names.intern("unidirectional"), 0) == 0) {
    return c.refuse("padding of its keys takes part: it has no mask", {.axis = 1});
  }
  if (keys_padded) {
    if (!x.finite()) return c.refuse("padding of its keys may not be finite", {.axis = 1});
    const double filter = c.attr_real(c.m.names.intern("mask_filter_value"), -10000);
    if (filter > -1000) return c.refuse("its mask is too weak");
    c.assume(BucketAssumption::MaskDominates, kMaskDominates);
  }
  auto l = c.inferred(0);
  if (!l || l->size() != 3) return c.refuse("the extents of its result are not known");
  (*l)[0] = x.layouts[0];
  (*l)[1] = x.layouts[1];
  const Content content = ContentMath::combined({c.whole(kRows), c.whole(kWeights), c.whole(kBias)});
  return c.set_result(std::move(*l), [&](AxisMask) { return content; });
}

}  // namespace graphopt::padding
