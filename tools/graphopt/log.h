// Log lines on stderr: "graphopt: warning: TEXT".
#pragma once

#include <memory>
#include <string_view>

#include "graphopt/optimize.h"

namespace graphopt::tool {

class Log {
 public:
  Log(LogLevel lowest, bool color);
  ~Log();
  void write(LogLevel level, std::string_view text);

 private:
  struct State;
  std::unique_ptr<State> s_;
};

}  // namespace graphopt::tool
