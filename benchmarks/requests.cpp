// What requests cost beside the sessions that they run in (src/execution, src/runner).
//
//   cmake --build --preset release --target bench_requests
//   build/release/benchmarks/bench_requests [--only overhead,throughput,start,memory] [--repeats N]
//   [MANIFEST]
//
//   overhead    wall time of a request on a chain of 100 subgraphs of one node, on two devices in turns, less
//               that of the same sessions called by hand, for each subgraph. Bar: 10 us. Beside it the same
//               in processor time of all threads: with two cores, overlapped requests take less wall time
//               than a loop
//   throughput  requests on devices whose runs only wait: the least time that any schedule takes
//               (schedule/throughput.h) over that which was taken. Bar: 0.95 with overlap, with the window
//               that throughput.h names
//   start       what Engine::load takes beside loading its sessions. Bar: 20 ms without the checksums of its
//               files, which take some 0.7 ms for each MB
//   memory      resident memory of a process that runs requests at full load, beyond the same sessions loaded
//               by hand in another process and what the manifest plans for so many requests. Bar: 32 MiB
//               without what sessions keep from one run of each, which is ONNX Runtime's own
//
// start and memory take the model of MANIFEST, which `graphopt net.onnx -o out.onnx --devices LIST` writes;
// without it they take the chain. Each figure is a difference or ratio of runs that take turns, the median of
// --repeats (7): what else the machine does falls on both. Exit status 1 where a bar is missed.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "deploy/read_manifest.h"
#include "fmt/format.h"
#include "graphopt/optimize.h"
#include "ir/restate.h"
#include "onnx/writer.h"
#include "runner/drawn_requests.h"
#include "runner/engine.h"
#include "schedule/throughput.h"
#include "support/file.h"
#include "support/sha256.h"

namespace graphopt::runner {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using std::chrono::nanoseconds;

constexpr std::pair<Mode, const char*> kModes[] = {
    {Mode::Overlap, "overlap"}, {Mode::Async1, "async1"}, {Mode::Sync, "sync"}};
constexpr double kMiB = 1 << 20;

struct Bench {
  fs::path program, folder;
  std::string manifest, only;
  std::size_t repeats = 7;
  bool missed = false;  // a bar

  bool wants(std::string_view what) const { return only.empty() || only.find(what) != std::string::npos; }
  void line(const std::string& text, bool holds = true) {
    fmt::print("{}{}\n", text, holds ? "" : "  MISSED");
    std::fflush(stdout);
    missed = missed || !holds;
  }
};

[[noreturn]] void fail(const std::string& text) {
  fmt::print(stderr, "bench_requests: {}\n", text);
  std::exit(2);
}

template <class T> T expect(Result<T> result) {
  if (!result) fail(to_string(result.error()));
  return *std::move(result);
}

double median(std::vector<double> all) {
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  std::ranges::nth_element(all, middle);
  return *middle;
}

double ms_of(nanoseconds time) { return std::chrono::duration<double, std::milli>(time).count(); }

template <class Action> double ms_taken(const Action& action) {
  const auto begin = Clock::now();
  action();
  return ms_of(Clock::now() - begin);
}

// Wall time, and processor time of all threads.
struct Cost {
  double wall = 0, cpu = 0;  // us
};

double cpu_us() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return 1e6 * static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

template <class Action> Cost cost_of(const Action& action) {
  const double cpu = cpu_us();
  const double wall = 1e3 * ms_taken(action);
  return {wall, cpu_us() - cpu};
}

// --- models and sessions -----------------------------------------------------------------------------------

constexpr std::size_t kChain = 100;

// Writes the chain in parts, and returns the path of its manifest. No pass runs, which would remove it.
std::string write_chain(const fs::path& folder) {
  Model m;
  m.ir_version = 9;
  m.opset_tables[0] = {{kEmptyName, 20}};
  const std::array<OpId, 2> ops = {m.intern_op(OpKind::Relu, "", "Relu"),
                                   m.intern_op(OpKind::Identity, "", "Identity")};
  const TypeId type = m.types.tensor(DType::Float, std::vector<DimId>{m.dims.constant(4)});
  const ValueId input = m.add_input(m.main(), m.names.intern("x"));
  ValueId last = input;
  for (std::size_t i = 0; i < kChain; ++i) {
    const std::string name = "v" + std::to_string(i);
    const std::vector<ValueId> in{last}, out{m.add_value(m.main(), m.names.intern(name))};
    m.add_node(m.main(), ops[i % 2], in, out, {}, "n" + std::to_string(i));
    last = out[0];
  }
  m.set_graph_outputs(m.main(), std::vector<ValueId>{last});
  rename(m, m.main(), m.names.intern("chain"));
  const std::array<TypeOverride, 2> types = {TypeOverride{input, type}, TypeOverride{last, type}};
  SaveOptions save;
  save.types = types;
  save.path = folder / "chain.onnx";
  expect(save_model(m, save));

  constexpr std::string_view kSource = R"("profile": {"version": "1", "source": [{"document": "none"}]})";
  std::ofstream(folder / "npu.json") << R"({"format": "graphopt.device", "version": "1.0", "id": "npu",
    "kind": "npu", )" << kSource << R"(, "rules": [{"op": "Relu"}]})";
  std::ofstream(folder / "cpu.json") << R"({"format": "graphopt.device", "version": "1.0", "id": "cpu",
    "kind": "cpu", "host": true, )" << kSource
                                     << R"(, "rules": [{"op": "*"}]})";
  Options o;
  o.input = save.path;
  o.output = folder / "out.onnx";
  o.clean_up.level = 0;
  o.partition.devices = (folder / "npu.json").string() + "," + (folder / "cpu.json").string();
  Observer quiet;
  expect(optimize(o, quiet));
  return manifest_path(o);
}

