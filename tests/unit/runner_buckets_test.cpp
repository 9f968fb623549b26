// Requests in the shapes of buckets, by hand: extents, choice, padding, cutting, checked inputs, sizes.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <set>

#include "runner/bucket_request.h"
#include "runner/extents.h"
#include "runner/input_check.h"
#include "runner/padding.h"

namespace graphopt::runner {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <class T>
HostValue tensor(DType type, std::vector<std::int64_t> dims, const std::vector<T>& elements) {
  HostValue out;
  out.kind = HostValue::Kind::Tensor;
  out.dtype = type;
  out.dims = std::move(dims);
  out.raw.assign(reinterpret_cast<const char*>(elements.data()), elements.size() * sizeof(T));
  return out;
}
HostValue bytes(std::vector<std::int64_t> dims, const std::vector<std::int8_t>& elements) {
  return tensor<std::int8_t>(DType::Int8, std::move(dims), elements);
}
HostValue empty(DType type, std::vector<std::int64_t> dims) {
  return tensor<char>(type, std::move(dims), {});
}
std::vector<int> elements(const HostValue& v) {
  std::vector<int> out;
  for (const char c : v.raw) out.push_back(static_cast<signed char>(c));
  return out;
}

deploy::LayoutTree layout(std::string_view text) {
  auto out = deploy::parse_layout(text);
  EXPECT_TRUE(out.has_value()) << text;
  return out.value_or(deploy::LayoutTree{});
}

deploy::NetworkValue network_value(std::string name, DType type,
                                   std::optional<std::vector<deploy::ValueDim>> shape) {
  deploy::NetworkValue out;
  out.name = std::move(name);
  out.type.dtype = type;
  out.type.shape = std::move(shape);
  return out;
}

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

std::string problem(const auto& result) { return result.ok() ? "" : to_string(result.error()); }

// --- layouts -----------------------------------------------------------------------------------------------

std::vector<Piece> pieces_of(std::string_view text, const Extents& extents, const Extents& padded) {
  Formulas formulas;
  const AxisLayout axis(formulas, layout(text));
  const auto out = axis.pieces(formulas, formulas.bind(extents), formulas.bind(padded));
  EXPECT_TRUE(out.has_value()) << text;
  return out.value_or(std::vector<Piece>{{-1, -1, -1}});
}

TEST(RunnerBuckets, PiecesOfLayouts) {
  const Extents own{{"b", 2}, {"p", 2}, {"s", 1}}, larger{{"b", 3}, {"p", 4}, {"s", 3}};
  EXPECT_EQ(pieces_of("s", own, larger), (std::vector<Piece>{{0, 0, 1}}));
  EXPECT_EQ(pieces_of("2*s + 1", own, larger), (std::vector<Piece>{{0, 0, 3}}));
  EXPECT_EQ(pieces_of("p ++ s", own, larger), (std::vector<Piece>{{0, 0, 2}, {2, 4, 1}}));
  EXPECT_EQ(pieces_of("b x p", own, larger), (std::vector<Piece>{{0, 0, 2}, {2, 4, 2}}));
  // A part that is not padded joins the rows; one that is whole behind another one, too.
  EXPECT_EQ(pieces_of("b x 5", own, larger), (std::vector<Piece>{{0, 0, 10}}));
  EXPECT_EQ(pieces_of("5 ++ s", own, larger), (std::vector<Piece>{{0, 0, 6}}));
  // b rows of p ++ s: places 0 1 . . 2 . . in rows of seven.
  EXPECT_EQ(pieces_of("b x (p ++ s)", own, larger),
            (std::vector<Piece>{{0, 0, 2}, {2, 4, 1}, {3, 7, 2}, {5, 11, 1}}));
  // p entries and then b rows of s: 4 + 3 * 3 places.
  EXPECT_EQ(pieces_of("p ++ (b x s)", own, larger), (std::vector<Piece>{{0, 0, 2}, {2, 4, 1}, {3, 7, 1}}));
  EXPECT_EQ(pieces_of("b x p x s", own, larger),
            (std::vector<Piece>{{0, 0, 1}, {1, 3, 1}, {2, 12, 1}, {3, 15, 1}}));
  // Nothing is padded: one run.
  EXPECT_EQ(pieces_of("b x (p ++ s)", own, own), (std::vector<Piece>{{0, 0, 6}}));
}

TEST(RunnerBuckets, PiecesOfNoElements) {
  const Extents own{{"b", 0}, {"p", 0}, {"s", 2}}, larger{{"b", 3}, {"p", 4}, {"s", 3}};
  EXPECT_EQ(pieces_of("b", own, larger), std::vector<Piece>{});
  EXPECT_EQ(pieces_of("b x s", own, larger), std::vector<Piece>{});
  EXPECT_EQ(pieces_of("s x b", own, larger), std::vector<Piece>{});
  EXPECT_EQ(pieces_of("p ++ s", own, larger), (std::vector<Piece>{{0, 4, 2}}));
  EXPECT_EQ(pieces_of("s ++ p", own, larger), (std::vector<Piece>{{0, 0, 2}}));
}

TEST(RunnerBuckets, SizesThatAreNone) {
  Formulas formulas;
  const AxisLayout product(formulas, layout("a x b")), sum(formulas, layout("a ++ b")),
      less(formulas, layout("4 - a"));
  const auto size = [&](const AxisLayout& l, std::int64_t a, std::int64_t b) {
    return l.size(formulas, formulas.bind({{"a", a}, {"b", b}}));
  };
  EXPECT_EQ(size(product, kMost, 1), kMost);
  EXPECT_EQ(size(product, kMost, 0), 0);
  EXPECT_EQ(size(product, kMost, 2), std::nullopt);
  EXPECT_EQ(size(product, std::int64_t{1} << 32, std::int64_t{1} << 31), std::nullopt);
  EXPECT_EQ(size(sum, kMost, 0), kMost);
  EXPECT_EQ(size(sum, kMost, 1), std::nullopt);
  EXPECT_EQ(size(less, 4, 0), 0);
  EXPECT_EQ(size(less, 5, 0), std::nullopt);
  EXPECT_EQ(less.pieces(formulas, formulas.bind({{"a", 1}}), formulas.bind({{"a", 2}})), std::nullopt);
  EXPECT_EQ(size(product, -1, -1), std::nullopt);
  EXPECT_FALSE(AxisLayout(formulas, layout("?")).is_known());
  EXPECT_EQ(AxisLayout(formulas, layout("c")).size(formulas, {}), std::nullopt);
}

TEST(RunnerBuckets, SolvesForTheLeastExtent) {
  const auto solved = [](std::string_view text, const Extents& known, std::int64_t wanted, std::int64_t low,
                         std::int64_t high) {
    Formulas formulas;
    const AxisLayout axis(formulas, layout(text));
    return axis.solve(formulas, formulas.bind(known), formulas.symbol("s"), wanted, low, high);
  };
  EXPECT_EQ(solved("p ++ s", {{"p", 3}}, 5, 0, 100), 2);
  EXPECT_EQ(solved("p ++ s", {{"p", 3}}, 3, 0, 100), 0);
  EXPECT_EQ(solved("p ++ s", {{"p", 3}}, 2, 0, 100), std::nullopt);
  EXPECT_EQ(solved("p ++ s", {{"p", 3}}, 104, 0, 100), std::nullopt);
  EXPECT_EQ(solved("p ++ s", {{"p", 3}}, kMost, 0, kMost), kMost - 3);
  EXPECT_EQ(solved("p x s", {{"p", 3}}, 12, 1, 100), 4);
  EXPECT_EQ(solved("p x s", {{"p", 3}}, 13, 1, 100), std::nullopt);
  EXPECT_EQ(solved("p x s", {{"p", 0}}, 0, 1, 100), 1);
  EXPECT_EQ(solved("floor((s)/(2))", {}, 7, 1, 100), 14);
  EXPECT_EQ(solved("floor((s + 1)/(2))", {}, 7, 1, 100), 13);
  EXPECT_EQ(solved("mod(s, 4)", {}, 3, 4, 100), 7);
  EXPECT_EQ(solved("10 - s", {}, 3, 0, 100), 7);
  EXPECT_EQ(solved("s - 3", {}, 0, 0, 100), 3);
  EXPECT_EQ(solved("s", {}, 3, 5, 4), std::nullopt);
}

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

// --- element types -----------------------------------------------------------------------------------------

std::optional<unsigned> code(DType type, double number) {
  const auto out = element_of(type, number);
  if (!out) return std::nullopt;
  unsigned value = 0;
  for (std::size_t i = out->size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>((*out)[i]);
  return value;
}

// From the tables of the formats: sign, exponent, fraction.
TEST(RunnerBuckets, ElementsOfSmallFloats) {
  EXPECT_EQ(code(DType::Float16, 1), 0x3C00U);
  EXPECT_EQ(code(DType::Float16, -kInfinity), 0xFC00U);
  EXPECT_EQ(code(DType::BFloat16, 1), 0x3F80U);
  EXPECT_EQ(code(DType::BFloat16, -kInfinity), 0xFF80U);
  EXPECT_EQ(code(DType::Float8E4M3FN, 0), 0x00U);
  EXPECT_EQ(code(DType::Float8E4M3FN, 1), 0x38U);
  EXPECT_EQ(code(DType::Float8E4M3FN, -1), 0xB8U);
  EXPECT_EQ(code(DType::Float8E4M3FN, 448), 0x7EU);
  EXPECT_EQ(code(DType::Float8E4M3FN, 449), std::nullopt);
  EXPECT_EQ(code(DType::Float8E4M3FN, std::ldexp(1, -9)), 0x01U);
  EXPECT_EQ(code(DType::Float8E4M3FN, -kInfinity), std::nullopt);
  EXPECT_EQ(code(DType::Float8E4M3FN, 17), 0x58U);  // between 16 and 18: the even one
  EXPECT_EQ(code(DType::Float8E4M3FN, 19), 0x5AU);  // between 18 and 20
  EXPECT_EQ(code(DType::Float8E4M3FN, -0.0), 0x80U);
  EXPECT_EQ(code(DType::Float8E4M3FNUZ, 1), 0x40U);
  EXPECT_EQ(code(DType::Float8E4M3FNUZ, 240), 0x7FU);
  EXPECT_EQ(code(DType::Float8E4M3FNUZ, -0.0), 0x00U);
  EXPECT_EQ(code(DType::Float8E4M3FNUZ, kInfinity), std::nullopt);
  EXPECT_EQ(code(DType::Float8E5M2, 1), 0x3CU);
  EXPECT_EQ(code(DType::Float8E5M2, 57344), 0x7BU);
  EXPECT_EQ(code(DType::Float8E5M2, kInfinity), 0x7CU);
  EXPECT_EQ(code(DType::Float8E5M2, -kInfinity), 0xFCU);
  EXPECT_EQ(code(DType::Float8E5M2, 1e9), std::nullopt);
  EXPECT_EQ(code(DType::Float8E5M2FNUZ, 1), 0x40U);
  EXPECT_EQ(code(DType::Float8E5M2FNUZ, -57344), 0xFFU);
  EXPECT_EQ(code(DType::Float8E8M0, 1), 0x7FU);
  EXPECT_EQ(code(DType::Float8E8M0, 0), std::nullopt);
  EXPECT_EQ(code(DType::Float8E8M0, -1), std::nullopt);
  EXPECT_EQ(code(DType::Float6E2M3, 7.5), 0x1FU);
  EXPECT_EQ(code(DType::Float6E3M2, 28), 0x1FU);
  EXPECT_EQ(code(DType::Float6E3M2, -28), 0x3FU);
  EXPECT_EQ(code(DType::Float4E2M1, 6), 0x7U);
  EXPECT_EQ(code(DType::Float4E2M1, -0.5), 0x9U);
  EXPECT_EQ(code(DType::Float4E2M1, 7), std::nullopt);
}

TEST(RunnerBuckets, ElementsOfOtherTypes) {
  EXPECT_EQ(code(DType::Bool, 1), 1U);
  EXPECT_EQ(code(DType::Bool, 2), std::nullopt);
  EXPECT_EQ(code(DType::Int4, -8), 0x8U);
  EXPECT_EQ(code(DType::Int4, 7), 0x7U);
  EXPECT_EQ(code(DType::Int4, 8), std::nullopt);
  EXPECT_EQ(code(DType::UInt4, 15), 0xFU);
  EXPECT_EQ(code(DType::UInt4, -1), std::nullopt);
  EXPECT_EQ(code(DType::Int2, -2), 0x2U);
  EXPECT_EQ(code(DType::UInt2, 4), std::nullopt);
  EXPECT_EQ(code(DType::UInt4, 0.5), std::nullopt);
  EXPECT_EQ(code(DType::UInt4, kInfinity), std::nullopt);
  EXPECT_EQ(code(DType::Int64, -1), ~0U);  // all bytes are 255
  EXPECT_EQ(element_of(DType::Int64, -1), std::string(8, '\xff'));
  EXPECT_EQ(element_of(DType::Int64, -kInfinity), std::nullopt);
  EXPECT_EQ(element_of(DType::String, 0), "");
  EXPECT_EQ(element_of(DType::Complex64, 0), std::string(8, '\0'));
  EXPECT_EQ(element_of(DType::Undefined, 0), std::nullopt);
}

TEST(RunnerBuckets, EveryWidthIsPaddedAndCut) {
  const std::vector<PaddedAxis> axes{{2, 3, {{0, 0, 2}}}, {3, 5, {{0, 1, 2}, {2, 4, 1}}}};
  for (const DType type : {DType::UInt2, DType::Int4, DType::Float6E3M2, DType::Bool, DType::Float8E5M2,
                           DType::BFloat16, DType::Float, DType::Double, DType::Complex128}) {
    // Elements are 0 to 5 in their lowest bits, of 2 bits 0 to 3.
    const auto bits = static_cast<std::size_t>(bits_of(type));
    HostValue v = empty(type, {2, 3});
    const auto put = [&](std::string& raw, std::size_t i, unsigned value) {
      for (std::size_t b = 0; b < 8 && b < bits; ++b)
        if ((value >> b & 1U) != 0)
          raw[(i * bits + b) / 8] = static_cast<char>(raw[(i * bits + b) / 8] | 1 << ((i * bits + b) % 8));
    };
    const unsigned mask = bits == 2 ? 3 : 7;
    v.raw.assign(*raw_size(type, 6), '\0');
    for (std::size_t i = 0; i < 6; ++i) put(v.raw, i, static_cast<unsigned>(i) & mask);
    // The same by places: . 0 1 . 2 / . 3 4 . 5 / . . . . .
    std::string wanted(*raw_size(type, 15), '\0');
    for (std::size_t i = 0; i < 15; ++i) put(wanted, i, 1);
    const std::map<std::size_t, unsigned> places{{1, 0}, {2, 1}, {4, 2}, {6, 3}, {7, 4}, {9, 5}};
    wanted.assign(wanted.size(), '\0');
    for (std::size_t i = 0; i < 15; ++i) put(wanted, i, places.contains(i) ? places.at(i) & mask : 1);
    std::string element(std::max<std::size_t>(1, bits / 8), '\0');
    element[0] = 1;
    const auto padded = pad_tensor(v, axes, element);
    ASSERT_TRUE(padded.ok()) << dtype_name(type) << ' ' << problem(padded);
    EXPECT_EQ(padded->dims, (std::vector<std::int64_t>{3, 5}));
    EXPECT_TRUE(padded->raw == wanted) << dtype_name(type);
    const auto cut = cut_tensor(*padded, axes);
    ASSERT_TRUE(cut.ok()) << dtype_name(type);
    EXPECT_TRUE(cut->raw == v.raw) << dtype_name(type);
    EXPECT_EQ(cut->dims, v.dims);
  }
}

TEST(RunnerBuckets, StringsArePaddedAndCut) {
  HostValue v = empty(DType::String, {1, 2});
  v.strings = {"a", std::string(100, 'b')};
  const std::vector<PaddedAxis> axes{{1, 2, {{0, 0, 1}}}, {2, 3, {{0, 0, 1}, {1, 2, 1}}}};
  const auto padded = pad_tensor(v, axes, "");
  ASSERT_TRUE(padded.ok()) << problem(padded);
  EXPECT_EQ(padded->strings, (std::vector<std::string>{"a", "", v.strings[1], "", "", ""}));
  const auto cut = cut_tensor(*padded, axes);
  ASSERT_TRUE(cut.ok()) << problem(cut);
  EXPECT_EQ(cut->strings, v.strings);
}

// --- inputs of a network -----------------------------------------------------------------------------------

std::vector<std::string> input_problems(const deploy::Network& network,
                                        const std::vector<NamedValue>& inputs) {
  const auto checked = check_inputs(network, inputs);
  std::vector<std::string> out;
  if (checked.ok()) return out;
  for (const Error& e : checked.errors()) {
    EXPECT_EQ(e.kind, ErrorKind::Usage);
    EXPECT_FALSE(e.remedy.empty());
    out.push_back(e.what);
  }
  return out;
}

deploy::Network checked_network() {
  deploy::Network n;
  n.inputs.push_back(
      network_value("x", DType::Int8, std::vector<deploy::ValueDim>{std::string("N"), std::int64_t{2}}));
  n.inputs.push_back(network_value("y", DType::Int8, std::vector<deploy::ValueDim>{std::string("N")}));
  n.inputs.push_back(network_value("shift", DType::Float, std::nullopt));
  n.inputs.back().optional = true;
  n.symbols["N"] = {.min = 0, .max = 6, .multiple_of = 2};
  return n;
}

TEST(RunnerBuckets, RightInputsAreTaken) {
  const deploy::Network n = checked_network();
  const auto found =
      check_inputs(n, std::vector<NamedValue>{{"y", bytes({2}, {1, 2})}, {"x", bytes({2, 2}, {1, 2, 3, 4})}});
  ASSERT_TRUE(found.ok()) << problem(found);
  EXPECT_EQ(*found, (Extents{{"N", 2}}));
  EXPECT_EQ(input_problems(n, {{"x", bytes({0, 2}, {})},
                               {"y", bytes({0}, {})},
                               {"shift", tensor<float>(DType::Float, {1, 1, 1}, {std::nanf("")})}}),
            std::vector<std::string>{});
}

TEST(RunnerBuckets, WrongInputsAreNamed) {
  const deploy::Network n = checked_network();
  const NamedValue x{"x", bytes({2, 2}, {1, 2, 3, 4})}, y{"y", bytes({2}, {1, 2})};
  using Texts = std::vector<std::string>;
  EXPECT_EQ(input_problems(n, {x}), Texts{"input 'y' is not given"});
  EXPECT_EQ(input_problems(n, {x, y, y}), Texts{"input 'y' is given twice"});
  EXPECT_EQ(input_problems(n, {x, y, {"Y", y.value}}), Texts{"input 'Y' is none of the network's"});
  EXPECT_EQ(input_problems(n, {x, {"y", tensor<float>(DType::Float, {2}, {1, 2})}}),
            Texts{"input 'y' takes int8, and float is given"});
  EXPECT_EQ(input_problems(n, {x, {"y", bytes({2, 1}, {1, 2})}}),
            Texts{"input 'y' takes 1 dims, and 2 are given"});
  EXPECT_EQ(input_problems(n, {x, {"y", bytes({3}, {1, 2})}}),
            Texts{"input 'y' has other elements than its dims say "});
  EXPECT_EQ(input_problems(n, {x, {"y", bytes({-2}, {1, 2})}}),
            Texts{"input 'y' has other elements than its dims say "});
  EXPECT_EQ(input_problems(n, {x, {"y", bytes({4}, {1, 2, 3, 4})}}),
            Texts{"input 'y', axis 0: 'N' is 2, as axis 0 of input 'x' has it, and 4 is given"});
  EXPECT_EQ(input_problems(n, {{"x", bytes({2, 3}, {1, 2, 3, 4, 5, 6})}, y}),
            Texts{"input 'x', axis 1: the extent is 2, and 3 is given"});
  EXPECT_EQ(input_problems(n, {{"x", bytes({8, 2}, std::vector<std::int8_t>(16))},
                               {"y", bytes({8}, std::vector<std::int8_t>(8))}}),
            Texts{"input 'x', axis 0: 'N' is from 0 to 6, and 8 is given"});
  EXPECT_EQ(
      input_problems(n, {{"x", bytes({3, 2}, std::vector<std::int8_t>(6))}, {"y", bytes({3}, {1, 2, 3})}}),
      Texts{"input 'x', axis 0: 'N' is a multiple of 2, and 3 is given"});
  EXPECT_EQ(input_problems(n, {x, {"y", HostValue{}}}),
            Texts{"input 'y' takes a tensor, and nothing is given"});
  HostValue huge = bytes({kMost, kMost}, {});
  EXPECT_EQ(input_problems(n, {{"x", huge}, y}), Texts{"input 'x' has other elements than its dims say "});
  std::vector<NamedValue> many;
  for (int i = 0; i < 30; ++i) many.push_back({"z" + std::to_string(i), y.value});
  EXPECT_EQ(input_problems(n, many).size(), kMaxErrors);
}

TEST(RunnerBuckets, FormulasOfDimsAreEvaluated) {
  deploy::Network n;
  n.inputs.push_back(network_value(
      "sum", DType::Int8, std::vector<deploy::ValueDim>{std::string("a + 2*b"), std::string("a-b name")}));
  n.inputs.push_back(
      network_value("a", DType::Int8, std::vector<deploy::ValueDim>{std::string("a"), std::string("b")}));
  n.symbols["a"] = {};
  n.symbols["b"] = {};
  EXPECT_EQ(input_problems(n, {{"sum", empty(DType::Int8, {4, 0})}, {"a", empty(DType::Int8, {4, 0})}}),
            std::vector<std::string>{});
  EXPECT_EQ(input_problems(n, {{"sum", empty(DType::Int8, {5, 0})}, {"a", empty(DType::Int8, {4, 0})}}),
            std::vector<std::string>{
                "input 'sum', axis 0: 'a + 2*b' is 4 with a = 4, a-b name = 0, b = 0, and 5 is given"});
}

TEST(RunnerBuckets, SequencesMapsAndOptionals) {
  deploy::Network n;
  deploy::NetworkValue v = network_value("s", DType::Undefined, std::nullopt);
  const deploy::ValueType element =
      network_value("", DType::Int8, std::vector<deploy::ValueDim>{std::string("N")}).type;
  v.type.kind = deploy::ValueKind::Sequence;
  v.type.elem = {element};
  n.inputs.push_back(v);
  v.name = "o";
  v.type.kind = deploy::ValueKind::Optional;
  n.inputs.push_back(v);
  v.name = "m";
  v.type.kind = deploy::ValueKind::Map;
  v.type.dtype = DType::Int64;
  v.type.elem = {network_value("", DType::Float, std::nullopt).type};
  n.inputs.push_back(v);
  HostValue sequence, map;
  sequence.kind = HostValue::Kind::Sequence;
  sequence.items = {bytes({1}, {1}), bytes({1}, {2})};
  map.kind = HostValue::Kind::Map;
  map.items = {tensor<std::int64_t>(DType::Int64, {1}, {-5}), tensor<float>(DType::Float, {1}, {2})};
  using Texts = std::vector<std::string>;
  EXPECT_EQ(input_problems(n, {{"s", sequence}, {"o", HostValue{}}, {"m", map}}), Texts{});
  EXPECT_EQ(input_problems(n, {{"s", sequence}, {"o", bytes({1}, {1})}, {"m", map}}), Texts{});
  EXPECT_EQ(input_problems(n, {{"s", map}, {"o", sequence}, {"m", sequence}}),
            (Texts{"input 's' takes a sequence, and a map is given",
                   "input 'o' takes a tensor, and a sequence is given",
                   "input 'm' takes a map, and a sequence is given"}));
  sequence.items[1] = tensor<float>(DType::Float, {1}, {2});
  map.items[1].dims = {1, 1};
  EXPECT_EQ(input_problems(n, {{"s", sequence}, {"o", HostValue{}}, {"m", map}}),
            (Texts{"input 's' takes in element 1 int8, and float is given",
                   "input 'm' takes a map, and its keys and values are not as many as each other"}));
}

// --- sizes -------------------------------------------------------------------------------------------------

TEST(RunnerBuckets, SizesOfValues) {
  const SizeFormulas sizes(std::vector<deploy::Size>{{64, ""},
                                                     {std::nullopt, "4*batch*seq"},
                                                     {std::nullopt, "floor((batch + 1)/(2))"},
                                                     {std::nullopt, "8*'-1'"},
                                                     {std::nullopt, ""},
                                                     {std::nullopt, "4*batch*seq*seq*seq"},
                                                     {std::nullopt, "batch - seq"}});
  using Bytes = std::vector<std::optional<std::uint64_t>>;
  EXPECT_EQ(sizes.bytes({{"batch", 3}, {"seq", 5}}),
            (Bytes{64, 60, 2, std::nullopt, std::nullopt, 1500, std::nullopt}));
  EXPECT_EQ(sizes.bytes({{"batch", 0}, {"seq", kMost}, {"-1", 2}}),
            (Bytes{64, 0, 0, 16, std::nullopt, 0, std::nullopt}));
  EXPECT_EQ(sizes.bytes({{"batch", 1}, {"seq", std::int64_t{1} << 21}})[5], std::nullopt);  // 2^65
  EXPECT_EQ(sizes.bytes({{"batch", 1}, {"seq", 1 << 20}})[5], std::uint64_t{1} << 62);
}

}  // namespace
}  // namespace graphopt::runner
