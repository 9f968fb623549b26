// run_manifest(): requests from files, lists or drawn, through the parts of a manifest.
//
// Problem: a list may be longer than memory, and answers come in any order. Method: inputs are read when it
// is the turn of their request, as many requests are on their way as the engine takes, and answers are taken,
// compared and written in the order of the requests, or as they end. Before the first one runs, each line is
// read once, so that what is wrong with the last one is known then.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <filesystem>
#include <map>
#include <new>
#include <numeric>
#include <set>
#include <span>
#include <utility>

#include "commands/run_answers.h"
#include "commands/run_figures.h"
#include "commands/run_networks.h"
#include "driver/reading.h"
#include "graphopt/run.h"
#include "runner/input_check.h"
#include "runner/request_list.h"
#include "support/file.h"

namespace graphopt {
namespace {

namespace fs = std::filesystem;
using runner::Engine;
using runner::ListedRequest;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Which status counts where several happen.
int rank_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::Usage: return 0;
    case ErrorKind::Input: return 1;
    case ErrorKind::Output: return 2;
    case ErrorKind::CheckFailed: return 3;
    case ErrorKind::Limit: return 4;
    case ErrorKind::NotChecked: return 5;
    case ErrorKind::Internal: break;
  }
  return -1;
}

class ManifestRun {
 public:
  ManifestRun(const RunOptions& options, Observer& observer) : o_(options), observer_(observer) {}

  Result<RunReport> all() {
    const Clock::time_point begin = Clock::now();
    if (Status ready = prepare(); !ready) return ready.errors();
    report_.load_seconds = seconds_since(begin);
    const Clock::time_point first = Clock::now();
    run();
    report_.run_seconds = seconds_since(first);
    add_networks(report_, networks_);
    report_.latency = answers_->latencies().figures();
    std::ranges::stable_sort(report_.problems, {}, [](const auto& p) { return rank_of(p.error.kind); });
    if (o_.trace) report_.trace = trace_text(networks_);
    return std::move(report_);
  }

 private:
  struct Line : ListedRequest {
    std::size_t place = 0;  // of its network
    const runner::TestDataSet* set = nullptr;
  };

  Status prepare() {
    report_.mode = o_.mode;
    auto networks = find_networks(o_.manifest);
    if (!networks) return networks.errors();
    networks_ = *std::move(networks);
    if (Status read = read_lines(); !read) return read;
    if (Status chosen = choose_networks(); !chosen) return chosen;
    if (Status opened = open_networks(networks_, o_); !opened) return opened;
    tell_of_providers();
    if (Status right = check_lines(); !right) return right;
    if (Status prepared = prepare_output(); !prepared) return prepared;
    for (RunNetwork& n : networks_)
      if (n.is_used && (o_.check_whole || !o_.test_data.empty()))
        if (Status read = read_tolerance(n); !read) return read;
    answers_.emplace(o_, writes_folder_, report_);
    // What was asked for is told, also where nothing could be compared.
    if (o_.check_sequential) report_.sequential = RunReport::Check{};
    if (o_.check_whole) report_.whole = RunReport::Check{};
    if (!o_.test_data.empty()) report_.test_data = RunReport::Check{};
    warm_up();
    return Done{};
  }

  // --- requests -------------------------------------------------------------------------------------------

  Status read_lines() {
    if (!o_.inputs.empty()) {
      auto files = runner::given_files(o_.inputs, "--input");
      if (!files) return files.errors();
      add_line("input", *std::move(files));
    } else if (o_.draws > 0) {
      Line& line = lines_.emplace_back();
      line.id = "draw";
      line.repeat = o_.draws;
      line.numbered = true;
      line.source = runner::DrawnInputs{o_.dims, o_.seed};
    } else if (!o_.test_data.empty()) {
      const Result<std::size_t> network = choose_network(networks_, o_.network);
      if (!network) return network.errors();
      auto sets = runner::find_test_data(o_.test_data, networks_[*network].manifest.network);
      if (!sets) return sets.errors();
      sets_ = *std::move(sets);
      for (const runner::TestDataSet& set : sets_) add_line(set.id, set.inputs).set = &set;
    } else {
      auto list = runner::open_request_list(o_.requests);
      if (!list) return list.errors();
      for (ListedRequest& line : list->lines) lines_.push_back({std::move(line), 0, nullptr});
    }
    report_.requests = std::accumulate(lines_.begin(), lines_.end(), std::uint64_t{0},
                                       [](std::uint64_t sum, const auto& line) { return sum + line.repeat; });
    return Done{};
  }

  Line& add_line(std::string id, std::vector<runner::GivenFile> files) {
    Line& line = lines_.emplace_back();
    line.id = std::move(id);
    line.source = std::move(files);
    return line;
  }

