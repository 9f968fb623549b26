// Partitions of the graphs in tests/vectors/partition: named graphs, each with a fault of a simpler method,
// and random ones.

#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <numeric>
#include <string>

#include "partition/partition.h"
#include "unit/partition_case.h"

namespace graphopt::partition {
namespace {

const std::string kFolder = GRAPHOPT_TESTS_DIR "/vectors/partition/";

std::vector<std::string> vector_names() {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) out.push_back(entry.path().stem());
  std::ranges::sort(out);
  return out;
}

Options options(const std::string& name) {
  if (name == "depth") return {Algorithm::Depth, false};
  if (name == "fewest") return {Algorithm::Fewest, false};
  return {Algorithm::Grow, name == "grow-connected"};
}

// Without the figures that absorption and memory cuts work with.
Problem bare(Problem problem) {
  for (Device& d : problem.devices) d.cost.reset(), d.memory_bytes.reset();
  return problem;
}

TEST(PartitionVectors, GiveTheSubgraphsOfTheMethod) {
  ASSERT_EQ(vector_names().size(), 53u);
  for (const std::string& name : vector_names()) {
    const Case c = read_case(read_json(kFolder + name + ".json"));
    const Problem problem = bare(c.problem);
    for (const std::string algorithm : {"depth", "grow-connected", "grow", "fewest"}) {
      SCOPED_TRACE(name + " " + algorithm);
      const Result<Partition> found = partition(problem, options(algorithm));
      ASSERT_TRUE(found.ok()) << to_string(found.error());
      const Status valid = validate(problem, options(algorithm), *found);
      EXPECT_TRUE(valid.ok()) << to_string(valid.error());
      const nlohmann::json& expected = c.expect[algorithm];
      if (algorithm != "fewest") {
        EXPECT_EQ(shown(c, *found).dump(), expected.dump());
        EXPECT_EQ(found->border_bytes, c.expect["border_bytes"][algorithm].get<std::uint64_t>());
      }
      Index accelerators = 0;
      for (const auto& subgraph : expected) accelerators += subgraph["device"] != c.devices.back() ? 1 : 0;
      EXPECT_EQ(found->size(), expected.size());
      EXPECT_EQ(found->accelerator_count, accelerators);
      const auto& optimum = c.expect["optimum"][algorithm == "grow-connected" ? "connected" : "any"];
      const std::pair best(optimum["accelerator"].get<Index>(), optimum["all"].get<std::size_t>());
      EXPECT_GE(std::pair(found->accelerator_count, found->size()), best);
      EXPECT_LE(found->bound.all, optimum["all"].get<Index>());
      EXPECT_LE(found->bound.accelerator, optimum["accelerator"].get<Index>());
      EXPECT_TRUE(!found->proven || std::pair(found->accelerator_count, found->size()) == best);
    }
  }
}

nlohmann::json absorbed(const Case& c, const Partition& partition) {
  nlohmann::json out = nlohmann::json::array();
  for (const Move& move : partition.moves) {
    EXPECT_EQ(move.reason, Reason::Cost);
    nlohmann::json nodes = nlohmann::json::array();
    for (const Index i : move.nodes) nodes.push_back(c.nodes[i]);
    out.push_back({{"nodes", nodes}, {"to", c.devices[move.to]}, {"saved_us", double(move.saved_ns) / 1000}});
  }
  return out;
}

TEST(PartitionVectors, AbsorbWhatCostsMoreThanItSaves) {
  for (const std::string name : {"absorb-island", "absorb-keep"}) {
    const Case c = read_case(read_json(kFolder + name + ".json"));
    const Result<Partition> found = partition(c.problem, {});
    ASSERT_TRUE(found.ok());
    EXPECT_TRUE(validate(c.problem, {}, *found).ok());
    EXPECT_EQ(shown(c, *found).dump(), c.expect["grow_with_cost"].dump()) << name;
    EXPECT_EQ(absorbed(c, *found).dump(), c.expect["absorbed"].dump()) << name;
  }
}

// On its device the node takes 50 us, a launch of 20 and two transfers of 4; on the host 500.
TEST(PartitionVectors, GiveBackWhatGainsLessThanAskedFor) {
  const Case c = read_case(read_json(kFolder + "absorb-keep.json"));
  constexpr std::int64_t kGain = 422'000;
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t asked : {std::int64_t{0}, kGain, kGain + 1, kMost}) {
    const Options options{.min_gain_ns = static_cast<std::uint64_t>(asked)};
    const Result<Partition> found = partition(c.problem, options);
    ASSERT_TRUE(found.ok());
    EXPECT_TRUE(validate(c.problem, options, *found).ok());
    const bool moved = asked > kGain;
    EXPECT_EQ(found->size(), moved ? 1u : 3u) << asked;
    ASSERT_EQ(found->moves.size(), moved ? 1u : 0u) << asked;
    if (!moved) continue;
    EXPECT_EQ(found->moves[0].reason, Reason::MinGain);
    EXPECT_EQ(found->moves[0].saved_ns, -kGain);
  }
  // Without costs nothing moves.
  EXPECT_EQ(partition(bare(c.problem), {.min_gain_ns = 1'000'000})->size(), 3u);
}

TEST(PartitionVectors, CutWhatTheMemoryDoesNotHold) {
  Case c = read_case(read_json(kFolder + "memory-cut.json"));
  // The vector counts weights alone. Here any two nodes have a peak of 68 bytes beside theirs.
  c.problem.devices[0].memory_bytes = *c.problem.devices[0].memory_bytes + 68;
  const Result<Partition> found = partition(c.problem, {});
  ASSERT_TRUE(found.ok());
  const Status valid = validate(c.problem, {}, *found);
  EXPECT_TRUE(valid.ok()) << to_string(valid.error());
  EXPECT_EQ(shown(c, *found).dump(), c.expect["grow_with_memory"].dump());
  ASSERT_EQ(found->cuts.size(), 1u);
  EXPECT_EQ(found->cuts[0].subgraphs, (std::vector<Index>{0, 1, 2}));
}

// The two figures of the published method, for the nodes of the file in every order.
TEST(PartitionVectors, DoNotDependOnTheOrderOfNodes) {
  for (const std::string name : {"fig8", "fig9"}) {
    const nlohmann::json file = read_json(kFolder + name + ".json");
    std::vector<std::size_t> order(file["graph"]["nodes"].size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    do {
      const Case c = read_case(file, order);
      for (const std::string algorithm : {"depth", "grow-connected", "grow", "fewest"}) {
        const Result<Partition> found = partition(c.problem, options(algorithm));
        ASSERT_TRUE(found.ok());
        EXPECT_EQ(shown(c, *found).dump(), c.expect[algorithm].dump()) << name << ' ' << algorithm;
      }
    } while (std::ranges::next_permutation(order).found);
  }
}

}  // namespace
}  // namespace graphopt::partition
