// Attention of the standard, and rotary embeddings.
//
// Attention: a query's row is computed alone, from all keys and values of its batch entry and head. Padding
// among queries, batch entries and heads gives rows of padding. Padding among keys must be hidden:
//   - by an additive mask of minus infinity (exact), or of -1000 and less (assumed to outweigh the scores),
//   or
//     by a Boolean mask of false,
//   - by lengths of the keys, which no true length exceeds,
//   - causally: key k is hidden from every query q < k, and no true query is behind the true keys.
// The hidden weights are 0, and the values that they multiply must be finite. A row without any key is 0 in
// both runs. A softcap comes before the mask.
//
// Features of the values become features of the result. Features of queries and keys are summed over, so
// padding there must add 0, and the scale, which by default follows from their number, must be given.
//
// A cache lies in front of the new keys and values: ++ in layouts. Causally, query q sees the whole cache and
// the new keys up to q. ONNX Runtime leaves that out for a single query that follows a cache, as if no new
// key could be behind it.
#include <algorithm>

#include "buckets/padding/rules.h"

namespace graphopt::padding {
namespace {

enum Slot : std::size_t { kQuery, kKey, kValue, kMask, kPastKey, kPastValue, kLengths };

struct AttentionAxes {
  std::size_t heads, sequence, features;  // heads: the rank for an operand of rank 3
};

AttentionAxes axes_of_operand(const PaddedValue& v) {
  return v.rank() == 4 ? AttentionAxes{1, 2, 3} : AttentionAxes{3, 1, 2};
}

// Returns what the padding of axis `axis` of an operand holds, in all regions that involve it.
Content padding_of(PaddingContext& c, const PaddedValue& v, std::size_t axis) {
  return c.join_over(v, bit(axis), v.padded & ~bit(axis));
}

bool keeps_positions(const PaddingContext& c, LayoutId l) {
  return c.layouts[l].kind == LayoutKind::Same || c.layouts.is_prefix(l);
}

// The decisions about one node.
class Attention {
 public:
  explicit Attention(PaddingContext& context)
      : c_(context), q_(c_.in(kQuery)), k_(c_.in(kKey)), v_(c_.in(kValue)) {}

  bool run() {
    for (const PaddedValue* x : {&q_, &k_, &v_})
      if (x->rank() != q_.rank() || (x->rank() != 3 && x->rank() != 4))
        return c_.refuse("its operands have other ranks than 3 and 4");
    at_ = axes_of_operand(q_);
    if (c_.attr(names::left_window_size, -1) >= 0 || c_.attr(names::right_window_size, -1) >= 0)
      return c_.refuse("with a window it is not analysed");
    has_past_ = c_.has(kPastKey);
    if (has_past_ != c_.has(kPastValue) || (has_past_ && c_.has(kLengths)))
      return c_.refuse("with a part of a cache, or with a cache and lengths, it is not analysed");
    if (has_past_ && (c_.in(kPastKey).rank() != 4 || c_.in(kPastValue).rank() != 4))
      return c_.refuse("its cache has another rank than 4");
    return batch_and_heads() && features() && lengths() && sequences() && mask() && hidden() && results();
  }

 private:
  // Both layouts are equal, or neither is padded.
  bool alike(LayoutId a, LayoutId b) const {
    return a == b || (!c_.layouts.padded(a) && !c_.layouts.padded(b));
  }
  const PaddedValue& past_key() const { return c_.in(kPastKey); }
  const PaddedValue& past_value() const { return c_.in(kPastValue); }

  bool batch_and_heads() {
    std::vector<const PaddedValue*> operands{&k_, &v_};
    if (has_past_) operands.insert(operands.end(), {&past_key(), &past_value()});
    const bool all_share = std::ranges::all_of(operands, [&](const PaddedValue* x) {
      return x->rank() == 4 && c_.is_one(c_.layouts.extent(x->layouts[1]));
    });
    for (const PaddedValue* x : operands) {
      if (!alike(q_.layouts[0], x->layouts[0]))
        return c_.refuse("its operands have different layouts of padding on the batch");
      // Groups of heads would be others, unless there is a single one.
      if (x->rank() == 4 && q_.rank() == 4 && !alike(q_.layouts[1], x->layouts[1]) && !all_share)
        return c_.refuse("its operands have different layouts of padding on the heads");
      if (x->rank() == 4 && q_.rank() == 3 && x->is_padded(1))
        return c_.refuse("the heads of its cache are padded");
    }
    if (q_.rank() == 4 && q_.is_padded(1)) {
      for (const PaddedValue* x : operands)
        if (q_.layouts[1] != x->layouts[1] && !all_share)
          return c_.refuse("its heads are in groups, and padded", {.axis = 1});
      if (c_.attr(names::q_num_heads, 0) != 0 || c_.attr(names::kv_num_heads, 0) != 0)
        return c_.refuse("its attributes state the number of heads, which is padded", {.axis = 1});
    }
    return true;
  }

