// The state machine of requests on simulated devices: drawn plans, budgets, errors, cancels and timeouts.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "execution/scheduler.h"
#include "schedule/memory.h"
#include "unit/execution_case.h"

namespace graphopt::execution {
namespace {

std::string text_of(const Simulation& sim) {
  std::string out;
  for (const std::string& p : sim.problems()) out += p + "\n";
  return out;
}

// A budget between what the plan needs at least and four times as much; none for one device in three.
void draw_budgets(std::mt19937& rng, const Model& m, Limits& limits) {
  for (Index d = 0; d < limits.devices.size(); ++d) {
    std::uint64_t least = 0;
    for (const Plan* plan : {m.plan.get(), m.fallback.get()})
      for (const PlannedSubgraph& s : plan->subgraphs())
        if (s.device == d) least = std::max(least, s.needed);
    const auto kind = rng() % 6;
    if (kind < 2) continue;
    limits.devices[d].budget = kind == 2 ? least : least + rng() % (3 * least + 1);
    if (kind == 5 && rng() % 4 == 0 && least > 0) limits.devices[d].budget = least - 1;  // does not fit
  }
}

TEST(Execution, DrawnPlansEndWithTheirResultsAndLeaveNothing) {
  const std::uint64_t plans = plans_of_test("GRAPHOPT_EXECUTION_PLANS", 3000);
  std::uint64_t done = 0, fallback = 0, failed = 0, spills = 0, retries = 0, stopped = 0, misfits = 0;
  for (std::uint64_t seed = 1; seed <= plans; ++seed) {
    std::mt19937 rng(static_cast<std::mt19937::result_type>(seed));
    const Index devices = 1 + static_cast<Index>(rng() % 3);
    const auto retain = rng() % 8 == 0 ? schedule::Retain::All : schedule::Retain::Outputs;
    const Model m =
        made_model(schedule::drawn_problem(rng, 1 + static_cast<Index>(rng() % 8), devices), retain);
    Simulation::Setting s;
    s.seed = seed;
    s.checks_state = seed % 5 == 0;
    s.limits.devices.resize(devices);
    draw_budgets(rng, m, s.limits);
    for (Index d = 0; d < devices; ++d) s.workers.push_back(1 + rng() % 2);
    s.limits.in_order = rng() % 6 == 0;
    s.limits.in_flight = s.limits.in_order ? 1 : 1 + rng() % 4;
    s.limits.retries = rng() % 3;
    s.limits.probe_interval = 50;
    if (rng() % 2 == 0)
      s.faults = {.error = 0.1, .may_pass = 0.7, .cancel = 0.1, .timeout = 0.1, .dead = {}, .dead_from = 0};
    if (rng() % 8 == 0) {
      s.faults.dead = static_cast<Index>(rng() % devices);
      s.faults.dead_from = rng() % 100;
    }
    const bool has_fallback = rng() % 2 == 0;
    Simulation sim(s);
    const bool ended = sim.run(m, 1 + rng() % 6, has_fallback);
    ASSERT_TRUE(ended && sim.problems().empty()) << "seed " << seed << ":\n" << text_of(sim);
    const bool is_calm = s.faults.error == 0 && !s.faults.dead;
    for (const Scheduler::Ended& e : sim.ended()) {
      ASSERT_TRUE(!is_calm || e.failure.kind != FailureKind::None || e.state == RequestState::Done)
          << "seed " << seed << ": a request failed without an error";
      ASSERT_TRUE(e.state != RequestState::Failed || e.failure.kind != FailureKind::None)
          << "seed " << seed << ": nothing says why a request failed";
      done += e.state == RequestState::Done && e.way == Way::Devices ? 1 : 0;
      fallback += e.state == RequestState::Done && e.way == Way::Fallback ? 1 : 0;
      failed += e.state == RequestState::Failed ? 1 : 0;
      stopped += e.state == RequestState::Cancelled || e.state == RequestState::TimedOut ? 1 : 0;
      misfits += e.failure.kind == FailureKind::Misfit ? 1 : 0;
      retries += e.retries;
    }
    for (Index d = 0; d < devices; ++d) spills += sim.scheduler().counts(d).spills;
  }
  RecordProperty("figures", std::to_string(done) + " done, " + std::to_string(fallback) + " by fallback, " +
                                std::to_string(failed) + " failed, " + std::to_string(stopped) +
                                " stopped, " + std::to_string(spills) + " spills, " +
                                std::to_string(retries) + " retries");
  // Each of the ways was gone.
  EXPECT_GT(done, plans);
  for (const std::uint64_t some : {fallback, failed, stopped, misfits, spills, retries})
    EXPECT_GT(some, plans / 50);
}

// One request, one subgraph at a time: what happens in a device's memory is what the account of it says.
TEST(Execution, OneRequestNeedsTheMemoryOfItsPlan) {
  std::uint64_t with_evictions = 0;
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    std::mt19937 rng(static_cast<std::mt19937::result_type>(seed));
    const Index devices = 1 + static_cast<Index>(rng() % 3);
    const Model m = made_model(schedule::drawn_problem(rng, 1 + static_cast<Index>(rng() % 10), devices));
    Simulation::Setting s;
    s.seed = seed;
    s.limits.devices.resize(devices);
    s.limits.in_order = true;
    s.drops_at_once = true;
    s.workers.assign(devices, 1);
    draw_budgets(rng, m, s.limits);
    Simulation sim(s);
    ASSERT_TRUE(sim.run(m, 1, false) && sim.problems().empty()) << "seed " << seed << ":\n" << text_of(sim);
    for (Index d = 0; d < devices; ++d) {
      const auto account = schedule::account(m.problem, m.order, d, {.budget = s.limits.devices[d].budget});
      ASSERT_TRUE(account.has_value());
      if (account->misfit) {
        EXPECT_EQ(sim.ended()[0].failure.kind, FailureKind::Misfit) << "seed " << seed;
      }
      if (sim.ended()[0].failure.kind == FailureKind::Misfit) continue;
      const DeviceCounts& counts = sim.scheduler().counts(d);
      std::uint64_t evictions = 0, loads = 0;
      for (const schedule::Step& step : account->steps) {
        evictions += step.event == schedule::Event::Evict ? 1 : 0;
        loads += step.event == schedule::Event::Load ? 1 : 0;
      }
      EXPECT_EQ(counts.peak, account->peak) << "seed " << seed << ", device " << d;
      EXPECT_EQ(sim.peak(d), account->peak) << "seed " << seed << ", device " << d;
      EXPECT_EQ(counts.evictions, evictions) << "seed " << seed << ", device " << d;
      EXPECT_EQ(counts.loads, loads) << "seed " << seed << ", device " << d;
      EXPECT_EQ(counts.stored_bytes, account->stored_bytes) << "seed " << seed << ", device " << d;
      with_evictions += evictions > 0 ? 1 : 0;
    }
  }
  EXPECT_GT(with_evictions, 100);
}

// Two requests of 60 bytes on a device with 100: the second one waits for the first, and counts once.
TEST(Execution, WaitsForMemoryAreCounted) {
  schedule::Problem p;
  p.devices = 1;
  p.values = {{.from = {}, .to = {0}, .bytes = 0},
              {.from = 0, .to = {}, .bytes = 60, .network_output = true}};
  p.subgraphs = {{.device = 0, .inputs = {0}, .outputs = {1}, .ns = {}}};
  auto plan = Plan::make(p, {0}, schedule::Retain::Outputs);
  ASSERT_TRUE(plan.has_value());
  const auto shared = std::make_shared<const Plan>(*std::move(plan));
  Limits limits;
  limits.devices = {{100}};
  limits.in_flight = 2;
  Scheduler scheduler(limits);
  for (const Sequence id : {1, 2}) scheduler.submit(id, {.plan = shared, .fallback = nullptr}, 0);
  const auto first = scheduler.next(0);
  ASSERT_TRUE(first.has_value());
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(scheduler.next(0).has_value());
  EXPECT_EQ(scheduler.counts(0).waits, 1U);
  scheduler.dropped(scheduler.done(*first, 1), 2);
  const auto second = scheduler.next(0);
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(second->request, 2U);
  EXPECT_EQ(scheduler.counts(0).waits, 1U);
}

}  // namespace
}  // namespace graphopt::execution
