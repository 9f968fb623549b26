// See explain.h.
#include "passes/explained.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "passes/pass.h"
#include "support/nearest.h"

namespace graphopt {
namespace {

// One item of Options::explain.
struct Wish {
  std::string_view pass;        // "all": every pass
  std::set<std::string> nodes;  // names that say which node; empty: all nodes
  bool about(std::string_view p) const { return pass == "all" || pass == p; }
};

Wish parse(std::string_view text) {
  const std::size_t colon = text.find(':');
  Wish wish{text.substr(0, colon), {}};
  if (colon != std::string_view::npos) wish.nodes.emplace(text.substr(colon + 1));
  return wish;
}

// Adds the first result of nodes that have a result of a given name: refusals are listed under that.
void add_first_results(const Model& m, std::vector<Wish>& wishes) {
  if (std::ranges::all_of(wishes, [](const Wish& w) { return w.nodes.empty(); })) return;
  for (std::size_t i = 0; i < m.value_count(); ++i) {
    const ValueId v{i};
    if (!m.alive(v) || !m.value(v).def || m.value(v).def_slot == 0) continue;
    const ValueId first = m.output(m.value(v).def, 0);
    for (Wish& w : wishes)
      if (first && w.nodes.contains(std::string(m.text(m.value(v).name))))
        w.nodes.emplace(m.text(m.value(first).name));
  }
}

// Only a name of the file names a node: '#3' and "of 'x'" are for messages.
std::string node_name(const RefusedCandidate& r) {
  const Place& p = r.place;
  const bool named = !p.node.empty() && p.node.front() != '#' && !p.node.starts_with("of '");
  const std::string& name = named ? p.node : r.value;
  return p.graph.empty() ? name : p.graph + '/' + name;
}

}  // namespace

std::vector<std::string> explained_passes(const CleanUpStage::Options& options) {
  std::vector<std::string> names;
  for (const std::string& text : options.explain) {
    const Wish wish = parse(text);
    if (wish.pass != "all") names.emplace_back(wish.pass);
    else
      for (const PassInfo* p : all_passes()) names.emplace_back(p->name);
  }
  return names;
}

std::vector<CleanUpStage::Refused> asked_refusals(const RefusalLog& log, const Model& m,
                                                  const CleanUpStage::Options& options) {
  std::vector<Wish> wishes;
  for (const std::string& text : options.explain) wishes.push_back(parse(text));
  add_first_results(m, wishes);
  std::vector<CleanUpStage::Refused> out;
  for (const RefusedCandidate& r : log.refused) {
    const bool asked = std::ranges::any_of(wishes, [&r](const Wish& w) {
      return w.about(r.pass) && (w.nodes.empty() || w.nodes.contains(r.place.node) ||
                                 w.nodes.contains(r.value) || w.nodes.contains(node_name(r)));
    });
    if (asked)
      out.push_back({r.pass, std::string(r.kind), r.reason, to_string(r.place), node_name(r), r.place.op,
                     r.value, r.limit});
  }
  return out;
}

std::vector<std::string> explained_nowhere(const Model& m, const CleanUpStage::Options& options) {
  std::set<std::string> asked;
  for (const std::string& text : options.explain) asked.merge(parse(text).nodes);
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
  for (const std::string& text : options.explain) look("--explain", std::string(parse(text).pass));
  return out;
}

}  // namespace graphopt
