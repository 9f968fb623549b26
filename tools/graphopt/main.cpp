// graphopt: the tool. It includes only the library's public headers.
#include <cstdio>
#include <cstdlib>

#include "verbs.h"

int main(int argc, char** argv) {
  const int status = graphopt::tool::run_command_line(argc, argv, true);
  // Everything is written: the system frees the memory.
  std::fflush(stdout);
  std::fflush(stderr);
  std::_Exit(status);
}
