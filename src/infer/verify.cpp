// Compares facts that must not contradict each other (--verify-each).
//
// Problem: a pass that changes the model without notice, or gives a value another meaning, leaves facts that
// were true before; what a later pass decides by them is wrong, but no form of the graph is broken.
//
// Kept and fresh: a second inference of the same model from scratch, beside the kept one. Both use the pool
// of dims, so what the kept one has learned is put back before both are compared. The second one has the
// symbols of the kept one: one that stands for an unknown dim of a value is the same in both. The kept one
// does not get those that the second one makes, so that a run with --verify-each gives what a run without it
// gives.
//
// Before and after: a value keeps its meaning as long as it keeps its name, so facts before and after a pass
// are about the same numbers. A rewrite that changes them shows here, and so do a fold kernel and a rule of
// inference that disagree.
//
// Two facts contradict each other if no run satisfies both. One may say more than the other: kept facts also
// come from nodes that are gone.
#include "infer/verify.h"

#include <string>
#include <utility>

#include "infer/refused_nodes.h"
#include "infer/state.h"

namespace graphopt {
namespace {

// What is said of two facts.
struct Words {
  const char *of_first, *of_second;
};
constexpr Words kKeptAndFresh{"what is kept about it is ", ", but inference from scratch finds "};
constexpr Words kBeforeAndAfter{"before the pass it was ", ", and after it "};

Error difference(const Model& m, ValueId v, const Words& words, const std::string& a, const std::string& b) {
  const Value& value = m.value(v);
  Place place = value.def ? place_of(m, value.def) : place_of(m, value.graph);
  place.slot = "value '" + std::string(m.text(value.name)) + "'";
  return {ErrorKind::Internal, std::move(place), words.of_first + a + words.of_second + b, {}};
}

// A type and elements, null where they are not known.
struct View {
  TypeId type;
  const SymbolicTensor* elements;
};

// Returns how two facts about v contradict each other; nothing if they do not.
std::optional<Error> compare(const Model& m, ValueId v, const Words& words, View a, View b) {
  if (a.type != b.type && contradict(m, m.types[a.type], m.types[b.type]))
    return difference(m, v, words, text_of(m, m.types[a.type]), text_of(m, m.types[b.type]));
  if (!a.elements || !b.elements) return std::nullopt;
  const SymbolicTensor &x = *a.elements, &y = *b.elements;
  if (x.dims != y.dims || x.dtype != y.dtype) {
    const auto text = [](const SymbolicTensor& t) {
      return std::to_string(t.elements.size()) + " elements of " + std::string(dtype_name(t.dtype));
    };
    return difference(m, v, words, text(x), text(y));
  }
  for (std::size_t i = 0; i < x.elements.size(); ++i) {
    const DimId p = x.elements[i], q = y.elements[i];
    if (!p || !q || p == q || m.dims.equal(p, q) != Tri::No) continue;
    return difference(m, v, words, m.dims.print(p), m.dims.print(q) + " (element " + std::to_string(i) + ")");
  }
  return std::nullopt;
}

// What is known of a body that cannot run may contradict itself, as in a model that cannot run.
bool is_never_computed(Model& m, const Inference& infer, ValueId v) {
  return m.value(v).graph != m.main() && certainly_fails(m, infer, m.value(v).graph);
}

}  // namespace

std::optional<Error> Inference::verify() {
  Model& m = s_->m;
  if (!s_->ran || m.dims.contradicted()) return std::nullopt;
  const auto known = m.dims.knowledge();
  Inference fresh(m, s_->options);
  fresh.s_->fresh_symbols = s_->fresh_symbols;
  fresh.s_->scope = s_->scope;
  fresh.run();
  const bool no_run = m.dims.contradicted();
  m.dims.restore(*known);
  if (no_run) return std::nullopt;
  for (std::size_t i = 0; i < m.value_count(); ++i) {
    const ValueId v{i};
    if (!m.alive(v)) continue;
    auto differs = compare(m, v, kKeptAndFresh, {type(v), symbolic(v)}, {fresh.type(v), fresh.symbolic(v)});
    if (differs && !is_never_computed(m, *this, v)) return differs;
  }
  return std::nullopt;
}

void FactRecord::take(const Model& m, const Inference& infer) {
  facts_.clear();
  for (std::size_t i = 0; i < m.value_count(); ++i) {
    const ValueId v{i};
    if (!m.alive(v)) continue;
    const SymbolicTensor* t = infer.symbolic(v);
    facts_.push_back({v, m.value(v).name, infer.type(v), t ? std::optional(*t) : std::nullopt});
  }
}

std::optional<Error> FactRecord::compare(Model& m, const Inference& infer) {
  const std::vector<Fact> before = std::exchange(facts_, {});
  take(m, infer);
  if (m.dims.contradicted()) return std::nullopt;
  for (const Fact& f : before) {
    if (!m.alive(f.value) || m.value(f.value).name != f.name) continue;
    const View was{f.type, f.elements ? &*f.elements : nullptr};
    auto differs =
        graphopt::compare(m, f.value, kBeforeAndAfter, was, {infer.type(f.value), infer.symbolic(f.value)});
    if (differs && !is_never_computed(m, infer, f.value)) return differs;
  }
  return std::nullopt;
}

}  // namespace graphopt