  bool features() {
    const std::size_t f = at_.features;
    if (q_.rank() == 3) {
      for (const PaddedValue* x : {&q_, &k_, &v_})
        if (x->is_padded(f))
          return c_.refuse("its features are padded within heads", {.axis = static_cast<int>(f)});
      if (has_past_ && (past_key().is_padded(3) || past_value().is_padded(3)))
        return c_.refuse("the features of its cache are padded");
      return true;
    }
    if (!alike(q_.layouts[f], k_.layouts[f]) || (has_past_ && !alike(q_.layouts[f], past_key().layouts[f])) ||
        (has_past_ && !alike(v_.layouts[f], past_value().layouts[f])))
      return c_.refuse("its operands have different layouts of padding on the features");
    if (!q_.is_padded(f)) return true;
    if (!c_.m.find_attr(c_.n, names::scale))
      return c_.refuse("its scale follows from the padded number of features", {.axis = static_cast<int>(f)});
    const Content query = padding_of(c_, q_, f);
    Content key = padding_of(c_, k_, f);
    if (has_past_) key = c_.math.join(key, padding_of(c_, past_key(), f));
    const bool adds_nothing =
        (c_.math.is_zero(query) && key.finite()) || (c_.math.is_zero(key) && query.finite());
    if (!adds_nothing) return c_.refuse_padding(kQuery, bit(f), query, "it sums over", 0);
    return true;
  }

  // ONNX Runtime checks that a length is no more than the keys.
  bool lengths() {
    if (!c_.has(kLengths)) return true;
    const PaddedValue& n = c_.in(kLengths);
    if (n.rank() != 1 || !alike(n.layouts[0], q_.layouts[0]))
      return c_.refuse("its lengths have another layout of padding than its batch");
    const DimId most = c_.a.in_padded_run(c_.extent(kKey, at_.sequence));
    const Content* bad = c_.bad_padding(n, n.padded, [&](const Content& p) {
      return most && p.finite() && c_.math.at_least(p, 0) && c_.math.less_equal(p.high, {0, most});
    });
    if (bad && !n.pure)
      return c_.refuse("padding of its lengths may be out of range: it holds " + c_.math.text(*bad));
    return true;
  }

  bool sequences() {
    queries_ = q_.layouts[at_.sequence];
    new_keys_ = k_.layouts[at_.sequence];
    keys_ = new_keys_;
    if (!alike(new_keys_, v_.layouts[at_.sequence]))
      return c_.refuse("its keys and values have different layouts of padding");
    if (has_past_) {
      const LayoutId past = past_key().layouts[2];
      if (!alike(past, past_value().layouts[2]))
        return c_.refuse("its cached keys and values have different layouts of padding");
      const LayoutId parts[] = {past, new_keys_};
      keys_ = c_.layouts.segments(parts);
      if (!keys_) return c_.refuse("the extent of its cache and keys is not known");
    }
    causal_ = c_.attr(names::is_causal, 0) != 0;
    if (!causal_ || (!c_.layouts.padded(queries_) && !c_.layouts.padded(keys_))) return true;
    if (!keeps_positions(c_, queries_) || !keeps_positions(c_, new_keys_))
      return c_.refuse("it is causal, and padding within its queries or keys moves positions");
    if (c_.has(kLengths) && c_.layouts.padded(queries_))
      return c_.refuse("it is causal, and counts its queries from the end of its keys",
                       {.axis = static_cast<int>(at_.sequence)});
    if (has_past_) {
      if (c_.layouts.padded(past_key().layouts[2])) return c_.refuse("it is causal, and its cache is padded");
      if (queries_ != new_keys_ && c_.dims.range(c_.layouts.extent(queries_)).low < 2)
        return c_.refuse("it is causal, but not for a single query that follows a cache");
    }
    return true;
  }

