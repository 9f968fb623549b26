// Cuts a model and writes all exports, and ends itself where it is told, for tests/campaign/kill_exports.py.
//
//   graphopt_write_exports IN DEVICES OUT EMIT [CALL]
//
// EMIT: names of exports with commas between them, or "" for none. With CALL the process is killed (SIGKILL)
// before that of its system calls that change names or sync files, counted from 1. Prints the number of these
// calls.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "graphopt/optimize.h"
#include "programs/killed_calls.h"

int main(int argc, char** argv) {
  if (argc != 5 && argc != 6) {
    std::fprintf(stderr, "usage: %s IN DEVICES OUT EMIT [CALL]\n", argv[0]);
    return 1;
  }
  graphopt::Options options;
  options.input = argv[1];
  options.output = argv[3];
  options.partition.devices = argv[2];
  options.clean_up.level = 0;
  const std::string emit = "," + std::string(argv[4]) + ",";
  for (const graphopt::Export form : graphopt::kExports)
    if (emit.find("," + std::string(graphopt::word(form)) + ",") != std::string::npos)
      options.partition.exports.push_back(form);
  if (argc == 6) last_call = std::strtol(argv[5], nullptr, 10);
  graphopt::Observer observer;
  if (const auto report = graphopt::optimize(options, observer); !report) {
    std::fprintf(stderr, "%s\n", graphopt::to_string(report.error()).c_str());
    return 1;
  }
  std::printf("%ld\n", calls);
  return 0;
}
