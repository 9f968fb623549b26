// Runs many command lines of graphopt in one process, for tests that call the tool thousands of times where a
// process is slow to start, as with sanitizers (tests/lib/command_lines.py).
//
//   graphopt_command_lines
//
// Standard input: a line for each command line, a JSON array of its words without the program's name. Each is
// answered by a line of the standard output with its exit status. What a command line prints goes to the
// standard error, in order. The process ends with status 0 when the input does, or with status 1 at a line
// that is no such array.
#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "verbs.h"

namespace {

// Runs one command line; false if `line` is not one.
bool answer(const std::string& line, std::FILE* answers) {
  const auto words = nlohmann::json::parse(line, nullptr, false);
  if (!words.is_array()) return false;
  std::vector<std::string> held{"graphopt"};
  for (const auto& word : words) {
    if (!word.is_string()) return false;
    held.push_back(word.get<std::string>());
  }
  std::vector<const char*> arguments;
  for (const std::string& word : held) arguments.push_back(word.c_str());
  const int status =
      graphopt::tool::run_command_line(static_cast<int>(arguments.size()), arguments.data(), false);
  std::fflush(stdout);
  return std::fprintf(answers, "%d\n", status) > 0 && std::fflush(answers) == 0;
}

}  // namespace

int main() {
  std::FILE* answers = ::fdopen(::dup(STDOUT_FILENO), "w");
  if (answers == nullptr || ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0) return 1;
  for (std::string line; std::getline(std::cin, line);)
    if (!answer(line, answers)) return 1;
  return 0;
}
