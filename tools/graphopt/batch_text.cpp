#include "batch_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "console.h"

namespace graphopt::tool {
namespace {

constexpr std::size_t kGains = 5, kMostFailures = 20;

// 12345 -> "12,345"
std::string grouped(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

std::string change(std::uint64_t before, std::uint64_t after) {
  if (before == 0 || before == after) return "";
  const double share =
      (static_cast<double>(after) - static_cast<double>(before)) / static_cast<double>(before);
  const std::string text = fmt::format("{:+.1f}", 100 * share);
  return text == "-0.0" || text == "+0.0" ? "" : fmt::format(" ({} %)", text);
}

std::string nodes_text(const BatchFigures& f) {
  return fmt::format("{} -> {} nodes{}", grouped(f.nodes_before), grouped(f.nodes_after),
                     change(f.nodes_before, f.nodes_after));
}

std::string bytes_text(const BatchFigures& f) {
  return fmt::format("{} -> {}", size_text(f.bytes_before), size_text(f.bytes_after));
}

// The first error of a run, in one line.
std::string first_error(const BatchModel& model, const BatchOutcome& outcome) {
  std::string text = outcome.result.errors.empty() ? model.error : outcome.result.errors.front().what;
  std::ranges::replace(text, '\n', ' ');
  return visible(text);
}

const BatchFigures& figures_of(const BatchModel& model, const BatchOutcome& outcome) {
  return outcome.state == BatchState::UpToDate ? model.figures : outcome.result.figures;
}

int status_of(const BatchModel& model, const BatchOutcome& outcome) {
  return outcome.state == BatchState::UpToDate ? model.status : outcome.result.status;
}

std::string gains(const std::vector<BatchModel>& models, const std::vector<BatchOutcome>& outcomes) {
  std::vector<std::size_t> order;
  const auto gain = [&](std::size_t i) {
    const BatchFigures& f = figures_of(models[i], outcomes[i]);
    return f.nodes_before > f.nodes_after ? f.nodes_before - f.nodes_after : 0;
  };
  for (std::size_t i = 0; i < models.size(); ++i)
    if (outcomes[i].state == BatchState::Optimized && gain(i) > 0) order.push_back(i);
  const std::size_t shown = std::min(kGains, order.size());
  std::ranges::partial_sort(order, order.begin() + static_cast<std::ptrdiff_t>(shown), std::greater{}, gain);
  std::string out;
  for (std::size_t k = 0; k < shown; ++k) {
    if (k == 0) out += "\nLargest gains\n";
    const std::size_t i = order[k];
    out +=
        fmt::format("  {:<40} {}\n", visible(models[i].name), nodes_text(figures_of(models[i], outcomes[i])));
  }
  return out;
}

std::string failures(const std::vector<BatchModel>& models, const std::vector<BatchOutcome>& outcomes) {
  std::string out;
  std::size_t found = 0;
  for (std::size_t i = 0; i < models.size(); ++i) {
    const int status = status_of(models[i], outcomes[i]);
    if (status == 0) continue;
    if (found == 0) out += "\nFailed\n";
    if (++found > kMostFailures) continue;
    const bool copied = outcomes[i].state != BatchState::Failed;
    out += fmt::format("  {:<40} status {}{}: {}\n", visible(models[i].name), status,
                       copied ? ", copied" : "", first_error(models[i], outcomes[i]));
  }
  if (found > kMostFailures) out += fmt::format("  ... and {} more\n", found - kMostFailures);
  return out;
}

}  // namespace

int worse_status(int a, int b) {
  constexpr std::array kOrder = {70, 5, 4, 3, 6, 2, 1};
  if (a == 0 || b == 0) return std::max(a, b);
  return std::ranges::find(kOrder, a) <= std::ranges::find(kOrder, b) ? a : b;
}

std::string_view state_text(BatchState state) {
  constexpr std::array<std::string_view, 5> kTexts = {"not done", "optimized", "up to date", "copied",
                                                      "failed"};
  return kTexts[static_cast<std::size_t>(state)];
}

std::string model_line(const BatchModel& model, const BatchOutcome& outcome, std::size_t width) {
  const std::string name = visible(model.name);
  if (outcome.state == BatchState::Failed || outcome.state == BatchState::NotDone)
    return fmt::format("  {:<{}}  {} (status {})\n", name, width, state_text(outcome.state),
                       outcome.result.status);
  if (status_of(model, outcome) != 0)
    return fmt::format("  {:<{}}  {}\n", name, width,
                       outcome.state == BatchState::Copied ? "copied, since its run failed"
                                                           : "up to date: a copy, since its run failed");
  const BatchFigures& f = figures_of(model, outcome);
  const std::string tail =
      outcome.state == BatchState::UpToDate ? "up to date" : fmt::format("{:.2f} s", outcome.result.seconds);
  return fmt::format("  {:<{}}  {:<34}  {:<24}  {}\n", name, width, nodes_text(f), bytes_text(f), tail);
}

std::string plan_line(const BatchModel& model, std::size_t width) {
  return fmt::format("  {:<{}}  {}\n", visible(model.name), width,
                     model.why.empty() ? "up to date" : visible(model.why));
}

std::string batch_table(const std::vector<BatchModel>& models, const std::vector<BatchOutcome>& outcomes,
                        const BatchTotals& totals) {
  std::array<std::size_t, 5> of_state{};
  BatchFigures sum;
  std::uint64_t peak = 0;
  for (std::size_t i = 0; i < models.size(); ++i) {
    ++of_state[static_cast<std::size_t>(outcomes[i].state)];
    const BatchFigures& f = figures_of(models[i], outcomes[i]);
    sum.nodes_before += f.nodes_before;
    sum.nodes_after += f.nodes_after;
    sum.bytes_before += f.bytes_before;
    sum.bytes_after += f.bytes_after;
    peak = std::max(peak, outcomes[i].peak_memory);
  }
  std::string counts;
  for (const BatchState state : {BatchState::Optimized, BatchState::UpToDate, BatchState::Copied,
                                 BatchState::Failed, BatchState::NotDone})
    if (const std::size_t n = of_state[static_cast<std::size_t>(state)]; n > 0)
      counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", grouped(n), state_text(state));
  std::string out = fmt::format("\n{} {}{}{}\n", grouped(models.size()),
                                models.size() == 1 ? "model" : "models", counts.empty() ? "" : ": ", counts);
  if (sum.nodes_before > 0) {
    out += fmt::format("  {}\n  {}\n", nodes_text(sum), bytes_text(sum));
  }
  out += fmt::format("  {:.2f} s, {} {}", totals.seconds, totals.jobs, totals.jobs == 1 ? "job" : "jobs");
  out += peak > 0 ? fmt::format(", at most {} of memory in one\n", size_text(peak)) : "\n";
  if (totals.deleted > 0) out += fmt::format("  {} outputs without an input deleted\n", totals.deleted);
  if (!totals.stale.empty())
    out += fmt::format("  {} {} of inputs that are not there any more (--delete-stale removes them)\n",
                       totals.stale.size(), totals.stale.size() == 1 ? "output" : "outputs");
  return out + gains(models, outcomes) + failures(models, outcomes);
}

}  // namespace graphopt::tool
