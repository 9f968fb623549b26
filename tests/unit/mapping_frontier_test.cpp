// Where values of two graphs begin to differ.

#include "mapping/frontier.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "infer_case.h"
#include "mapping/map_graphs.h"
#include "mapping/names.h"

namespace graphopt::mapping {
namespace {

// A graph against itself: a value is compared if it has a letter, + for one that agrees, - for one that
// differs.
struct Case {
  explicit Case(const std::string& text) : graph(text) {
    mapping = map_graphs(*graph.model, *graph.facts, *graph.model, *graph.facts, {});
  }
  const Side& side() const { return *mapping.scopes[0].a; }

  struct Found {
    std::string first, taken_back;
    std::map<std::string, std::string> regions;  // of the first ones
  };
  Found found(const std::map<char, char>& marks) const {
    std::vector<ComparedValue> values;
    for (Index i = 0; i < side().size(); ++i)
      for (const Index v : side().outputs(i))
        if (const auto mark = marks.find(side().name(v)[0]); mark != marks.end())
          values.push_back({v, v, mark->second == '-'});
    const Frontier frontier = find_frontier(side(), *mapping.scopes[0].b, values);
    Found out;
    for (const std::size_t i : frontier.taken_back) out.taken_back += side().name(values[i].a);
    for (const std::size_t i : frontier.first) {
      const std::string name(side().name(values[i].a));
      out.first += name;
      for (const Index op : region_of(side(), 0, values[i].a, values))
        out.regions[name] += name_of(side(), op);
    }
    return out;
  }

  InferCase graph;
  Mapping mapping;
};

constexpr const char* kChain =
    "g (float[2] x) => (float[2] e) { a = Relu (x) b = Sin (a) c = Cos (b) d = Tan (c) e = Exp (d) }";

TEST(Frontier, TheFirstThatDiffersIsNamed) {
  const Case chain(kChain);
  const auto found = chain.found({{'a', '+'}, {'b', '-'}, {'c', '-'}, {'d', '-'}, {'e', '-'}});
  EXPECT_EQ(found.first, "b");
  EXPECT_EQ(found.taken_back, "");
  EXPECT_EQ(found.regions.at("b"), "b");
}

TEST(Frontier, TheRegionHasWhatWasNotCompared) {
  const auto found = Case(kChain).found({{'a', '+'}, {'d', '-'}, {'e', '-'}});
  EXPECT_EQ(found.first, "d");
  EXPECT_EQ(found.regions.at("d"), "bcd");
}

// A value between that agrees hides nothing: what differs above is the first.
TEST(Frontier, NothingAboveAFirstOneDiffers) {
  const auto found = Case(kChain).found({{'a', '-'}, {'b', '+'}, {'c', '-'}, {'e', '-'}});
  EXPECT_EQ(found.taken_back, "a");  // all that is compared next below it agrees
  EXPECT_EQ(found.first, "c");
  const Case fork("g (float[2] x) => (float[2] d) { a = Relu (x) b = Sin (a) c = Cos (a) d = Add (b, c) }");
  const auto other = fork.found({{'a', '-'}, {'b', '+'}, {'c', '-'}, {'d', '-'}});
  EXPECT_EQ(other.first, "a");
  EXPECT_EQ(other.taken_back, "");
}

// A mask that both layers read: the first one shows that it does no harm.
TEST(Frontier, WhatDoesNoHarmIsTakenBack) {
  const Case layers(R"(
g (float[2] x, float[2] z) => (float[2] e) {
  m = Neg (z)  a = Add (x, m)  b = Relu (a)  c = Sin (b)  d = Add (c, m)  e = Relu (d)
})");
  const auto found = layers.found({{'m', '-'}, {'a', '-'}, {'b', '+'}, {'c', '-'}, {'d', '-'}, {'e', '-'}});
  EXPECT_EQ(found.first, "c");
  EXPECT_EQ(found.taken_back, "ma");
}

TEST(Frontier, TwoFaultsAreTwoFirstOnes) {
  const Case fork("g (float[2] x) => (float[2] d) { a = Relu (x) b = Sin (a) c = Cos (a) d = Add (b, c) }");
  EXPECT_EQ(fork.found({{'a', '+'}, {'b', '-'}, {'c', '-'}, {'d', '-'}}).first, "bc");
}

TEST(Frontier, OutputsAreNotTakenBack) {
  const auto found = Case(kChain).found({{'d', '+'}, {'e', '-'}});
  EXPECT_EQ(found.first, "e");
  EXPECT_EQ(Case(kChain).found({{'a', '+'}, {'e', '+'}}).first, "");
}

}  // namespace
}  // namespace graphopt::mapping
