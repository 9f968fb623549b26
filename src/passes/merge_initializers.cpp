// merge-initializers: keeps one of several initializers with equal contents.
//
// Problem: tied weights and repeated small constants (epsilons, axes, shapes) are stored many times.
// Method: initializers are grouped by element type and dims, then by a hash of a short sample of the payload,
// and only then by a hash of all of it, so that most weights are never read. Users of equal initializers read
// the first of them, in file order; one of an outer graph may replace one of an inner graph, not vice versa.
// Small integers are merged within their graph alone: they are axes and sizes, and onnx's inference, which
// its checker runs, knows the numbers of a body's own constants only. (With others it takes a Concat of
// extents for an empty list, and refuses a Resize to it.)
// Exact: equal type, dims and bytes (compared, not only hashed). Lowers: bytes of the file.
// Ends: each rewrite removes an initializer.
// Left alone: initializers that are inputs (a caller may override one of two equal defaults), outputs, pinned
// and sparse ones.
//
//   <float[1] a = {2}, float[1] b = {2}>      =>      <float[1] a = {2}>
//   y = Mul (x, a)  z = Add (y, b)                    y = Mul (x, a)  z = Add (y, a)

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "passes/pass.h"
#include "rewrite/refusals.h"
#include "support/hash_chains.h"

namespace graphopt {
namespace {

constexpr std::size_t kSample = 64;  // bytes at the start, in the middle and at the end of a payload

// The graph is that of small integers, none for all others.
using Key = std::tuple<DType, std::vector<std::int64_t>, GraphId>;
constexpr std::int64_t kSmall = 64;  // elements
using Group = std::vector<ValueId>;  // in file order; outer graphs first

std::uint64_t sample_key(const Model& m, TensorId id) {
  if (m.tensor(id).dtype == DType::String) return m.content_hash(id).low;
  const auto raw = m.raw(id);
  if (!raw) return id.index();
  const auto part = [&](std::size_t at) { return std::hash<std::string_view>{}(raw->substr(at, kSample)); };
  std::uint64_t h = part(0);
  if (raw->size() > kSample)
    h = mix_hash(mix_hash(h, part(raw->size() / 2)), part(raw->size() - std::min(raw->size(), kSample)));
  return h;
}

// Two tensors of one type and dims.
bool equal(const Model& m, TensorId a, TensorId b) {
  if (m.tensor(a).dtype == DType::String) {
    const auto* s = m.strings(a);
    const auto* t = m.strings(b);
    return s && t && *s == *t;
  }
  const auto p = m.raw(a), q = m.raw(b);
  return p && q && *p == *q;
}

constexpr std::string_view kRule = "equal";

class MergeInitializers final : public Pass {
 public:
  bool run(PassContext& c) override {
    Model& m = c.model;
    const std::uint64_t before = counters_[0].value;
    Refusals refusals(c);
    std::map<Key, Group> by_type;
    for (std::size_t g = 0; g < m.graph_count(); ++g)
      for (const ValueId v : m.graph(GraphId{g}).initializers) {
        if (!m.value(v).alive) continue;
        if (m.constant_of(v)) {
          const Tensor& t = m.tensor(m.value(v).tensor);
          const bool small = is_int(t.dtype) && t.elements <= kSmall;
          by_type[{t.dtype, {t.dims.begin(), t.dims.end()}, small ? GraphId{g} : GraphId{}}].push_back(v);
        } else if (refusals.wanted()) {
          refusals.note(kRule, v, "a caller may override it, or something outside of the graph names it");
        }
      }
    // The order of types must not reach the result: groups are visited by their first member.
    std::vector<Group*> groups;
    for (auto& [key, group] : by_type)
      if (group.size() > 1) groups.push_back(&group);
    std::ranges::sort(groups, {}, [](const Group* g) { return g->front(); });
    for (const Group* g : groups) merge(c, *g, refusals);
    return counters_[0].value > before;
  }
  std::span<const Counter> counters() const override { return counters_; }

 private:
  void merge(PassContext& c, const Group& group, Refusals& refusals) {
    Model& m = c.model;
    HashChains<ValueId>
        // the first initializer with each sample: its payload is hashed only when a second one has the same
        by_sample;
    HashChains<ValueId> by_content;
    by_sample.reset(group.size());
    for (const ValueId v : group) {
      const TensorId tensor = m.value(v).tensor;
      const std::uint64_t sample = sample_key(m, tensor);
      const ValueId* alike = by_sample.find(sample, [](ValueId) { return true; });
      if (alike == nullptr) {
        by_sample.insert(sample, v);
        continue;
      }
      const auto find = [&](ValueId of) {
        return by_content.find(m.content_hash(m.value(of).tensor).low,
                               [&](ValueId k) { return equal(m, m.value(k).tensor, m.value(of).tensor); });
      };
      if (find(*alike) == nullptr) by_content.insert(m.content_hash(m.value(*alike).tensor).low, *alike);
      const ValueId* first = find(v);
      if (first == nullptr) {
        by_content.insert(m.content_hash(tensor).low, v);
        continue;
      }
      if (!m.can_replace(v, *first)) {
        if (refusals.wanted())
          refusals.note(
              kRule, v,
              "the equal '" + std::string(m.text(m.value(*first).name)) + "' cannot take its place");
        continue;
      }
      if (!c.journal.allow(m, v, kRule)) return;
      m.replace_all_uses(v, *first);
      m.erase_initializer(v);
      ++counters_[0].value;
    }
  }

  std::array<Counter, 1> counters_{{{"merged", "initializers equal to another"}}};
};

}  // namespace

extern constinit const PassInfo merge_initializers = {.name = "merge-initializers",
                                                      .summary = "store equal initializers once",
                                                      .exact = Exact::Yes,
                                                      .level = 1,
                                                      .make = make_pass<MergeInitializers>,
                                                      .new_operators = NewOperators::Never};

}  // namespace graphopt
