// Element types and the type pool. Sizes and names are those of onnx.proto's comments on TensorProto.
#include "ir/types.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

namespace graphopt {
namespace {

TEST(DTypes, BitsOfOneElement) {
  EXPECT_EQ(bits_of(DType::Float), 32);
  EXPECT_EQ(bits_of(DType::Bool), 8);
  EXPECT_EQ(bits_of(DType::Complex128), 128);
  EXPECT_EQ(bits_of(DType::BFloat16), 16);
  EXPECT_EQ(bits_of(DType::Float8E8M0), 8);
  EXPECT_EQ(bits_of(DType::Float6E3M2), 6);
  EXPECT_EQ(bits_of(DType::UInt4), 4);
  EXPECT_EQ(bits_of(DType::Int2), 2);
  EXPECT_EQ(bits_of(DType::String), 0);
  EXPECT_EQ(bits_of(DType::Undefined), 0);
  EXPECT_EQ(bits_of(static_cast<DType>(29)), 0);
  EXPECT_EQ(bits_of(static_cast<DType>(255)), 0);
}

TEST(DTypes, RawSizePacksSmallTypesAndNeverWraps) {
  EXPECT_EQ(raw_size(DType::Float, 3), 12U);
  EXPECT_EQ(raw_size(DType::Float, 0), 0U);
  EXPECT_EQ(raw_size(DType::Int4, 3), 2U);   // two in a byte
  EXPECT_EQ(raw_size(DType::UInt2, 5), 2U);  // four in a byte
  EXPECT_EQ(raw_size(DType::UInt2, 4), 1U);
  EXPECT_EQ(raw_size(DType::Float6E2M3, 1), 1U);  // ceil(6 n / 8)
  EXPECT_EQ(raw_size(DType::Float6E2M3, 4), 3U);
  EXPECT_EQ(raw_size(DType::Float6E2M3, 5), 4U);
  EXPECT_EQ(raw_size(DType::String, 3), std::nullopt);
  EXPECT_EQ(raw_size(DType::Undefined, 1), std::nullopt);
  const std::uint64_t most = ~std::uint64_t{0};
  EXPECT_EQ(raw_size(DType::UInt8, most), most);
  EXPECT_EQ(raw_size(DType::Int4, most), most / 2 + 1);
  EXPECT_EQ(raw_size(DType::UInt16, most), std::nullopt);
  EXPECT_EQ(raw_size(DType::Double, std::uint64_t{1} << 61), std::nullopt);
  EXPECT_EQ(raw_size(DType::Double, (std::uint64_t{1} << 61) - 1), most - 7);
}

TEST(DTypes, NamesAreThoseOfOnnxText) {
  EXPECT_EQ(dtype_name(DType::Float), "float");
  EXPECT_EQ(dtype_name(DType::Float8E5M2FNUZ), "float8e5m2fnuz");
  EXPECT_EQ(dtype_name(static_cast<DType>(77)), "");
  for (int i = 1; i <= 28; ++i) {
    const auto t = static_cast<DType>(i);
    EXPECT_EQ(dtype_from_name(dtype_name(t)), t) << i;
  }
  EXPECT_EQ(dtype_from_name("undefined"), std::nullopt);
  EXPECT_EQ(dtype_from_name("float32"), std::nullopt);
  EXPECT_EQ(dtype_from_name(""), std::nullopt);
}

TEST(DTypes, Families) {
  int floats = 0, signeds = 0, unsigneds = 0;
  for (int i = 0; i < 256; ++i) {
    const auto t = static_cast<DType>(i);
    EXPECT_LE(is_float(t) + is_signed_int(t) + is_unsigned_int(t), 1) << i;
    floats += is_float(t);
    signeds += is_signed_int(t);
    unsigneds += is_unsigned_int(t);
  }
  EXPECT_EQ(floats, 12);  // float16, float, double, bfloat16, five of 8 bits, two of 6, one of 4
  EXPECT_EQ(signeds, 6);  // 2, 4, 8, 16, 32, 64 bits
  EXPECT_EQ(unsigneds, 6);
  EXPECT_FALSE(is_int(DType::Bool));
  EXPECT_FALSE(is_float(DType::Complex64));
  EXPECT_TRUE(is_float(DType::Float4E2M1));
}

TEST(TypePool, EqualTypesHaveEqualIds) {
  TypePool pool;
  const std::array dims{DimId{std::uint32_t{4}}, DimId{}, DimId{std::uint32_t{9}}};
  const std::array others{DimId{std::uint32_t{4}}, DimId{std::uint32_t{9}}, DimId{}};
  const TypeId a = pool.tensor(DType::Float, dims);
  EXPECT_EQ(pool.tensor(DType::Float, std::vector<DimId>(dims.begin(), dims.end())), a);
  EXPECT_NE(pool.tensor(DType::Float, others), a);
  EXPECT_NE(pool.tensor(DType::Double, dims), a);
  EXPECT_NE(pool.sparse(DType::Float, true, dims), a);
  EXPECT_EQ(pool[a].kind, TypeKind::Tensor);
  EXPECT_TRUE(pool[a].has_rank);
  ASSERT_EQ(pool[a].dims.size(), 3U);
  EXPECT_EQ(pool[a].dims[2], dims[2]);
  EXPECT_FALSE(pool[a].dims[1]);
}

TEST(TypePool, AScalarIsNotATensorOfUnknownRank) {
  TypePool pool;
  const TypeId scalar = pool.tensor(DType::Float, {}), any = pool.tensor(DType::Float);
  EXPECT_NE(scalar, any);
  EXPECT_TRUE(pool[scalar].has_rank);
  EXPECT_FALSE(pool[any].has_rank);
}

TEST(TypePool, UnknownIsTheFirstAndNoneReadsAsUnknown) {
  TypePool pool;
  EXPECT_EQ(pool.size(), 1U);
  EXPECT_EQ(pool[pool.unknown()].kind, TypeKind::Unknown);
  EXPECT_EQ(pool[TypeId{}].kind, TypeKind::Unknown);
  EXPECT_EQ(pool[TypeId{std::uint32_t{77}}].kind, TypeKind::Unknown);
}

TEST(TypePool, NestedTypes) {
  TypePool pool;
  const TypeId tensor = pool.tensor(DType::Int64);
  const TypeId sequence = pool.sequence(tensor), optional = pool.optional(tensor);
  EXPECT_NE(sequence, optional);
  EXPECT_EQ(pool[pool.optional(sequence)].inner, sequence);
  const TypeId map = pool.map(DType::String, tensor);
  EXPECT_EQ(pool[map].elem, DType::String);
  EXPECT_EQ(pool[map].inner, tensor);
  EXPECT_NE(pool.map(DType::Int64, tensor), map);
  EXPECT_EQ(pool[pool.opaque()].kind, TypeKind::Opaque);
  EXPECT_EQ(pool.sparse(DType::Float, false, std::array{DimId{}}), pool.sparse(DType::Float, false, {}));
}

TEST(TypePool, RecordsStayWhereTheyAreWhenThePoolGrowsAndMoves) {
  TypePool pool;
  const std::array first{DimId{std::uint32_t{1}}, DimId{std::uint32_t{2}}};
  const TypeId id = pool.tensor(DType::Float, first);
  const Type* const record = &pool[id];
  const DimId* const dims = record->dims.data();
  std::vector<TypeId> ids;
  for (std::uint32_t i = 0; i < 50'000; ++i)
    ids.push_back(pool.tensor(DType::Float, std::array{DimId{i}, DimId{i * 2 + 1}, DimId{std::uint32_t{7}}}));
  const std::vector<DimId> many(5000, DimId{std::uint32_t{3}});  // more than a block
  const TypeId wide = pool.tensor(DType::Float, many);
  TypePool moved = std::move(pool);
  EXPECT_EQ(&moved[id], record);
  EXPECT_EQ(moved[id].dims.data(), dims);
  EXPECT_EQ(moved[wide].dims.size(), many.size());
  EXPECT_EQ(moved.size(), 50'003U);
  for (std::uint32_t i = 0; i < 50'000; ++i)
    ASSERT_EQ(moved.tensor(DType::Float, std::array{DimId{i}, DimId{i * 2 + 1}, DimId{std::uint32_t{7}}}),
              ids[i]);
}

}  // namespace
}  // namespace graphopt
