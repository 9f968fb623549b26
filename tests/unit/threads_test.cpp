// optimize() in several threads at once gives the bytes that it gives alone. What the threads share (mapped
// files, names of temporary files, tables of facts) is seen by the thread sanitizer: preset `thread`.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "graphopt/inspect.h"
#include "graphopt/optimize.h"

namespace graphopt {
namespace {

namespace fs = std::filesystem;

constexpr std::array kModels = {
    R"(<ir_version: 10, opset_import: ["" : 21]>
g (float[n,4] x) => (float[n,4] y) <float[4] w = {1, 2, 3, 4}, float[4] v = {2, 2, 2, 2}> {
  i = Identity (x)
  c = Add (w, v)
  r = Relu (i)
  s = Relu (i)
  t = Add (r, s)
  y = Mul (t, c)
})",
    R"(<ir_version: 10, opset_import: ["" : 21]>
g (float[seq,8] x) => (float[seq,8] y) <int64[2] target = {0, -1}> {
  x_t = Transpose <perm = [1, 0]> (x)
  m = MatMul (x, x_t)
  p = MatMul (m, x)
  q = Reshape (p, target)
  y = Tanh (q)
})",
};

struct Job {
  std::string model;
  bool buckets = false;
};

// All files of a run by their names. The models of text above are read from `input`.
std::map<std::string, std::string> run(const std::string& input, const fs::path& folder, bool buckets) {
  fs::create_directories(folder);
  Options options;
  options.input = input;
  options.output = (folder / "out.onnx").string();
  if (buckets) {
    options.buckets.marks = {"n=2,4,8"};
    options.buckets.require = BucketRequire::Force;
  }
  Observer quiet;
  const Result<Report> report = optimize(options, quiet);
  if (!report) return {{"error", to_string(report.error())}};
  InspectOptions view;
  view.input = options.output;
  if (const auto seen = inspect(view); !seen) return {{"error", to_string(seen.error())}};
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    std::ifstream in(entry.path(), std::ios::binary);
    files[entry.path().filename().string()] = {std::istreambuf_iterator<char>(in), {}};
  }
  return files;
}

TEST(Threads, RunsAtOnceGiveWhatOneGives) {
  const fs::path folder = fs::path(::testing::TempDir()) / ("graphopt-threads-" + std::to_string(::getpid()));
  fs::create_directories(folder);
  std::vector<Job> jobs;
  for (std::size_t i = 0; i < kModels.size(); ++i) {
    jobs.push_back({(folder / ("in" + std::to_string(i) + ".onnxtxt")).string(), false});
    std::ofstream(jobs.back().model) << kModels[i];
  }
  jobs.push_back({jobs.front().model, true});
  std::vector<std::map<std::string, std::string>> alone;
  for (std::size_t j = 0; j < jobs.size(); ++j)
    alone.push_back(run(jobs[j].model, folder / ("alone" + std::to_string(j)), jobs[j].buckets));
  for (const auto& files : alone) ASSERT_FALSE(files.contains("error")) << files.at("error");
  EXPECT_GT(alone.back().size(), 3U);  // OUT, a model for each bucket, the manifest

  constexpr std::size_t kThreads = 6, kRounds = 4;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (std::size_t round = 0; round < kRounds; ++round) {
        const std::size_t j = (t + round) % jobs.size();
        const fs::path own = folder / ("t" + std::to_string(t)) / std::to_string(round);
        if (run(jobs[j].model, own, jobs[j].buckets) != alone[j]) ++wrong;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace graphopt
