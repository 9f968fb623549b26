#include "mapping/value_numbers.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

namespace graphopt::mapping {
namespace {

class Numbering {
 public:
  Numbering(const Matching& m, const View& view, const Ends& ends, Contents contents, Labels& labels)
      : m_(m), view_(view), ends_(ends), contents_(contents), labels_(labels) {
    if (contents == Contents::Shared) find_shared();
  }

  ValueNumbers all() {
    for (const std::size_t s : kSides) {
      const Index size = static_cast<Index>(m_.side(s).size());
      out_.forward[s].resize(size);
      out_.backward[s].resize(size);
      for (Index i = 0; i < size; ++i) out_.forward[s][i] = forward(s, i);
      for (Index i = size; i-- > 0;) out_.backward[s][i] = backward(s, i);
      for (Index i = 0; i < size; ++i)
        out_.both[s].push_back(
            labels_.of(Key(KeyKind::Both).add(out_.forward[s][i]).add(out_.backward[s][i])));
    }
    return std::move(out_);
  }

 private:
  void find_shared() {
    std::unordered_set<Index> of_a;
    for (const Constant& c : m_.side(0).constants()) of_a.insert(c.content);
    for (const Constant& c : m_.side(1).constants())
      if (of_a.contains(c.content)) shared_.insert(c.content);
  }

  Index label(const Constant& c) const {
    const bool by_content =
        contents_ == Contents::All || (contents_ == Contents::Shared && shared_.contains(c.content));
    return by_content ? c.content : c.shape;
  }

  Key begin(KeyKind kind, std::size_t s, Index op) const {
    const Operator& o = m_.side(s).op(op);
    Key key(kind);
    key.add(o.type).add(o.attributes);
    if (m_.is_known(s, op)) key.add(1 + std::uint64_t{m_.pair(s, op)});
    return key;
  }

  Hash128 operand(std::size_t s, Index value) const {
    if (value == kNone) return Key(KeyKind::Nothing).hash();
    const Side& side = m_.side(s);
    const Index v = view_.source(s, value, false);
    if (const Constant* c = side.constant(v)) return Key(KeyKind::Constant).add(label(*c)).hash();
    if (!side.is_computed(v)) return Key(KeyKind::Input).add(ends_.input[s][v]).add(s_of(s, v)).hash();
    const Use by = side.producer(v);
    return Key(KeyKind::Made).add(out_.forward[s][by.op]).add(by.slot).hash();
  }
  // Values from outside of the graph that are no inputs of it: none is another one's counterpart.
  std::uint64_t s_of(std::size_t s, Index v) const {
    return ends_.input[s][v] != kNone ? 0 : 1 + 2 * std::uint64_t{v} + static_cast<std::uint64_t>(s);
  }

  Index forward(std::size_t s, Index op) const {
    const Operator& o = m_.side(s).op(op);
    std::vector<Hash128> operands;
    for (const Index v : m_.side(s).flat_inputs(op)) operands.push_back(operand(s, v));
    if (o.commutes) std::ranges::sort(operands);
    Key key = begin(KeyKind::Forward, s, op);
    for (const Hash128& x : operands) key.add(x);
    return labels_.of(key);
  }

  // A sum of hashes: the order in which a value is used does not count.
  struct Sum {
    std::uint64_t low = 0, high = 0;
    void add(const Hash128& h) {
      low += h.low;
      high += h.high;
    }
  };

  Index backward(std::size_t s, Index op) {
    const Side& side = m_.side(s);
    Key key = begin(KeyKind::Backward, s, op);
    for (const Index v : side.flat_inputs(op))
      if (const Constant* c = v == kNone ? nullptr : side.constant(v)) key.add(label(*c));
    for (Index k = 0; k < side.outputs(op).size(); ++k) {
      const Index v = side.outputs(op)[k];
      if (v == kNone) continue;
      const Sum all = uses_of(s, v, side.is_nested(op));
      key.add(k).add(all.low).add(all.high);
      // The readers of a result that is handed on are readers of what it is made of.
      if (k == 0 && side.op(op).is_transparent) handed_on_[s][v] = all;
    }
    return labels_.of(key);
  }

  Sum uses_of(std::size_t s, Index v, bool by_nested) {
    const Side& side = m_.side(s);
    Sum out;
    if (ends_.output[s][v] != kNone) out.add(Key(KeyKind::OutputReader).add(ends_.output[s][v]).hash());
    for (const Use& use : side.uses(v)) {
      const Operator& reader = side.op(use.op);
      if (side.is_nested(use.op) && !by_nested) continue;  // the one around it is there, too
      if (reader.is_transparent && use.slot == 0) {
        const Index result = side.outputs(use.op)[0];
        if (const auto found = handed_on_[s].find(result); found != handed_on_[s].end()) {
          out.low += found->second.low;
          out.high += found->second.high;
        }
        continue;
      }
      out.add(
          Key(KeyKind::PairReader).add(out_.backward[s][use.op]).add(reader.commutes ? 0 : use.slot).hash());
    }
    return out;
  }

  const Matching& m_;
  const View& view_;
  const Ends& ends_;
  const Contents contents_;
  std::unordered_set<Index> shared_;  // contents of constants of both sides
  Labels& labels_;
  ValueNumbers out_;
  std::array<std::unordered_map<Index, Sum>, 2> handed_on_;  // by value that a transparent operator makes
};

}  // namespace

ValueNumbers number_values(const Matching& m, const View& view, const Ends& ends, Contents contents,
                           Labels& labels) {
  return Numbering(m, view, ends, contents, labels).all();
}

}  // namespace graphopt::mapping
