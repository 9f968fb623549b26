#include "ir/made_names.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "ir/node_names.h"
#include "support/hash_chains.h"

namespace graphopt {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Returns the text without "_12" at its end.
std::string_view without_number(std::string_view text) {
  std::size_t end = text.size();
  while (end > 0 && is_digit(text[end - 1])) --end;
  return end > 1 && end < text.size() && text[end - 1] == '_' ? text.substr(0, end - 1) : text;
}

// What an initializer is, by the name that the pass gave it: the word at its end.
std::string_view role_of(std::string_view name) {
  name = without_number(name);
  const std::size_t begin = name.find_last_of("_/");
  if (begin == std::string_view::npos) return "constant";
  name.remove_prefix(begin + 1);
  const bool word = !name.empty() && std::ranges::all_of(name, [](char c) { return c >= 'a' && c <= 'z'; });
  return word ? name : "constant";
}

class Namer {
 public:
  Namer(Model& m, std::size_t file_names, std::size_t file_nodes)
      : m_(m), file_names_(file_names), file_nodes_(file_nodes), places_(m, file_names) {}

  void run(RenamedValues* renamed) {
    if (m_.names.size() == file_names_ && m_.node_count() == file_nodes_) return;
    find_taken();
    find_values();
    name_nodes();
    name_values(renamed);
  }

 private:
  struct Label {
    std::string_view text;  // of the pool
    std::uint32_t distance = 0;
    std::uint64_t hash = 0;
    auto key() const { return std::tie(text, distance, hash); }
  };
  enum class State : std::uint8_t { New, Open, Done };
  struct Made {
    ValueId value;
    NameId copied;  // the name of the file that it has with a number; none: not a copy
    Label label;
    State state = State::New;
    bool single = false;  // has one use
  };
  static constexpr std::uint32_t kNot = 0xFFFFFFFFu;

  bool is_made(NameId name) const { return name.index() >= file_names_; }

  // Returns the name of the file of which `name` is the one with a number; none otherwise.
  NameId copied(NameId name) const {
    const std::string_view text = m_.text(name), stem = without_number(text);
    const NameId known = stem.size() < text.size() ? m_.names.find(stem) : NameId{};
    return known && !is_made(known) ? known : NameId{};
  }

  // Returns whether the interface of the main graph or of a function has the name.
  bool is_interface(ValueId v) const {
    const Value& value = m_.value(v);
    if (value.is_input || value.pinned) return true;
    const Graph& g = m_.graph(value.graph);
    if (g.owner) return false;
    for (UseId u = m_.first_use(v); u; u = m_.next_use(u))
      if (m_.user(u) == g.ret) return true;
    return false;
  }

  // All names of the file are taken, but for those that only values had which are gone. A pass may remove
  // what an earlier run made and make it anew: then it has the name that it had.
  void find_taken() {
    std::vector<bool> gone(file_names_);
    for (const bool alive : {false, true})
      for (std::size_t i = 0; i < m_.value_count(); ++i)
        if (const Value& v = m_.value(ValueId{i}); v.alive == alive && v.name && !is_made(v.name))
          gone[v.name.index()] = !alive;
    for (std::size_t i = 0; i < file_names_; ++i)
      if (!gone[i]) value_names_.add(NameId{i});
  }

  void find_values() {
    place_.resize(m_.value_count(), kNot);
    for (std::size_t i = 0; i < m_.value_count(); ++i) {
      const ValueId v{i};
      if (!m_.alive(v) || !m_.value(v).name || !is_made(m_.value(v).name)) continue;
      if (is_interface(v)) {
        value_names_.add(m_.value(v).name);
        continue;
      }
      place_[i] = static_cast<std::uint32_t>(made_.size());
      made_.push_back({.value = v, .copied = copied(m_.value(v).name), .label = {}});
    }
    for (std::size_t i = 0; i < made_.size(); ++i) find_label(i);
  }

  Made* made(ValueId v) { return place_[v.index()] == kNot ? nullptr : &made_[place_[v.index()]]; }

  // --- labels ----------------------------------------------------------------------------------------------

  // Returns the first result of a node that something reads, or else its first one.
  ValueId main_result(NodeId n) const {
    ValueId first;
    for (const ValueId v : m_.outputs(n)) {
      if (v && m_.use_count(v) > 0) return v;
      if (v && !first) first = v;
    }
    return first;
  }

  // Returns what a use leads to: a result of the user or, behind the outputs of a body, of the node that
  // holds the body. None at the end of a function.
  ValueId target(NodeId user) const {
    if (!m_.is_return(user)) return main_result(user);
    const NodeId owner = m_.graph(m_.node(user).graph).owner;
    return owner ? main_result(owner) : ValueId{};
  }