  // The mask broadcasts to batch, heads, queries and keys. An axis that is not padded fits both runs.
  bool mask() {
    if (!c_.has(kMask)) return true;
    const PaddedValue& m = c_.in(kMask);
    const std::size_t r = m.rank();
    if (r < 2 || r > 4) return c_.refuse("its mask has another rank than 2, 3 and 4");
    if (m.layouts[r - 1] != keys_ && (m.is_padded(r - 1) || c_.layouts.padded(keys_)))
      return c_.refuse("its mask does not cover the padding of its keys");
    if (m.layouts[r - 2] != queries_ && (m.is_padded(r - 2) || c_.layouts.padded(queries_)) &&
        !c_.is_one(c_.layouts.extent(m.layouts[r - 2])))
      return c_.refuse("its mask has another layout of padding than its queries");
    if (r >= 3 && m.is_padded(r - 3) && (q_.rank() != 4 || m.layouts[r - 3] != q_.layouts[1]))
      return c_.refuse("its mask has another layout of padding than its heads");
    if (r == 4 && m.is_padded(0) && m.layouts[0] != q_.layouts[0])
      return c_.refuse("its mask has another layout of padding than its batch");
    return true;
  }

  bool hidden() {
    if (!c_.layouts.padded(keys_)) return true;
    std::vector<Contamination::Place> not_finite;
    const auto require_finite = [&](std::size_t slot, std::size_t axis) {
      const PaddedValue& x = c_.in(slot);
      if (x.is_padded(axis) && !padding_of(c_, x, axis).finite())
        not_finite.push_back({slot, {static_cast<int>(axis)}, 0});
    };
    require_finite(kKey, at_.sequence);
    require_finite(kValue, at_.sequence);
    if (has_past_) require_finite(kPastKey, 2);
    if (has_past_) require_finite(kPastValue, 2);
    if (!not_finite.empty()) {
      const int axis = not_finite.front().axes.front();
      return c_.refuse("padding of its keys or values may not be finite",
                       {.axis = axis, .repair = BucketRepair::Mask, .places = std::move(not_finite)});
    }
    if (c_.dims.range(c_.layouts.extent(keys_)).low < 1)
      return c_.refuse("it may have no keys: with padding alone no score is defined");
    if (c_.has(kLengths) && c_.layouts.is_prefix(keys_)) return true;
    const bool past_is_padded = has_past_ && c_.layouts.padded(past_key().layouts[2]);
    if (causal_ && !c_.has(kLengths) && !past_is_padded && c_.layouts.is_prefix(new_keys_) &&
        c_.dims.less_equal(c_.layouts.extent(queries_), c_.layouts.extent(new_keys_)) == Tri::Yes)
      return true;
    if (c_.has(kMask)) {
      const PaddedValue& m = c_.in(kMask);
      const Content p = padding_of(c_, m, m.rank() - 1);
      if (m.type == DType::Bool && c_.math.is_zero(p)) return true;
      if (m.type != DType::Bool && c_.math.is(p, -kInfinity)) return true;
      if (m.type != DType::Bool && c_.math.mask_of(p) >= 1000 && !p.nan && !p.positive_infinite) {
        c_.assume(BucketAssumption::MaskDominates, kMaskDominates);
        return true;
      }
      const std::size_t last = m.rank() - 1;
      if (m.is_padded(last))
        return c_.refuse_padding(kMask, bit(last), p, "its mask does not hide keys: it reads",
                                 m.type == DType::Bool ? 0 : -kInfinity);
    }
    const std::size_t where = past_is_padded && !k_.is_padded(at_.sequence) ? kPastKey : kKey;
    const std::size_t axis = where == kKey ? at_.sequence : 2;
    return c_.refuse("padding of its keys takes part: no mask hides " + c_.axis_text(c_.in(where), bit(axis)),
                     {.axis = static_cast<int>(axis)});
  }

  // A cache and what is new, as one: batch, heads, keys, features.
  bool present(std::size_t output, const PaddedValue& fresh, std::size_t past) {
    auto l = c_.inferred(output);
    if (!l || l->size() != 4) return c_.refuse("the extents of its results are not known");
    const bool flat = fresh.rank() == 3;
    (*l)[0] = fresh.layouts[0];
    if (!flat) (*l)[1] = fresh.layouts[1];
    (*l)[2] = keys_;
    if (!flat) (*l)[3] = fresh.layouts[3];
    return c_.set(output, c_.make(c_.output_type(output), std::move(*l), [&](AxisMask region) {
      // Of (batch, keys, features), with heads within the features, only two axes are padded.
      const Content& now = fresh.at(flat ? (region & 1u) | (region >> 1 & 2u) : region);
      return has_past_ ? c_.math.join(c_.in(past).at(region), now) : now;
    }));
  }

