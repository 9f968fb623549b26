// The validator sees each promise broken on purpose.

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "partition/partition.h"
#include "unit/partition_case.h"

namespace graphopt::partition {
namespace {

Rows swapped(const Rows& rows, std::size_t a, std::size_t b) {
  Rows out;
  for (std::size_t i = 0; i < rows.size(); ++i) out.add_row(rows[i == a ? b : i == b ? a : i]);
  return out;
}

Rows reversed_row(const Rows& rows, std::size_t row) {
  Rows out;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::vector<Index> items(rows[i].begin(), rows[i].end());
    if (i == row) std::ranges::reverse(items);
    out.add_row(items);
  }
  return out;
}

TEST(PartitionValidate, SeesEachBrokenPromise) {
  // fig8: {a} on the accelerator, {b} on the host, {e, c, d} on the accelerator.
  const Case c = read_case(read_json(GRAPHOPT_TESTS_DIR "/vectors/partition/fig8.json"));
  const Result<Partition> found = partition(c.problem, {});
  ASSERT_TRUE(found.ok());
  ASSERT_TRUE(validate(c.problem, {}, *found).ok());
  struct Broken {
    const char* says;
    std::function<void(Problem&, Partition&)> change;
  };
  const Broken kBroken[] = {
      {"is said to be in", [](Problem&, Partition& p) { p.subgraph_of[0] = 1; }},
      {"empty", [](Problem&, Partition& p) { p.nodes = Rows({0, 0, 2, 5}, {0, 1, 4, 2, 3}); }},
      {"is in subgraph", [](Problem&, Partition& p) { p.nodes = Rows({0, 1, 2, 5}, {0, 1, 1, 2, 3}); }},
      {"in no subgraph", [](Problem&, Partition& p) { p.nodes = Rows({0, 1, 2, 4}, {0, 1, 2, 3}); }},
      {"does not take", [](Problem&, Partition& p) { p.devices[1] = 0; }},
      {"later subgraph",
       [](Problem&, Partition& p) {
         p.nodes = swapped(p.nodes, 0, 2);
         for (Index& s : p.subgraph_of) s = 2 - s;
       }},
      {"stands behind", [](Problem&, Partition& p) { p.nodes = reversed_row(p.nodes, 2); }},
      {"reads from other", [](Problem&, Partition& p) { p.depends = swapped(p.depends, 0, 1); }},
      {"stage", [](Problem&, Partition& p) { p.stages[2] = 1; }},
      {"is cut", [](Problem& q, Partition&) { q.groups.push_back({GroupKind::User, {0, 2}}); }},
      {"number of accelerators", [](Problem&, Partition& p) { p.accelerator_count = 3; }},
      {"lower bound", [](Problem&, Partition& p) { p.bound.all = 4; }},
      {"transfers", [](Problem&, Partition& p) { ++p.border_bytes; }},
      {"no record",
       [](Problem& q, Partition& p) { (void)p, q.supports = Rows({0, 1, 2, 3, 4, 5}, {0, 0, 0, 0, 0}); }},
      {"nodes of at least", [](Problem& q, Partition&) { q.devices[0].min_nodes = 2; }},
      {"its device takes", [](Problem& q, Partition&) { q.devices[0].max_subgraphs = 1; }},
      {"memory stated", [](Problem& q, Partition&) { q.devices[0].memory_bytes = 1; }},
      {"it needs", [](Problem& q, Partition& p) { q.devices[0].memory_bytes = 9, p.need_bytes = {9, 9, 9}; }},
  };
  for (const Broken& broken : kBroken) {
    Problem problem = c.problem;
    Partition partition = *found;
    broken.change(problem, partition);
    const Status status = validate(problem, {}, partition);
    ASSERT_FALSE(status.ok()) << broken.says;
    EXPECT_NE(status.error().what.find(broken.says), std::string::npos)
        << broken.says << ": " << to_string(status.error());
  }
}

TEST(PartitionValidate, SeesUnconnectedSubgraphs) {
  const Case c = read_case(read_json(GRAPHOPT_TESTS_DIR "/vectors/partition/siblings.json"));
  const Result<Partition> found = partition(c.problem, {});
  ASSERT_TRUE(found.ok());
  EXPECT_TRUE(validate(c.problem, {}, *found).ok());
  EXPECT_FALSE(validate(c.problem, {Algorithm::Grow, true}, *found).ok());
}

}  // namespace
}  // namespace graphopt::partition
