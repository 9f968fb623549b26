// Requests on real parts of a model, in ONNX Runtime: all modes give what the whole model gives. Skipped
// where no runtime is found.

#include "runner/engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <random>

#include "deploy/read_manifest.h"
#include "support/file.h"
#include "unit/runner_case.h"

namespace graphopt::runner {
namespace {

namespace fs = std::filesystem;

// A diamond with a residual, which is cut into several parts; an input and one with a default that are
// outputs, and a constant that is one. Two Sin with one Relu each behind them are of equal content.
constexpr const char* kModel = R"(
g (float[N,4] x, float[4] shift)
  => (float[N,4] y, float[N,4] h, float[N,4] x, float[4] shift, float[2] k)
  <float[2] k = {-0.5, 3e38}, float[4] shift = {1,2,3,-4}, float[4,4] w =
   {1,-2,3,0.5, 0,1,-1,2, 4,0,0.25,1, -1,1,2,-3}> {
  a = MatMul (x, w)
  b = Sin (a)
  c = Relu (a)
  d = Add (c, shift)
  e = Cos (d)
  h = Mul (b, d)
  f = Add (h, e)
  p = Sin (f)
  q = Relu (p)
  r = Sin (q)
  y = Relu (r)
})";

class RunnerEngine : public RunnerCase {
 protected:
  void SetUp() override {
    RunnerCase::SetUp();
    if (IsSkipped()) return;
    ASSERT_NO_FATAL_FAILURE(cut(kModel));
  }