deploy::Manifest read(const std::string& path) {
  return expect(deploy::read_manifest(expect(FileImage::open(path))->bytes(), path));
}

// What has to be loaded for a manifest, each content once: its parts, those of buckets, and OUT.
std::map<std::string, std::string> files_by_content(const std::string& manifest) {
  const deploy::Manifest m = read(manifest);
  std::map<std::string, std::string> out;
  const auto add = [&](const deploy::PartitionedNetwork& network) {
    for (const deploy::Subgraph& s : network.subgraphs)
      if (!s.file.empty() && !s.outputs.empty())
        out.try_emplace(s.content, folder_of(manifest) + "/" + s.file);
  };
  add(m);
  if (m.buckets)
    for (const deploy::BucketModel& b : m.buckets->models) add(b);
  const std::string& whole = m.files.front().path;
  out.try_emplace(whole, folder_of(manifest) + "/" + whole);
  return out;
}

// As many threads of an operator as an engine with one worker for each device gives it.
int threads_of(const std::string& manifest) {
  const deploy::Manifest m = read(manifest);
  std::set<Index> used;
  const auto add = [&](const deploy::PartitionedNetwork& network) {
    for (const deploy::Subgraph& s : network.subgraphs) used.insert(s.device);
  };
  add(m);
  if (m.buckets)
    for (const deploy::BucketModel& b : m.buckets->models) add(b);
  return static_cast<int>(
      std::max<std::size_t>(1, std::thread::hardware_concurrency() / std::max<std::size_t>(1, used.size())));
}

using SessionsByContent = std::map<std::string, std::unique_ptr<RuntimeSession>>;

SessionsByContent load_by_hand(const std::shared_ptr<Runtime>& runtime,
                               const std::map<std::string, std::string>& files, int threads) {
  SessionsByContent out;
  for (const auto& [content, file] : files)
    out[content] = expect(RuntimeSession::load(runtime, {.path = file, .bytes = {}, .external_folder = {}},
                                               {.optimize = true, .threads = threads}));
  return out;
}

