#include "regions/region_functions.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "ops/node_facts.h"
#include "support/hash_chains.h"

namespace graphopt {
namespace {

constexpr std::size_t kLongestName = 60;  // characters of the operators in a function's name
// Nodes that inlining may make: a small hostile file with many calls of a large function could fill the
// memory.
constexpr std::uint64_t kMostInlined = 4'000'000;

// --- the text of a body ------------------------------------------------------------------------------------

void put(std::string& out, std::uint64_t number) {
  for (int i = 0; i < 8; ++i) out += static_cast<char>(number >> (8 * i) & 0xFF);
}
void put(std::string& out, std::string_view text) {
  put(out, text.size());
  out += text;
}
template <class T, class Each> void put_list(std::string& out, std::span<const T> list, Each each) {
  put(out, list.size());
  for (const T& x : list) each(x);
}

void put_attribute(std::string& out, const Model& m, const Attr& a) {
  put(out, m.text(a.name));
  put(out, static_cast<std::uint64_t>(a.kind));
  switch (a.kind) {
    case AttrKind::Float: return put(out, std::bit_cast<std::uint32_t>(a.f));
    case AttrKind::Int: return put(out, static_cast<std::uint64_t>(a.i));
    case AttrKind::String: return put(out, a.s);
    case AttrKind::Ints:
      return put_list(out, a.ints, [&](std::int64_t i) { put(out, static_cast<std::uint64_t>(i)); });
    case AttrKind::Floats:
      return put_list(out, a.floats, [&](float f) { put(out, std::bit_cast<std::uint32_t>(f)); });
    case AttrKind::Strings: return put_list(out, a.strings, [&](Bytes s) { put(out, s); });
    case AttrKind::Tensor: {
      const Hash128 hash = m.content_hash(a.tensor);
      put(out, hash.low);
      return put(out, hash.high);
    }
    default: return put(out, a.proto);
  }
}

// Returns the text of one node: operator, attributes (sorted, as their order has no meaning), number of
// results.
std::string text_of(const Model& m, NodeId n) {
  std::string out;
  const Op& op = m.op(n);
  for (const NameId name : {op.domain, op.type, op.overload}) put(out, m.text(name));
  std::vector<const Attr*> attrs;
  for (const Attr& a : m.attrs(n)) attrs.push_back(&a);
  std::ranges::sort(attrs, {}, [&](const Attr* a) { return m.text(a->name); });
  put(out, attrs.size());
  for (const Attr* a : attrs) put_attribute(out, m, *a);
  put(out, m.output_count(n));
  return out;
}

// --- one region --------------------------------------------------------------------------------------------

struct Body {
  std::vector<NodeId> nodes;             // in the order of own_order()
  std::vector<ValueId> inputs, outputs;  // in the graph
  std::string text;
};

// Returns the members by depth inside the region, then by hashes of what is upstream and downstream of them
// in it, so that equal regions get equal texts wherever they are in the graph. Members with equal keys keep
// their order: they are alike.
std::vector<NodeId> own_order(const Model& m, const Region& r, const std::vector<std::string>& texts) {
  struct SortKey {
    std::uint32_t depth = 0;
    std::uint64_t upstream = 0, downstream = 0;
  };
  std::unordered_map<NodeId, std::size_t> index;
  for (std::size_t i = 0; i < r.members.size(); ++i) index.emplace(r.members[i], i);
  std::vector<SortKey> keys(r.members.size());
  for (std::size_t i = 0; i < r.members.size(); ++i) {
    const NodeId n = r.members[i];
    SortKey& p = keys[i];
    p.upstream = XXH3_64bits(texts[i].data(), texts[i].size());
    for (std::size_t k = 0; k < m.input_count(n); ++k) {
      const ValueId v = m.input(n, k);
      const auto def = v && m.value(v).def ? index.find(m.value(v).def) : index.end();
      p.upstream = mix_hash(p.upstream, !v ? 1
                                        : def == index.end()
                                            ? 2
                                            : mix_hash(keys[def->second].upstream, m.value(v).def_slot));
      if (def != index.end()) p.depth = std::max(p.depth, keys[def->second].depth + 1);
    }
  }
  for (std::size_t i = r.members.size(); i-- > 0;) {
    SortKey& p = keys[i];
    p.downstream = p.upstream;
    for (const ValueId v : m.outputs(r.members[i])) {
      std::uint64_t sum = 0;  // the order of uses has no meaning
      for (UseId u = v ? m.first_use(v) : UseId{}; u; u = m.next_use(u)) {
        const auto user = index.find(m.user(u));
        sum += user == index.end() ? 1 : mix_hash(keys[user->second].downstream, m.slot(u));
      }
      p.downstream = mix_hash(p.downstream, sum);
    }
  }
  std::vector<std::size_t> by(r.members.size());
  for (std::size_t i = 0; i < by.size(); ++i) by[i] = i;
  std::ranges::stable_sort(
      by, {}, [&](std::size_t i) { return std::tuple(keys[i].depth, keys[i].upstream, keys[i].downstream); });
  std::vector<NodeId> out;
  for (const std::size_t i : by) out.push_back(r.members[i]);
  return out;
}

Body body_of(const Model& m, const Region& r) {
  Body b;
  {
    std::vector<std::string> texts;
    for (const NodeId n : r.members) texts.push_back(text_of(m, n));
    b.nodes = own_order(m, r, texts);
  }
  const std::unordered_set<ValueId> read_outside(r.outputs.begin(), r.outputs.end());
  std::unordered_map<ValueId, std::uint64_t> number;  // even: results; odd: inputs; from 1
  std::uint64_t results = 0;
  for (const NodeId n : b.nodes) {
    b.text += text_of(m, n);
    put(b.text, m.input_count(n));
    for (std::size_t k = 0; k < m.input_count(n); ++k) {
      const ValueId v = m.input(n, k);
      if (v && number.try_emplace(v, 2 * b.inputs.size() + 1).second) b.inputs.push_back(v);
      put(b.text, v ? number[v] : 0);
    }
    for (const ValueId v : m.outputs(n)) {
      if (v) number.emplace(v, 2 * ++results);
      put(b.text, !v ? 0 : read_outside.contains(v) ? 2 : 1);
      if (v && read_outside.contains(v)) b.outputs.push_back(v);
    }
  }
  return b;
}

// --- making functions --------------------------------------------------------------------------------------

class Maker {
 public:
  Maker(Model& m, GraphId graph) : m_(m), graph_(graph) {
    domain_ = m.names.intern(kRegionDomain);
    for (std::size_t f = 0; f < m.function_count(); ++f) {
      const Function& function = m.function(FunctionId{f});
      if (function.domain == domain_ && m.graph(function.body).alive) taken_.insert(function.name);
    }
  }

