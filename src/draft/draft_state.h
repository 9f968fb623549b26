// A copy of what a draft states, to compare it with later: --verify-each checks with it that an undone
// candidate left nothing behind. Making one takes as long as the draft is large.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "draft/draft.h"

namespace graphopt {

class DraftState {
 public:
  explicit DraftState(const Draft& d);
  // Returns the first difference as a sentence ("node 12: its axis is 1, was 0"), or an empty string if d
  // states the same: the same nodes and values with the same fields, operands, results, order of nodes and
  // order of uses. Order keys may differ (renumbering is not undone), as long as they ascend.
  std::string difference(const Draft& d) const;

 private:
  struct Entry {
    const char* what;  // a field: "axis"
    bool of_node;
    std::uint32_t id;
    std::uint64_t content;
    friend bool operator==(const Entry&, const Entry&) = default;
  };
  void add(const char* what, DNode n, std::uint64_t content) {
    entries_.push_back({what, true, n ? n.index() : 0, content});
  }
  void add(const char* what, DValue v, std::uint64_t content) {
    entries_.push_back({what, false, v.index(), content});
  }
  void add_node(const Draft& d, DNode n);
  void add_value(const Draft& d, DValue v);

  std::vector<Entry> entries_;
};

}  // namespace graphopt
