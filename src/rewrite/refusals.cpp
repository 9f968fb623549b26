// See refusals.h.
#include "rewrite/refusals.h"

namespace graphopt {
namespace {

std::string name_of(const Model& m, ValueId v) { return v ? std::string(m.text(m.value(v).name)) : ""; }

}  // namespace

Refusals::Refusals(PassContext& c) : m_(c.model), pass_(c.journal.pass()) {
  if (c.refusals == nullptr || !c.refusals->explains(pass_)) return;
  log_ = c.refusals;
  std::erase_if(log_->refused, [this](const RefusedCandidate& r) { return r.pass == pass_; });
}

Refusals::~Refusals() {
  for (Entry& e : entries_) {
    if (e.reason.empty() || !(e.node ? m_.alive(e.node) : m_.alive(e.value))) continue;
    const Place place = e.node ? place_of(m_, e.node) : place_of_initializer(m_, e.value);
    const std::string value = name_of(m_, e.node ? m_.output(e.node, 0) : e.value);
    log_->refused.push_back({pass_, e.rule, std::move(e.reason), place, value, {}, e.node});
  }
}

void Refusals::note(std::string_view rule, NodeId n, std::string reason) {
  if (m_.kind(n) == OpKind::Border) return;  // it is in no file, so nobody asks about it
  note({rule, n, {}, std::move(reason)}, n.index());
}

void Refusals::note(std::string_view rule, ValueId initializer, std::string reason) {
  note({rule, {}, initializer, std::move(reason)}, initializer.index());
}

void Refusals::note(Entry entry, std::size_t id) {
  if (log_ == nullptr) return;
  const auto [known, added] = places_.try_emplace({entry.rule, id}, entries_.size());
  if (added) entries_.push_back(std::move(entry));
  else entries_[known->second] = std::move(entry);
}

void Refusals::drop(std::string_view rule, NodeId n) {
  if (const auto known = places_.find({rule, n.index()}); known != places_.end())
    entries_[known->second].reason.clear();
}

}  // namespace graphopt