  Status choose_networks() {
    Errors errors;
    std::map<std::string, std::size_t> known;  // by the texts of lines
    for (Line& line : lines_) {
      const std::string& named = line.network.empty() ? o_.network : line.network;
      auto found = known.find(named);
      if (found == known.end()) {
        const Result<std::size_t> network = choose_network(networks_, named);
        if (!network) {
          const bool is_line = !line.network.empty() || lines_.size() > 1;
          errors.push_back(is_line ? of_request(network.error(), line.id) : network.error());
          if (errors.size() == kMaxErrors || named.empty()) break;
          continue;
        }
        found = known.emplace(named, *network).first;
        networks_[*network].is_used = true;
      }
      line.place = found->second;
    }
    if (!errors.empty()) return errors;
    return Done{};
  }

  // Up to kMaxErrors problems of all lines.
  Status check_lines() {
    Errors errors;
    const auto add = [&errors](const Errors& more, const std::string& id, bool named) {
      for (const Error& e : more)
        if (errors.size() < kMaxErrors) errors.push_back(named ? of_request(e, id) : e);
    };
    for (const Line& line : lines_) {
      if (errors.size() >= kMaxErrors) break;
      RunNetwork& network = networks_[line.place];
      if (const auto* drawn = std::get_if<runner::DrawnInputs>(&line.source)) {
        if (Status read = read_draws(network); !read) return read;
        const runner::SizesPlace place = o_.draws > 0
                                             ? runner::SizesPlace{ErrorKind::Usage, {}, "--dim"}
                                             : runner::SizesPlace{ErrorKind::Usage, o_.requests, "draw"};
        if (const Status fit = network.draws->check(drawn->dims, place); !fit)
          add(fit.errors(), line.id, o_.draws == 0);
      } else {
        const auto inputs = inputs_of(line, 0);
        const auto fit = inputs ? runner::check_inputs(network.manifest.network, *inputs) : inputs.errors();
        if (!fit) add(fit.errors(), line.id, lines_.size() > 1);
      }
    }
    if (!errors.empty()) return errors;
    return Done{};
  }

  Result<std::vector<NamedValue>> inputs_of(const Line& line, std::uint64_t repeat) const {
    const RunNetwork& network = networks_[line.place];
    if (const auto* files = std::get_if<std::vector<runner::GivenFile>>(&line.source))
      return runner::load_inputs(*files, network.manifest.network);
    auto drawn = network.draws->draw(std::get<runner::DrawnInputs>(line.source), repeat);
    if (!drawn) return drawn.errors();
    return std::move(drawn->inputs);
  }

  std::vector<std::string> files_that_are_read() const {
    std::vector<std::string> out;
    if (!o_.requests.empty()) out.push_back(o_.requests);
    for (const RunNetwork& n : networks_) {
      out.push_back(n.path);
      for (const deploy::File& f : n.manifest.files) out.push_back(folder_of(n.path) + "/" + f.path);
    }
    for (const Line& line : lines_)
      if (const auto* files = std::get_if<std::vector<runner::GivenFile>>(&line.source))
        for (const runner::GivenFile& f : *files) out.push_back(f.file);
    return out;
  }

  // Whether a file is that of an output.
  bool is_written(const std::string& file) const {
    std::error_code none;
    if (!writes_folder_) return fs::equivalent(file, o_.output, none);
    const fs::path path(file);
    if (path.extension() != ".npz" || !fs::equivalent(folder_of(file), o_.output, none)) return false;
    const std::string stem = path.stem();
    return std::ranges::any_of(lines_, [&](const Line& line) {
      return line.numbered ? stem.starts_with(line.id + ".") : stem == line.id;
    });
  }

  // A folder for several requests, and for one where it is there or its name says so.
  Status prepare_output() {
    if (o_.output.empty()) return Done{};
    std::error_code error;
    writes_folder_ = report_.requests != 1 || o_.output.ends_with('/') || fs::is_directory(o_.output, error);
    for (const std::string& file : files_that_are_read())
      if (is_written(file))
        return Error{ErrorKind::Usage,
                     {file, {}, {}, {}, {}},
                     "it is read, and -o would replace it",
                     "give the outputs another name or folder"};
    if (!writes_folder_) return Done{};
    fs::create_directories(o_.output, error);
    if (fs::is_directory(o_.output, error)) return Done{};
    if (fs::exists(o_.output, error))
      return Error{ErrorKind::Output,
                   {o_.output, {}, {}, {}, {}},
                   "it is a file, and several requests need a folder",
                   "name a folder, which is made if it is not there"};
    return write_error(o_.output, folder_of(o_.output), error ? error.value() : ENOENT);
  }

  void tell_of_providers() {
    std::set<std::string> seen;
    for (const RunNetwork& n : networks_)
      if (n.is_used)
        for (const auto& [device, why] : n.engine->on_cpu())
          if (seen.insert(device).second)
            observer_.log(LogLevel::Warning, "device '" + device + "' runs on the CPU: " + why);
  }