// Submits so many requests, as many at once as the engine takes, with the given inputs in turns.
void run_requests(Engine& engine, const std::vector<std::vector<NamedValue>>& inputs, std::size_t count) {
  std::deque<execution::Sequence> sent;
  const auto wait = [&] {
    const Answer answer = engine.wait(sent.front());
    sent.pop_front();
    if (answer.state != execution::RequestState::Done)
      fail(answer.error ? to_string(*answer.error) : "a request failed");
  };
  for (std::size_t i = 0; i < count; ++i) {
    sent.push_back(expect(engine.submit(inputs[i % inputs.size()])));
    if (sent.size() > engine.in_flight()) wait();
  }
  while (!sent.empty()) wait();
}

// --- overhead ----------------------------------------------------------------------------------------------

HostValue four_floats() {
  HostValue out;
  out.kind = HostValue::Kind::Tensor;
  out.dtype = DType::Float;
  out.dims = {4};
  out.raw.assign(4 * sizeof(float), '\0');
  return out;
}

void overhead(Bench& bench) {
  const std::string manifest = write_chain(bench.folder);
  const std::shared_ptr<Runtime> runtime = expect(Runtime::open(""));
  const SessionsByContent sessions = load_by_hand(runtime, files_by_content(manifest), threads_of(manifest));
  const deploy::Manifest chain = read(manifest);
  // Parts of equal content have one session, whose input has the name of the first of them.
  std::map<std::string, const char*> input;
  for (const deploy::Subgraph& s : chain.subgraphs) input.try_emplace(s.content, s.inputs[0].name.c_str());
  std::vector<std::pair<const RuntimeSession*, const char*>> steps;
  for (const Index s : chain.partition.order) {
    const std::string& content = chain.subgraphs[s].content;
    steps.emplace_back(sessions.at(content).get(), input[content]);
  }
  const RuntimeValue x = expect(runtime->make_value(std::make_shared<const HostValue>(four_floats())));
  const auto by_hand = [&](std::size_t requests) {
    for (std::size_t i = 0; i < requests; ++i) {
      RuntimeValue value = x;
      for (const auto& [session, name] : steps)
        value = expect(session->run(RuntimeSession::Feeds{{name}, {std::move(value)}})).front();
    }
  };
  const std::vector<std::vector<NamedValue>> inputs{{{"x", four_floats()}}};
  std::vector<std::unique_ptr<Engine>> engines;
  for (const auto& [mode, name] : kModes) {
    EngineOptions o;
    o.ort = runtime->file();
    o.mode = mode;
    engines.push_back(expect(Engine::load(manifest, o)));
  }
  constexpr std::size_t kRequests = 400;
  const double runs = static_cast<double>(kRequests * steps.size());
  by_hand(kRequests / 4);
  for (const auto& engine : engines) run_requests(*engine, inputs, kRequests / 4);
  std::vector<double> hand;
  std::array<std::vector<double>, 3> wall, cpu;
  for (std::size_t k = 0; k < bench.repeats; ++k) {
    const Cost alone = cost_of([&] { by_hand(kRequests); });
    hand.push_back(alone.wall / runs);
    for (std::size_t e = 0; e < engines.size(); ++e) {
      const Cost cost = cost_of([&] { run_requests(*engines[e], inputs, kRequests); });
      wall[e].push_back((cost.wall - alone.wall) / runs);
      cpu[e].push_back((cost.cpu - alone.cpu) / runs);
    }
  }
  bench.line(
      fmt::format("overhead    by hand  {:6.2f} us a subgraph, {} subgraphs", median(hand), steps.size()));
  for (std::size_t e = 0; e < engines.size(); ++e)
    bench.line(
        fmt::format("overhead    {:8} {:+6.2f} us a subgraph more, processor time {:+6.2f} us, {} at once",
                    kModes[e].second, median(wall[e]), median(cpu[e]), engines[e]->in_flight()),
        median(wall[e]) <= 10);
}

// --- throughput --------------------------------------------------------------------------------------------

// A run waits for the time of its subgraph. By how much a wait was too long, the next one of the same worker
// is shorter: otherwise the system's timers would count as work of a device.
class WaitingDevices : public execution::Devices {
 public:
  explicit WaitingDevices(const schedule::Problem& problem) : problem_(problem), late_(problem.devices) {}

