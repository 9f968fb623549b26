// Requests in the shapes of buckets, by hand: extents, choice, padding, cutting.
#include <gtest/gtest.h>

#include <limits>
#include <map>

#include "runner/bucket_request.h"
#include "unit/runner_values.h"

namespace graphopt::runner {
namespace {

using namespace test;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

// A manifest in the making.
struct Case {
  deploy::Manifest manifest;

  Case() { manifest.buckets.emplace(); }
  deploy::Buckets& buckets() { return *manifest.buckets; }

  Case& symbol(std::string name, std::vector<std::int64_t> sizes, std::int64_t low, bool fixed = false) {
    const std::int64_t high = sizes.back();
    buckets().symbols.push_back({std::move(name), std::move(sizes), low, high, fixed});
    return *this;
  }
  Case& input(const std::string& name, const std::vector<std::string>& dims, double pad = 0,
              DType type = DType::Int8, PadClass pad_class = PadClass::Const) {
    deploy::Buckets::Input i{name, {}, pad_class, pad};
    for (const std::string& d : dims) i.dims.push_back(layout(d));
    buckets().inputs.push_back(std::move(i));
    manifest.network.inputs.push_back(network_value(name, type, std::nullopt));
    return *this;
  }
  Case& output(const std::string& name, const std::vector<std::string>& dims, bool has_cut = false) {
    deploy::Buckets::Output o{name, dims, std::nullopt};
    for (const std::string& d : dims)
      if (has_cut) (o.cut ? *o.cut : o.cut.emplace()).push_back(layout(d));
    buckets().outputs.push_back(std::move(o));
    return *this;
  }
  Case& models(const std::vector<std::vector<std::int64_t>>& sizes) {
    for (const auto& at : sizes) buckets().models.emplace_back().at = at;
    return *this;
  }
  BucketRequests requests() const {
    auto made = BucketRequests::make(manifest);
    EXPECT_TRUE(made.ok()) << to_string(made.error());
    return *std::move(made);
  }
};

// --- extents and choice ------------------------------------------------------------------------------------

Case text_case() {
  Case c;
  c.symbol("batch", {1, 2, 4}, 1).symbol("seq", {8, 16}, 2);
  c.input("x", {"batch", "seq"}).input("y", {"batch x seq", "3"});
  c.models({{1, 8}, {1, 16}, {2, 8}, {2, 16}, {4, 8}, {4, 16}});
  return c;
}

TEST(RunnerBuckets, ExtentsOfARequest) {
  const BucketRequests r = text_case().requests();
  const auto found = r.extents(
      std::vector<NamedValue>{{"x", empty(DType::Int8, {2, 13})}, {"y", empty(DType::Int8, {26, 3})}});
  ASSERT_TRUE(found.ok()) << problem(found);
  EXPECT_EQ(*found, (Extents{{"batch", 2}, {"seq", 13}}));
  // What a request does not have is not looked at.
  EXPECT_EQ(*r.extents(std::vector<NamedValue>{{"x", empty(DType::Int8, {0, 13})}}),
            (Extents{{"batch", 0}, {"seq", 13}}));
  EXPECT_EQ(*r.extents({}), Extents{});
}

TEST(RunnerBuckets, ExtentsThatContradictAreNamed) {
  const BucketRequests r = text_case().requests();
  const auto why = [&](std::vector<std::int64_t> x, std::vector<std::int64_t> y) {
    const auto found = r.extents(std::vector<NamedValue>{{"x", empty(DType::Int8, std::move(x))},
                                                         {"y", empty(DType::Int8, std::move(y))}});
    EXPECT_FALSE(found.ok());
    if (found.ok()) return std::string();
    EXPECT_EQ(found.error().kind, ErrorKind::Usage);
    return found.error().what;
  };
  EXPECT_EQ(why({2, 13}, {27, 3}),
            "input 'y', axis 0: the extent is 'batch x seq', 26 with batch = 2, seq = 13, and 27 is given");
  EXPECT_EQ(why({2, 13}, {26, 4}),
            "input 'y', axis 1: the extent is '3', 3 with batch = 2, seq = 13, and 4 is given");
  EXPECT_EQ(why({2, 13}, {26}), "input 'y' takes a tensor of 2 dims, and 1 are given");
  EXPECT_EQ(why({kMost, kMost}, {26, 3}),
            "input 'y', axis 0: the extent is 'batch x seq', which is no number with batch = "
            "9223372036854775807, seq = 9223372036854775807, and 26 is given");
}

TEST(RunnerBuckets, ExtentsAreSolvedFor) {
  Case c;
  c.symbol("past", {4, 8}, 0).symbol("seq", {1, 2}, 1).symbol("f", {3}, 3, true);
  c.input("mask", {"past ++ seq"}).input("ids", {"seq", "2*h"});
  c.models({{4, 1, 3}, {4, 2, 3}, {8, 1, 3}, {8, 2, 3}});
  c.manifest.network.inputs.push_back(
      network_value("other", DType::Float, std::vector<deploy::ValueDim>{std::int64_t{3}, std::string("w")}));
  const BucketRequests r = c.requests();
  const auto at = [&](std::int64_t mask, std::int64_t seq, std::int64_t ids) {
    return r.extents(std::vector<NamedValue>{{"other", empty(DType::Float, {3, 5})},
                                             {"mask", empty(DType::Int8, {mask})},
                                             {"ids", empty(DType::Int8, {seq, ids})}});
  };
  const auto found = at(7, 2, 6);
  ASSERT_TRUE(found.ok()) << problem(found);
  // f has one size, and need not be seen.
  EXPECT_EQ(*found, (Extents{{"f", 3}, {"h", 3}, {"past", 5}, {"seq", 2}, {"w", 5}}));
  EXPECT_EQ(r.choose(*found), 3U);
  EXPECT_EQ(
      at(11, 2, 6).error().what,
      "input 'mask', axis 0: the extent is 'past ++ seq', which no 'past' that was promised makes 11 with "
      "h = 3, seq = 2, w = 5");
  EXPECT_FALSE(at(7, 2, 7).ok());  // 2*h is even
  EXPECT_FALSE(at(1, 2, 6).ok());
  EXPECT_TRUE(at(2, 2, 6).ok());                    // no past
  EXPECT_EQ(r.choose(*at(2, 2, 0)), std::nullopt);  // h is not of the buckets, and at least 1
}

TEST(RunnerBuckets, OneSymbolInTwoOtherInputs) {
  Case c;
  c.symbol("s", {4}, 1).input("x", {"s"}).models({{4}});
  for (const char* name : {"a", "b"})
    c.manifest.network.inputs.push_back(
        network_value(name, DType::Int8, std::vector<deploy::ValueDim>{std::string("w"), std::monostate()}));
  const BucketRequests r = c.requests();
  const auto at = [&](std::int64_t a, std::int64_t b) {
    return r.extents(std::vector<NamedValue>{{"a", empty(DType::Int8, {a, 9})},
                                             {"b", empty(DType::Int8, {b, 8})},
                                             {"x", empty(DType::Int8, {2})}});
  };
  EXPECT_EQ(*at(2, 2), (Extents{{"s", 2}, {"w", 2}}));
  EXPECT_EQ(at(2, 3).error().what, "input 'b', axis 0: 'w' is 2 in another input, and 3 is given");
}

TEST(RunnerBuckets, TheLeastProductIsChosen) {
  const BucketRequests r = text_case().requests();
  const auto chosen = [&](std::int64_t batch, std::int64_t seq) {
    return r.choose({{"batch", batch}, {"seq", seq}});
  };
  EXPECT_EQ(chosen(1, 2), 0U);
  EXPECT_EQ(chosen(1, 8), 0U);
  EXPECT_EQ(chosen(1, 9), 1U);
  EXPECT_EQ(chosen(2, 13), 3U);
  EXPECT_EQ(chosen(3, 8), 4U);
  EXPECT_EQ(chosen(4, 16), 5U);
  EXPECT_EQ(chosen(5, 8), std::nullopt);
  EXPECT_EQ(chosen(4, 17), std::nullopt);
  EXPECT_EQ(chosen(1, 1), std::nullopt);  // below the range
  EXPECT_EQ(chosen(0, 8), std::nullopt);
  EXPECT_EQ(chosen(-1, 8), std::nullopt);
  EXPECT_EQ(r.choose({{"batch", 1}}), std::nullopt);
  EXPECT_EQ(r.choose({{"batch", 1}, {"seq", 8}, {"w", 1}}), 0U);
  EXPECT_EQ(r.choose({{"batch", 1}, {"seq", 8}, {"w", 0}}), std::nullopt);
}

TEST(RunnerBuckets, TheFirstOfEqualProductsIsChosen) {
  Case c;
  c.symbol("a", {2, 4, 8}, 1).symbol("b", {2, 4, 8}, 1).models({{2, 8}, {4, 4}, {8, 2}, {8, 8}});
  const BucketRequests r = c.requests();
  EXPECT_EQ(r.choose({{"a", 2}, {"b", 2}}), 0U);
  EXPECT_EQ(r.choose({{"a", 3}, {"b", 2}}), 1U);
  EXPECT_EQ(r.choose({{"a", 5}, {"b", 2}}), 2U);
  EXPECT_EQ(r.choose({{"a", 5}, {"b", 3}}), 3U);
}

TEST(RunnerBuckets, ProductsBeyond64BitsAreCompared) {
  Case c;
  const std::int64_t big = kMaxBucketExtent;
  for (const char* name : {"a", "b", "c"}) c.symbol(name, {big - 1, big}, 0);
  c.models({{big, big, big}, {big, big, big - 1}, {big, big - 1, big}});
  EXPECT_EQ(c.requests().choose({{"a", 1}, {"b", 1}, {"c", 1}}), 1U);
  EXPECT_EQ(c.requests().choose({{"a", 1}, {"b", 1}, {"c", big}}), 2U);
}

TEST(RunnerBuckets, FixedSymbolsMatchExactly) {
  Case c;
  c.symbol("a", {2, 4}, 1).symbol("f", {3, 6}, 3, true).models({{2, 3}, {2, 6}, {4, 3}, {4, 6}});
  const BucketRequests r = c.requests();
  EXPECT_EQ(r.choose({{"a", 3}, {"f", 3}}), 2U);
  EXPECT_EQ(r.choose({{"a", 1}, {"f", 6}}), 1U);
  EXPECT_EQ(r.choose({{"a", 1}, {"f", 4}}), std::nullopt);
}

TEST(RunnerBuckets, ConditionsAreForTheFallback) {
  Case c = text_case();
  c.buckets().where = "batch*seq <= 32";
  c.buckets().constraints.push_back({"seq + 1", 2});
  c.buckets().models.erase(c.buckets().models.begin() + 5);  // 4, 16
  c.manifest.network.symbols["w"] = {.min = 0, .max = 9, .multiple_of = 3};
  const BucketRequests r = c.requests();
  EXPECT_EQ(r.choose({{"batch", 2}, {"seq", 13}}), 3U);
  EXPECT_EQ(r.choose({{"batch", 2}, {"seq", 12}}), std::nullopt);  // 13 is odd
  EXPECT_EQ(r.choose({{"batch", 3}, {"seq", 13}}), std::nullopt);
  EXPECT_EQ(r.choose({{"batch", 4}, {"seq", 7}}), 4U);
  EXPECT_EQ(r.choose({{"batch", 4}, {"seq", 9}}), std::nullopt);
  for (const auto& [w, fits] :
       std::map<std::int64_t, bool>{{0, false}, {3, true}, {4, false}, {9, true}, {12, false}})
    EXPECT_EQ(r.choose({{"batch", 1}, {"seq", 7}, {"w", w}}).has_value(), fits) << w;
  c.buckets().where = "batch*seq*seq*seq*seq*seq > 0";
  EXPECT_TRUE(c.requests().choose({{"batch", 1}, {"seq", 13}}).has_value());
}

TEST(RunnerBuckets, ManifestsThatCannotBeObeyed) {
  const auto why = [](const Case& c) { return BucketRequests::make(c.manifest).error(); };
  Case c = text_case();
  c.buckets().inputs[0].pad = 300;  // of int8
  EXPECT_EQ(why(c).kind, ErrorKind::Input);
  EXPECT_EQ(why(c).what, "\"buckets\" of the manifest: input 'x' is padded with 300, which is no int8");
  c.buckets().inputs[0].pad_class = PadClass::Any;  // then 0 will do
  EXPECT_TRUE(BucketRequests::make(c.manifest).ok());
  c = text_case();
  c.buckets().where = "batch*other <= 3";
  EXPECT_EQ(why(c).kind, ErrorKind::Input);
  c = text_case();
  c.buckets().inputs[0].dims[1].extent = std::string(5000, '(') + "seq" + std::string(5000, ')');
  EXPECT_EQ(why(c).kind, ErrorKind::Input);
}

// --- padding and cutting -----------------------------------------------------------------------------------

TEST(RunnerBuckets, InputsArePadded) {
  Case c;
  c.symbol("b", {2}, 1).symbol("s", {3}, 1);
  c.input("x", {"b", "s"}, -7).input("y", {"b x s"}, 1).input("z", {"2", "s ++ b"}, -1);
  c.models({{2, 3}});
  c.buckets().extra_inputs.push_back({"true_len_s", "s"});
  const BucketRequests r = c.requests();
  std::vector<NamedValue> given{{"free", bytes({1}, {5})},
                                {"x", bytes({1, 2}, {10, -20})},
                                {"y", bytes({2}, {-128, 127})},
                                {"z", bytes({2, 3}, {1, 2, 3, 4, 5, 6})}};
  const auto extents = r.extents(given);
  ASSERT_TRUE(extents.ok()) << problem(extents);
  const auto padded = r.pad(given, *extents, 0);
  ASSERT_TRUE(padded.ok()) << problem(padded);
  ASSERT_EQ(padded->size(), 5U);
  EXPECT_EQ(elements((*padded)[0].value), (std::vector<int>{5}));
  EXPECT_EQ((*padded)[1].value.dims, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(elements((*padded)[1].value), (std::vector<int>{10, -20, -7, -7, -7, -7}));
  EXPECT_EQ(elements((*padded)[2].value), (std::vector<int>{-128, 127, 1, 1, 1, 1}));
  // In rows of s ++ b: two of s, a pad, one of b, a pad.
  EXPECT_EQ((*padded)[3].value.dims, (std::vector<std::int64_t>{2, 5}));
  EXPECT_EQ(elements((*padded)[3].value), (std::vector<int>{1, 2, -1, 3, -1, 4, 5, -1, 6, -1}));
  EXPECT_EQ((*padded)[4].name, "true_len_s");
  EXPECT_EQ((*padded)[4].value.dtype, DType::Int64);
  EXPECT_TRUE((*padded)[4].value.dims.empty());
  EXPECT_EQ(elements((*padded)[4].value), (std::vector<int>{2, 0, 0, 0, 0, 0, 0, 0}));
}

TEST(RunnerBuckets, OutputsAreCut) {
  Case c;
  c.symbol("b", {2}, 1).symbol("s", {3}, 1).models({{2, 3}});
  c.output("x", {"b", "2*s"}).output("y", {"b x (s ++ 1)"}, true).output("n", {"u1", "s"});
  c.output("m", {"s x u1"}, true).output("q", {"?"});
  const BucketRequests r = c.requests();
  const Extents own{{"b", 1}, {"s", 2}};
  std::vector<std::int8_t> counted(12);
  for (std::size_t i = 0; i < counted.size(); ++i) counted[i] = static_cast<std::int8_t>(i);
  const auto cut = [&](const std::string& name, std::vector<std::int64_t> dims, std::size_t n) {
    auto out = r.cut(
        {{name, bytes(std::move(dims), {counted.begin(), counted.begin() + static_cast<long>(n)})}}, own, 0);
    EXPECT_TRUE(out.ok()) << problem(out);
    return out.ok() ? (*out)[0].value : HostValue{};
  };
  EXPECT_EQ(elements(cut("x", {2, 6}, 12)), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(cut("x", {2, 6}, 12).dims, (std::vector<std::int64_t>{1, 4}));
  // Rows of four places; the first row is true, and two of three and the last one in it.
  EXPECT_EQ(elements(cut("y", {8}, 8)), (std::vector<int>{0, 1, 3}));
  EXPECT_EQ(elements(cut("n", {2, 3}, 6)), (std::vector<int>{0, 1, 3, 4}));
  EXPECT_EQ(elements(cut("n", {0, 3}, 0)), std::vector<int>{});
  // Three rows of two, of which two are true: u1 is 2 in both pieces.
  EXPECT_EQ(elements(cut("m", {6}, 6)), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(elements(cut("other", {2}, 2)), (std::vector<int>{0, 1}));
  const auto why = [&](const std::string& name, std::vector<std::int64_t> dims, std::size_t n) {
    const auto out = r.cut({{name, bytes(std::move(dims), std::vector<std::int8_t>(n))}}, own, 0);
    EXPECT_FALSE(out.ok()) << name;
    return out.ok() ? "" : out.error().what;
  };
  EXPECT_EQ(why("q", {6}, 6), "output 'q', axis 0: 6 entries cannot be cut to '?' with b = 1, s = 2");
  EXPECT_EQ(why("y", {9}, 9),
            "output 'y', axis 0: 9 entries cannot be cut to 'b x (s ++ 1)' with b = 1, s = 2");
  EXPECT_EQ(why("x", {2, 3}, 6), "output 'x', axis 1: 3 entries cannot be cut to '2*s' with b = 1, s = 2");
  EXPECT_EQ(why("x", {6}, 6), "output 'x' has 1 dims, and \"buckets\" of the manifest states 2");
  // A request of the very sizes has nothing to cut, known or not.
  EXPECT_TRUE(r.cut({{"q", bytes({6}, {1, 2, 3, 4, 5, 6})}}, {{"b", 2}, {"s", 3}}, 0).ok());
}

TEST(RunnerBuckets, WhatIsNotPaddedIsNotCopied) {
  Case c;
  c.symbol("b", {2, 4}, 1).input("x", {"b", "50"}).input("y", {"50", "b"}).models({{2}, {4}});
  c.output("x", {"b", "50"});
  const BucketRequests r = c.requests();
  std::vector<NamedValue> given{{"x", bytes({2, 50}, std::vector<std::int8_t>(100, 3))},
                                {"free", bytes({100}, std::vector<std::int8_t>(100, 3))}};
  const char* x = given[0].value.raw.data();
  const char* free = given[1].value.raw.data();
  auto padded = r.pad(std::move(given), {{"b", 2}}, 0);
  ASSERT_TRUE(padded.ok());
  EXPECT_EQ((*padded)[0].value.raw.data(), x);
  EXPECT_EQ((*padded)[1].value.raw.data(), free);
  const auto cut = r.cut(*std::move(padded), {{"b", 2}}, 0);
  ASSERT_TRUE(cut.ok());
  EXPECT_EQ((*cut)[0].value.raw.data(), x);
}

TEST(RunnerBuckets, EmptyTensors) {
  Case c;
  c.symbol("b", {2}, 0)
      .symbol("s", {3}, 0)
      .input("x", {"b", "s", "h"}, 9)
      .models({{2, 3}})
      .output("x", {"b", "s", "h"});
  const BucketRequests r = c.requests();
  const auto padded = [&](std::vector<std::int64_t> dims) {
    const std::vector<NamedValue> given{{"x", empty(DType::Int8, std::move(dims))}};
    const auto extents = r.extents(given);
    EXPECT_TRUE(extents.ok()) << problem(extents);
    const auto out = r.pad(given, *extents, 0);
    EXPECT_TRUE(out.ok()) << problem(out);
    return out.ok() ? (*out)[0].value : HostValue{};
  };
  EXPECT_EQ(elements(padded({0, 2, 1})), (std::vector<int>{9, 9, 9, 9, 9, 9}));
  EXPECT_EQ(elements(padded({0, 0, 1})), (std::vector<int>{9, 9, 9, 9, 9, 9}));
  EXPECT_EQ(elements(padded({2, 2, 0})), std::vector<int>{});
  EXPECT_EQ(padded({2, 2, 0}).dims, (std::vector<std::int64_t>{2, 3, 0}));
  // An axis without entries elsewhere: the others may have any extent.
  EXPECT_EQ(padded({2, 0, 0}).dims, (std::vector<std::int64_t>{2, 3, 0}));
  const auto cut = r.cut({{"x", bytes({2, 3, 1}, {1, 2, 3, 4, 5, 6})}}, {{"b", 0}, {"s", 2}, {"h", 1}}, 0);
  ASSERT_TRUE(cut.ok()) << problem(cut);
  EXPECT_EQ((*cut)[0].value.dims, (std::vector<std::int64_t>{0, 2, 1}));
  EXPECT_TRUE((*cut)[0].value.raw.empty());
}

TEST(RunnerBuckets, ResultsWithoutMemoryAreErrors) {
  Case c;
  c.symbol("a", {kMaxBucketExtent}, 0).symbol("b", {kMaxBucketExtent}, 0).symbol("d", {kMaxBucketExtent}, 0);
  c.input("x", {"a", "b"})
      .input("y", {"a", "b", "d"})
      .models({{kMaxBucketExtent, kMaxBucketExtent, kMaxBucketExtent}});
  const BucketRequests r = c.requests();
  for (const auto& given : std::vector<NamedValue>{{"x", bytes({1, 1}, {1})}, {"y", bytes({1, 1, 1}, {1})}}) {
    const auto padded = r.pad({given}, {{"a", 1}, {"b", 1}, {"d", 1}}, 0);
    ASSERT_FALSE(padded.ok());
    EXPECT_EQ(padded.error().kind, ErrorKind::Limit);
  }
}

TEST(RunnerBuckets, BrokenValuesAreErrors) {
  const BucketRequests r = text_case().requests();
  const Extents own{{"batch", 1}, {"seq", 2}};
  const auto kind = [&](HostValue v) {
    const auto out = r.pad({{"x", std::move(v)}}, own, 0);
    return out.ok() ? std::optional<ErrorKind>() : out.error().kind;
  };
  EXPECT_EQ(kind(bytes({1, 2}, {1, 2})), std::nullopt);
  EXPECT_EQ(kind(bytes({1, 2}, {1})), ErrorKind::Usage);
  EXPECT_EQ(kind(bytes({1, 2}, {1, 2, 3})), ErrorKind::Usage);
  EXPECT_EQ(kind(bytes({1, 3}, {1, 2, 3})), ErrorKind::Usage);
  EXPECT_EQ(kind(bytes({2}, {1, 2})), ErrorKind::Usage);
  EXPECT_EQ(kind(bytes({-1, -2}, {1, 2})), ErrorKind::Usage);
  EXPECT_EQ(kind(tensor<std::uint8_t>(DType::UInt8, {1, 2}, {1, 2})), ErrorKind::Usage);
  EXPECT_EQ(kind(HostValue{}), ErrorKind::Usage);
}

}  // namespace
}  // namespace graphopt::runner
