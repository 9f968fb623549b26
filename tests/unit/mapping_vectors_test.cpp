// The mappings of the pairs of graphs in tests/vectors/mapping.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "infer/infer.h"
#include "mapping/map_graphs.h"
#include "mapping/names.h"
#include "onnx/reader.h"

namespace graphopt::mapping {
namespace {

using Json = nlohmann::json;
using Relation = std::set<std::pair<std::string, std::string>>;

const std::string kFolder = GRAPHOPT_TESTS_DIR "/vectors/mapping/";

std::string text_of(const std::string& file) {
  std::ifstream in(kFolder + file);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<std::string> vector_names() {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder))
    if (entry.path().extension() == ".json") out.push_back(entry.path().stem());
  std::ranges::sort(out);
  return out;
}

// A model with its inference, and the mapping of two of them.
struct Loaded {
  explicit Loaded(const std::string& file) {
    std::vector<Warning> warnings;
    auto loaded = load_model_from_memory(text_of(file), file, "", warnings);
    if (!loaded) {
      ADD_FAILURE() << to_string(loaded.error());
      return;
    }
    model = std::make_unique<Model>(*std::move(loaded));
    inference = std::make_unique<Inference>(*model, InferOptions{});
    inference->run();
  }
  std::unique_ptr<Model> model;
  std::unique_ptr<Inference> inference;
};

struct Found {
  Relation pairs, all;  // pairs; those and what is in one group
  std::vector<double> confidence;
  bool is_one_model = false;
};

Found mapped(const Json& vector, bool weights) {
  const Loaded a(vector["a"]), b(vector["b"]);
  Found out;
  if (!a.model || !b.model) return out;
  MapOptions how;
  how.weights = weights;
  how.names = false;
  const Mapping m = map_graphs(*a.model, *a.inference, *b.model, *b.inference, how);
  for (const Pair& p : m.scopes[0].pairs) {
    out.pairs.emplace(name_of(*m.scopes[0].a, p.a), name_of(*m.scopes[0].b, p.b));
    out.confidence.push_back(p.confidence);
  }
  out.all = out.pairs;
  for (const Group& g : m.scopes[0].groups)
    for (const Index x : g.a)
      for (const Index y : g.b) out.all.emplace(name_of(*m.scopes[0].a, x), name_of(*m.scopes[0].b, y));
  out.is_one_model = m.is_one_model;
  return out;
}

Relation truth_of(const Json& vector) {
  Relation out;
  for (const Json& group : vector["truth"])
    for (const std::string x : group[0])
      for (const std::string y : group[1]) out.emplace(x, y);
  return out;
}

TEST(MappingVectors, PairsAndGroupsAreRight) {
  ASSERT_EQ(vector_names().size(), 12U);
  for (const std::string& name : vector_names()) {
    SCOPED_TRACE(name);
    const Json vector = Json::parse(text_of(name + ".json"));
    const Relation truth = truth_of(vector);
    const Found found = mapped(vector, true);
    EXPECT_EQ(found.is_one_model, !truth.empty());
    std::set<std::string> known;  // operators of B whose counterparts the vector says
    for (const Json& group : vector["truth"]) known.insert(group[1].begin(), group[1].end());
    if (truth.empty()) {
      EXPECT_TRUE(found.all.empty());
    }
    // Of operators that may stand for each other any assignment is right, and one copy may have no pair.
    for (const Json& group : vector["truth"]) {
      bool is_covered = group[0].empty() || group[1].empty();
      for (const std::string x : group[0])
        for (const std::string y : group[1]) is_covered |= found.all.contains({x, y});
      EXPECT_TRUE(is_covered) << group;
    }
    for (const auto& [x, y] : found.all)
      EXPECT_TRUE(!known.contains(y) || truth.contains({x, y})) << x << " -> " << y;
  }
}

// Two branches into one sum, which only their weights tell apart, and two that compute the same.
TEST(MappingVectors, WhatTheOrderOfOperandsChoseIsNotSure) {
  for (const auto& [name, weights] :
       {std::pair("01_symmetric_by_weights", false), {"09_interchangeable", true}}) {
    const Found found = mapped(Json::parse(text_of(std::string(name) + ".json")), weights);
    ASSERT_GE(found.confidence.size(), 3U) << name;
    const auto unsure = std::ranges::count_if(found.confidence, [](double c) { return c <= 0.6; });
    EXPECT_EQ(unsure, std::ssize(found.confidence) - 1) << name;
  }
  const Found sure = mapped(Json::parse(text_of("01_symmetric_by_weights.json")), true);
  EXPECT_EQ(std::ranges::min(sure.confidence), 1);
}

}  // namespace
}  // namespace graphopt::mapping
