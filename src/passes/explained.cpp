// See explain.h.
#include "passes/explained.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "passes/pass.h"
#include "support/nearest.h"

namespace graphopt {
namespace {

std::string node_of(std::string_view item) {
  const std::size_t colon = item.find(':');
  return colon == std::string_view::npos ? std::string() : std::string(item.substr(colon + 1));
}

// Only a name of the file names a node: '#3' and "of 'x'" are for messages.
std::string node_name(const RefusedCandidate& r) {
  const Place& p = r.place;
  const bool named = !p.node.empty() && p.node.front() != '#' && !p.node.starts_with("of '");
  const std::string& name = named ? p.node : r.value;
  return p.graph.empty() ? name : p.graph + '/' + name;
}

// Replaces the names of values that are between quotes by those that they have now.
std::string with_new_names(const std::string& text, const RenamedValues& renamed) {
  std::string out;
  std::size_t done = 0;
  while (!renamed.empty()) {
    const std::size_t begin = text.find('\'', done);
    const std::size_t end = begin == std::string::npos ? begin : text.find('\'', begin + 1);
    if (end == std::string::npos) break;
    const auto known = renamed.find(text.substr(begin + 1, end - begin - 1));
    out.append(text, done, begin + 1 - done);
    if (known == renamed.end()) out.append(text, begin + 1, end - begin);
    else out.append(known->second).append(1, '\'');
    done = end + 1;
  }
  return out.append(text, done);
}

// Returns the refusal with the names that its node and the values around it have in the end.
RefusedCandidate with_new_names(RefusedCandidate r, const Model& m, const RenamedValues& renamed) {
  if (r.node && m.alive(r.node)) r.place = place_of(m, r.node);
  r.place.slot = with_new_names(r.place.slot, renamed);
  r.reason = with_new_names(r.reason, renamed);
  if (const auto known = renamed.find(r.value); known != renamed.end()) r.value = known->second;
  return r;
}

}  // namespace

std::string explained_pass(std::string_view item) { return std::string(item.substr(0, item.find(':'))); }

ExplainWishes::ExplainWishes(const CleanUpStage::Options& options, const Model& m) {
  bool any_node = false;
  for (const std::string& item : options.explain) {
    Wish& wish = wishes_.emplace_back(Wish{explained_pass(item), node_of(item), {}});
    if (wish.node.empty()) continue;
    wish.names.insert(wish.node);
    any_node = true;
  }
  // Refusals are listed under the first result of their node.
  for (std::size_t i = 0; any_node && i < m.value_count(); ++i) {
    const ValueId v{i};
    if (!m.alive(v) || !m.value(v).def || m.value(v).def_slot == 0) continue;
    const ValueId first = m.output(m.value(v).def, 0);
    for (Wish& w : wishes_)
      if (first && w.names.contains(std::string(m.text(m.value(v).name))))
        w.names.emplace(m.text(m.value(first).name));
  }
}

bool ExplainWishes::about(const RefusedCandidate& r) const {
  return std::ranges::any_of(wishes_, [&r](const Wish& w) {
    return (w.pass == "all" || w.pass == r.pass) &&
           (w.node.empty() || w.names.contains(r.place.node) || w.names.contains(r.value) ||
            w.names.contains(node_name(r)));
  });
}

std::vector<std::string> ExplainWishes::nodes() const {
  std::vector<std::string> out;
  for (const Wish& w : wishes_)
    if (w.pass == "all" && !w.node.empty() && std::ranges::find(out, w.node) == out.end())
      out.push_back(w.node);
  return out;
}

std::vector<std::string> explained_passes(const CleanUpStage::Options& options) {
  std::vector<std::string> names;
  for (const std::string& item : options.explain) {
    if (const std::string pass = explained_pass(item); pass != "all") names.push_back(pass);
    else
      for (const PassInfo* p : all_passes()) names.emplace_back(p->name);
  }
  return names;
}

std::vector<CleanUpStage::Refused> asked_refusals(const RefusalLog& log, const Model& m,
                                                  const RenamedValues& renamed,
                                                  const CleanUpStage::Options& options) {
  const ExplainWishes wishes(options, m);
  std::vector<CleanUpStage::Refused> out;
  for (const RefusedCandidate& noted : log.refused) {
    const RefusedCandidate r = with_new_names(noted, m, renamed);
    if (wishes.about(r))
      out.push_back({r.pass, std::string(r.kind), r.reason, to_string(r.place), node_name(r), r.place.op,
                     r.value, r.limit});
  }
  return out;
}

std::vector<std::string> explained_nowhere(const Model& m, const CleanUpStage::Options& options) {
  std::set<std::string> asked;
  for (const std::string& item : options.explain)
    if (std::string node = node_of(item); !node.empty()) asked.insert(std::move(node));
  if (asked.empty()) return {};
  std::vector<std::string_view> names;  // each once, in the order of the file
  std::set<std::string_view> seen{""};
  const auto add = [&](std::string_view name) {
    if (seen.insert(name).second) names.push_back(name);
  };
  for (std::size_t i = 0; i < m.node_count(); ++i) add(m.text(m.node(NodeId{i}).name));
  for (std::size_t i = 0; i < m.value_count(); ++i) add(m.text(m.value(ValueId{i}).name));
  // As the table writes a node of a body: "main/#4.then_branch/inner".
  const auto is_called = [](std::string_view asked_name, std::string_view name) {
    return asked_name.ends_with(name) &&
           (asked_name.size() == name.size() || asked_name[asked_name.size() - name.size() - 1] == '/');
  };
  std::vector<std::string> out;
  for (const std::string& name : asked)
    if (std::ranges::none_of(names, [&](std::string_view known) { return is_called(name, known); }))
      out.push_back("--explain: the model has no node or result '" + name + "'; " +
                    suggest(name, names, "names in the model"));
  return out;
}

std::vector<std::string> named_but_left_out(const CleanUpStage::Options& options,
                                            const std::vector<std::string>& ran) {
  const bool exact = options.exact || options.level < 2;
  std::vector<std::string> out;
  std::set<std::string> named;
  const auto look = [&](const std::string& option, const std::string& name) {
    const PassInfo* pass = find_pass(name);
    if (pass == nullptr || std::ranges::count(ran, name) > 0 || !named.insert(name).second) return;
    std::string why;
    if (std::ranges::count(options.disabled, name) > 0) why = "--disable-pass leaves it out";
    else if (pass->exact == Exact::No && exact)
      why = std::string("it rounds, which ") +
            (options.exact ? "--exact" : "-O" + std::to_string(options.level)) + " does not allow";
    else if (!options.passes.empty()) why = "--passes does not name it";
    else why = "it runs from -O" + std::to_string(pass->level) + " on";
    out.push_back(option + ": pass '" + name + "' did not run: " + why);
  };
  for (const std::string& name : options.passes) look("--passes", name);
  for (const std::string& text : options.explain) look("--explain", explained_pass(text));
  return out;
}

}  // namespace graphopt
