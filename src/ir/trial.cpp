// Model: trials, which carry a change out and undo it.
//
// Problem: whether a rewrite is wanted can depend on what it writes, which is known only when it is carried
// out; a copy of the model for each rewrite would make every run quadratic.
// Method: every mutator asks for a record before it writes to it, and in a trial the record is saved then,
// once. Undoing swaps the saved records with those of the model, so doing it again swaps back. What arrays
// got at their ends stays there: in the state before the trial nothing refers to it.
#include <algorithm>
#include <cassert>

#include "ir/model.h"
#include "ir/model_state.h"

namespace graphopt {

std::uint32_t& Model::edit_overwriting(ValueId v) {
  if (v.index() >= overwriting_uses_.size()) overwriting_uses_.resize(values_.size());
  if (in_trial_) trial_->overwriting.save(overwriting_uses_, v.index());
  return overwriting_uses_[v.index()];
}

std::vector<ValueId>& Model::edit_list(GraphId g, std::vector<ValueId> Graph::* list) {
  std::vector<ValueId>& ids = graphs_[g.index()].*list;
  const auto saved = [&](const Trial::SavedList& l) { return l.graph == g && l.list == list; };
  if (in_trial_ && g.index() < trial_->graph_count && std::ranges::none_of(trial_->lists, saved))
    trial_->lists.push_back({g, list, ids});
  return ids;
}

void Model::save_graph(GraphId g) {
  if (g.index() >= trial_->graph_count ||
      std::ranges::find(trial_->graphs, g, &Trial::SavedGraph::graph) != trial_->graphs.end())
    return;
  const Graph& graph = graphs_[g.index()];
  trial_->graphs.push_back({g,
                            graph.owner,
                            graph.first,
                            graph.last,
                            graph.parent,
                            graph.node_count,
                            graph.alive,
                            graph.dirty,
                            graph.initializers.size(),
                            {}});
}

void Model::begin_trial() {
  assert(!in_trial_);
  if (!trial_) trial_ = std::make_unique<Trial>();
  Trial& t = *trial_;
  t.nodes.begin(nodes_.size());
  t.values.begin(values_.size());
  t.uses.begin(uses_.size());
  t.slots.begin(output_slots_.size());
  if (overwriting_uses_.size() < values_.size()) overwriting_uses_.resize(values_.size());  // those of all
  t.overwriting.begin(overwriting_uses_.size());
  t.graphs.clear();
  t.lists.clear();
  t.graph_count = graphs_.size();
  t.attrs = attrs_.size();
  t.live_nodes = live_nodes_;
  t.live_of_kind = live_of_kind_;
  t.overwrites = overwrites_;
  t.undone = false;
  in_trial_ = true;
  tell([](Listener& l) { l.trial_begun(); });
}

TrialChanges Model::trial_changes() const {
  assert(in_trial_ && !trial_->undone);
  const Trial& t = *trial_;
  TrialChanges out;
  for (std::size_t i = t.nodes.size(); i < nodes_.size(); ++i)
    if (nodes_[i].alive && !nodes_[i].is_return) out.added.push_back(NodeId{i});
  std::vector<std::size_t> different;  // by index: nodes in `changed`
  for (const auto& [i, before] : t.nodes.saved()) {
    const Node& now = nodes_[i];
    if (!before.alive || before.is_return) continue;
    if (!now.alive) {
      out.erased.push_back(NodeId{i});
    } else if (now.op != before.op || now.first_attr != before.first_attr ||
               now.attr_count != before.attr_count || now.output_count != before.output_count) {
      out.changed.push_back(NodeId{i});
      different.push_back(i);
    }
  }
  const auto rewire = [&](NodeId n) {
    if (n.index() < t.nodes.size() && nodes_[n.index()].alive && !nodes_[n.index()].is_return)
      out.rewired.push_back(n);
  };
  for (const auto& [i, before] : t.uses.saved())
    if (uses_[i].value != before.value) rewire(before.user);
  for (const auto& [i, before] : t.nodes.saved())
    if (nodes_[i].first_use != before.first_use) rewire(NodeId{i});
  for (const auto& [i, before] : t.values.saved()) {
    if (before.is_initializer || !values_[i].is_initializer || !values_[i].alive) continue;
    for (UseId u = values_[i].first_use; u; u = next_use(u)) rewire(user(u));
  }
  std::ranges::sort(out.rewired);
  std::ranges::sort(different);
  out.rewired.erase(std::unique(out.rewired.begin(), out.rewired.end()), out.rewired.end());
  std::erase_if(out.rewired,
                [&](NodeId n) { return std::ranges::binary_search(different, std::size_t{n.index()}); });
  return out;
}

void Model::swap_trial() {
  assert(in_trial_);
  Trial& t = *trial_;
  t.nodes.swap(nodes_);
  t.values.swap(values_);
  t.uses.swap(uses_);
  t.slots.swap(output_slots_);
  t.overwriting.swap(overwriting_uses_);
  for (Trial::SavedGraph& s : t.graphs) {
    Graph& g = graphs_[s.graph.index()];
    std::swap(g.owner, s.owner);
    std::swap(g.first, s.first);
    std::swap(g.last, s.last);
    std::swap(g.parent, s.parent);
    std::swap(g.node_count, s.node_count);
    std::swap(g.alive, s.alive);
    std::swap(g.dirty, s.dirty);
    // Initializers that the trial appended are set aside, or come back.
    std::vector<ValueId>& list = g.initializers;
    if (t.undone) {
      list.insert(list.end(), s.appended.begin(), s.appended.end());
      s.appended.clear();
    } else if (list.size() > s.initializers) {
      s.appended.assign(list.begin() + static_cast<std::ptrdiff_t>(s.initializers), list.end());
      list.resize(s.initializers);
    }
  }
  for (Trial::SavedList& l : t.lists) std::swap(graphs_[l.graph.index()].*l.list, l.ids);
  std::swap(live_nodes_, t.live_nodes);
  std::swap(live_of_kind_, t.live_of_kind);
  std::swap(overwrites_, t.overwrites);
  t.undone = !t.undone;
}

void Model::keep_trial() {
  assert(in_trial_ && !trial_->undone);
  in_trial_ = false;
  tell([](Listener& l) { l.trial_kept(); });
}

void Model::undo_trial() {
  if (!trial_->undone) swap_trial();
  const Trial& t = *trial_;
  // What is left of it is dead, and refers to nothing.
  for (std::size_t i = t.nodes.size(); i < nodes_.size(); ++i) {
    nodes_[i].alive = false;
    nodes_[i].input_count = nodes_[i].output_count = nodes_[i].attr_count = 0;
  }
  for (std::size_t i = t.values.size(); i < values_.size(); ++i) {
    values_[i].alive = false;
    values_[i].def = {};
    values_[i].first_use = {};
    values_[i].use_count = 0;
  }
  overwriting_uses_.resize(t.overwriting.size());
  for (std::size_t i = t.graph_count; i < graphs_.size(); ++i) graphs_[i].alive = false;
  in_trial_ = false;
  tell([](Listener& l) { l.trial_undone(); });
}

}  // namespace graphopt
