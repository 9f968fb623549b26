// Operators of com.microsoft that ONNX Runtime creates when it fuses and quantizes.
#include <algorithm>

#include "infer/rules.h"

namespace graphopt::rules {
namespace {

void like(NodeContext& c, std::size_t i, DType elem) {
  if (elem == DType::Undefined) return;
  if (c.ranked(0)) c.tensor(i, elem, c.shape(0));
  else c.tensor(i, elem);
}

// Returns the dims with the last one replaced.
void last_dim(NodeContext& c, std::size_t i, DimId last) {
  if (c.elem(0) == DType::Undefined) return;
  if (c.rank(0) < 1) return c.tensor(i, c.elem(0));
  Dims d(c.shape(0).begin(), c.shape(0).end());
  d.back() = last;
  c.tensor(i, c.elem(0), d);
}

}  // namespace

void ms_like_first(NodeContext& c) { c.set(0, c.type_id(0)); }

// Result, mean, inverse deviation, and the sum of input, skip and bias.
void ms_skip_norm(NodeContext& c) {
  c.set(0, c.type_id(0));
  for (std::size_t i = 1; i < 3; ++i) {
    if (c.rank(0) < 1) {
      c.tensor(i, DType::Float);
      continue;
    }
    Dims d(c.shape(0).begin(), c.shape(0).end());
    d.back() = c.constant(1);
    c.tensor(i, DType::Float, d);
  }
  c.set(3, c.type_id(0));
}

// FusedMatMul: operands may be transposed, in the batch axes, too.
void ms_matmul(NodeContext& c) {
  const bool batch_a = c.attr_int("transBatchA", 0) != 0, batch_b = c.attr_int("transBatchB", 0) != 0;
  if (c.rank(0) < 2 || c.rank(1) < 2 || batch_a || batch_b) {
    if (c.elem(0) != DType::Undefined) c.tensor(0, c.elem(0));
    return;
  }
  const auto a = c.shape(0), b = c.shape(1);
  const bool ta = c.attr_int("transA", 0) != 0, tb = c.attr_int("transB", 0) != 0;
  Dims d = c.broadcast(a.first(a.size() - 2), b.first(b.size() - 2));
  d.push_back(a[a.size() - (ta ? 1 : 2)]);
  d.push_back(b[b.size() - (tb ? 2 : 1)]);
  c.same(a[a.size() - (ta ? 2 : 1)], b[b.size() - (tb ? 1 : 2)]);
  c.tensor(0, c.elem(0), d);
}

// A (..., K) times packed weights of N rows.
void ms_matmul_nbits(NodeContext& c) {
  const std::int64_t n = c.attr_int("N", 0), k = c.attr_int("K", 0);
  if (c.rank(0) >= 1 && k > 0) c.same(c.shape(0).back(), c.constant(k));
  last_dim(c, 0, n > 0 ? c.constant(n) : DimId{});
}

// input (batch, length, channels), weights (channels, 3 * hidden), bias, mask, past (2, batch, heads, past,
// size).
void ms_attention(NodeContext& c) {
  const std::int64_t heads = c.attr_int("num_heads", 0);
  const Attr* sizes = c.attr("qkv_hidden_sizes");
  DimId hidden, v_hidden;
  if (sizes && sizes->kind == AttrKind::Ints && sizes->ints.size() == 3 && sizes->ints[2] > 0) {
    v_hidden = c.constant(sizes->ints[2]);
    hidden = c.constant(sizes->ints[1]);
  } else if (c.rank(1) == 2) {
    hidden = v_hidden = c.dims.exact_div(c.shape(1)[1], c.constant(3));
  }
  last_dim(c, 0, v_hidden);
  if (!c.has_output(1)) return;
  Dims d(5);
  d[0] = c.constant(2);
  if (c.rank(0) == 3) d[1] = c.shape(0)[0];
  if (heads > 0) {
    d[2] = c.constant(heads);
    if (v_hidden == hidden) d[4] = c.dims.exact_div(hidden, d[2]);
  }
  if (!c.has(4)) {
    if (c.rank(0) == 3) d[3] = c.shape(0)[1];
  } else if (c.rank(4) == 5 && c.rank(0) == 3) {
    const bool shared = c.attr_int("past_present_share_buffer", 0) != 0;
    d[3] = shared ? c.shape(4)[3] : c.dims.add(c.shape(4)[3], c.shape(0)[1]);
  }
  c.tensor(1, c.elem(0), d);
}

// query (batch, length, hidden), or all three packed in it; key, value (batch, length, hidden) or with heads.
void ms_multi_head_attention(NodeContext& c) {
  if (c.rank(0) == 3) {
    const std::int64_t heads = c.attr_int("num_heads", 0);
    if (c.rank(2) == 3) return last_dim(c, 0, c.shape(2)[2]);
    if (c.rank(2) == 4 && heads > 0) return last_dim(c, 0, c.dims.mul(c.shape(2)[1], c.shape(2)[3]));
  }
  if (c.elem(0) != DType::Undefined) c.tensor(0, c.elem(0), Dims(3));
}

// query (batch, length, hidden), or packed (batch, length, (heads + 2 * kv) * size); past_key (batch, kv,
// past, size).
void ms_group_query_attention(NodeContext& c) {
  const std::int64_t heads = c.attr_int("num_heads", 0), kv = c.attr_int("kv_num_heads", 0);
  const bool packed = !c.has(1);
  DimId size;
  if (c.rank(0) == 3 && heads > 0 && kv > 0) {
    size = c.dims.exact_div(c.shape(0)[2], c.constant(packed ? heads + 2 * kv : heads));
    last_dim(c, 0, !packed ? c.shape(0)[2] : size ? c.dims.mul(size, c.constant(heads)) : DimId{});
  } else if (c.elem(0) != DType::Undefined) {
    c.tensor(0, c.elem(0));
  }
  for (std::size_t i = 1; i < 3; ++i) {
    // The length depends on whether the runtime shares the buffers of past and present.
    Dims d(4);
    if (c.rank(0) == 3) d[0] = c.shape(0)[0];
    if (kv > 0) d[1] = c.constant(kv);
    d[3] = size;
    const DType elem = c.elem(2 + i) != DType::Undefined ? c.elem(2 + i) : c.elem(0);
    if (elem != DType::Undefined) c.tensor(i, elem, d);
  }
}

// input_ids, segment_ids, word, position and segment tables, gamma, beta, mask, position_ids.
void ms_embed_layer_norm(NodeContext& c) {
  const DType elem = c.elem(2);
  DimId batch, length, hidden;
  if (c.rank(0) == 2) {
    batch = c.shape(0)[0];
    length = c.shape(0)[1];
  }
  if (c.rank(2) == 2) hidden = c.shape(2)[1];
  const DimId result[] = {batch, length, hidden}, rows[] = {batch};
  if (elem != DType::Undefined) c.tensor(0, elem, result);
  c.tensor(1, DType::Int32, rows);
  if (elem != DType::Undefined) c.tensor(2, elem, result);
}

void ms_binary(NodeContext& c) {  // bias added to the last axis
  like(c, 0, c.elem(0));
}

void ms_fused_gemm(NodeContext& c) { gemm(c); }

}  // namespace graphopt::rules