  static std::vector<NamedValue> drawn(std::size_t number) {
    const std::size_t rows = number % 5;  // 0, too
    std::vector<float> x(rows * 4);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>((i * 7 + number * 3) % 11) - 5.0F;
    if (!x.empty() && number % 7 == 0) x[0] = -3.4e38F;
    std::vector<NamedValue> out{{"x", tensor({static_cast<std::int64_t>(rows), 4}, x)}};
    if (number % 3 == 0)
      out.push_back({"shift", tensor({4}, {0.5F, -1.0F, 1e30F, static_cast<float>(number)})});
    return out;
  }
};

std::string problem(const Answer& a) { return a.error ? to_string(*a.error) : std::string(); }

TEST_F(RunnerEngine, AllModesGiveTheBytesOfSyncAndTheWholeModel) {
  const auto whole = whole_model();
  ASSERT_TRUE(whole.ok()) << to_string(whole.error());
  // The last one has no memory for any part: the fallback answers.
  const std::pair<Mode, bool> ways[] = {
      {Mode::Sync, true}, {Mode::Async1, true}, {Mode::Overlap, true}, {Mode::Overlap, false}};
  for (const auto& [mode, in_parts] : ways) {
    EngineOptions o;
    o.mode = mode;
    o.workers = {{"npu", 2}};
    if (!in_parts) o.budgets = {{"npu", 1}};
    auto engine = Engine::load(manifest(), o);
    ASSERT_TRUE(engine.ok()) << to_string(engine.error());
    EXPECT_GE((*engine)->manifest().subgraphs.size(), 6U);
    // Equal parts share one, and the whole model has one.
    EXPECT_LT((*engine)->sessions(), (*engine)->manifest().subgraphs.size() + 1);
    std::vector<execution::Sequence> requests;
    std::vector<Answer> answers;
    for (std::size_t i = 0; i < 40; ++i) {
      const auto request = (*engine)->submit(drawn(i));
      ASSERT_TRUE(request.ok()) << to_string(request.error());
      requests.push_back(*request);
      if (i >= 3) answers.push_back((*engine)->wait(requests[i - 3]));
    }
    for (std::size_t i = 37; i < 40; ++i) answers.push_back((*engine)->wait(requests[i]));
    for (std::size_t i = 0; i < answers.size(); ++i) {
      ASSERT_EQ(answers[i].state, execution::RequestState::Done) << problem(answers[i]);
      EXPECT_EQ(answers[i].way == execution::Way::Devices, in_parts);
      const auto wanted = (*whole)->run(drawn(i));
      ASSERT_TRUE(wanted.ok()) << to_string(wanted.error());
      ASSERT_EQ(answers[i].outputs.size(), 5U);
      for (std::size_t k = 0; k < 5; ++k) {
        EXPECT_EQ(answers[i].outputs[k].value.dims, (*wanted)[k].dims) << i;
        EXPECT_TRUE(answers[i].outputs[k].value.raw == (*wanted)[k].raw)
            << "request " << i << ", output " << k;
      }
    }
    for (Index d = 0; d < 2; ++d) EXPECT_EQ((*engine)->counts(d).used, 0U);
  }
}

TEST_F(RunnerEngine, AFailingPartIsAnsweredByTheWholeModel) {
  ASSERT_NO_FATAL_FAILURE(cut(R"(
g (float[N,4] x, int64[M] at) => (float[M,4] y) { a = Relu (x)  b = Gather (a, at)  y = Relu (b) })"));
  EngineOptions o;
  o.in_flight = 2;
  auto engine = Engine::load(manifest(), o);
  ASSERT_TRUE(engine.ok()) << to_string(engine.error());
  const auto request = [&](std::int64_t row) {
    HostValue at;
    at.kind = HostValue::Kind::Tensor;
    at.dtype = DType::Int64;
    at.dims = {1};
    at.raw.assign(reinterpret_cast<const char*>(&row), sizeof row);
    const auto sent = (*engine)->submit({{"x", tensor({1, 4}, {1, 2, 3, 4})}, {"at", at}});
    EXPECT_TRUE(sent.ok());
    return (*engine)->wait(*sent);
  };
  // A row that is not there fails in both, and says why.
  const Answer answer = request(7);
  EXPECT_EQ(answer.state, execution::RequestState::Failed);
  EXPECT_EQ(answer.way, execution::Way::Fallback);
  ASSERT_TRUE(answer.error.has_value());
  EXPECT_EQ(answer.error->kind, ErrorKind::NotChecked);
  // What follows is not touched by it.
  EXPECT_EQ(request(0).state, execution::RequestState::Done);
}

// Sizes of open dims are formulas: with the extents of a request they are numbers, and a plan.
TEST_F(RunnerEngine, PeaksOfRequestsAreThoseOfTheirExtents) {
  EngineOptions o;
  o.mode = Mode::Sync;
  auto engine = Engine::load(manifest(), o);
  ASSERT_TRUE(engine.ok()) << to_string(engine.error());
  std::uint64_t before = 0;
  for (const std::int64_t rows : {1, 3, 2, 50}) {
    const auto sent =
        (*engine)->submit({{"x", tensor({rows, 4}, std::vector<float>(static_cast<std::size_t>(rows) * 4))}});
    ASSERT_TRUE(sent.ok()) << to_string(sent.error());
    ASSERT_EQ((*engine)->wait(*sent).state, execution::RequestState::Done);
    const auto planned = (*engine)->planned_peak(0);
    ASSERT_TRUE(planned.has_value());
    EXPECT_EQ((*engine)->counts(0).peak, *planned) << rows;
    EXPECT_EQ(*planned > before, rows != 2) << rows;  // the greatest so far
    before = *planned;
  }
  // A budget that is enough for a few rows: more are for the fallback, which is on the host.
  o.budgets = {{"npu", before / 10}};
  auto tight = Engine::load(manifest(), o);
  ASSERT_TRUE(tight.ok()) << to_string(tight.error());
  for (const std::size_t rows : {1U, 50U, 2U}) {
    const auto sent =
        (*tight)->submit({{"x", tensor({static_cast<std::int64_t>(rows), 4}, std::vector<float>(rows * 4))}});
    ASSERT_TRUE(sent.ok()) << to_string(sent.error());
    const Answer answer = (*tight)->wait(*sent);
    EXPECT_EQ(answer.state, execution::RequestState::Done) << problem(answer);
    EXPECT_EQ(answer.way, rows == 50 ? execution::Way::Fallback : execution::Way::Devices) << rows;
  }
}

// All results are whole numbers, so that sums over padding have the bits of those without.
TEST_F(RunnerEngine, RequestsRunInTheSmallestBucketThatHoldsThem) {
  ASSERT_NO_FATAL_FAILURE(cut(R"(
g (float[N,S] x) => (float[N,S] y, float[N] z, float[N,T] t) <int64[1] axes = {1}> {
  a = Relu (x)
  b = Abs (a)
  y = Add (b, a)
  c = Neg (y)
  z = ReduceSum <keepdims = 0> (c, axes)
  t = Concat <axis = 1> (b, y)
})",
                              {"N=2,4", "S=4,8"}));
  const auto whole = whole_model();
  ASSERT_TRUE(whole.ok()) << to_string(whole.error());
  // The last one has no memory for any part: the fallback answers, whose outputs are not padded.
  const std::pair<Mode, bool> ways[] = {
      {Mode::Sync, true}, {Mode::Async1, true}, {Mode::Overlap, true}, {Mode::Overlap, false}};
  for (const auto& [mode, in_parts] : ways) {
    EngineOptions o;
    o.mode = mode;
    if (!in_parts) o.budgets = {{"npu", 1}};
    auto engine = Engine::load(manifest(), o);
    ASSERT_TRUE(engine.ok()) << to_string(engine.error());
    ASSERT_EQ((*engine)->models(), 5U);
    std::vector<std::pair<execution::Sequence, std::vector<NamedValue>>> sent;
    std::vector<std::size_t> models;
    for (std::int64_t rows = 0; rows <= 5; ++rows)
      for (std::int64_t columns = 0; columns <= 9; ++columns) {
        std::vector<float> x(static_cast<std::size_t>(rows * columns));
        for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 7) - 2.0F;
        std::vector<NamedValue> inputs{{"x", tensor({rows, columns}, x)}};
        const auto request = (*engine)->submit(inputs);
        ASSERT_TRUE(request.ok()) << to_string(request.error());
        sent.emplace_back(*request, std::move(inputs));
        const bool fits = rows >= 1 && rows <= 4 && columns >= 1 && columns <= 8;
        models.push_back(!fits ? 0 : 1U + (rows > 2 ? 2U : 0U) + (columns > 4 ? 1U : 0U));
        if (sent.size() < 4) continue;
        const std::size_t at = sent.size() - 4;
        const Answer answer = (*engine)->wait(sent[at].first);
        ASSERT_EQ(answer.state, execution::RequestState::Done) << problem(answer);
        EXPECT_EQ(answer.model, models[at]);
        const bool has_elements = !sent[at].second[0].value.raw.empty();
        EXPECT_EQ(answer.way == execution::Way::Devices, in_parts || !has_elements) << at;
        const auto wanted = (*whole)->run(sent[at].second);
        ASSERT_TRUE(wanted.ok()) << to_string(wanted.error());
        const auto alone = (*engine)->run_alone(sent[at].second, execution::Way::Devices);
        ASSERT_TRUE(alone.ok()) << to_string(alone.error());
        for (std::size_t k = 0; k < 3; ++k) {
          EXPECT_EQ(answer.outputs[k].value.dims, (*wanted)[k].dims) << at;
          EXPECT_TRUE(answer.outputs[k].value.raw == (*wanted)[k].raw) << at;
          EXPECT_TRUE((*alone)[k].value.raw == (*wanted)[k].raw) << at;
        }
      }
    for (std::size_t at = sent.size() - 3; at < sent.size(); ++at) (*engine)->wait(sent[at].first);
  }
}