  Outcome store(execution::Sequence, execution::Way, Index, Index) override { return {}; }
  Outcome load(execution::Sequence, execution::Way, Index, Index) override { return {}; }
  Outcome run(const execution::Task& task, std::size_t) override {
    nanoseconds& late = late_[task.device];  // one worker for each device
    const auto end = Clock::now() + nanoseconds(*problem_.subgraphs[task.subgraph].ns) - late;
    std::this_thread::sleep_until(end);
    late = Clock::now() - end;
    return {};
  }
  void drop(const execution::Drop&) override {}
  void stop(execution::Sequence) override {}

 private:
  const schedule::Problem& problem_;
  std::vector<nanoseconds> late_;  // by device
};

struct WaitingStage {
  Index device = 0;
  std::uint64_t ms = 0;
  std::vector<Index> after;  // stages whose results it reads
};

schedule::Problem problem_of(const std::vector<WaitingStage>& stages) {
  schedule::Problem out;
  for (const WaitingStage& s : stages) out.devices = std::max(out.devices, s.device + 1);
  const auto add_value = [&](std::optional<Index> from) {
    out.values.push_back({.from = from, .to = {}, .bytes = 4, .network_output = false});
    return static_cast<Index>(out.values.size() - 1);
  };
  std::vector<Index> result;
  for (Index s = 0; s < stages.size(); ++s) {
    schedule::Subgraph& to = out.subgraphs.emplace_back();
    to.device = stages[s].device;
    to.ns = stages[s].ms * 1'000'000;
    for (const Index p : stages[s].after) to.inputs.push_back(result[p]);
    if (stages[s].after.empty()) to.inputs.push_back(add_value(std::nullopt));
    for (const Index v : to.inputs) out.values[v].to.push_back(s);
    result.push_back(add_value(s));
    to.outputs.push_back(result.back());
  }
  for (schedule::Value& v : out.values) v.network_output = v.from && v.to.empty();
  return out;
}

// Stages one after the other, on the given number of devices in turns.
std::vector<WaitingStage> chain_of(const std::vector<std::uint64_t>& times, Index devices) {
  std::vector<WaitingStage> out;
  for (Index i = 0; i < times.size(); ++i)
    out.push_back({i % devices, times[i], i > 0 ? std::vector<Index>{i - 1} : std::vector<Index>{}});
  return out;
}

double run_waiting(const schedule::Problem& problem, const schedule::Order& order, Mode mode,
                   std::size_t window, std::size_t requests) {
  WaitingDevices devices(problem);
  const auto plan = std::make_shared<const execution::Plan>(
      *execution::Plan::make(problem, order, schedule::Retain::Outputs));
  execution::Pool::Options o;
  o.limits.devices.resize(problem.devices);
  o.limits.in_flight = mode == Mode::Overlap ? window : 1;
  o.limits.in_order = o.one_thread = mode == Mode::Sync;
  o.workers.assign(problem.devices, 1);
  execution::Pool pool(o, devices);
  return ms_taken([&] {
    std::deque<execution::Sequence> sent;
    for (std::size_t i = 0; i < requests; ++i) {
      sent.push_back(pool.reserve());
      pool.submit(sent.back(), {.plan = plan, .fallback = nullptr, .deadline = 0}, {});
    }
    for (const execution::Sequence id : sent) pool.wait(id);
  });
}

