#include "runner/trace.h"

namespace graphopt::runner {

void Trace::add(const TraceEvent& event) {
  const std::lock_guard lock(mutex_);
  if (events_.size() < kMostEvents) events_.push_back(event);
  else ++left_out_;
}

}  // namespace graphopt::runner
