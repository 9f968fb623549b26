#include "hoist/draft_store.h"

#include <utility>

namespace graphopt {

void DraftStore::keep(std::unique_ptr<PricedDraft> d) {
  if (infer_.inferred() != inferred_) drafts_.clear();
  inferred_ = infer_.inferred();
  const std::uint32_t graph = d->draft.graph().index();
  drafts_[graph] = std::move(d);
}

std::unique_ptr<PricedDraft> DraftStore::take(GraphId g) {
  if (infer_.inferred() != inferred_) drafts_.clear();
  auto kept = drafts_.extract(g.index());
  return kept.empty() ? nullptr : std::move(kept.mapped());
}

void DraftStore::retire(std::unique_ptr<PricedDraft> d) {
  if (!spare_ || spare_->draft.node_count() < d->draft.node_count()) spare_ = std::move(d);
}

}  // namespace graphopt
