#include "ir/node_names.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <tuple>

#include "ir/bodies.h"
#include "support/hash_chains.h"
#include "support/utf8.h"

namespace graphopt {
namespace {

constexpr std::size_t kLongestStem = 100, kLongestOperator = 40;  // bytes

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0u) == 0x80u; }

// Returns whether the text is the operator, with or without a number behind it: "Add", "Add_12".
bool is_numbered(std::string_view text, std::string_view op) {
  if (!text.starts_with(op)) return false;
  text.remove_prefix(op.size());
  if (text.starts_with('_')) text.remove_prefix(1);
  return std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

bool is_constant_of_body(const Model& m, NodeId n) {
  return m.kind(n) == OpKind::Constant && m.graph(m.node(n).graph).parent;
}

std::string_view stem_of_first_result(const Model& m, NodeId n) {
  for (const ValueId v : m.outputs(n))
    if (v) return value_stem(m.text(m.value(v).name));
  return {};
}

std::string proposal(const Model& m, NodeId n) {
  return joined_name(stem_of_first_result(m, n), m.text(m.op(n).type));
}

bool is_made(const Model& m, NodeId n) { return m.node(n).file_index == Node::kNotInFile; }

std::uint64_t place_hash(const Model& m, GraphId g, std::size_t known) {
  std::uint64_t h = 0;
  for (; g; g = m.graph(g).parent) {
    const Graph& graph = m.graph(g);
    if (graph.function) {
      const Function& f = m.function(graph.function);
      for (const NameId name : {f.domain, f.name, f.overload}) h = mix_hash(h, text_hash(m.text(name)));
    }
    if (!graph.owner) continue;
    h = mix_hash(h, text_hash(m.text(graph.attribute)));
    for (const ValueId v : m.outputs(graph.owner))
      if (v && m.value(v).name.index() < known) h = mix_hash(h, text_hash(m.text(m.value(v).name)));
  }
  return h;
}

}  // namespace

std::string_view value_stem(std::string_view value_name) {
  if (!is_utf8(value_name)) return {};
  std::string_view stem = value_name;
  for (const std::string_view mark : {"_output_0", ":0"})
    if (stem.ends_with(mark)) {
      stem.remove_suffix(mark.size());
      break;
    }
  return stem.empty() || stem.ends_with('/') ? value_name : stem;
}

std::string joined_name(std::string_view stem, std::string_view op) {
  if (!is_utf8(op)) op = "node";
  if (op.size() > kLongestOperator) {
    std::size_t end = kLongestOperator;
    while (continues_character(op[end])) --end;
    op = op.substr(0, end);
  }
  std::string out;
  if (stem.size() > kLongestStem) {
    std::size_t begin = stem.size() - kLongestStem;
    while (continues_character(stem[begin])) ++begin;
    out = "~";
    stem.remove_prefix(begin);
  }
  out += stem;
  if (is_numbered(stem.substr(stem.rfind('/') + 1), op)) return out;
  if (!stem.empty()) out += '/';
  return out += op;
}

std::uint64_t text_hash(std::string_view text) { return XXH3_64bits(text.data(), text.size()); }

std::uint64_t PlaceHashes::of(GraphId g) {
  if (g.index() >= hashes_.size()) hashes_.resize(m_.graph_count());
  std::optional<std::uint64_t>& known = hashes_[g.index()];
  if (!known) known = place_hash(m_, g, known_);
  return *known;
}

bool TakenNames::add(NameId name) {
  if (has(name)) return false;
  if (name.index() >= taken_.size())
    taken_.resize(std::max<std::size_t>(2 * taken_.size(), name.index() + 1));
  taken_[name.index()] = true;
  return true;
}

std::vector<NameId> grant(StringPool& names, std::vector<NameWish>& wishes, TakenNames& taken) {
  std::ranges::sort(wishes, [&names](const NameWish& a, const NameWish& b) {
    if (a.base != b.base) return names.text(a.base) < names.text(b.base);
    return std::tie(a.label, a.distance, a.hash, a.id) < std::tie(b.label, b.distance, b.hash, b.id);
  });
  // First the names without a number, so that which of them are free does not depend on the numbers given.
  std::vector<NameId> out(wishes.size());
  for (std::size_t i = 0; i < wishes.size(); ++i)
    if ((i == 0 || wishes[i].base != wishes[i - 1].base) && taken.add(wishes[i].base))
      out[i] = wishes[i].base;
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < wishes.size(); ++i) {
    if (i == 0 || wishes[i].base != wishes[i - 1].base) number = 0;
    if (out[i]) continue;
    const std::string base(names.text(wishes[i].base));
    do out[i] = names.intern(base + '_' + std::to_string(++number));
    while (!taken.add(out[i]));
  }
  return out;
}

void name_nodes(Model& m, Unnamed which, std::size_t first) {
  std::vector<NodeId> named, unnamed;  // that are asked about
  TakenNames taken, once, twice;
  const auto each_node = [&m](auto f) {
    for (std::size_t i = 0; i < m.node_count(); ++i)
      if (m.alive(NodeId{i}) && !m.is_return(NodeId{i})) f(NodeId{i});
  };
  each_node([&](NodeId n) {
    if (n.index() < first) return;
    if (which == Unnamed::Made) {
      if (is_made(m, n) && !has_name(m, n) && !is_in_function(m, m.node(n).graph)) unnamed.push_back(n);
      return;
    }
    if (is_in_function(m, m.node(n).graph) || is_constant_of_body(m, n)) return;
    if (!has_name(m, n) || !is_utf8(m.text(m.node(n).name))) return unnamed.push_back(n);
    if (!once.add(m.node(n).name)) twice.add(m.node(n).name);
    named.push_back(n);
  });
  std::vector<NameWish> wishes;
  PlaceHashes places(m);
  const auto wish = [&](NodeId n, NameId base) {
    wishes.push_back({.base = base,
                      .label = stem_of_first_result(m, n),
                      .hash = places.of(m.node(n).graph),
                      .id = n.index()});
  };
  for (const NodeId n : named)
    if (twice.has(m.node(n).name)) wish(n, m.node(n).name);
  for (const NodeId n : unnamed) wish(n, m.names.intern(proposal(m, n)));
  if (wishes.empty()) return;
  each_node([&](NodeId n) {
    if (has_name(m, n) && !twice.has(m.node(n).name)) taken.add(m.node(n).name);
  });
  const std::vector<NameId> granted = grant(m.names, wishes, taken);
  for (std::size_t i = 0; i < wishes.size(); ++i)
    if (const NodeId n{wishes[i].id}; m.node(n).name != granted[i]) m.rename(n, granted[i]);
}

std::string name_or_proposal(const Model& m, NodeId n) {
  return !has_name(m, n) ? proposal(m, n) : std::string(m.text(m.node(n).name));
}

}  // namespace graphopt
