// Requests on real threads and simulated cards.

#include "execution/pool.h"

#include <gtest/gtest.h>

#include <string>

#include "unit/execution_card.h"

namespace graphopt::execution {
namespace {

using namespace std::chrono_literals;

std::string text_of(const SimulatedCards& cards) {
  std::string out;
  for (const std::string& p : cards.problems()) out += p + "\n";
  return out;
}

TEST(ExecutionPool, DrawnPlansEndWithTheirResultsAndLeaveNothing) {
  const std::uint64_t plans = plans_of_test("GRAPHOPT_POOL_PLANS", 400);
  std::uint64_t done = 0, stopped = 0, spills = 0;
  for (std::uint64_t seed = 1; seed <= plans; ++seed) {
    std::mt19937 rng(static_cast<std::mt19937::result_type>(seed));
    const Index devices = 1 + static_cast<Index>(rng() % 3);
    const Model m = made_model(schedule::drawn_problem(rng, 1 + static_cast<Index>(rng() % 12), devices));
    Pool::Options o;
    SimulatedCards::Setting s;
    o.limits.devices.resize(devices);
    s.budgets.resize(devices);
    s.seed = seed;
    for (Index d = 0; d < devices; ++d) {
      o.workers.push_back(1 + rng() % 2);
      std::uint64_t least = 0;
      for (const Plan* plan : {m.plan.get(), m.fallback.get()})
        for (const PlannedSubgraph& p : plan->subgraphs())
          if (p.device == d) least = std::max(least, p.needed);
      const auto kind = rng() % 4;
      if (kind > 0) o.limits.devices[d].budget = s.budgets[d] = least + (kind > 1 ? rng() % (least + 1) : 0);
    }
    o.limits.in_flight = 1 + rng() % 4;
    o.limits.retries = rng() % 3;
    o.limits.probe_interval = 100'000;
    o.one_thread = rng() % 6 == 0;
    o.limits.in_order = o.one_thread;
    if (o.limits.in_order) o.limits.in_flight = 1;
    const bool has_faults = rng() % 2 == 0;
    if (has_faults)
      s.faults = {.error = 0.1, .may_pass = 0.7, .cancel = 0, .timeout = 0, .dead = {}, .dead_from = 0};
    SimulatedCards cards(m, s);
    const std::size_t requests = 1 + rng() % 8;
    std::size_t ended = 0;
    {
      Pool pool(o, cards);
      std::jthread waits([&] {
        while (ended < requests) {
          const std::optional<Pool::Ended> one = pool.wait_any();
          if (!one) {  // not submitted yet
            std::this_thread::yield();
            continue;
          }
          cards.take(*one);
          ++ended;
          done += one->state == RequestState::Done ? 1 : 0;
          stopped += one->state == RequestState::Cancelled || one->state == RequestState::TimedOut ? 1 : 0;
          EXPECT_TRUE(has_faults || one->state != RequestState::Failed) << "seed " << seed;
          EXPECT_EQ(one->state == RequestState::Failed && !one->error, false) << "seed " << seed;
        }
      });
      for (std::size_t i = 0; i < requests; ++i) {
        const Sequence id = pool.reserve();
        cards.add(id);
        pool.submit(id, {m.plan, rng() % 2 == 0 ? m.fallback : nullptr, 0}, rng() % 10 == 0 ? 20us : 0us);
        if (rng() % 10 == 0) pool.cancel(id);
      }
      waits.join();
      for (Index d = 0; d < devices; ++d) {
        spills += pool.counts(d).spills;
        EXPECT_EQ(pool.counts(d).used, 0U) << "seed " << seed;
        EXPECT_GE(pool.counts(d).peak, cards.peak(d)) << "seed " << seed;
      }
    }
    for (Index d = 0; d < devices; ++d) EXPECT_EQ(cards.used(d), 0U) << "seed " << seed;
    ASSERT_TRUE(cards.problems().empty() && ended == requests) << "seed " << seed << ":\n" << text_of(cards);
  }
  EXPECT_GT(done, plans);
  // How often depends on the threads.
  EXPECT_GT(stopped, 0);
  EXPECT_GT(spills, 0);
}

}  // namespace
}  // namespace graphopt::execution
