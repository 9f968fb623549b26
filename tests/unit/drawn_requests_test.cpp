// Drawn requests: sizes within what a manifest states, legal values, and the same ones from the same seed in
// any order and by any thread. What is expected is worked out from the models by hand.
#include "runner/drawn_requests.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <set>
#include <string>
#include <thread>

#include "runtime/inputs.h"
#include "unit/runtime_models.h"

namespace graphopt::runner {
namespace {

constexpr const char* kGather =
    "g (int64[batch, seq] ids, float[batch, seq, 2] x) => (float y) <float[5, 2] t = {0,1,2,3,4,5,6,7,8,9}> "
    "{ e = "
    "Gather<axis = 0>(t, ids)\n y = Add(e, x) }";

DrawnRequests made(InputPlan plan, const deploy::Manifest& manifest) {
  auto drawn = DrawnRequests::make(std::move(plan), manifest);
  EXPECT_TRUE(drawn) << to_string(drawn.error());
  return *std::move(drawn);
}

DrawnRequests drawn_of(const std::string& model, const deploy::Manifest& manifest = {}) {
  test::Planned planned(model);
  EXPECT_EQ(planned.problem, "");
  return made(std::move(planned.plan), manifest);
}

DrawnRequests drawn_of(const onnx::ModelProto& model) {
  std::vector<Warning> warnings;
  auto loaded = load_model_from_memory(model.SerializeAsString(), "test", "", warnings);
  EXPECT_TRUE(loaded);
  Inference infer(*loaded, InferOptions{});
  infer.run();
  return made(plan_inputs(*loaded, infer), {});
}

DrawnRequest draw(const DrawnRequests& from, const DrawnInputs& what, std::uint64_t number = 0) {
  auto drawn = from.draw(what, number);
  for (const Error& e : drawn ? Errors{} : drawn.errors()) ADD_FAILURE() << to_string(e);
  return drawn ? *std::move(drawn) : DrawnRequest{};
}

std::int64_t size_of(const DrawnRequest& r, const std::string& symbol) {
  for (const DimBinding& b : r.sizes)
    if (b.symbol == symbol) return b.value;
  ADD_FAILURE() << "no symbol " << symbol;
  return -1;
}

const HostValue& value_of(const DrawnRequest& r, const std::string& name) {
  static const HostValue none;
  for (const NamedValue& v : r.inputs)
    if (v.name == name) return v.value;
  ADD_FAILURE() << "no input " << name;
  return none;
}

std::string bytes_of(const DrawnRequest& r) {
  std::string out = to_string(r.sizes);
  for (const NamedValue& v : r.inputs) out += '|' + v.name + '|' + v.value.raw;
  return out;
}

deploy::Buckets::Symbol bucket(const std::string& name, std::vector<std::int64_t> sizes, std::int64_t low,
                               std::int64_t high, bool fixed = false) {
  return {name, std::move(sizes), low, high, fixed};
}

TEST(DrawnRequests, SizesAreWithinWhatIsAskedFor) {
  const DrawnRequests drawn = drawn_of(kGather);
  std::set<std::int64_t> seen;
  for (std::uint64_t i = 0; i < 400; ++i) {
    const DrawnRequest r = draw(drawn, {{{"seq", 8, 12}}, 7}, i);
    const std::int64_t seq = size_of(r, "seq"), batch = size_of(r, "batch");
    seen.insert(seq);
    EXPECT_EQ(batch, 2);  // a usual size, and always the same
    EXPECT_EQ(value_of(r, "ids").dims, (std::vector<std::int64_t>{batch, seq}));
    EXPECT_EQ(value_of(r, "x").dims, (std::vector<std::int64_t>{batch, seq, 2}));
    const std::string& raw = value_of(r, "ids").raw;
    for (std::size_t at = 0; at < raw.size(); at += 8) {
      std::int64_t index = 0;
      std::memcpy(&index, raw.data() + at, 8);
      EXPECT_TRUE(index >= 0 && index < 5) << index;  // of the table's five rows
    }
  }
  EXPECT_EQ(seen, (std::set<std::int64_t>{8, 9, 10, 11, 12}));
  EXPECT_EQ(size_of(draw(drawn, {{{"seq", 13, 13}}, 0}), "seq"), 13);
  EXPECT_EQ(size_of(draw(drawn, {{{"seq", 0, 0}}, 0}), "seq"), 0);
}

TEST(DrawnRequests, TheSeedAndTheNumberDecideAlone) {
  const DrawnRequests drawn = drawn_of(kGather), again = drawn_of(kGather);
  const DrawnInputs what{{{"seq", 1, 1000}}, 3}, other{{{"seq", 1, 1000}}, 4};
  std::vector<std::string> in_order;
  std::set<std::string> different;
  for (std::uint64_t i = 0; i < 40; ++i) {
    in_order.push_back(bytes_of(draw(drawn, what, i)));
    different.insert(in_order.back());
    different.insert(bytes_of(draw(drawn, other, i)));
  }
  EXPECT_EQ(different.size(), 80U);
  for (std::uint64_t i = 40; i-- > 0;) EXPECT_EQ(bytes_of(draw(again, what, i)), in_order[i]);
  std::vector<std::string> by_threads(40);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (std::size_t i = t; i < 40; i += 4)
        if (const auto r = drawn.draw(what, i)) by_threads[i] = bytes_of(*r);
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(by_threads, in_order);
  // Stated once: a change of these would give other inputs for the seeds that users wrote down.
  // By hand: 1 + bits % 1000 of the stream "size of seq", whose seed is drawn from "request 0" and 3.
  EXPECT_EQ(size_of(draw(drawn, what, 0), "seq"), 207);
  EXPECT_EQ(size_of(draw(drawn, what, 1), "seq"), 469);
}

TEST(DrawnRequests, BoundsOfTheNetworkHold) {
  deploy::Manifest manifest;
  manifest.network.symbols = {{"seq", {4, 9, {}}}, {"batch", {3, {}, 4}}};
  const DrawnRequests drawn = drawn_of(kGather, manifest);
  const DrawnRequest r = draw(drawn, {});
  EXPECT_EQ(size_of(r, "seq"), 9);    // the usual 16, cut
  EXPECT_EQ(size_of(r, "batch"), 4);  // the multiple of 4 from 3 on
  const auto why = [&](std::vector<DimOption> dims) {
    const Status fine = drawn.check(dims, {ErrorKind::Input, "list.jsonl", "line 3: draw"});
    if (fine) return std::string("fine");
    EXPECT_EQ(fine.error().kind, ErrorKind::Input);
    EXPECT_EQ(fine.error().place.file, "list.jsonl");
    EXPECT_FALSE(fine.error().remedy.empty());
    EXPECT_EQ(fine.error().what.substr(0, 14), "line 3: draw: ");
    return fine.error().what.substr(14);
  };
  EXPECT_EQ(why({{"seq", 4, 9}, {"batch", 8, 8}}), "fine");
  EXPECT_EQ(why({{"seq", 3, 9}}), "symbol 'seq' is 3..9, and the network takes 4..9");
  EXPECT_EQ(why({{"seq", 10, 10}}), "symbol 'seq' is 10, and the network takes 4..9");
  EXPECT_EQ(why({{"batch", 1, 8}}), "symbol 'batch' is 1..8, and the network takes at least 3");
  EXPECT_EQ(why({{"batch", 5, 7}}), "symbol 'batch' is 5..7, and the network takes multiples of 4");
  EXPECT_EQ(why({{"sequ", 4, 4}}), "the inputs have no symbol 'sequ'");
  EXPECT_EQ(why({{"seq", 4, 4}, {"seq", 5, 5}}), "symbol 'seq' is given twice");
  EXPECT_EQ(why({{"seq", 9, 4}}), "9..4 of symbol 'seq' is a reversed range");
}

TEST(DrawnRequests, ShapesFitBucketsWhereTheyCan) {
  deploy::Manifest manifest;
  deploy::Buckets& b = manifest.buckets.emplace();
  b.symbols = {bucket("seq", {16, 64}, 1, 64), bucket("batch", {1, 2, 8}, 1, 8, true)};
  b.where = "batch*seq <= 100";
  b.constraints = {{"seq + batch", 3}};
  const DrawnRequests drawn = drawn_of(kGather, manifest);
  std::set<std::int64_t> batches, lengths;
  for (std::uint64_t i = 0; i < 300; ++i) {
    const DrawnRequest r = draw(drawn, {{}, 1}, i);
    const std::int64_t seq = size_of(r, "seq"), batch = size_of(r, "batch");
    EXPECT_LE(seq * batch, 100);
    EXPECT_EQ((seq + batch) % 3, 0);
    EXPECT_TRUE(seq >= 1 && seq <= 64) << seq;
    batches.insert(batch);
    lengths.insert(seq);
  }
  EXPECT_EQ(batches, (std::set<std::int64_t>{1, 2, 8}));
  EXPECT_GT(lengths.size(), 15U);
  // What is asked for counts, also where no bucket holds it.
  const DrawnRequest outside = draw(drawn, {{{"seq", 200, 200}}, 1});
  EXPECT_EQ(size_of(outside, "seq"), 200);
  b.where = "batch*";
  test::Planned planned(kGather);
  const auto broken = DrawnRequests::make(std::move(planned.plan), manifest);
  ASSERT_FALSE(broken);
  EXPECT_FALSE(broken.error().what.empty());
}

TEST(DrawnRequests, SizesThatGiveNoInputsAreDrawnAgain) {
  // The second input has n - 20 rows: less than none for the usual sizes of n.
  // (The text form of ONNX has no dims that are expressions.)
  onnx::ModelProto proto;
  proto.ParseFromString(test::model_bytes(
      test::with_head("g (float[n] a, float[m] b) => (float y) { y = Concat<axis = 0>(a, b) }")));
  proto.mutable_graph()
      ->mutable_input(1)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->mutable_dim(0)
      ->set_dim_param("n - 20");
  const DrawnRequests drawn = drawn_of(proto);
  for (std::uint64_t i = 0; i < 20; ++i) {
    const DrawnRequest r = draw(drawn, {{{"n", 1, 40}}, 5}, i);
    EXPECT_GE(size_of(r, "n"), 20);
    ASSERT_EQ(value_of(r, "b").dims.size(), 1U);
    EXPECT_EQ(value_of(r, "b").dims[0], size_of(r, "n") - 20);
  }
  EXPECT_GE(size_of(draw(drawn, {}), "n"), 20);
  EXPECT_FALSE(drawn.draw({{{"n", 1, 19}}, 5}, 0));
  // More than there is memory for.
  const DrawnRequests large = drawn_of(kGather);
  const auto refused = large.draw({{{"seq", std::int64_t{1} << 40, std::int64_t{1} << 41}}, 5}, 0);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().what.find("1 GiB"), std::string::npos);
}

TEST(DrawnRequests, NetworksWithoutSymbolsAndWithDefaults) {
  const DrawnRequests drawn =
      drawn_of("g (float[2] x, float[2] w) => (float[2] y) <float[2] w = {1, -2}> { y = Mul(x, w) }");
  const DrawnRequest r = draw(drawn, {});
  EXPECT_TRUE(r.sizes.empty());
  ASSERT_EQ(r.inputs.size(), 1U);  // w keeps its default
  EXPECT_EQ(r.inputs[0].name, "x");
}

}  // namespace
}  // namespace graphopt::runner