void throughput(Bench& bench) {
  const std::pair<const char*, std::vector<WaitingStage>> cases[] = {
      {"3/10/2", chain_of({3, 10, 2}, 3)},
      {"5/10/5", chain_of({5, 10, 5}, 3)},
      {"4/6/4/6/4", chain_of({4, 6, 4, 6, 4}, 2)},
      {"6/6/6", chain_of({6, 6, 6}, 3)},
      {"4/(6,5)/3", {{0, 4, {}}, {1, 6, {0}}, {2, 5, {0}}, {0, 3, {1, 2}}}},
      {"1/1/1", chain_of({1, 1, 1}, 3)},
  };
  constexpr std::size_t kRequests = 64;
  for (const auto& [name, stages] : cases) {
    const schedule::Problem problem = problem_of(stages);
    schedule::Order order(stages.size());
    for (Index s = 0; s < order.size(); ++s) order[s] = s;
    const std::vector<std::uint64_t> workers(problem.devices, 1);
    const auto window = static_cast<std::size_t>(schedule::throughput(problem, order, workers)->window);
    const double least = schedule::earliest_end_ns(problem, order, workers, kRequests) / 1e6;
    std::array<double, 3> reached{};
    for (std::size_t m = 0; m < reached.size(); ++m) {
      std::vector<double> all;
      // What does not overlap takes long, and is not judged.
      for (std::size_t k = 0; k < (m == 0 ? std::min<std::size_t>(3, bench.repeats) : 1); ++k)
        all.push_back(least / run_waiting(problem, order, kModes[m].first, window, kRequests));
      reached[m] = median(all);
    }
    bench.line(fmt::format("throughput  {:9} ms  overlap {:.3f} of the bound with {} at once, async1 {:.3f}, "
                           "sync {:.3f}",
                           name, reached[0], window, reached[1], reached[2]),
               reached[0] >= 0.95);
  }
}

// --- start -------------------------------------------------------------------------------------------------

void start(Bench& bench) {
  const auto files = files_by_content(bench.manifest);
  const int threads = threads_of(bench.manifest);
  const std::shared_ptr<Runtime> runtime = expect(Runtime::open(""));
  EngineOptions options;
  options.ort = runtime->file();
  std::vector<double> more, sessions, manifest, hashes;
  for (std::size_t k = 0; k <= bench.repeats; ++k) {
    double engine_ms = 0, hand_ms = 0;
    // What one frees, the other one finds: the first one of a round is not always the same.
    for (const bool by_hand : {k % 2 == 0, k % 2 == 1}) {
      std::unique_ptr<Engine> engine;
      SessionsByContent loaded;
      if (by_hand) hand_ms = ms_taken([&] { loaded = load_by_hand(runtime, files, threads); });
      else engine_ms = ms_taken([&] { engine = expect(Engine::load(bench.manifest, options)); });
    }
    if (k == 0) continue;  // the first ones read the files from the disk
    more.push_back(engine_ms - hand_ms);
    sessions.push_back(hand_ms);
    // Of what an engine does beside its sessions.
    manifest.push_back(ms_taken([&] { read(bench.manifest); }));
    hashes.push_back(ms_taken([&] {
                       for (const deploy::File& f : read(bench.manifest).files)
                         if (f.role != deploy::FileRole::Profile && f.role != deploy::FileRole::Other)
                           sha256_hex(
                               expect(FileImage::open(folder_of(bench.manifest) + "/" + f.path))->bytes());
                     }) -
                     manifest.back());
  }
  const double beside = median(more) - median(hashes);
  bench.line(
      fmt::format("start       {:+.1f} ms more than {} sessions by hand ({:.1f} ms), {:+.1f} ms without "
                  "checksums; of them the manifest {:.1f} ms",
                  median(more), files.size(), median(sessions), beside, median(manifest)),
      beside <= 20);
}

// --- memory ------------------------------------------------------------------------------------------------

// Bytes by a row of /proc/self/status.
double status_bytes(std::string_view row) {
  std::ifstream file("/proc/self/status");
  for (std::string text; std::getline(file, text);)
    if (text.starts_with(row)) return 1024 * std::strtod(text.c_str() + row.size() + 1, nullptr);
  fail("no " + std::string(row) + " in /proc/self/status");
}

