// Cuts a model in two and writes both parts as models, for tests/equal/parts.py.
//
//   graphopt_cut_model IN OUT0 OUT1 SEED
//
// The first part is closed towards the inputs: a random number of nodes in a random topological order. A
// value is cut only where its type is known, and a node that draws random numbers, or whatever reads it, is
// never in the first part without all that follows from it. A Constant node is in each part that reads it:
// onnx's inference is wrong about operators whose positions are inputs of the model. The model is cloned
// first, and the clone is written. Prints the number of nodes of each part; status 2 where the model cannot
// be cut.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "infer/infer.h"
#include "ir/part.h"
#include "onnx/reader.h"
#include "onnx/writer.h"
#include "ops/node_facts.h"
#include "shapes/boundary_types.h"

namespace graphopt {
namespace {

class Cut {
 public:
  Cut(const Model& m, const Inference& infer, std::uint32_t seed) : m_(m), infer_(infer), random_(seed) {
    first_.resize(m.node_count(), false);
  }

  // Returns the nodes of the two parts.
  std::pair<std::vector<NodeId>, std::vector<NodeId>> run() {
    std::size_t count = 0;
    for (NodeId n = m_.first_node(m_.main()); n; n = m_.next_node(n)) ++count;
    if (count < 2) return {};
    std::size_t wanted = 1 + random_() % (count - 1);
    std::vector<NodeId> ready, after;  // by random choice among those whose operands are made
    std::vector<std::uint32_t> missing(m_.node_count(), 0);
    for (NodeId n = m_.first_node(m_.main()); n; n = m_.next_node(n)) {
      for (const NodeId p : producers(n)) missing[n.index()] += p.valid();
      if (missing[n.index()] == 0) ready.push_back(n);
    }
    for (; wanted > 0 && !ready.empty(); --wanted) {
      std::swap(ready[random_() % ready.size()], ready.back());
      const NodeId n = ready.back();
      ready.pop_back();
      first_[n.index()] = true;
      for (const NodeId user : users(n))
        if (--missing[user.index()] == 0) ready.push_back(user);
    }
    shrink();
    std::pair<std::vector<NodeId>, std::vector<NodeId>> parts;
    std::vector<bool> both(m_.node_count(), false);
    for (NodeId n = m_.first_node(m_.main()); n; n = m_.next_node(n)) {
      (first_[n.index()] ? parts.first : parts.second).push_back(n);
      if (first_[n.index()]) continue;
      for (const NodeId p : producers(n)) {
        if (m_.kind(p) != OpKind::Constant || !first_[p.index()] || both[p.index()]) continue;
        both[p.index()] = true;
        parts.second.push_back(p);
      }
    }
    return parts;
  }

 private:
  // Nodes of the main graph that make what n or a body in it reads, one for each use.
  std::vector<NodeId> producers(NodeId n) const {
    std::vector<NodeId> found, owners{n};
    while (!owners.empty()) {
      const NodeId at = owners.back();
      owners.pop_back();
      for (std::size_t i = 0; i < m_.input_count(at); ++i) {
        const ValueId v = m_.input(at, i);
        if (v && m_.value(v).def && m_.value(v).graph == m_.main()) found.push_back(m_.value(v).def);
      }
      for (const Attr& a : m_.attrs(at))
        for (const GraphId g : a.graphs) {
          for (NodeId inner = m_.first_node(g); inner; inner = m_.next_node(inner)) owners.push_back(inner);
          owners.push_back(m_.graph(g).ret);
        }
    }
    return found;
  }

  std::vector<NodeId> users(NodeId n) const {
    std::vector<NodeId> found;
    for (const ValueId v : m_.outputs(n)) {
      if (!v) continue;
      for (UseId u = m_.first_use(v); u; u = m_.next_use(u)) {
        const NodeId user = m_.ancestor_in(m_.main(), m_.user(u));
        if (user && !m_.is_return(user)) found.push_back(user);
      }
    }
    return found;
  }

  // Takes nodes out of the first part whose results may not be cut, and what follows from them.
  void shrink() {
    for (bool changed = true; changed;) {
      changed = false;
      for (NodeId n = m_.first_node(m_.main()); n; n = m_.next_node(n)) {
        if (!first_[n.index()]) continue;
        bool keep = facts_of(m_, n).purity != Purity::Random;
        for (const NodeId p : producers(n)) keep = keep && first_[p.index()];
        for (const ValueId v : m_.outputs(n)) keep = keep && (!v || may_cut(v));
        if (keep) continue;
        first_[n.index()] = false;
        changed = true;
      }
    }
  }

  bool may_cut(ValueId v) const {
    const Type& t = infer_.type_of(v);
    if (t.kind == TypeKind::Tensor && t.has_rank) return true;
    for (UseId u = m_.first_use(v); u; u = m_.next_use(u)) {
      const NodeId user = m_.ancestor_in(m_.main(), m_.user(u));
      if (user && !m_.is_return(user) && !first_[user.index()]) return false;
    }
    return true;
  }

  const Model& m_;
  const Inference& infer_;
  std::mt19937 random_;
  std::vector<bool> first_;  // by node
};

int fail(const Error& e) {
  std::fprintf(stderr, "%s\n", to_string(e).c_str());
  return 1;
}

int run(const std::string& in, const std::string& out0, const std::string& out1, std::uint32_t seed) {
  std::vector<Warning> warnings;
  const Result<Model> loaded = load_model({in, {}, 0, true}, warnings);
  if (!loaded) return fail(loaded.error());
  Model m = loaded->clone();
  Inference infer(m, {});
  infer.run();
  const auto [first, second] = Cut(m, infer, seed).run();
  if (first.empty() || second.empty()) return 2;
  const std::pair<const std::vector<NodeId>&, const std::string&> parts[] = {{first, out0}, {second, out1}};
  for (const auto& [nodes, path] : parts) {
    const ModelPart part = part_of(m, nodes);
    const std::vector<TypeOverride> types = boundary_types(m, infer, part);
    SaveOptions options;
    options.path = path;
    options.types = types;
    options.part = &part;
    if (const Result<SavedFiles> saved = save_model(m, options); !saved) return fail(saved.error());
  }
  std::printf("%zu %zu\n", first.size(), second.size());
  return 0;
}

}  // namespace
}  // namespace graphopt

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: %s IN OUT0 OUT1 SEED\n", argv[0]);
    return 1;
  }
  return graphopt::run(argv[1], argv[2], argv[3],
                       static_cast<std::uint32_t>(std::strtoul(argv[4], nullptr, 10)));
}
