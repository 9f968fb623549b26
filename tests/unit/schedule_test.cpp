// Schedules of drawn graphs, compared with what is slow and plain.

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "schedule/least_memory.h"
#include "schedule/memory.h"
#include "schedule/throughput.h"
#include "unit/schedule_case.h"

namespace graphopt::schedule {
namespace {

bool reads(const Problem& p, Index reader, Index front) {
  return std::ranges::any_of(p.subgraphs[reader].inputs,
                             [&](Index v) { return p.values[v].from == std::optional(front); });
}

bool has_path(const Problem& p, Index from, Index to) {  // from and to are not the same
  return std::ranges::any_of(p.subgraphs[to].inputs, [&](Index v) {
    const auto by = p.values[v].from;
    return by && (*by == from || has_path(p, from, *by));
  });
}

// Returns all orders with producers first.
void all_orders(const Problem& p, Order& begun, std::vector<Order>& out) {
  if (begun.size() == p.subgraphs.size()) return out.push_back(begun);
  for (Index s = 0; s < p.subgraphs.size(); ++s) {
    const auto ran = [&](Index r) { return std::ranges::find(begun, r) != begun.end(); };
    if (ran(s) || std::ranges::any_of(p.subgraphs[s].inputs,
                                      [&](Index v) { return p.values[v].from && !ran(*p.values[v].from); }))
      continue;
    begun.push_back(s);
    all_orders(p, begun, out);
    begun.pop_back();
  }
}

TEST(Schedule, ParallelBacksHaveNoPathFromOneToAnother) {
  std::mt19937 rng(1);
  std::size_t found = 0;
  for (int i = 0; i < 300; ++i) {
    const Problem p = drawn_problem(rng, 8, 2);
    std::size_t fronts = 0;
    for (const Group& g : groups(p, file_order(p))) {
      ++fronts;
      std::vector<Index> back, parallel;
      for (Index s = 0; s < p.subgraphs.size(); ++s)
        if (reads(p, s, g.front)) back.push_back(s);
      for (const Index s : back)
        if (std::ranges::none_of(back, [&](Index b) { return b != s && has_path(p, b, s); }))
          parallel.push_back(s);
      EXPECT_EQ(g.back, back);
      EXPECT_EQ(g.parallel, parallel);
      found += parallel.size() < back.size() ? 1 : 0;
    }
    std::size_t all = 0;
    for (Index front = 0; front < p.subgraphs.size(); ++front) {
      std::size_t readers = 0;
      for (Index s = 0; s < p.subgraphs.size(); ++s) readers += reads(p, s, front) ? 1 : 0;
      all += readers > 1 ? 1 : 0;
    }
    EXPECT_EQ(fronts, all);
  }
  EXPECT_GT(found, 50u);
}

// The account by what it promises: at each subgraph its inputs and outputs are on the device, nothing is read
// that is not there, the sum is that of the account and within the budget, and the host has what it needs.
void expect_sound(const Problem& p, const Order& order, Index device, const AccountOptions& options,
                  const Account& a) {
  std::set<Index> on_device, on_host, freed;
  std::uint64_t now = 0, peak = 0, stored = 0;
  Index ran = 0;
  for (Index v = 0; v < p.values.size(); ++v)
    if (!p.values[v].from) on_host.insert(v);
  const auto other_devices_until = [&](Index place) {
    for (; ran < place; ++ran)
      if (p.subgraphs[order[ran]].device != device)
        on_host.insert(p.subgraphs[order[ran]].outputs.begin(), p.subgraphs[order[ran]].outputs.end());
  };
  for (const Step& s : a.steps) {
    other_devices_until(s.place);
    if (s.event == Event::Run) {
      const Subgraph& subgraph = p.subgraphs[s.what];
      EXPECT_EQ(order[s.place], s.what);
      EXPECT_EQ(subgraph.device, device);
      for (const Index v : subgraph.inputs) EXPECT_TRUE(on_device.contains(v));
      for (const Index v : subgraph.outputs) {
        EXPECT_TRUE(on_device.insert(v).second);
        now += *p.values[v].bytes;
      }
      peak = std::max(peak, now + subgraph.workspace_bytes);
      continue;
    }
    const std::uint64_t bytes = *p.values[s.what].bytes;
    if (s.event == Event::Load) {
      EXPECT_TRUE(on_host.contains(s.what));
      EXPECT_FALSE(freed.contains(s.what));
      EXPECT_TRUE(on_device.insert(s.what).second);
      now += bytes;
      peak = std::max(peak, now);
    } else if (s.event == Event::Store || s.event == Event::Spill) {
      EXPECT_TRUE(on_device.contains(s.what));
      EXPECT_TRUE(on_host.insert(s.what).second);
      stored += bytes;
    } else {
      EXPECT_EQ(on_device.erase(s.what), 1u);
      EXPECT_TRUE(s.event == Event::Free || on_host.contains(s.what));
      if (s.event == Event::Free) freed.insert(s.what);
      now -= bytes;
    }
  }
  EXPECT_EQ(peak, a.peak);
  EXPECT_EQ(stored, a.stored_bytes);
  EXPECT_LE(peak, options.budget.value_or(peak));
  if (a.misfit) return;
  EXPECT_TRUE(on_device.empty());
  for (Index v = 0; v < p.values.size(); ++v) {
    const Value& value = p.values[v];
    const bool made_here = value.from && p.subgraphs[*value.from].device == device;
    const bool wanted = value.network_output || std::ranges::any_of(value.to, [&](Index r) {
                          return p.subgraphs[r].device != device;
                        });
    const bool stored_for_good = made_here && (wanted || options.retain == Retain::All);
    EXPECT_TRUE(!stored_for_good || on_host.contains(v));
  }
}

TEST(Schedule, AccountsAreSound) {
  std::mt19937 rng(2);
  std::size_t spilled = 0, misfits = 0;
  for (int i = 0; i < 400; ++i) {
    const Problem p = drawn_problem(rng, static_cast<Index>(1 + rng() % 12), 2);
    const Order order = file_order(p);
    ASSERT_EQ(order.size(), p.subgraphs.size());
    for (const Index device : {0u, 1u})
      for (const Retain retain : {Retain::Outputs, Retain::All}) {
        AccountOptions options{.budget = {}, .retain = retain};
        const auto all = account(p, order, device, options);
        ASSERT_TRUE(all && !all->misfit);
        expect_sound(p, order, device, options, *all);
        // What one subgraph needs by itself.
        std::uint64_t least = 0;
        for (const Subgraph& s : p.subgraphs) {
          if (s.device != device) continue;
          std::uint64_t needs = s.workspace_bytes;
          for (const Index v : s.inputs) needs += *p.values[v].bytes;
          for (const Index v : s.outputs) needs += *p.values[v].bytes;
          least = std::max(least, needs);
        }
        for (const std::uint64_t budget : {least, least + 10, all->peak}) {
          options.budget = budget;
          const auto bound = account(p, order, device, options);
          ASSERT_TRUE(bound);
          EXPECT_FALSE(bound->misfit) << "each subgraph fits by itself";
          expect_sound(p, order, device, options, *bound);
          spilled += std::ranges::count(bound->steps, Event::Evict, &Step::event) > 0 ? 1 : 0;
          EXPECT_TRUE(budget < all->peak || bound->steps == all->steps);
        }
        if (least == 0) continue;
        options.budget = least - 1;
        const auto refused = account(p, order, device, options);
        ASSERT_TRUE(refused);
        EXPECT_TRUE(refused->misfit);
        expect_sound(p, order, device, options, *refused);
        misfits += refused->misfit ? 1 : 0;
      }
  }
  EXPECT_GT(spilled, 500u);
  EXPECT_GT(misfits, 500u);
}

TEST(Schedule, TheLeastMemoryIsThatOfTheBestOrder) {
  std::mt19937 rng(3);
  std::size_t better = 0;
  for (int i = 0; i < 200; ++i) {
    const Problem p = drawn_problem(rng, 6, 1);
    std::vector<Order> orders;
    Order begun;
    all_orders(p, begun, orders);
    std::uint64_t least = account(p, file_order(p), 0)->peak;
    const std::uint64_t file = least;
    for (const Order& o : orders) least = std::min(least, account(p, o, 0)->peak);
    const Order found = least_memory_order(p);
    EXPECT_EQ(account(p, found, 0)->peak, least);
    EXPECT_TRUE(least < file || found == file_order(p));
    better += least < file ? 1 : 0;
  }
  EXPECT_GT(better, 30u);
}

TEST(Schedule, AnOrderOfFewSetsIsNoWorseThanTheFiles) {
  std::mt19937 rng(4);
  for (int i = 0; i < 30; ++i) {
    const Problem p = drawn_problem(rng, 30, 3);
    const Order file = file_order(p);
    for (const LeastMemoryOptions& options :
         {LeastMemoryOptions{}, {.most_sets = 1}, {.most_sets = 8, .most_steps = 500}, {.most_steps = 0}}) {
      const Order found = least_memory_order(p, options);
      ASSERT_EQ(std::set<Index>(found.begin(), found.end()).size(), p.subgraphs.size());
      const std::vector<Index> place = places_of(found);
      for (Index s = 0; s < p.subgraphs.size(); ++s)
        for (const Index v : p.subgraphs[s].inputs)
          EXPECT_TRUE(!p.values[v].from || place[*p.values[v].from] < place[s]);
      const auto accelerators = [&](const Order& o) {
        return account(p, o, 0)->peak + account(p, o, 1)->peak;
      };
      EXPECT_LE(accelerators(found), accelerators(file));
    }
  }
}

TEST(Schedule, WhatIsNotKnown) {
  std::mt19937 rng(5);
  Problem p = drawn_problem(rng, 5, 2);
  const Order order = file_order(p);
  const Index v = p.subgraphs[3].outputs[0];
  p.values[v].bytes.reset();
  EXPECT_FALSE(account(p, order, p.subgraphs[3].device));
  EXPECT_EQ(least_memory_order(p), order);
  p.values[v].bytes = std::numeric_limits<std::uint64_t>::max();
  EXPECT_FALSE(account(p, order, p.subgraphs[3].device)) << "the sum is beyond 2^64";
  EXPECT_TRUE(throughput(p, order, {1, 1}));
  p.subgraphs[1].ns.reset();
  EXPECT_FALSE(throughput(p, order, {1, 1}));
  p.subgraphs[1].ns = std::numeric_limits<std::uint64_t>::max();
  EXPECT_FALSE(throughput(p, order, {1, 1}));
  for (Subgraph& s : p.subgraphs) s.ns = 0;
  EXPECT_FALSE(throughput(p, order, {1, 1}));
}

TEST(Schedule, ACircleHasNoOrder) {
  Problem p;
  p.devices = 1;
  p.values = {{.from = 0, .to = {1}, .bytes = 1}, {.from = 1, .to = {0}, .bytes = 1}};
  p.subgraphs.resize(2);
  p.subgraphs[0].inputs = p.subgraphs[1].outputs = {1};
  p.subgraphs[1].inputs = p.subgraphs[0].outputs = {0};
  EXPECT_TRUE(file_order(p).empty());
}

// Six pipelines with the gains that constant times allow.
TEST(Schedule, LimitsOfPipelines) {
  struct Case {
    std::vector<std::uint64_t> ms;
    std::vector<Index> devices;
    std::uint64_t limit, window;
  };
  const std::vector<Case> cases{{{3, 10, 2}, {2, 0, 2}, 150, 3},
                                {{5, 10, 5}, {2, 0, 2}, 200, 3},
                                {{4, 6, 4, 6, 4}, {2, 0, 2, 0, 2}, 200, 3},
                                {{6, 6, 6}, {2, 0, 1}, 300, 4},
                                {{10}, {0}, 100, 2}};
  for (const Case& c : cases) {
    Problem p;
    p.devices = 3;
    p.values.push_back({.from = {}, .to = {0}, .bytes = 100});
    for (Index i = 0; i < c.ms.size(); ++i) {
      Subgraph& s = p.subgraphs.emplace_back();
      s.device = c.devices[i];
      s.inputs = {i};
      s.outputs = {i + 1};
      s.ns = c.ms[i] * 1'000'000;
      p.values.push_back({.from = i, .to = {}, .bytes = 100});
      if (i + 1 < c.ms.size()) p.values.back().to.push_back(i + 1);
    }
    const auto found = throughput(p, file_order(p), {1, 1, 1});
    ASSERT_TRUE(found);
    EXPECT_EQ(found->limit_percent, c.limit);
    EXPECT_EQ(found->window, c.window);
  }
}

}  // namespace
}  // namespace graphopt::schedule