  std::vector<std::string> run(const RegionList& list) {
    std::unordered_map<NodeId, std::size_t> first;  // the region whose first node in the order this is
    std::unordered_set<NodeId> members;
    for (std::size_t r = 0; r < list.regions.size(); ++r) {
      if (!may_be_function(list.regions[r])) continue;
      first.emplace(list.regions[r].members.front(), r);
      members.insert(list.regions[r].members.begin(), list.regions[r].members.end());
    }
    std::vector<std::string> names(list.regions.size());
    if (first.empty()) return names;
    for (const NodeId n : list.order) {
      if (const auto r = first.find(n); r != first.end()) names[r->second] = replace(list.regions[r->second]);
      else if (!members.contains(n)) m_.move_before(n, {});
    }
    OpsetTable& table = m_.opset_tables[m_.graph(graph_).opsets];
    if (std::ranges::find(table, domain_, &OpsetImport::domain) == table.end()) table.push_back({domain_, 1});
    m_.ir_version = std::max(m_.ir_version, kFunctionIrVersion);
    return names;
  }

 private:
  // onnx infers some operators through their function body, and inside of another function it does not hand
  // the defaults of attributes down to it. A node that overwrites an operand stays beside what makes that.
  bool may_be_function(const Region& r) const {
    return std::ranges::none_of(
        r.members, [&](NodeId n) { return facts_of(m_, n).inferred_by_body || m_.node(n).overwrites != 0; });
  }

