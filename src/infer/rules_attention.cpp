// Attention, its linear form, and what goes with them: RotaryEmbedding, CausalConvWithState.
//
// ONNX Runtime has kernels for Attention of opsets 23 and 24 in float and float16, which refuse operands that
// do not fit. All others it computes by the body of the operator, whose nodes broadcast: an operand of extent
// 1, or a Concat of one of extent 0, fits what the standard refuses, and results have the extents of the
// others. There extents are stated only if the operands that have to be equal are known to be equal.
#include <algorithm>
#include <initializer_list>
#include <iterator>

#include "infer/rules.h"

namespace graphopt::rules {
namespace {

constexpr std::size_t kQkvRank = 3, kHeadsRank = 4;

bool equal(DimId a, DimId b) { return a && a == b; }

// Whether the operand is absent or has just these dims.
bool has_dims(const NodeContext& c, std::size_t operand, std::initializer_list<DimId> dims) {
  return !c.has(operand) || std::ranges::equal(c.shape(operand), dims, equal);
}

// Whether the operand is absent or broadcasts to these dims, and never the other way.
bool fits(const NodeContext& c, std::size_t operand, std::initializer_list<DimId> dims) {
  if (!c.has(operand)) return true;
  const auto own = c.shape(operand);
  return c.ranked(operand) && own.size() <= dims.size() &&
         std::equal(own.rbegin(), own.rend(), std::rbegin(dims),
                    [&](DimId a, DimId b) { return c.is_one(a) || equal(a, b); });
}

void ranks_only(NodeContext& c, std::size_t output, DType elem, std::size_t rank) {
  if (c.has_output(output)) c.tensor(output, elem, Dims(rank));
}

}  // namespace

// Q, K, V, mask, past_key, past_value, lengths; Y, present_key, present_value, qk. 3-D operands are (batch,
// length, heads * size), 4-D ones (batch, heads, length, size).
void attention(NodeContext& c) {
  enum : std::size_t { kMask = 3, kPastKey, kPastValue, kLengths };
  const auto q = c.shape(0), k = c.shape(1), v = c.shape(2);
  const bool flat = q.size() == kQkvRank;
  if (q.size() != k.size() || q.size() != v.size() || (!flat && q.size() != kHeadsRank))
    return elem_only(c, c.elem(0));
  const std::int64_t heads = c.attr_int(names::q_num_heads, 0), kv_heads = c.attr_int(names::kv_num_heads, 0);
  if (flat && (heads < 1 || kv_heads < 1)) return elem_only(c, c.elem(0));
  const DimId q_heads = flat ? c.constant(heads) : q[1], k_heads = flat ? c.constant(kv_heads) : k[1];
  const DimId q_length = flat ? q[1] : q[2], k_length = flat ? k[1] : k[2], v_length = flat ? v[1] : v[2];
  const auto per_head = [&](DimId d) { return flat ? c.dims.exact_div(d, c.constant(kv_heads)) : d; };
  const DimId k_size = per_head(flat ? k[2] : k[3]), v_size = per_head(flat ? v[2] : v[3]);
  const auto total = [&](std::size_t past, DimId length) -> DimId {
    if (!c.has(past)) return length;
    if (c.rank(past) != kHeadsRank) return {};
    return c.dims.add(c.shape(past)[2], length);
  };
  const DimId all_k = total(kPastKey, k_length), all_v = total(kPastValue, v_length);

  constexpr int kLastKernel = 24;
  const bool has_kernel =
      c.opset() <= kLastKernel && (c.elem(0) == DType::Float || c.elem(0) == DType::Float16);
  if (!has_kernel) {
    const auto past = [&](std::size_t i) { return c.rank(i) == kHeadsRank ? c.shape(i)[2] : DimId{}; };
    const DimId q_size = flat ? c.dims.exact_div(q[2], c.constant(heads)) : q[3];
    const bool agree =
        equal(q[0], k[0]) && equal(k[0], v[0]) && (flat || equal(k[1], v[1])) && equal(k_length, v_length) &&
        equal(q_size, k_size) && v_size && has_dims(c, kPastKey, {k[0], k_heads, past(kPastKey), k_size}) &&
        has_dims(c, kPastValue, {v[0], k_heads, past(kPastValue), v_size}) && equal(all_k, all_v) &&
        fits(c, kMask, {q[0], q_heads, q_length, all_k}) && has_dims(c, kLengths, {q[0]});
    if (!agree) {
      ranks_only(c, 0, c.elem(0), q.size());
      ranks_only(c, 1, c.elem(1), kHeadsRank);
      ranks_only(c, 2, c.elem(2), kHeadsRank);
      return ranks_only(c, 3, c.elem(0), kHeadsRank);
    }
  }
  c.same(k_length, v_length);
  if (flat) {
    const DimId d[] = {q[0], q[1], v_size ? c.dims.mul(q_heads, v_size) : DimId{}};
    c.tensor(0, c.elem(0), d);
  } else {
    const DimId d[] = {q[0], q[1], q[2], v[3]};
    c.tensor(0, c.elem(0), d);
  }
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

// Q, K, V of (batch, length, heads * size); a state of (batch, heads, key size, value size), a decay of
// (batch, length, heads [* key size]), beta of (batch, length, heads or 1); Y, the new state.
void linear_attention(NodeContext& c) {
  enum : std::size_t { kState = 3, kDecay, kBeta };
  const auto q = c.shape(0), k = c.shape(1), v = c.shape(2);
  const std::int64_t heads = c.attr_int(names::q_num_heads, 0), kv_heads = c.attr_int(names::kv_num_heads, 0);
  const DType state = c.has(kState) ? c.elem(kState) : c.elem(0);
  if (c.elem(0) == DType::Undefined) return;
  const bool flat = q.size() == kQkvRank && k.size() == kQkvRank && v.size() == kQkvRank;
  const auto none = [&] {
    ranks_only(c, 0, c.elem(0), kQkvRank);
    if (state != DType::Undefined) ranks_only(c, 1, state, kHeadsRank);
  };
  if (!flat || heads < 1 || kv_heads < 1) return none();
  const DimId q_size = c.dims.exact_div(q[2], c.constant(heads)),
              k_size = c.dims.exact_div(k[2], c.constant(kv_heads)),
              v_size = c.dims.exact_div(v[2], c.constant(kv_heads)), kv = c.constant(kv_heads);
  const bool agree =
      equal(q[0], k[0]) && equal(k[0], v[0]) && equal(q[1], k[1]) && equal(k[1], v[1]) &&
      equal(q_size, k_size) && v_size && has_dims(c, kState, {k[0], kv, k_size, v_size}) &&
      (has_dims(c, kDecay, {k[0], k[1], kv}) || has_dims(c, kDecay, {k[0], k[1], k[2]})) &&
      (has_dims(c, kBeta, {k[0], k[1], kv}) || has_dims(c, kBeta, {k[0], k[1], c.constant(1)}));
  if (!agree) return none();
  const DimId y[] = {q[0], q[1], c.dims.mul(c.constant(heads), v_size)};
  c.tensor(0, c.elem(0), y);
  if (c.has_output(1) && state != DType::Undefined) {
    const DimId d[] = {q[0], kv, k_size, v_size};
    c.tensor(1, state, d);
  }
}

// X of (batch, channels, length), weights of (channels, 1, k), bias, a state of (batch, channels, k - 1); Y
// like X, the new state.
void causal_conv(NodeContext& c) {
  enum : std::size_t { kWeight = 1, kBias, kState };
  const DType elem = c.elem(0);
  if (elem == DType::Undefined) return;
  const auto x = c.shape(0), w = c.shape(kWeight);
  const DimId kept = w.size() == kQkvRank ? c.dims.sub(w[2], c.constant(1)) : DimId{};
  const bool agree = x.size() == kQkvRank && w.size() == kQkvRank && equal(x[1], w[0]) && c.is_one(w[1]) &&
                     kept && has_dims(c, kBias, {x[1]}) && has_dims(c, kState, {x[0], x[1], kept});
  if (!agree) {
    ranks_only(c, 0, elem, kQkvRank);
    return ranks_only(c, 1, elem, kQkvRank);
  }
  c.tensor(0, elem, x);
  if (!c.has_output(1)) return;
  const DimId d[] = {x[0], x[1], kept};
  c.tensor(1, elem, d);
}

void rotary_embedding(NodeContext& c) { c.set(0, c.type_id(0)); }

}  // namespace graphopt::rules
