#include "progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>

#include "console.h"

namespace graphopt::tool {
namespace {

constexpr auto kPatience = std::chrono::seconds(1);
constexpr auto kTick = std::chrono::milliseconds(200);

std::size_t terminal_width() {
  winsize size = {};
  const bool known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : 80;
}

void write_bar(std::string_view text) {
  // Ignore errors: a terminal that is gone needs no bar.
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace

Progress::Progress() : began_(Clock::now()) {
  // The thread blocks all signals: the main thread's handlers remove the unfinished output.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Progress::~Progress() { stop(); }

void Progress::stop() {
  {
    const std::scoped_lock lock(mutex_);
    ended_ = true;
    erase_line();
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void Progress::begin(std::string_view stage) {
  const std::scoped_lock lock(mutex_);
  erase_line();
  stage_ = stage;
  what_.clear();
  done_ = total_ = 0;
  began_ = Clock::now();
}

void Progress::step(std::string_view what, std::uint64_t done, std::uint64_t total) {
  const std::scoped_lock lock(mutex_);
  what_ = what;
  done_ = done;
  total_ = total;
}

void Progress::clear() {
  const std::scoped_lock lock(mutex_);
  erase_line();
}

void Progress::run() {
  std::unique_lock lock(mutex_);
  while (!ended_) {
    wake_.wait_for(lock, kTick, [this] { return ended_; });
    if (!ended_ && !stage_.empty() && Clock::now() - began_ >= kPatience) draw();
  }
}

void Progress::draw() {
  const double seconds = std::chrono::duration<double>(Clock::now() - began_).count();
  constexpr std::size_t kBar = 24;
  std::string bar(kBar, ' ');
  std::string share;
  if (total_ > 0) {
    const double part = std::min(1.0, static_cast<double>(done_) / static_cast<double>(total_));
    std::fill_n(bar.begin(), static_cast<std::size_t>(part * static_cast<double>(kBar)), '#');
    share = fmt::format(" {:3.0f} %", part * 100);
  } else {  // unknown total: a block that moves back and forth
    const auto at = static_cast<std::size_t>(seconds * 5) % (kBar - 3);
    std::fill_n(bar.begin() + static_cast<std::ptrdiff_t>(at), 4, '#');
  }
  std::string line = fmt::format("{:<8} [{}]{} {:.0f} s  {}", stage_, bar, share, seconds, visible(what_));
  line.resize(std::min(line.size(), terminal_width() - 1));
  write_bar("\r\x1b[K" + line);
  drawn_ = true;
}

void Progress::erase_line() {
  if (drawn_) write_bar("\r\x1b[K");
  drawn_ = false;
}

}  // namespace graphopt::tool
