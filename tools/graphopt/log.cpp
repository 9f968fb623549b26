// spdlog with one sink of our own; its registry of loggers is not used, so nothing is set up before the first
// line.
#include "log.h"

#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/ansicolor_sink.h>

namespace graphopt::tool {
namespace {

spdlog::level::level_enum to_spdlog(LogLevel level) {
  switch (level) {
    case LogLevel::Trace: return spdlog::level::trace;
    case LogLevel::Debug: return spdlog::level::debug;
    case LogLevel::Info: return spdlog::level::info;
    case LogLevel::Warning: return spdlog::level::warn;
    case LogLevel::Error: return spdlog::level::err;
  }
  return spdlog::level::err;
}

}  // namespace

struct Log::State {
  State(LogLevel lowest, bool color)
      : sink(std::make_shared<spdlog::sinks::ansicolor_stderr_sink_st>(color ? spdlog::color_mode::always
                                                                             : spdlog::color_mode::never)),
        logger("graphopt", sink) {
    sink->set_pattern("graphopt: %^%l:%$ %v");
    logger.set_level(to_spdlog(lowest));
    logger.flush_on(spdlog::level::trace);
  }
  std::shared_ptr<spdlog::sinks::ansicolor_stderr_sink_st> sink;
  spdlog::logger logger;
};

Log::Log(LogLevel lowest, bool color) : s_(std::make_unique<State>(lowest, color)) {}
Log::~Log() = default;

void Log::write(LogLevel level, std::string_view text) {
  s_->logger.log(to_spdlog(level), spdlog::string_view_t(text.data(), text.size()));
}

}  // namespace graphopt::tool
