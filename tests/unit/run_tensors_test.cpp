// Runner: requests whose tensors are in memory, from several threads.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <thread>

#include "graphopt/run.h"
#include "unit/runner_case.h"

namespace graphopt {
namespace {

using RunTensors = RunnerCase;

// Abs is for the host. Results are whole numbers.
constexpr const char* kModel = R"(
g (float[N,4] x, float[4] shift) => (float[N,4] y, string[2] t)
  <float[4] shift = {1,2,3,-4}, string[2] t = {"a", "b"}> {
  a = Relu (x)
  b = Abs (a)
  c = Add (b, shift)
  y = Relu (c)
})";

std::string bytes_of(const std::vector<float>& elements) {
  return {reinterpret_cast<const char*>(elements.data()), elements.size() * sizeof(float)};
}

std::vector<RunTensor> inputs_of(std::int64_t rows, float first) {
  std::vector<float> x(static_cast<std::size_t>(rows) * 4);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = first - static_cast<float>(i % 5);
  return {{.name = "x", .type = "float", .dims = {rows, 4}, .bytes = bytes_of(x), .texts = {}}};
}

std::vector<float> wanted(std::int64_t rows, float first) {
  constexpr float kShift[] = {1, 2, 3, -4};
  std::vector<float> y(static_cast<std::size_t>(rows) * 4);
  for (std::size_t i = 0; i < y.size(); ++i)
    y[i] = std::max(0.0F, std::max(0.0F, first - static_cast<float>(i % 5)) + kShift[i % 4]);
  return y;
}

TEST_F(RunTensors, SeveralThreadsSubmitAndWait) {
  ASSERT_NO_FATAL_FAILURE(cut(kModel));
  auto runner = Runner::load(manifest());
  ASSERT_TRUE(runner.ok()) << to_string(runner.error());
  std::atomic<int> right = 0;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      std::vector<std::pair<Runner::Ticket, int>> open;
      const auto take = [&] {
        const auto outputs = runner->wait(open.front().first);
        const int i = open.front().second;
        open.erase(open.begin());
        if (!outputs || outputs->size() != 2) return;
        const RunTensor& y = (*outputs)[0];
        const RunTensor& texts = (*outputs)[1];
        const std::int64_t rows = i % 4;
        if (y.name == "y" && y.type == "float" && y.dims == std::vector<std::int64_t>{rows, 4} &&
            y.bytes == bytes_of(wanted(rows, static_cast<float>(i * t))) && texts.type == "string" &&
            texts.texts == std::vector<std::string>{"a", "b"})
          ++right;
      };
      for (int i = 0; i < 50; ++i) {
        const auto request = runner->submit(inputs_of(i % 4, static_cast<float>(i * t)));
        if (!request) return;
        open.emplace_back(*request, i);
        if (open.size() > 2) take();
      }
      while (!open.empty()) take();
    });
  threads.clear();
  EXPECT_EQ(right, 200);
}

TEST_F(RunTensors, WhatIsWrongIsAnError) {
  ASSERT_NO_FATAL_FAILURE(cut(kModel));
  EXPECT_EQ(Runner::load(folder_ / "none.json").error().kind, ErrorKind::Input);
  RunnerOptions o;
  o.workers = {{"gpu", 2}};
  EXPECT_EQ(Runner::load(manifest(), o).error().kind, ErrorKind::Usage);
  for (const std::uint64_t count : {0UL, 257UL, 1'000'000UL}) {
    o.workers = {{"npu", count}};
    EXPECT_EQ(Runner::load(manifest(), o).error().kind, ErrorKind::Usage) << count;
  }
  o.workers.clear();
  o.in_flight = std::uint64_t{1} << 63;
  EXPECT_EQ(Runner::load(manifest(), o).error().kind, ErrorKind::Usage);
  auto runner = Runner::load(manifest());
  ASSERT_TRUE(runner.ok()) << to_string(runner.error());
  const auto kind = [&](std::vector<RunTensor> inputs, double timeout = 0) {
    const auto request = runner->submit(std::move(inputs), timeout);
    return request.ok() ? ErrorKind::Internal : request.error().kind;
  };
  EXPECT_EQ(kind({}), ErrorKind::Usage);
  EXPECT_EQ(kind({{.name = "x", .type = "flaot", .dims = {0, 4}, .bytes = {}, .texts = {}}}),
            ErrorKind::Usage);
  EXPECT_EQ(kind({{.name = "x", .type = "double", .dims = {0, 4}, .bytes = {}, .texts = {}}}),
            ErrorKind::Usage);
  EXPECT_EQ(kind({{.name = "x", .type = "float", .dims = {1, 4}, .bytes = "123", .texts = {}}}),
            ErrorKind::Usage);
  EXPECT_EQ(kind({{.name = "x", .type = "float", .dims = {1, 3}, .bytes = std::string(12, 0), .texts = {}}}),
            ErrorKind::Usage);
  EXPECT_EQ(kind(inputs_of(1, 1), -1), ErrorKind::Usage);
  EXPECT_EQ(kind(inputs_of(1, 1), std::nan("")), ErrorKind::Usage);
  // Each request is waited for once.
  EXPECT_EQ(runner->wait(12345).error().kind, ErrorKind::Usage);
  const auto request = runner->submit(inputs_of(1, 1), 1e300);
  ASSERT_TRUE(request.ok());
  EXPECT_TRUE(runner->wait(*request).ok());
  EXPECT_EQ(runner->wait(*request).error().kind, ErrorKind::Usage);
  const auto late = runner->submit(inputs_of(1, 1), 1e-9);
  ASSERT_TRUE(late.ok());
  EXPECT_EQ(runner->wait(*late).error().kind, ErrorKind::Limit);
  // What was cancelled has ended one way or the other; others are not touched.
  const auto cancelled = runner->submit(inputs_of(3, 1));
  ASSERT_TRUE(cancelled.ok());
  runner->cancel(*cancelled);
  const auto answer = runner->wait(*cancelled);
  EXPECT_TRUE(answer.ok() || answer.error().kind == ErrorKind::NotChecked);
  runner->cancel(*cancelled);
  runner->cancel(777);
  const auto next = runner->submit(inputs_of(2, 3));
  ASSERT_TRUE(next.ok());
  EXPECT_TRUE(runner->wait(*next).ok());
  // What nobody waited for is cancelled with the runner.
  EXPECT_TRUE(runner->submit(inputs_of(2, 3)).ok());
}

TEST_F(RunTensors, NetworksOfSequencesAreRefused) {
  ASSERT_NO_FATAL_FAILURE(cut(R"(
g (float[N] x) => (seq(float[N]) y) { a = Relu (x)  y = SequenceConstruct (a, a) })"));
  const auto runner = Runner::load(manifest());
  ASSERT_FALSE(runner.ok());
  EXPECT_EQ(runner.error().kind, ErrorKind::Input);
  EXPECT_EQ(runner.error().what, "'y' is no tensor");
}

}  // namespace
}  // namespace graphopt