// Devices of which one fails for some of its runs.
class FailingDevices : public execution::Devices {
 public:
  struct Setting {
    Index device = 0;
    std::uint64_t first = 0, last = 0;  // runs of the device, counted from 0, that fail
    bool may_pass = false;
  };
  FailingDevices(execution::Devices& devices, const Setting& setting) : devices_(devices), s_(setting) {}

  Outcome store(execution::Sequence request, execution::Way way, Index value, Index device) override {
    return devices_.store(request, way, value, device);
  }
  Outcome load(execution::Sequence request, execution::Way way, Index value, Index device) override {
    return devices_.load(request, way, value, device);
  }
  Outcome run(const execution::Task& task, std::size_t worker) override {
    Outcome out = devices_.run(task, worker);
    if (task.device != s_.device) return out;
    const std::uint64_t run = runs_++;
    if (run < s_.first || run > s_.last) return out;
    return execution::Fault{{ErrorKind::NotChecked, {}, "the device is gone", "none"}, s_.may_pass};
  }
  void drop(const execution::Drop& drop) override { devices_.drop(drop); }
  void stop(execution::Sequence request) override { devices_.stop(request); }

 private:
  execution::Devices& devices_;
  const Setting s_;
  std::atomic<std::uint64_t> runs_ = 0;
};

