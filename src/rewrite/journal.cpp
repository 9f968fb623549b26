#include "rewrite/journal.h"

namespace graphopt {

Place place_of_initializer(const Model& m, ValueId v) {
  Place place = place_of(m, m.value(v).graph);
  place.slot = "initializer '" + std::string(m.text(m.value(v).name)) + "'";
  return place;
}

// The place is computed only for the rewrite that uses up the budget, since only --bisect needs it.
bool Journal::allow(const Model& m, NodeId root, std::string_view rule) {
  if (count_ >= budget_) return false;
  if (++count_ == budget_) last_ = {count_, std::string(pass_), std::string(rule), place_of(m, root)};
  return true;
}

bool Journal::allow(const Model& m, ValueId value, std::string_view rule) {
  if (count_ >= budget_) return false;
  if (++count_ == budget_)
    last_ = {count_, std::string(pass_), std::string(rule), place_of_initializer(m, value)};
  return true;
}

}  // namespace graphopt
