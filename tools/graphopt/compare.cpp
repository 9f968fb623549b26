// graphopt compare A B
#include "graphopt/compare.h"

#include <fmt/format.h>

#include "handlers.h"
#include "verbs.h"

namespace graphopt::tool {

int run_compare(const Command& command, Console& console) {
  const CompareOptions& options = command.compare;
  if (command.tool.timeout > 0) start_watchdog(command.tool.timeout, options.first);
  console.begin("compare");
  const Result<Comparison> found = compare(options, console);
  stop_watchdog();
  console.finish();
  if (!found) return fail(found.errors(), console);
  const Report& figures = found->figures;
  std::string out = before_after_table(figures, command.all);
  for (const std::string& line : found->interface) out += "graphopt: " + visible(line) + '\n';
  if (figures.check) out += check_table(*figures.check);
  const bool differ = figures.check && figures.check->verdict == "different";
  if (differ && !figures.check->outputs.empty())
    out += fmt::format("graphopt: {}\n", visible(figures.check->why));
  if (!found->not_run.empty()) out += fmt::format("graphopt: results are not compared: {}\n", found->not_run);
  if (const Status written = write_stdout(out); !written) return fail(written.errors(), console);
  if (differ &&
      figures.check->outputs.empty())  // the second model does not load: the table has no line of it
    return fail({{ErrorKind::CheckFailed, in_file(options.second), figures.check->why,
                  "the models can be compared only where both run"}},
                console);
  return differ ? static_cast<int>(ErrorKind::CheckFailed) : 0;
}

}  // namespace graphopt::tool
