#include "mapping/value_numbers.h"

#include <algorithm>
#include <tuple>
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

  Index operand(std::size_t s, Index value) const {
    if (value == kNone) return labels_.of(Key(KeyKind::Nothing));
    const Side& side = m_.side(s);
    const Index v = view_.source(s, value, false);
    if (const Constant* c = side.constant(v)) return labels_.of(Key(KeyKind::Constant).add(label(*c)));
    if (!side.is_computed(v)) return labels_.of(Key(KeyKind::Input).add(ends_.input[s][v]).add(s_of(s, v)));
    const Use by = side.producer(v);
    return labels_.of(Key(KeyKind::Made).add(out_.forward[s][by.op]).add(by.slot));
  }
  // Values from outside of the graph that are no inputs of it: none is another one's counterpart.
  std::uint64_t s_of(std::size_t s, Index v) const {
    return ends_.input[s][v] != kNone ? 0 : 1 + 2 * std::uint64_t{v} + static_cast<std::uint64_t>(s);
  }

  Index forward(std::size_t s, Index op) const {
    const Operator& o = m_.side(s).op(op);
    std::vector<Index> operands;
    for (const Index v : m_.side(s).flat_inputs(op)) operands.push_back(operand(s, v));
    if (o.commutes) std::ranges::sort(operands);
    Key key = begin(KeyKind::Forward, s, op);
    for (const Index x : operands) key.add(x);
    return labels_.of(key);
  }

  Index backward(std::size_t s, Index op) const {
    const Side& side = m_.side(s);
    Key key = begin(KeyKind::Backward, s, op);
    for (const Index v : side.flat_inputs(op))
      if (const Constant* c = v == kNone ? nullptr : side.constant(v)) key.add(label(*c));
    using Reader = std::tuple<Index, Index, Index, Index>;  // result, what reads it, its number, slot
    std::vector<Reader> readers;
    for (Index k = 0; k < side.outputs(op).size(); ++k) {
      std::vector<Index> open{side.outputs(op)[k]};
      while (!open.empty()) {
        const Index v = open.back();
        open.pop_back();
        if (v == kNone) continue;
        if (ends_.output[s][v] != kNone) readers.emplace_back(k, 0, ends_.output[s][v], 0);
        for (const Use& use : side.uses(v)) {
          const Operator& reader = side.op(use.op);
          if (side.is_nested(use.op) && !side.is_nested(op)) continue;  // the one around it is there, too
          if (reader.is_transparent && use.slot == 0) open.push_back(side.outputs(use.op)[0]);
          else readers.emplace_back(k, 1, out_.backward[s][use.op], reader.commutes ? 0 : use.slot);
        }
      }
    }
    std::ranges::sort(readers);
    for (const auto& [result, kind, number, slot] : readers) key.add(result).add(kind).add(number).add(slot);
    return labels_.of(key);
  }

  const Matching& m_;
  const View& view_;
  const Ends& ends_;
  const Contents contents_;
  std::unordered_set<Index> shared_;  // contents of constants of both sides
  Labels& labels_;
  ValueNumbers out_;
};

}  // namespace

ValueNumbers number_values(const Matching& m, const View& view, const Ends& ends, Contents contents,
                           Labels& labels) {
  return Numbering(m, view, ends, contents, labels).all();
}

}  // namespace graphopt::mapping
