// Schedules of the graphs in tests/vectors/schedule.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "schedule/least_memory.h"
#include "schedule/memory.h"
#include "schedule/throughput.h"
#include "unit/schedule_case.h"

namespace graphopt::schedule {
namespace {

using Json = nlohmann::json;

const std::string kFolder = GRAPHOPT_TESTS_DIR "/vectors/schedule/";
constexpr Index kCard = 0;

std::vector<std::string> vector_names() {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) out.push_back(entry.path().stem());
  std::ranges::sort(out);
  return out;
}

Json vector_of(const std::string& name) {
  std::ifstream in(kFolder + name + ".json");
  return Json::parse(in);
}

Json names(const std::vector<Index>& items, const std::vector<std::string>& of) {
  Json out = Json::array();
  for (const Index i : items) out.push_back(of[i]);
  return out;
}

Json shown(const NamedProblem& c, const Account& a) {
  constexpr const char* kEvents[] = {"load", "run", "store", "spill", "evict", "free"};
  Json events = Json::array();
  for (const Step& s : a.steps)
    events.push_back({kEvents[static_cast<std::size_t>(s.event)],
                      s.event == Event::Run ? c.subgraphs[s.what] : c.values[s.what]});
  return {{"events", events}, {"peak", a.peak}, {"written_back", a.stored_bytes}};
}

TEST(ScheduleVectors, OrderGroupsAndLifetimes) {
  ASSERT_EQ(vector_names().size(), 14u);
  for (const std::string& name : vector_names()) {
    SCOPED_TRACE(name);
    const Json v = vector_of(name), &expect = v["expect"];
    const NamedProblem c(v["graph"]);
    const Order order = file_order(c.problem);
    EXPECT_EQ(names(order, c.subgraphs), expect["order"]);
    Json found = Json::array();
    for (const Group& g : groups(c.problem, order))
      found.push_back({{"front", c.subgraphs[g.front]},
                       {"back", names(g.back, c.subgraphs)},
                       {"count", g.back.size()},
                       {"parallel", names(g.parallel, c.subgraphs)}});
    EXPECT_EQ(found, expect["groups"]);
    const std::vector<Lifetime> lives = lifetimes(c.problem, order);
    for (Index i = 0; i < lives.size(); ++i) {
      EXPECT_EQ(lives[i].reference_count, expect["refcounts"][c.values[i]].get<std::uint64_t>())
          << c.values[i];
      EXPECT_EQ(Json({lives[i].first, lives[i].last}), expect["lifetimes"][c.values[i]]) << c.values[i];
    }
  }
}

TEST(ScheduleVectors, Memory) {
  for (const std::string& name : vector_names()) {
    SCOPED_TRACE(name);
    const Json v = vector_of(name), &expect = v["expect"];
    const NamedProblem c(v["graph"]);
    const Order order = file_order(c.problem);
    const auto unbounded = account(c.problem, order, kCard);
    ASSERT_TRUE(unbounded);
    EXPECT_EQ(shown(c, *unbounded), expect["unbounded"]);
    const auto literal = account(c.problem, order, kCard, {.budget = {}, .retain = Retain::All});
    ASSERT_TRUE(literal);
    EXPECT_EQ(shown(c, *literal), expect["literal"]);
    ASSERT_EQ(c.budget.has_value(), expect.contains("budgeted"));
    if (!c.budget) continue;
    const auto bound = account(c.problem, order, kCard, {.budget = c.budget});
    ASSERT_TRUE(bound);
    ASSERT_EQ(bound->misfit.has_value(), expect["budgeted"].contains("error"));
    if (bound->misfit)
      EXPECT_EQ(c.subgraphs[bound->misfit->subgraph] + ": needs " + std::to_string(bound->misfit->needed) +
                    " beside " + std::to_string(bound->misfit->pinned) + " pinned, budget " +
                    std::to_string(bound->misfit->budget),
                expect["budgeted"]["detail"].get<std::string>());
    else EXPECT_EQ(shown(c, *bound), expect["budgeted"]);
  }
}

TEST(ScheduleVectors, TheLeastMemoryOfBothOrders) {
  for (const std::string name : {"12_order_small_first", "13_order_big_first"}) {
    const NamedProblem c(vector_of(name)["graph"]);
    const auto least = account(c.problem, least_memory_order(c.problem), kCard);
    ASSERT_TRUE(least);
    EXPECT_EQ(least->peak, 106u) << name;
  }
}

TEST(ScheduleVectors, Throughput) {
  const Json v = vector_of("14_pipeline"), &expect = v["expect"]["des"];
  const NamedProblem c(v["graph"]);
  const Order order = file_order(c.problem);
  const auto found = throughput(c.problem, order, {1, 1});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->load_ns[0], expect["load"]["card"].get<double>() * 1e6);
  EXPECT_EQ(found->load_ns[1], expect["load"]["cpu"].get<double>() * 1e6);
  EXPECT_EQ(found->critical_path_ns, 15'000'000u);
  EXPECT_EQ(found->bottleneck, kCard);
  EXPECT_EQ(found->limit_percent, 150u);
  EXPECT_EQ(found->window, 3u);
  EXPECT_EQ(earliest_end_ns(c.problem, order, {1, 1}, v["graph"]["des"]["requests"].get<std::uint64_t>()),
            expect["bound"].get<double>() * 1e6);
}

}  // namespace
}  // namespace graphopt::schedule
