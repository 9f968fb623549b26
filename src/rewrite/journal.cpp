#include "rewrite/journal.h"

namespace graphopt {

// The place is computed only for the rewrite that uses up the budget, since only --bisect needs it.
bool Journal::allow(const Model& m, NodeId root, std::string_view rule) {
  if (count_ >= budget_) return false;
  if (++count_ == budget_) last_ = {count_, std::string(pass_), std::string(rule), place_of(m, root)};
  return true;
}

bool Journal::allow(const Model& m, ValueId value, std::string_view rule) {
  if (count_ >= budget_) return false;
  if (++count_ == budget_) {
    Place place = place_of(m, m.value(value).graph);
    place.slot = "initializer '" + std::string(m.text(m.value(value).name)) + "'";
    last_ = {count_, std::string(pass_), std::string(rule), std::move(place)};
  }
  return true;
}

}  // namespace graphopt
