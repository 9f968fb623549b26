#include "commands/run_answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/array_writer.h"
#include "runtime/compare.h"

namespace graphopt {
namespace {

// Returns true if both hold the same bytes. Sequences and maps of a runtime are at most two deep.
bool is_same(const HostValue& a, const HostValue& b) {
  return a.kind == b.kind && a.dtype == b.dtype && a.dims == b.dims && a.raw == b.raw &&
         a.strings == b.strings && std::ranges::equal(a.items, b.items, is_same);
}

// Adds a comparison.
RunReport::Check& count(std::optional<RunReport::Check>& check) {
  if (!check) check = RunReport::Check{};
  ++check->compared;
  return *check;
}

}  // namespace

Error of_request(Error error, const std::string& id) {
  error.what = "request '" + id + "': " + error.what;
  return error;
}

void RunAnswers::take(const RunRequest& request, RunNetwork& network, const runner::Answer& answer) {
  report_.retries += answer.retries;
  if (answer.state == execution::RequestState::TimedOut) {
    ++report_.timed_out;
    return problem(
        request.id,
        {ErrorKind::Limit, {}, "it did not end in time", "raise --request-timeout, or lower --inflight"});
  }
  if (answer.state != execution::RequestState::Done) {
    ++report_.failed;
    return problem(request.id,
                   answer.error.value_or(Error{ErrorKind::NotChecked, {}, "it was cancelled", "run again"}));
  }
  ++report_.done;
  const bool in_parts = answer.way == execution::Way::Devices;
  if (in_parts) ++network.by_model[answer.model];
  else ++report_.by_fallback;
  latencies_.add(std::chrono::duration<double>(answer.latency).count());
  if (is_sample(request.number) && in_parts) compare_sequential(request, network, answer);
  if (o_.check_whole) compare_whole(request, network, answer);
  if (request.set != nullptr) compare_test_data(request, network, answer);
  if (!o_.output.empty()) write(request.id, answer);
}

void RunAnswers::problem(const std::string& id, const Error& error) {
  std::size_t of_kind = 0;
  for (const RunReport::Problem& p : report_.problems) of_kind += p.error.kind == error.kind ? 1U : 0U;
  if (of_kind < kMaxErrors) report_.problems.push_back({id, of_request(error, id)});
}

bool RunAnswers::is_sample(std::uint64_t number) const {
  if (!o_.check_sequential) return false;
  const std::uint64_t wanted = *o_.check_sequential, all = report_.requests;
  if (wanted == 0 || wanted >= all) return true;
  // Evenly, and just so many: those in which number * wanted / all is about to rise. Both are below 2^32.
  return number * wanted / all != (number + 1) * wanted / all;
}

void RunAnswers::compare_sequential(const RunRequest& request, const RunNetwork& network,
                                    const runner::Answer& answer) {
  RunReport::Check& check = count(report_.sequential);
  const auto wanted = network.engine->run_alone(request.inputs, execution::Way::Devices);
  if (!wanted) return problem(request.id, wanted.error());
  for (std::size_t i = 0; i < wanted->size(); ++i) {
    if (is_same((*wanted)[i].value, answer.outputs[i].value)) continue;
    ++check.different;
    return problem(request.id,
                   {ErrorKind::CheckFailed,
                    {},
                    "output '" + answer.outputs[i].name + "' has other bytes than with --mode sync",
                    "run it again: a kernel of a part depends on what else runs"});
  }
}

void RunAnswers::compare_whole(const RunRequest& request, const RunNetwork& network,
                               const runner::Answer& answer) {
  RunReport::Check& check = count(report_.whole);
  const auto wanted = network.engine->run_alone(request.inputs, execution::Way::Fallback);
  if (!wanted) return problem(request.id, wanted.error());
  compare(request, network, *wanted, answer, "OUT as a whole", check);
}

void RunAnswers::compare_test_data(const RunRequest& request, const RunNetwork& network,
                                   const runner::Answer& answer) {
  const auto wanted = runner::load_outputs(*request.set, network.manifest.network);
  if (!wanted) return problem(request.id, wanted.error());
  if (wanted->empty()) return;  // there are inputs alone
  compare(request, network, *wanted, answer, "the test data", count(report_.test_data));
}

void RunAnswers::compare(const RunRequest& request, const RunNetwork& network,
                         const std::vector<NamedValue>& wanted, const runner::Answer& answer,
                         const char* with, RunReport::Check& check) {
  for (const NamedValue& w : wanted) {
    const auto got = std::ranges::find(answer.outputs, w.name, &NamedValue::name);
    if (got == answer.outputs.end()) continue;
    const auto i = static_cast<std::size_t>(got - answer.outputs.begin());
    const bool at_one = i < network.at_one.size() && network.at_one[i];
    const Distance far = compare_values(w.value, got->value, {o_.tolerance, network.inside, at_one});
    if (far.within && far.problem.empty()) continue;
    ++check.different;
    return problem(
        request.id,
        {ErrorKind::CheckFailed,
         {},
         fmt::format("output '{}' is not that of {}: {}", w.name, with,
                     far.problem.empty() ? fmt::format("it differs by {:g}", far.max_abs) : far.problem),
         "try --mode sync; --check-tolerance allows more"});
  }
}

void RunAnswers::write(const std::string& id, const runner::Answer& answer) {
  const std::string path = several_ ? o_.output + "/" + id + ".npz" : o_.output;
  const auto written = write_npz(path, answer.outputs, {.force = true, .lasting = false, .limits = {}});
  if (written) {
    report_.files.push_back(path);
    return;
  }
  problem(id, written.error());
  ends_ = true;
}

}  // namespace graphopt
