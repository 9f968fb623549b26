// Why a rule refused a node: the nearest miss of all that were noted, in words.
//
// A rule that is asked for reasons gets a Why and notes each miss; one that is not asked gets none, and a
// miss costs the test of a null pointer. Notes are numbers and literals: text is made when somebody wants to
// read it.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>

#include "ir/model.h"

namespace graphopt {

// The nearest miss is the first of those before which most nodes fitted, one at a node rather than one at a
// value without producer (which the other order of operands put there).
class Why {
 public:
  // Of a miss that is found after a pattern fitted, or without one: as near as can be.
  static constexpr std::size_t kRule = std::numeric_limits<std::size_t>::max();

  struct Miss {
    NodeId node = {};                // the node that does not fit, or whose operand does not
    ValueId value = {};              // its result, or operand; none for an absent operand
    std::string_view reason = {};    // a literal
    OpKind wanted = OpKind::Opaque;  // the operator that was looked for, if that is the reason
    NameId attribute = {};           // the attribute that does not fit, if that is the reason
    std::size_t matched = 0;         // how many nodes fitted before
    bool operand = false;            // an operand does not fit, and no node makes it
  };
  explicit operator bool() const { return known_; }
  const Miss& miss() const { return miss_; }
  void note(const Miss& miss) {
    const bool nearer =
        miss.matched > miss_.matched || (miss.matched == miss_.matched && miss_.operand && !miss.operand);
    if (known_ && !nearer) return;
    miss_ = miss;
    known_ = true;
  }
  // The reason, and before it the place unless that is the node `root`; "" where nothing was missed.
  std::string text(const Model& m, NodeId root = {}) const;

 private:
  Miss miss_;
  bool known_ = false;
};

}  // namespace graphopt
