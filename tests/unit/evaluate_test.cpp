// Operators on tensors that no model has.

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ir/model.h"
#include "ops/facts.h"
#include "ops/fold.h"
#include "support/known_names.h"

namespace graphopt {
namespace {

Tensor tensor(DType type, std::vector<std::int64_t> dims, std::string raw) {
  auto payload = std::make_shared<Unpacked>();
  payload->raw = std::move(raw);
  Tensor t;
  t.dtype = type;
  t.dims = std::move(dims);
  for (const std::int64_t d : t.dims) t.elements *= d;
  t.raw = payload->raw;
  t.owned = std::move(payload);
  t.ready = true;
  return t;
}

FoldRefusal of_neg(const Tensor& x) {
  Model m;
  return evaluate(m, {OpKind::Neg, 13}, {&x}).refusal;
}

TEST(Evaluate, ComputesWithoutANode) {
  Model m;
  const Tensor a = tensor(DType::Int8, {2}, {1, 2}), b = tensor(DType::Int8, {1}, {127});
  const Folded sum = evaluate(m, {OpKind::Add, 14}, {&a, &b});
  ASSERT_TRUE(sum);
  EXPECT_EQ(sum.exactness, FoldExactness::Exact);
  EXPECT_EQ(sum.results[0].raw, std::string("\x80\x81"));
  const Attr axis = int_attribute(names::axis, -1);
  const Folded joined = evaluate(m, {OpKind::Concat, 13, std::span(&axis, 1)}, {&a, &b, &a});
  ASSERT_TRUE(joined);
  EXPECT_EQ(joined.results[0].dims, std::vector<std::int64_t>{5});
  EXPECT_EQ(joined.results[0].raw, std::string("\x01\x02\x7f\x01\x02"));
  EXPECT_EQ(m.node_count(), 1u) << "the return node alone";
}

TEST(Evaluate, SharesAPayload) {
  Model m;
  const Tensor x = tensor(DType::UInt8, {2, 2}, "abcd");
  const Tensor target = int64_tensor(std::vector<std::int64_t>{4, 1});
  const Folded flat = evaluate(m, {OpKind::Reshape, 13}, {&x, &target});
  ASSERT_TRUE(flat);
  EXPECT_EQ(flat.results[0].raw.data(), x.raw.data());
  EXPECT_EQ(flat.results[0].owned, x.owned);
  EXPECT_EQ(flat.results[0].dims, (std::vector<std::int64_t>{4, 1}));
}

TEST(Evaluate, RefusesWhatNoKernelTakes) {
  Model m;
  const Tensor x = tensor(DType::Float, {1}, std::string(4, '\0'));
  EXPECT_EQ(evaluate(m, {OpKind::Conv, 13}, {&x, &x}).refusal, FoldRefusal::NotFoldable);
  EXPECT_EQ(evaluate(m, {OpKind::Neg, 1}, {&x}).refusal, FoldRefusal::NotFoldable) << "older than the kernel";
  EXPECT_EQ(evaluate(m, {OpKind::Neg, 13}, {&x, &x}).refusal, FoldRefusal::NotFoldable);
  EXPECT_EQ(evaluate(m, {OpKind::Neg, 13}, {nullptr}).refusal, FoldRefusal::NotFoldable);
  EXPECT_EQ(evaluate(m, {OpKind::Add, 13}, {&x, nullptr}).refusal, FoldRefusal::BadOperands);
  const Attr unknown = int_attribute(names::axis, 0);
  EXPECT_EQ(evaluate(m, {OpKind::Neg, 13, std::span(&unknown, 1)}, {&x}).refusal, FoldRefusal::NotFoldable);
  EXPECT_EQ(evaluate(m, {OpKind::Neg, 13}, {&x}, {.max_result_bytes = 3, .max_work = 9}).refusal,
            FoldRefusal::TooBig);
}

TEST(Evaluate, RefusesTensorsThatSayOtherThanTheyHold) {
  const Tensor good = tensor(DType::Float, {2}, std::string(8, '\0'));
  EXPECT_EQ(of_neg(good), FoldRefusal::None);
  const auto refused = [&](auto change) {
    Tensor t = good;
    change(t);
    return of_neg(t) == FoldRefusal::BadOperands;
  };
  EXPECT_TRUE(refused([](Tensor& t) { t.ready = false; }));
  EXPECT_TRUE(refused([](Tensor& t) { t.elements = -1; }));
  EXPECT_TRUE(refused([](Tensor& t) { t.elements = 1; }));
  EXPECT_TRUE(refused([](Tensor& t) { t.dims = {-2}; }));
  EXPECT_TRUE(refused([](Tensor& t) {
    t.dims.assign(65, 1);
    t.elements = 1;
    t.raw = t.raw.substr(0, 4);
  }));
  EXPECT_TRUE(refused([](Tensor& t) { t.raw = t.raw.substr(0, 7); }));
  EXPECT_TRUE(refused([](Tensor& t) { t.raw = {}; }));
}

TEST(Evaluate, RefusesStringsThatAreNotThere) {
  Model m;
  Tensor t;
  t.dtype = DType::String;
  t.dims = {1};
  t.ready = true;
  EXPECT_EQ(evaluate(m, {OpKind::Identity, 13}, {&t}).refusal, FoldRefusal::BadOperands);
  auto payload = std::make_shared<Unpacked>();
  payload->strings = {"a", "b"};
  t.owned = payload;
  EXPECT_EQ(evaluate(m, {OpKind::Identity, 13}, {&t}).refusal, FoldRefusal::BadOperands);
  t.dims = {2};
  t.elements = 2;
  const Folded same = evaluate(m, {OpKind::Identity, 13}, {&t});
  ASSERT_TRUE(same);
  EXPECT_EQ(same.results[0].owned->strings, (std::vector<std::string>{"a", "b"}));
}

}  // namespace
}  // namespace graphopt
