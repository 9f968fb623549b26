// Drafts in which a search found nothing, for the next search.
//
// Problem: two passes search the same graphs, and for a large graph making the draft and its regions costs
// more than a search that finds nothing.
// Method: a search that keeps no move leaves its draft as it was made, so the draft is valid while neither
// the model nor the result of inference changes. The store listens to the model and drops all drafts at the
// first change. One draft that is no longer valid is kept for its memory.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>

#include "draft/draft.h"
#include "hoist/cost.h"
#include "infer/infer.h"
#include "ir/model.h"

namespace graphopt {

// A draft and its cost, in one object since the second refers to the first.
struct PricedDraft {
  explicit PricedDraft(Draft d) : draft(std::move(d)), cost(draft) {}
  PricedDraft(const PricedDraft&) = delete;
  PricedDraft& operator=(const PricedDraft&) = delete;
  Draft draft;
  CostKeeper cost;
};

class DraftStore final : public Listener {
 public:
  DraftStore(Model& model, const Inference& infer) : model_(model), infer_(infer) {
    model_.add_listener(this);
  }
  ~DraftStore() override { model_.remove_listener(this); }
  DraftStore(const DraftStore&) = delete;
  DraftStore& operator=(const DraftStore&) = delete;

  void keep(std::unique_ptr<PricedDraft> d);
  // Returns the draft that was kept for g; null if there is none or it is no longer valid.
  std::unique_ptr<PricedDraft> take(GraphId g);
  // Keeps a draft that is not needed any more for its memory, if it is the largest such.
  void retire(std::unique_ptr<PricedDraft> d);
  std::unique_ptr<PricedDraft> spare() { return std::move(spare_); }

  void node_added(NodeId) override { drafts_.clear(); }
  void node_erased(NodeId) override { drafts_.clear(); }
  void node_changed(NodeId) override { drafts_.clear(); }
  void uses_changed(ValueId) override { drafts_.clear(); }
  void value_replaced(ValueId, ValueId) override { drafts_.clear(); }
  void value_became_constant(ValueId) override { drafts_.clear(); }

 private:
  Model& model_;
  const Inference& infer_;
  std::uint64_t inferred_ = 0;  // Inference::inferred() when the drafts were kept
  std::unordered_map<std::uint32_t, std::unique_ptr<PricedDraft>> drafts_;  // by GraphId
  std::unique_ptr<PricedDraft> spare_;                                      // the largest that was retired
};

}  // namespace graphopt
