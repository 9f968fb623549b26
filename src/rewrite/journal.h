// Numbers the rewrites of a run and can forbid them. Every rewrite calls allow() first; --bisect runs the
// pipeline again with a smaller budget and so finds the first rewrite whose presence breaks a model.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "graphopt/error.h"
#include "ir/model.h"

namespace graphopt {

struct RewriteRecord {
  std::uint64_t number = 0;  // 1, 2, 3 ... in the order of the run
  std::string pass, rule;
  Place place;  // of the node that the rule started from
};

// Where an initializer is: its graph, and its name.
Place place_of_initializer(const Model& m, ValueId v);

class Journal {
 public:
  static constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};
  explicit Journal(std::uint64_t budget = kNoLimit) : budget_(budget) {}

  void begin_pass(std::string_view pass) { pass_ = pass; }
  std::string_view pass() const { return pass_; }
  // Called directly before a rewrite of `root`. Returns false when the budget is used up; then nothing may be
  // changed.
  bool allow(const Model& m, NodeId root, std::string_view rule);
  bool allow(const Model& m, ValueId value,
             std::string_view rule);  // for rewrites that start from an initializer
  std::uint64_t count() const { return count_; }
  bool exhausted() const { return count_ >= budget_; }
  // The last rewrite that was allowed; set only when there is a budget (it costs time).
  const RewriteRecord& last() const { return last_; }

 private:
  std::string_view pass_;
  std::uint64_t budget_;
  std::uint64_t count_ = 0;
  RewriteRecord last_;
};

}  // namespace graphopt