  bool results() {
    const auto anything = [](AxisMask) { return ContentMath::anything(); };
    if (c_.has_output(1) && !present(1, k_, kPastKey)) return false;
    if (c_.has_output(2) && !present(2, v_, kPastValue)) return false;
    if (c_.has_output(3)) {  // scores, or weights, of each query and key
      auto l = c_.inferred(3);
      if (!l || l->size() != 4) return c_.refuse("the extents of its results are not known");
      (*l)[0] = q_.layouts[0];
      if (q_.rank() == 4) (*l)[1] = q_.layouts[1];
      (*l)[2] = queries_;
      (*l)[3] = keys_;
      if (!c_.set(3, c_.make(c_.output_type(3), std::move(*l), anything))) return false;
    }
    auto l = c_.inferred(0);
    if (!l || l->size() != q_.rank()) return c_.refuse("the extents of its result are not known");
    (*l)[0] = q_.layouts[0];
    (*l)[at_.sequence] = queries_;
    if (q_.rank() == 4) {
      (*l)[1] = q_.layouts[1];
      (*l)[3] = v_.layouts[3];
    }
    // Finite scores under finite masks give finite weights of finite values.
    const bool may_hide_all = c_.has(kLengths) || (c_.has(kMask) && c_.in(kMask).type == DType::Bool);
    const Content content = may_hide_all ? ContentMath::anything() : ContentMath::combined({c_.weights(0)});
    return c_.set_result(std::move(*l), [&](AxisMask) { return content; });
  }

  PaddingContext& c_;
  const PaddedValue &q_, &k_, &v_;
  AttentionAxes at_{};
  LayoutId queries_, new_keys_, keys_;
  bool has_past_ = false, causal_ = false;
};

}  // namespace

bool attention(PaddingContext& c) {
  return c.kind == OpKind::MsAttention ? packed_attention(c) : Attention(c).run();
}

// Pairs of the first features of each position and head are turned by angles of that position; the features
// behind rotary_embedding_dim are copied. Angles stand in tables by position, or, with operand 3, in rows
// that it chooses.
bool rotary_embedding(PaddingContext& c) {
  const PaddedValue& x = c.in(0);
  if (x.rank() != 3 && x.rank() != 4) return c.refuse("its operand has another rank than 3 and 4");
  const std::size_t sequence = x.rank() == 4 ? 2 : 1, features = x.rank() - 1;
  if (x.rank() == 4 && x.is_padded(1) && c.attr(names::num_heads, 0) != 0)
    return c.refuse("its attributes state the number of heads, which is padded", {.axis = 1});
  if (x.is_padded(features)) {
    const std::int64_t turned = c.attr(names::rotary_embedding_dim, 0);
    const bool behind = x.rank() == 4 && turned > 0 && c.layouts.is_prefix(x.layouts[features]) &&
                        turned <= c.dims.range(c.extent(0, features)).low;
    if (!behind) return c.refuse("its features are padded", {.axis = static_cast<int>(features)});
  }
  const PaddedValue &cosines = c.in(1), &sines = c.in(2);
  const bool by_position = c.has(3);
  for (const PaddedValue* table : {&cosines, &sines}) {
    if (by_position) {
      if (table->rank() != 2 || table->is_padded(1)) return c.refuse("the angles of its table are padded");
      if (table->layouts[0] != cosines.layouts[0] && (table->is_padded(0) || cosines.is_padded(0)))
        return c.refuse("its tables have different layouts of padding");
      if (table->is_padded(0) && !c.layouts.is_prefix(table->layouts[0]))
        return c.refuse("there is padding within its table");
    } else if (table->rank() != 3 || table->is_padded(2) || table->layouts[0] != x.layouts[0] ||
               table->layouts[1] != x.layouts[sequence]) {
      return c.refuse("its angles have another layout of padding than its operand");
    }
  }
  if (by_position) {
    const PaddedValue& ids = c.in(3);
    if (ids.rank() != 2 || ids.layouts[0] != x.layouts[0] || ids.layouts[1] != x.layouts[sequence])
      return c.refuse("its positions have another layout of padding than its operand");
    if (cosines.is_padded(0) && !c.math.at_least(ids.true_part(), 0))
      return c.refuse("a position may be negative, and count from the padded end of its table", {.axis = 0});
    const DimId rows = c.a.in_padded_run(c.extent(1, 0));
    const DimId last = rows ? c.dims.sub(rows, c.dims.constant(1)) : DimId{};
    const Content* bad = c.bad_padding(ids, ids.padded, [&](const Content& p) {
      return last && p.finite() && c.math.at_least(p, 0) && c.math.less_equal(p.high, {0, last});
    });
    if (bad && !ids.pure)
      return c.refuse("padding of its positions may be out of range: it holds " + c.math.text(*bad));
  }
  return c.set_result(x.layouts, [&](AxisMask region) {
    return ContentMath::combined({x.at(region), c.whole(1), c.whole(2)});
  });
}

}  // namespace graphopt::padding