// Each figure of memory is of a process of its own, which draws the same inputs before.
int measure_memory(const std::string& manifest, std::string_view what) {
  const std::shared_ptr<Runtime> runtime = expect(Runtime::open(""));
  std::vector<std::vector<NamedValue>> inputs;
  {
    const deploy::Manifest m = read(manifest);
    const DrawnRequests draws =
        expect(DrawnRequests::open(folder_of(manifest) + "/" + m.files.front().path, m));
    for (std::uint64_t i = 0; i < 4; ++i) inputs.push_back(expect(draws.draw({}, i)).inputs);
  }
  const double before = status_bytes("VmRSS:");
  if (what == "sessions") {
    const SessionsByContent loaded = load_by_hand(runtime, files_by_content(manifest), threads_of(manifest));
    fmt::print("{}\n", status_bytes("VmRSS:") - before);
    return 0;
  }
  EngineOptions o;
  o.ort = runtime->file();
  const std::unique_ptr<Engine> engine = expect(Engine::load(manifest, o));
  const double loaded = status_bytes("VmRSS:") - before;
  for (const auto& one : inputs)
    for (const execution::Way way : {execution::Way::Devices, execution::Way::Fallback})
      expect(engine->run_alone(one, way));
  const double alone = status_bytes("VmRSS:") - before;
  std::ofstream("/proc/self/clear_refs") << "5";  // VmHWM begins anew
  run_requests(*engine, inputs, std::max<std::size_t>(40, 10 * engine->in_flight()));
  const double load = status_bytes("VmHWM:") - before;
  std::uint64_t planned = 0;
  for (Index d = 0; d < engine->manifest().devices.size(); ++d)
    planned += engine->planned_peak(d).value_or(0);
  fmt::print("{} {} {} {} {}\n", loaded, alone, load, planned, engine->in_flight());
  return 0;
}

std::vector<double> ask(const Bench& bench, const std::string& what) {
  const std::string command =
      "'" + bench.program.string() + "' --measure " + what + " '" + bench.manifest + "'";
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) fail(command);
  std::vector<double> out;
  for (double value = 0; std::fscanf(pipe, "%lf", &value) == 1;) out.push_back(value);
  if (pclose(pipe) != 0) fail(command);
  return out;
}

void memory(Bench& bench) {
  std::vector<double> sessions, loaded, alone, load;
  double planned = 0, window = 0;
  for (std::size_t k = 0; k < bench.repeats; ++k) {
    sessions.push_back(ask(bench, "sessions").at(0) / kMiB);
    const std::vector<double> engine = ask(bench, "engine");
    loaded.push_back(engine.at(0) / kMiB);
    alone.push_back(engine.at(1) / kMiB);
    load.push_back(engine.at(2) / kMiB);
    planned = engine.at(3) / kMiB;
    window = engine.at(4);
  }
  const double more = median(load) - median(sessions) - window * planned;
  const double beside = more - (median(alone) - median(loaded));
  bench.line(fmt::format(
      "memory      sessions by hand {:.1f} MiB; engine loaded {:.1f}, one request at a time {:.1f}, "
      "full load {:.1f}",
      median(sessions), median(loaded), median(alone), median(load)));
  bench.line(
      fmt::format("memory      {:+.1f} MiB more than sessions by hand and {} requests of {:.2f} MiB, {:+.1f} "
                  "MiB without what sessions keep",
                  more, window, planned, beside),
      beside <= 32);
}

int run(int argc, char** argv) {
  Bench bench;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--only" && i + 1 < argc) bench.only = argv[++i];
    else if (word == "--repeats" && i + 1 < argc) bench.repeats = std::strtoul(argv[++i], nullptr, 10);
    else if (word == "--measure" && i + 2 < argc) return measure_memory(argv[i + 2], argv[i + 1]);
    else if (!word.starts_with("-") && bench.manifest.empty()) bench.manifest = word;
    else fail("usage: bench_requests [--only NAMES] [--repeats N] [MANIFEST]");
  }
  bench.repeats = std::max<std::size_t>(1, bench.repeats);
  bench.program = fs::read_symlink("/proc/self/exe");
  bench.folder = fs::temp_directory_path() / ("graphopt_requests_" + std::to_string(::getpid()));
  fs::create_directories(bench.folder / "chain");
  if (bench.wants("overhead")) overhead(bench);
  if (bench.wants("throughput")) throughput(bench);
  if (bench.manifest.empty()) bench.manifest = write_chain(bench.folder / "chain");
  if (bench.wants("start")) start(bench);
  if (bench.wants("memory")) memory(bench);
  fs::remove_all(bench.folder);
  return bench.missed ? 1 : 0;
}

}  // namespace
}  // namespace graphopt::runner

int main(int argc, char** argv) { return graphopt::runner::run(argc, argv); }