  std::string replace(const Region& r) {
    const Body b = body_of(m_, r);
    const auto [known, fresh] = ops_.try_emplace(b.text);
    if (fresh) known->second = make(b);
    const OpId op = known->second;
    for (const ValueId v : b.outputs) m_.detach_output(m_.value(v).def, m_.value(v).def_slot);
    const NodeId call = m_.add_node(graph_, op, b.inputs, b.outputs);
    for (auto n = b.nodes.rbegin(); n != b.nodes.rend(); ++n) m_.erase(*n);
    return std::string(m_.text(m_.op(call).type));
  }

  // Returns the operator of a new function: a new one with the id of the next function, or that of a function
  // which was inlined when the model was loaded, since its operator still exists.
  OpId operator_of(const Body& b) {
    std::string operators;
    for (const NodeId n : b.nodes) {
      const std::string_view type = m_.text(m_.op(n).type);
      if (operators.size() + type.size() + 1 > kLongestName) {
        operators += "etc_";
        break;
      }
      operators.append(type) += '_';
    }
    const std::string stem = operators + fmt::format("{:016x}", XXH3_64bits(b.text.data(), b.text.size()));
    std::string name = stem;
    for (int i = 2;; name = fmt::format("{}_{}", stem, i++)) {
      if (taken_.contains(m_.names.intern(name))) continue;
      const OpId op =
          m_.intern_op(OpKind::FunctionCall, kRegionDomain, name, {}, FunctionId{m_.function_count()});
      if (m_.op(op).kind != OpKind::FunctionCall) continue;  // nodes of an unknown operator have this name
      taken_.insert(m_.op(op).type);
      return op;
    }
  }

  // Makes the function of a body, whose nodes are still in the graph; returns its operator.
  OpId make(const Body& b) {
    Function f;
    const OpId op = operator_of(b);
    f.domain = domain_;
    f.name = m_.op(op).type;
    f.overload = kEmptyName;
    OpsetTable imports;
    const OpsetTable& outer = m_.opset_tables[m_.graph(graph_).opsets];
    for (const OpsetImport& o : outer)
      if (std::ranges::any_of(b.nodes, [&](NodeId n) { return m_.op(n).domain == o.domain; }))
        imports.push_back(o);
    const GraphId body = m_.define_function(m_.op(op).function, std::move(f), std::move(imports));

    std::unordered_map<ValueId, ValueId> inner;
    for (const ValueId v : b.inputs)
      inner.emplace(v, m_.add_input(body, m_.names.intern(fmt::format("i{}", inner.size()))));
    std::size_t results = 0;
    for (const NodeId n : b.nodes) {
      std::vector<ValueId> in, out;
      for (std::size_t k = 0; k < m_.input_count(n); ++k) {
        const ValueId v = m_.input(n, k);
        in.push_back(v ? inner.at(v) : ValueId{});
      }
      for (std::size_t k = 0; k < m_.output_count(n); ++k) {
        const ValueId v = m_.output(n, k);
        out.push_back(v ? m_.add_value(body, m_.names.intern(fmt::format("v{}", results++))) : ValueId{});
        if (v) inner.emplace(v, out.back());
      }
      m_.add_node_as(n, body, in, out);
    }
    std::vector<ValueId> outputs;
    for (const ValueId v : b.outputs) outputs.push_back(inner.at(v));
    m_.set_graph_outputs(body, outputs);
    return op;
  }