TEST_F(RunnerEngine, ADeviceThatFailsForAWhileLosesNoRequest) {
  auto runtime = Runtime::open("");
  ASSERT_TRUE(runtime.ok());
  const auto image = FileImage::open(manifest());
  ASSERT_TRUE(image.ok());
  const auto read = deploy::read_manifest((*image)->bytes(), manifest());
  ASSERT_TRUE(read.ok()) << to_string(read.error());
  const std::size_t count = read->devices.size();
  Sessions sessions(*runtime, {.folder = folder_, .threads = 1, .optimize = true, .on_host = {}});
  auto parts = load_stages(sessions, *read, runnable_out(*read));
  auto whole = load_whole(sessions, *read, runnable_out(*read));
  ASSERT_TRUE(parts.ok() && whole.ok());
  PlannedModel in_parts(*std::move(parts), schedule::Retain::Outputs);
  PlannedModel as_whole(*std::move(whole), schedule::Retain::Outputs);
  const auto reference =
      RuntimeSession::load(*runtime, {.path = folder_ / "out.onnx", .bytes = {}, .external_folder = {}},
                           {.optimize = true, .threads = 1});
  ASSERT_TRUE(reference.ok());
  // By input of the model; null for one that is not given.
  const auto values = [&](const std::vector<NamedValue>& given) {
    std::vector<RuntimeValue> out;
    for (const deploy::NetworkValue& input : read->network.inputs) {
      const auto at = std::ranges::find(given, input.name, &NamedValue::name);
      out.push_back(at == given.end()
                        ? nullptr
                        : *(*runtime)->make_value(std::make_shared<const HostValue>(at->value)));
    }
    return out;
  };

  std::uint64_t by_fallback = 0, by_devices = 0, retries = 0;
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    std::mt19937 rng(seed);
    RuntimeDevices devices(count, in_parts.stages().stages.size(), nullptr);
    FailingDevices::Setting setting{.device = 0, .first = rng() % 60, .last = 0, .may_pass = rng() % 2 == 0};
    setting.last = setting.first + rng() % 20;
    FailingDevices failing(devices, setting);
    execution::Pool::Options o;
    o.limits.devices.resize(count);
    o.limits.in_flight = 1 + rng() % 4;
    o.limits.retries = rng() % 3;
    o.limits.probe_interval = 100'000;
    o.workers.assign(count, 1 + rng() % 2);
    execution::Pool pool(o, failing);
    const auto plan = in_parts.plan({}), fallback = as_whole.plan({});
    ASSERT_TRUE(plan.ok() && fallback.ok());
    std::vector<execution::Sequence> sent;
    const auto wait = [&](std::size_t i) {
      const execution::Pool::Ended ended = pool.wait(sent[i]);
      const std::vector<RuntimeValue> outputs = devices.take(ended);
      ASSERT_EQ(ended.state, execution::RequestState::Done) << "seed " << seed << ", request " << i;
      const auto wanted = (*reference)->run(drawn(i));
      ASSERT_TRUE(wanted.ok());
      for (std::size_t k = 0; k < outputs.size(); ++k)
        EXPECT_TRUE((*runtime)->read_value(outputs[k])->raw == (*wanted)[k].raw)
            << "seed " << seed << ", request " << i << ", output " << k;
      ++(ended.way == execution::Way::Devices ? by_devices : by_fallback);
      retries += ended.retries;
    };
    constexpr std::size_t kRequests = 30;
    for (std::size_t i = 0; i < kRequests; ++i) {
      sent.push_back(pool.reserve());
      devices.add(sent[i], {.parts = &in_parts.stages(),
                            .inputs = values(drawn(i)),
                            .whole = &as_whole.stages(),
                            .whole_inputs = values(drawn(i))});
      pool.submit(sent[i], {.plan = (*plan)->plan, .fallback = (*fallback)->plan, .deadline = 0}, {});
      if (i >= 3) wait(i - 3);
    }
    for (std::size_t i = kRequests - 3; i < kRequests; ++i) wait(i);
    for (Index d = 0; d < count; ++d) EXPECT_EQ(pool.counts(d).used, 0U) << "seed " << seed;
  }
  // Each of the ways was gone.
  for (const std::uint64_t some : {by_fallback, by_devices, retries}) EXPECT_GT(some, 20U);
}

TEST_F(RunnerEngine, WrongRequestsAndFilesAreRefused) {
  auto engine = Engine::load(manifest(), {});
  ASSERT_TRUE(engine.ok()) << to_string(engine.error());
  const auto what = [&](const std::vector<NamedValue>& inputs) {
    const auto request = (*engine)->submit(inputs);
    return request.ok() ? std::string() : request.error().what;
  };
  EXPECT_EQ(what({}), "input 'x' is not given");
  EXPECT_EQ(what({{"z", tensor({1}, {1})}}), "input 'z' is none of the network's");
  EXPECT_EQ(what({drawn(4)[0], drawn(4)[0]}), "input 'x' is given twice");
  EngineOptions o;
  o.workers = {{"mpu", 1}};
  const auto unknown = Engine::load(manifest(), o);
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().kind, ErrorKind::Usage);
  EXPECT_EQ(unknown.error().remedy, "did you mean 'npu' or 'cpu'?");
  // One byte of a part.
  const fs::path part = folder_ / (*engine)->manifest().subgraphs[0].file;
  std::fstream file(part, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(10);
  const char byte = static_cast<char>(file.get());
  file.seekp(10);
  file.put(static_cast<char>(byte ^ 1));
  file.close();
  const auto changed = Engine::load(manifest(), {});
  ASSERT_FALSE(changed.ok());
  EXPECT_EQ(changed.error().kind, ErrorKind::Input);
  fs::remove(part);
  const auto missing = Engine::load(manifest(), {});
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().kind, ErrorKind::Input);
}

}  // namespace
}  // namespace graphopt::runner
