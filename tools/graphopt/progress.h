// The progress bar: one line on a terminal for a stage that takes longer than a second.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace graphopt::tool {

// A separate thread draws, so that a stage which reports nothing for a while still shows that time passes.
class Progress {
 public:
  Progress();
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void begin(std::string_view stage);
  void step(std::string_view what, std::uint64_t done, std::uint64_t total);
  // Erases the bar, so that something else can be written there; it is drawn again with the next tick.
  void clear();
  void stop();

 private:
  using Clock = std::chrono::steady_clock;
  void run();
  void draw();        // with the lock held
  void erase_line();  // with the lock held

  std::mutex mutex_;
  std::condition_variable wake_;
  std::string stage_, what_;
  std::uint64_t done_ = 0, total_ = 0;
  Clock::time_point began_;
  bool drawn_ = false, ended_ = false;
  std::thread thread_;
};

}  // namespace graphopt::tool