  Model& m_;
  GraphId graph_;
  NameId domain_;
  std::unordered_set<NameId> taken_;           // names of functions of kRegionDomain
  std::unordered_map<std::string, OpId> ops_;  // by the text of the body
};

// --- taking functions apart --------------------------------------------------------------------------------

// Returns whether make() could have made the function.
bool plain(const Model& m, const Function& f) {
  if (m.text(f.domain) != kRegionDomain || !f.attributes.empty() || !f.defaults.empty() || !f.body)
    return false;
  const Graph& body = m.graph(f.body);
  if (!body.alive || body.node_count == 0 || !body.initializers.empty()) return false;
  for (NodeId n = body.first; n; n = m.next_node(n)) {
    if (m.kind(n) == OpKind::FunctionCall) return false;
    for (const Attr& a : m.attrs(n))
      if (!a.graphs.empty() || (a.ref && a.ref != kEmptyName)) return false;
  }
  std::unordered_set<ValueId> outputs;
  for (std::size_t i = 0; i < m.graph_output_count(f.body); ++i) {
    const ValueId v = m.graph_output(f.body, i);
    if (!v || !m.value(v).def || m.value(v).graph != f.body || !outputs.insert(v).second) return false;
  }
  return true;
}

// Returns whether graph g imports every operator set that the body imports, in the same version.
bool same_opsets(const Model& m, GraphId body, GraphId g) {
  for (const OpsetImport& o : m.opset_tables[m.graph(body).opsets])
    if (m.opset(g, o.domain) != o.version) return false;
  return true;
}

// Returns whether the call can be replaced by the body.
bool fits(const Model& m, NodeId call, const Function& f) {
  return m.input_count(call) <= m.graph(f.body).inputs.size() &&
         m.output_count(call) <= m.graph_output_count(f.body) && m.attrs(call).empty() &&
         same_opsets(m, f.body, m.node(call).graph);
}

void inline_call(Model& m, NodeId call) {
  const Function& f = m.function(m.op(call).function);
  const GraphId body = f.body, outer = m.node(call).graph;
  std::unordered_map<ValueId, ValueId> to;
  for (std::size_t i = 0; i < m.graph(body).inputs.size(); ++i)
    to.emplace(m.graph(body).inputs[i], m.input(call, i));
  std::string base = "region";
  for (std::size_t i = 0; i < m.graph_output_count(body); ++i) {
    const ValueId v = m.output(call, i);
    if (!v) continue;
    base = m.text(m.value(v).name);
    to.emplace(m.graph_output(body, i), m.detach_output(call, i));
  }
  for (NodeId n = m.first_node(body); n; n = m.next_node(n)) {
    std::vector<ValueId> in, out;
    for (std::size_t k = 0; k < m.input_count(n); ++k) {
      const ValueId v = m.input(n, k);
      in.push_back(v ? to.at(v) : ValueId{});
    }
    for (std::size_t k = 0; k < m.output_count(n); ++k) {
      const ValueId v = m.output(n, k);
      if (v && !to.contains(v)) to.emplace(v, m.add_value(outer, m.fresh_name(base)));
      out.push_back(v ? to.at(v) : ValueId{});
    }
    m.add_node_as(n, outer, in, out, call);
  }
  m.erase(call);
}

}  // namespace

std::vector<std::string> make_region_functions(Model& m, GraphId graph, const RegionList& list) {
  return Maker(m, graph).run(list);
}

std::size_t inline_region_functions(Model& m) {
  std::vector<char> ours(m.function_count());
  bool any = false;
  for (std::size_t f = 0; f < ours.size(); ++f) any |= (ours[f] = plain(m, m.function(FunctionId{f}))) != 0;
  if (!any) return 0;
  std::vector<NodeId> calls;
  std::uint64_t nodes = 0;
  for (std::size_t i = 0; i < m.node_count(); ++i) {
    const NodeId n{i};
    if (!m.alive(n) || m.kind(n) != OpKind::FunctionCall || !ours[m.op(n).function.index()]) continue;
    const FunctionId f = m.op(n).function;
    if (fits(m, n, m.function(f))) {
      calls.push_back(n);
      nodes += m.graph(m.function(f).body).node_count;
    } else {
      ours[f.index()] = 0;  // it stays, and with it all its calls
    }
  }
  if (nodes > kMostInlined) return 0;
  std::erase_if(calls, [&](NodeId n) { return !ours[m.op(n).function.index()]; });
  for (const NodeId n : calls) inline_call(m, n);
  for (std::size_t f = 0; f < ours.size(); ++f)
    if (ours[f]) m.erase_function(FunctionId{f});
  const NameId domain = m.names.intern(kRegionDomain);
  bool left = false;
  for (std::size_t f = 0; f < ours.size(); ++f)
    left |= m.function(FunctionId{f}).domain == domain && m.graph(m.function(FunctionId{f}).body).alive;
  if (!left)
    for (OpsetTable& table : m.opset_tables)
      std::erase_if(table, [&](const OpsetImport& o) { return o.domain == domain; });
  return calls.size();
}

}  // namespace graphopt
