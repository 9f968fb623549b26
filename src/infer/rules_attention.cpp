// Attention, its linear form, and what goes with them: RotaryEmbedding, CausalConvWithState.
//
// ONNX Runtime has kernels for Attention of opsets 23 and 24 in float and float16, which refuse operands that
// do not fit. All others it computes by the body of the operator, whose nodes broadcast and join: they take
// operands that the standard refuses, and give results of other extents. There only what the body ensures is
// stated.
#include <algorithm>
#include <iterator>
#include <span>

#include "infer/rules.h"
#include "ops/facts_kernels.h"

namespace graphopt::rules {
namespace {

bool equal(NodeContext& c, DimId a, DimId b) { return a && b && (a == b || c.dims.equal(a, b) == Tri::Yes); }

bool never_empty(NodeContext& c, std::span<const DimId> d) {
  return std::ranges::all_of(d, [&](DimId x) { return x && c.never_zero(x); });
}

// Returns the dims of a cache with the new entries behind it, as Concat makes them: ONNX Runtime leaves out
// what has no elements, whatever its dims are.
Dims appended(NodeContext& c, std::size_t past, Dims added) {
  if (!c.has(past)) return added;
  if (c.rank(past) != static_cast<std::int64_t>(added.size())) return Dims(added.size());
  const auto kept = c.shape(past);
  const bool past_decides = never_empty(c, kept), added_decides = never_empty(c, added);
  for (std::size_t i = 0; i < added.size(); ++i) {
    if (i == 2) added[i] = kept[i] && added[i] ? c.dims.add(kept[i], added[i]) : DimId{};
    else if (past_decides) added[i] = kept[i];
    else if (!added_decides && !equal(c, kept[i], added[i])) added[i] = {};
  }
  return added;
}

// Where ONNX Runtime has no kernel of Attention it runs the function's body. There the scores are
// broadcast with the mask, 3-D keys and values take the batch of Q and the length of K with the rest in the
// last axis, and of 4-D ones Expand repeats axes of length 1. A batch or a length that differs is refused
// only where a node of the body refuses it.
void attention_body(NodeContext& c, DimId q_heads, DimId kv_heads) {
  const auto q = c.shape(0), k = c.shape(1), v = c.shape(2);
  const bool flat = q.size() == 3;
  const auto split = [&](std::span<const DimId> d) -> Dims {
    if (!flat) return {d.begin(), d.end()};
    const bool fits = equal(c, d[0], q[0]) && equal(c, d[1], k[1]);
    return {q[0], kv_heads, k[1], fits && d[2] ? c.dims.exact_div(d[2], kv_heads) : DimId{}};
  };
  const Dims keys = appended(c, 4, split(k)), values = appended(c, 5, split(v));

  Dims scores = {q[0], q_heads, flat ? q[1] : q[2]};
  const Dims plain = scores;
  constexpr std::size_t kMask = 3, kLengths = 6;
  if (c.has(kMask)) {
    const auto mask = c.shape(kMask);
    if (!c.ranked(kMask) || mask.size() > 4) scores.assign(3, DimId{});
    else if (mask.size() > 1) scores = c.broadcast(scores, mask.first(mask.size() - 1));
    scores.resize(3);
  }
  if (c.has(kLengths))
    scores[0] = c.rank(kLengths) == 1 ? c.broadcast(scores[0], c.shape(kLengths)[0]) : DimId{};

  // A 0 in the target of a Reshape takes the length of the same axis of the operand, which is another one for
  // the last axis of values. Only what is empty already can have it.
  DimId size = values[3];
  if (!size || (!c.never_zero(size) && !(c.never_zero(q[0]) && c.never_zero(q_heads)))) size = {};
  if (flat) {
    const DimId d[] = {scores[0], scores[2], scores[1] && size ? c.dims.mul(scores[1], size) : DimId{}};
    c.tensor(0, c.elem(0), d);
  } else {
    const DimId d[] = {scores[0], scores[1], scores[2], size};
    c.tensor(0, c.elem(0), d);
  }
  if (c.has_output(1)) c.tensor(1, c.elem(1), keys);
  if (c.has_output(2)) c.tensor(2, c.elem(2), values);
  if (!c.has_output(3)) return;
  Dims d(4);  // before or after the mask is added: an attribute says which
  for (std::size_t i = 0; i < 3; ++i)
    if (equal(c, scores[i], plain[i])) d[i] = plain[i];
  d[3] = keys[2];
  c.tensor(3, c.elem(0), d);
}

}  // namespace

// ai.onnx Attention (opset 23): Q, K, V, mask, past_key, past_value; Y, present_key, present_value, qk.
// 3-D operands are (batch, length, heads * size), 4-D ones (batch, heads, length, size).
void attention(NodeContext& c) {
  const auto q = c.shape(0), k = c.shape(1), v = c.shape(2);
  if (q.size() != k.size() || q.size() != v.size() || (q.size() != 3 && q.size() != 4))
    return elem_only(c, c.elem(0));
  const bool flat = q.size() == 3;
  const std::int64_t heads = c.attr_int(names::q_num_heads, 0), kv_heads = c.attr_int(names::kv_num_heads, 0);
  if (flat && (heads < 1 || kv_heads < 1)) return elem_only(c, c.elem(0));
  const DimId q_heads = flat ? c.constant(heads) : q[1], k_heads = flat ? c.constant(kv_heads) : k[1];
  if (!has_kernel(OpKind::Attention, c.opset(), c.elem(0))) return attention_body(c, q_heads, k_heads);
  const DimId q_length = flat ? q[1] : q[2], k_length = flat ? k[1] : k[2], v_length = flat ? v[1] : v[2];
  const auto per_head = [&](DimId d) { return flat ? c.dims.exact_div(d, c.constant(kv_heads)) : d; };
  const DimId k_size = per_head(flat ? k[2] : k[3]), v_size = per_head(flat ? v[2] : v[3]);
  c.same(k_length, v_length);
  if (flat) {
    const DimId d[] = {q[0], q[1], v_size ? c.dims.mul(q_heads, v_size) : DimId{}};
    c.tensor(0, c.elem(0), d);
  } else {
    const DimId d[] = {q[0], q[1], q[2], v[3]};
    c.tensor(0, c.elem(0), d);
  }
  const auto total = [&](std::size_t past, DimId length) -> DimId {
    if (!c.has(past)) return length;
    if (c.rank(past) != 4) return {};
    return c.dims.add(c.shape(past)[2], length);
  };
  const DimId all_k = total(4, k_length), all_v = total(5, v_length);
  if (c.has_output(1)) {
    const DimId d[] = {k[0], k_heads, all_k, k_size};
    c.tensor(1, c.elem(1), d);
  }
  if (c.has_output(2)) {
    const DimId d[] = {v[0], k_heads, all_v, v_size};
    c.tensor(2, c.elem(2), d);
  }
  if (c.has_output(3)) {
    const DimId d[] = {q[0], q_heads, q_length, all_k};
    c.tensor(3, c.elem(0), d);
  }
}

// input (batch, channels, length), weight (channels, 1, k), bias, past (batch, channels, k - 1); the result
// and the last k - 1 entries. ONNX Runtime runs the function's body: past with the input behind it, or an
// input with k - 1 entries in front, is convolved.
void causal_conv(NodeContext& c) {
  constexpr std::size_t kPast = 3;
  const bool ranked = c.rank(0) == 3 && c.rank(1) == 3;
  Dims result(3), state(3);
  if (ranked) {
    const auto x = c.shape(0), w = c.shape(1);
    const DimId carried = w[2] ? c.dims.sub(w[2], c.constant(1)) : DimId{};
    const Dims padded = appended(c, kPast, {x.begin(), x.end()});
    const bool fits = !c.has(kPast) || (c.rank(kPast) == 3 && equal(c, c.shape(kPast)[2], carried));
    result = {padded[0], w[0], fits ? x[2] : DimId{}};
    state = {padded[0], padded[1], fits ? carried : DimId{}};
  }
  if (c.elem(0) == DType::Undefined) return;
  if (c.rank(0) != 3) return c.tensor(0, c.elem(0));
  c.tensor(0, c.elem(0), result);
  if (c.has_output(1)) c.tensor(1, c.elem(0), state);
}

// query, key, value (batch, length, heads * size), past (batch, heads, size of keys, size of values), decay,
// beta; the result and the state. ONNX Runtime runs the function's body: all operands take the batch and
// the length of the query with the rest in the last axis, and the steps broadcast the state with them.
void linear_attention(NodeContext& c) {
  const std::int64_t heads = c.attr_int(names::q_num_heads, 0), kv_heads = c.attr_int(names::kv_num_heads, 0);
  if (c.elem(0) == DType::Undefined) return;
  Dims result(3), state(4);
  if (c.rank(0) == 3) {
    const auto q = c.shape(0);
    result = {q[0], q[1], DimId{}};
    const auto like_query = [&](std::size_t i) {
      return c.rank(i) == 3 && equal(c, c.shape(i)[0], q[0]) && equal(c, c.shape(i)[1], q[1]);
    };
    if (heads > 0 && kv_heads > 0 && like_query(1) && like_query(2)) {
      const DimId of_kv = c.constant(kv_heads);
      const DimId key = q[2] ? c.dims.exact_div(q[2], c.constant(heads)) : DimId{};
      const DimId value = c.shape(2)[2] ? c.dims.exact_div(c.shape(2)[2], of_kv) : DimId{};
      const DimId all_keys = c.shape(1)[2];
      bool fits = key && value && equal(c, c.dims.mul(key, of_kv), all_keys);
      const DimId whole[] = {q[0], of_kv, key, value};
      constexpr std::size_t kPast = 3, kDecay = 4, kBeta = 5;
      if (fits && c.has(kPast)) {
        fits = c.rank(kPast) == 4;
        for (std::size_t i = 0; i < 4 && fits; ++i) fits = equal(c, c.shape(kPast)[i], whole[i]);
      }
      for (const std::size_t i : {kDecay, kBeta}) {
        if (!fits || !c.has(i)) continue;
        fits = like_query(i) && (equal(c, c.shape(i)[2], of_kv) ||
                                 (i == kDecay ? equal(c, c.shape(i)[2], all_keys) : c.is_one(c.shape(i)[2])));
      }
      if (fits) {
        result[2] = c.dims.mul(value, c.constant(heads));
        state.assign(std::begin(whole), std::end(whole));
      }
    }
  }
  if (c.rank(0) != 3) return c.tensor(0, c.elem(0));
  c.tensor(0, c.elem(0), result);
  const DType of_state = c.elem(c.has(3) ? 3 : 0);
  if (c.has_output(1) && of_state != DType::Undefined) c.tensor(1, of_state, state);
}

void rotary_embedding(NodeContext& c) { c.set(0, c.type_id(0)); }

}  // namespace graphopt::rules
