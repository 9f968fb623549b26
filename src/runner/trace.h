// What ran when: the runs, loads and stores of requests, as they happened.
//
// Problem: figures say how busy a device was, not for what it waited. Method: each thread adds what it did to
// one list, under a lock that is held for as long as it takes to add an entry. No more than kMostEvents are
// kept, so that a long run does not fill the memory; the rest is counted.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "execution/scheduler.h"

namespace graphopt::runner {

inline constexpr std::size_t kMostEvents = 250'000;

struct TraceEvent {
  enum class Kind : std::uint8_t { Run, Load, Store };
  using Time = std::chrono::steady_clock::time_point;
  Kind kind = Kind::Run;
  execution::Way way = execution::Way::Devices;
  execution::Sequence request = 0;
  std::size_t model = 0;                  // of Engine::model(); of the way Devices
  execution::Index device = 0, what = 0;  // Run: a subgraph of the model; else a value
  std::size_t worker = 0;                 // of Run
  Time begin, end;
};

class Trace {
 public:
  using Time = TraceEvent::Time;
  Trace() : begin_(std::chrono::steady_clock::now()) {}

  void add(const TraceEvent& event);  // thread-safe
  Time begin() const { return begin_; }
  // Once nothing runs:
  const std::vector<TraceEvent>& events() const { return events_; }
  std::uint64_t left_out() const { return left_out_; }

 private:
  const Time begin_;
  std::mutex mutex_;
  std::vector<TraceEvent> events_;
  std::uint64_t left_out_ = 0;
};

}  // namespace graphopt::runner
