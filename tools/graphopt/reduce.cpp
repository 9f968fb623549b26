// graphopt reduce IN --test CMD -o OUT
#include "graphopt/reduce.h"

#include <fmt/format.h>

#include <cstdio>

#include "handlers.h"
#include "verbs.h"

namespace graphopt::tool {
namespace {

class ReduceProgress final : public ReduceObserver {
 public:
  explicit ReduceProgress(Console& console) : console_(console) {}
  void step(std::string_view what, std::uint64_t nodes, std::uint64_t tests) override {
    console_.step(fmt::format("{} of {} nodes, {} tests", what, nodes, tests), 0, 0);
  }
  bool stop_requested() override { return noted_interrupt() != 0; }

 private:
  Console& console_;
};

std::string summary(const ReduceReport& r) {
  std::string out = fmt::format("nodes  {} -> {} (with Constant nodes)\nbytes  {} -> {}\n", r.nodes_before,
                                r.nodes_after, r.bytes_before, r.bytes_after);
  out += fmt::format("test   {}, {} runs in {:.1f} s; {} candidates were invalid and not tested\n", r.status,
                     r.tests, r.seconds, r.invalid);
  if (r.nodes_after == 0)
    out += "no node is left: the test ends so on an empty model, too, and may not look at the model at all\n";
  if (r.stopped) out += "stopped early: a longer run may make it smaller\n";
  return out;
}

}  // namespace

int run_reduce(const Command& command, Console& console) {
  note_interrupts();
  ReduceProgress observer(console);
  console.begin("reduce");
  const Result<ReduceReport> report = reduce(command.reduce, observer);
  console.finish();
  if (report) console.print(summary(*report));
  const int status = report ? 0 : fail(report.errors(), console);
  if (const int signal = noted_interrupt(); signal != 0) end_by(signal);
  return status;
}

}  // namespace graphopt::tool
