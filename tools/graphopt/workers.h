// Processes that do one piece of work at a time, each with what it has loaded, so that a piece which crashes
// or needs too much memory ends its own process alone.
//
// A worker is a fork of this process, without its other threads, none of which may hold what the work needs.
// It is made when there is work for it, and made anew after it ended. Requests and answers are texts.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace graphopt::tool {

class Workers {
 public:
  // `begin` runs once in each new worker, `work` for each request.
  Workers(std::size_t count, std::function<void()> begin,
          std::function<std::string(const std::string&)> work);
  ~Workers();  // ends those that still work, by SIGTERM
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  bool has_free() const;
  bool has_busy() const;
  // Gives a free worker the request. `id` comes back with the answer. Returns an errno where no process can
  // be made.
  int start(std::size_t id, const std::string& request);

  struct Ended {
    std::size_t id = 0;
    std::optional<std::string> answer;  // none: the process ended before it gave one
    int status = 0;                     // then: how (waitpid)
    std::int64_t process = 0;           // its id
    std::string said;                   // what it wrote to stderr during the work, its end
  };
  // Waits for an answer, at most so long. Nothing: the time is over, or a signal came.
  std::optional<Ended> wait(int milliseconds);

 private:
  struct Worker;
  int make(Worker& worker);
  void serve(int requests, int answers);

  std::function<void()> begin_;
  std::function<std::string(const std::string&)> work_;
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace graphopt::tool
