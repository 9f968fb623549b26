// What one run of a pass refuses, for --explain.
//
// Problem: a pass meets a node several times in one run, and runs several times; a user wants to know why the
// node is still there.
// Method: of each rule at each node the last reason counts, and of each pass the last run. Where nobody asks,
// a Refusals is a null pointer: test it before a reason is looked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rewrite/context.h"

namespace graphopt {

class Refusals {
 public:
  // Forgets what the pass refused in its run before.
  explicit Refusals(PassContext& c);
  // Hands what was noted over to the log, in the order of the notes, without nodes and initializers that are
  // gone.
  ~Refusals();
  Refusals(const Refusals&) = delete;
  Refusals& operator=(const Refusals&) = delete;

  bool wanted() const { return log_ != nullptr; }
  // `rule` must live as long as the log: a literal.
  void note(std::string_view rule, NodeId n, std::string reason);
  void note(std::string_view rule, ValueId initializer, std::string reason);
  // The rule does not refuse the node any more.
  void drop(std::string_view rule, NodeId n);

 private:
  struct Entry {
    std::string_view rule;
    NodeId node;
    ValueId value;  // without a node: an initializer
    std::string reason;
  };
  void note(Entry entry, std::size_t id);

  const Model& m_;
  std::string pass_;
  RefusalLog* log_ = nullptr;
  std::vector<Entry> entries_;
  std::map<std::pair<std::string_view, std::size_t>, std::size_t> places_;  // in entries_
};

}  // namespace graphopt