  // The first runs of a session are slower. Each model is run that the first request of a line takes; what is
  // wrong with it is said when the request itself runs.
  void warm_up() {
    if (o_.warm_up == 0) return;
    std::set<std::pair<std::size_t, std::size_t>> done;  // networks and models
    constexpr std::size_t kMostLines = 1000;             // a longer list is not read once more for it
    for (const Line& line : std::span(lines_).first(std::min(kMostLines, lines_.size()))) {
      const Engine& engine = *networks_[line.place].engine;
      if (observer_.stop_requested() || done.size() == all_models()) return;
      const auto inputs = inputs_of(line, 0);
      const auto model = inputs ? engine.model_of(*inputs) : inputs.errors();
      if (!model || !done.emplace(line.place, *model).second) continue;
      for (std::uint64_t i = 0; i < o_.warm_up && !observer_.stop_requested(); ++i)
        if (!engine.run_alone(*inputs, execution::Way::Devices)) break;
    }
  }
  std::size_t all_models() const {
    std::size_t out = 0;
    for (const RunNetwork& n : networks_) out += n.is_used ? n.engine->models() : 0;
    return out;
  }

  // --- answers --------------------------------------------------------------------------------------------

  void run() {
    std::uint64_t number = 0;
    for (const Line& line : lines_)
      for (std::uint64_t i = 0; i < line.repeat && !answers_->ends(); ++i, ++number) {
        if (observer_.stop_requested()) {
          report_.interrupted = true;
          finish();
          return;
        }
        submit(line, i, number);
      }
    finish();
  }

  void submit(const Line& line, std::uint64_t repeat, std::uint64_t number) {
    RunNetwork& network = networks_[line.place];
    // As many as the engine admits and queues.
    while (network.on_their_way >= 2 * network.engine->in_flight() && !answers_->ends()) take_one(line.place);
    RunRequest one{
        .number = number, .id = id_of(line, repeat), .network = line.place, .inputs = {}, .set = line.set};
    auto inputs = inputs_of(line, repeat);
    const auto sequence =
        inputs ? network.engine->submit(*inputs, timeout()) : Result<execution::Sequence>(inputs.errors());
    if (!sequence) {
      ++report_.failed;
      answers_->problem(one.id, sequence.error());
      return;
    }
    if (o_.check_whole || answers_->is_sample(number)) one.inputs = *std::move(inputs);
    order_.emplace_back(line.place, *sequence);
    on_their_way_.emplace(order_.back(), std::move(one));
    ++network.on_their_way;
  }

  std::chrono::nanoseconds timeout() const {
    return std::chrono::nanoseconds(std::llround(std::ceil(o_.request_timeout * 1e9)));
  }

  void finish() {
    while (!on_their_way_.empty()) take_one(order_.front().first);
  }

  // Takes the first answer in the order of the requests, or any of a network.
  void take_one(std::size_t network) {
    Key key;
    runner::Answer answer;
    if (o_.unordered) {
      auto any = networks_[network].engine->wait_any();
      if (!any) return;
      key = {network, any->first};
      answer = std::move(any->second);
      std::erase(order_, key);
    } else {
      key = order_.front();
      order_.pop_front();
      answer = networks_[key.first].engine->wait(key.second);
    }
    const RunRequest request = std::move(on_their_way_.extract(key).mapped());
    RunNetwork& of = networks_[key.first];
    --of.on_their_way;
    observer_.step("requests", ++answered_, report_.requests);
    answers_->take(request, of, answer);
  }

  using Key = std::pair<std::size_t, execution::Sequence>;  // of a network, and its request

  const RunOptions& o_;
  Observer& observer_;
  std::vector<RunNetwork> networks_;
  std::vector<Line> lines_;
  std::vector<runner::TestDataSet> sets_;
  bool writes_folder_ = false;
  RunReport report_;
  std::optional<RunAnswers> answers_;
  std::map<Key, RunRequest> on_their_way_;
  std::deque<Key> order_;  // of what is on its way
  std::uint64_t answered_ = 0;
};

Status check_options(const RunOptions& o) {
  const int sources = (o.inputs.empty() ? 0 : 1) + (o.requests.empty() ? 0 : 1) + (o.draws > 0 ? 1 : 0) +
                      (o.test_data.empty() ? 0 : 1);
  const auto refused = [](const char* what, const char* remedy) {
    return Error{ErrorKind::Usage, {}, what, remedy};
  };
  if (sources == 0)
    return refused("no requests are given", "give --input, --requests, --draw or --test-data");
  if (sources > 1)
    return refused("requests are given in two ways",
                   "give one of --input, --requests, --draw and --test-data");
  if (o.draws == 0 && !o.dims.empty()) return refused("--dim is for --draw", "add --draw, or leave it out");
  if (o.mode != RunMode::Overlap && o.in_flight > 1)
    return refused("--inflight is for --mode overlap", "leave out one of them");
  return Done{};
}

}  // namespace

Result<RunReport> run_manifest(const RunOptions& options, Observer& observer) {
  if (Status fits = check_options(options); !fits) return fits.errors();
  try {
    return ManifestRun(options, observer).all();
  } catch (const std::bad_alloc&) {
    return out_of_memory(options.manifest);
  }
}

}  // namespace graphopt
