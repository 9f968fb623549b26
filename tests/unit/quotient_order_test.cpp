// The order of a quotient graph over joins, against a search of the whole graph.

#include "ir/quotient_order.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

#include "support/ids.h"

namespace graphopt {
namespace {

using Vertex = Id<struct VertexTag>;

// A graph whose edges lead from lower to higher ids.
class Dag {
 public:
  using Node = Vertex;
  explicit Dag(std::size_t n) : out(n), in(n) {}
  void edge(std::uint32_t a, std::uint32_t b) {
    out[a].push_back(Vertex{b});
    in[b].push_back(Vertex{a});
  }
  std::size_t node_count() const { return out.size(); }
  template <class F> void each_node(F f) const {
    for (std::uint32_t i = 0; i < out.size(); ++i) f(Vertex{i});
  }
  template <class F> bool each_consumer(Vertex n, F see) const { return each(out[n.index()], see); }
  template <class F> bool each_producer(Vertex n, F see) const { return each(in[n.index()], see); }
  std::uint64_t key(Vertex n) const { return n.index(); }
  void edges_exceeded() const { ++exceeded; }

  std::vector<std::vector<Vertex>> out, in;
  mutable int exceeded = 0;

 private:
  template <class F> static bool each(const std::vector<Vertex>& list, F see) {
    for (const Vertex v : list)
      if (!see(v)) return false;
    return true;
  }
};

constexpr QuotientLimits kNoLimits{1'000'000, 1'000'000};
using Order = QuotientOrder<Dag>;

Order singles(const Dag& g, QuotientLimits limits = kNoLimits) {
  return Order(g, limits, [](Vertex n) { return n; });
}

bool acyclic(const Dag& g, const std::vector<std::uint32_t>& group) {
  std::vector<std::uint32_t> waiting(g.node_count());
  std::vector<std::vector<std::uint32_t>> readers(g.node_count());
  std::size_t left = 0;
  for (std::uint32_t i = 0; i < group.size(); ++i) {
    left += group[i] == i;
    for (const Vertex v : g.out[i])
      if (group[v.index()] != group[i]) {
        readers[group[i]].push_back(group[v.index()]);
        ++waiting[group[v.index()]];
      }
  }
  std::vector<std::uint32_t> ready;
  for (std::uint32_t i = 0; i < group.size(); ++i)
    if (group[i] == i && waiting[i] == 0) ready.push_back(i);
  while (!ready.empty()) {
    const std::uint32_t at = ready.back();
    ready.pop_back();
    --left;
    for (const std::uint32_t r : readers[at])
      if (--waiting[r] == 0) ready.push_back(r);
  }
  return left == 0;
}

TEST(QuotientOrder, RefusesAPathThroughAThirdGroup) {
  Dag g(3);
  g.edge(0, 1);
  g.edge(1, 2);
  g.edge(0, 2);
  Order order = singles(g);
  order.order();
  EXPECT_FALSE(order.join(Vertex{0u}, Vertex{2u}));
  EXPECT_TRUE(order.join(Vertex{1u}, Vertex{0u})) << "in either order";
  EXPECT_TRUE(order.join(order.of(Vertex{0u}), Vertex{2u}));
  EXPECT_EQ(order.of(Vertex{0u}), order.of(Vertex{2u}));
}

// {a, c} and {b, d}: each leads to the other.
TEST(QuotientOrder, DissolvesWhatIsInACycle) {
  Dag g(5);
  g.edge(0, 1);
  g.edge(1, 2);
  g.edge(2, 3);
  g.edge(3, 4);
  Order order(g, kNoLimits, [](Vertex n) { return Vertex{n.index() < 4 ? n.index() % 2 : 4u}; });
  const std::vector<Vertex> groups = order.order();
  EXPECT_EQ(groups.size(), 5u);
  EXPECT_EQ(order.dissolved(), 2u) << "those that do not give their group its name";
}

TEST(QuotientOrder, TakesTheLeastKeyFirst) {
  Dag g(4);
  g.edge(2, 3);
  Order order(g, kNoLimits, [](Vertex n) { return n.index() == 3 ? Vertex{0u} : n; });
  const std::vector<Vertex> groups = order.order();
  ASSERT_EQ(groups.size(), 3u);
  EXPECT_EQ(groups[0], Vertex{1u});
  EXPECT_EQ(groups[1], Vertex{2u});
  EXPECT_EQ(order.members(groups[2]).size(), 2u) << "0 and 3";
}

TEST(QuotientOrder, StopsAtItsLimit) {
  Dag g(40);
  for (std::uint32_t i = 1; i < 39; ++i) {
    g.edge(0, i);
    g.edge(i, 39);
  }
  Order order = singles(g, {10, 20});
  order.order();
  EXPECT_FALSE(order.join(Vertex{0u}, Vertex{1u}));
  EXPECT_EQ(g.exceeded, 1);
}

TEST(QuotientOrder, AgreesWithASearchOfTheWholeGraph) {
  std::mt19937 engine(7);
  const auto random = [&engine] { return static_cast<std::uint32_t>(engine()); };
  int joined = 0, refused = 0;
  for (int round = 0; round < 300; ++round) {
    const std::uint32_t n = 4 + random() % 20;
    Dag g(n);
    for (std::uint32_t b = 1; b < n; ++b)
      for (std::uint32_t k = random() % 3; k-- > 0;) g.edge(random() % b, b);
    Order order = singles(g);
    order.order();
    for (int tries = 0; tries < 40; ++tries) {
      const Vertex a = order.of(Vertex{random() % n}), b = order.of(Vertex{random() % n});
      if (a == b) continue;
      std::vector<std::uint32_t> group(n);
      for (std::uint32_t i = 0; i < n; ++i) {
        const Vertex of = order.of(Vertex{i});
        group[i] = (of == b ? a : of).index();
      }
      const bool possible = acyclic(g, group);
      ASSERT_EQ(order.join(a, b), possible) << "round " << round << ", try " << tries;
      (possible ? joined : refused) += 1;
    }
    const std::size_t before = order.dissolved();
    order.order();
    EXPECT_EQ(order.dissolved(), before) << "no join closed a cycle";
  }
  EXPECT_GT(joined, 1000);
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace graphopt
