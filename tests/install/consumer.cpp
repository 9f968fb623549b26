// What a program that uses the library needs: one include path, one target. The example of docs/library.md.
#include <graphopt/optimize.h>
#include <graphopt/version.h>

#include <cstdio>
#include <string>

#if GRAPHOPT_VERSION_NUMBER < 200
#error "the example is written for graphopt 0.2"
#endif

int main(int argc, char** argv) {
  if (argc < 3) {
    std::printf("%s\n", std::string(graphopt::version()).c_str());
    return 0;
  }
  graphopt::Options options;
  options.input = argv[1];
  options.output = argv[2];
  options.clean_up.exact = true;
  graphopt::Observer quiet;
  const graphopt::Result<graphopt::Report> report = graphopt::optimize(options, quiet);
  if (!report) {
    for (const graphopt::Error& error : report.errors())
      std::fprintf(stderr, "%s\n", graphopt::to_string(error).c_str());
    return static_cast<int>(report.error().kind);
  }
  std::printf("%llu -> %llu nodes\n", static_cast<unsigned long long>(report->before.nodes),
              static_cast<unsigned long long>(report->after.nodes));
  return 0;
}