  // Returns the label that begins at a value with a name of the file, or at a copy of one.
  Label own_label(ValueId v, NameId name) {
    return {value_stem(m_.text(name)), 0, mix_hash(text_hash(m_.text(name)), places_.of(m_.value(v).graph))};
  }
  Label label_of(ValueId v) {
    const Made* known = made(v);
    if (known == nullptr) return own_label(v, m_.value(v).name);
    return known->copied ? own_label(v, known->copied) : known->label;
  }

  // Walks downstream on a stack of its own. A value whose label is being looked for has none yet: in a valid
  // model it is not met again.
  void find_label(std::size_t start) {
    std::vector<std::size_t> open{start};
    while (!open.empty()) {
      Made& at = made_[open.back()];
      if (at.state == State::New) {
        at.state = State::Open;
        for (UseId u = m_.first_use(at.value); u; u = m_.next_use(u))
          if (const ValueId next = target(m_.user(u)))
            if (const std::uint32_t i = place_[next.index()]; i != kNot && made_[i].state == State::New)
              open.push_back(i);
        continue;
      }
      open.pop_back();
      if (at.state == State::Done) continue;
      at.state = State::Done;
      bool found = false;
      for (UseId u = m_.first_use(at.value); u; u = m_.next_use(u)) {
        const NodeId user = m_.user(u);
        const ValueId next = target(user);
        if (!next) continue;
        Label label = label_of(next);
        ++label.distance;
        const std::uint64_t op = m_.is_return(user) ? 0 : text_hash(m_.text(m_.op(user).type));
        label.hash = mix_hash(mix_hash(label.hash, op), m_.slot(u));
        if (found && !(label.key() < at.label.key())) continue;
        at.label = label;
        found = true;
      }
      at.single = m_.use_count(at.value) == 1;
      at.label.hash = mix_hash(at.label.hash, m_.value(at.value).def_slot);
    }
  }

  // --- names -----------------------------------------------------------------------------------------------

  std::string name_from(const Label& label, NodeId n) const {
    return joined_name(label.text, m_.text(m_.op(n).type));
  }

  void name_nodes() {
    std::vector<NameWish> wishes;
    TakenNames taken;
    for (std::size_t i = 0; i < m_.node_count(); ++i) {
      const NodeId n{i};
      if (!m_.alive(n) || m_.is_return(n)) continue;
      const bool named = has_name(m_, n);
      if (named ? !is_made(m_.node(n).name) : i < file_nodes_) {
        if (named) taken.add(m_.node(n).name);
        continue;
      }
      const ValueId result = main_result(n);
      const Label label = result ? label_of(result) : Label{};
      // A name of a pass's own node ends in a number for another reason.
      NameId base = named && m_.node(n).file_index != Node::kNotInFile ? copied(m_.node(n).name) : NameId{};
      if (!base) base = m_.names.intern(name_from(label, n));
      wishes.push_back({base, label.text, label.distance, label.hash, n.index()});
    }
    const std::vector<NameId> granted = grant(m_.names, wishes, taken);
    for (std::size_t i = 0; i < wishes.size(); ++i)
      if (const NodeId n{wishes[i].id}; m_.node(n).name != granted[i]) m_.rename(n, granted[i]);
  }

  // Returns the first choice for the name of a made value.
  std::string wished(const Made& v) const {
    const NodeId n = m_.value(v.value).def;
    if (!n)
      return joined_name(v.label.text, v.single ? role_of(m_.text(m_.value(v.value).name)) : "constant");
    if (has_name(m_, n) && n.index() < file_nodes_ && !is_made(m_.node(n).name))
      return std::string(m_.text(m_.node(n).name)) + "_moved";
    return (has_name(m_, n) ? std::string(m_.text(m_.node(n).name)) : name_from(v.label, n)) + "_output_" +
           std::to_string(m_.value(v.value).def_slot);
  }

  void name_values(RenamedValues* renamed) {
    std::vector<NameWish> wishes;
    for (const Made& v : made_)
      wishes.push_back({v.copied ? v.copied : m_.names.intern(wished(v)), v.label.text, v.label.distance,
                        v.label.hash, v.value.index()});
    const std::vector<NameId> granted = grant(m_.names, wishes, value_names_);
    for (std::size_t i = 0; i < wishes.size(); ++i) {
      const ValueId v{wishes[i].id};
      const NameId before = m_.value(v).name;
      if (before == granted[i]) continue;
      if (renamed != nullptr) renamed->emplace(m_.text(before), m_.text(granted[i]));
      m_.rename(v, granted[i]);
    }
  }

  Model& m_;
  const std::size_t file_names_, file_nodes_;
  TakenNames value_names_;
  std::vector<Made> made_;
  std::vector<std::uint32_t> place_;  // in made_, by ValueId
  PlaceHashes places_;
};

}  // namespace

void name_made(Model& m, std::size_t file_names, std::size_t file_nodes, RenamedValues* renamed) {
  Namer(m, file_names, file_nodes).run(renamed);
}

}  // namespace graphopt
