#include "draft/draft_state.h"

#include <algorithm>
#include <bit>

namespace graphopt {
namespace {

constexpr std::uint64_t kNothing = ~std::uint64_t{0};
std::uint64_t content_of(auto id) { return id ? id.index() : kNothing; }

std::string text(std::uint64_t content) { return content == kNothing ? "none" : std::to_string(content); }

}  // namespace

void DraftState::add_node(const Draft& d, DNode n) {
  const DraftNode& node = d[n];
  add("class", n, static_cast<std::uint64_t>(node.node_class));
  add("work along axes", n, static_cast<std::uint64_t>(node.work));
  add("life", n, node.alive);
  add("mark 'made'", n, node.made);
  add("mark 'changed'", n, node.changed);
  add("mark 'heavy'", n, node.heavy);
  add("mark 'anchor'", n, node.anchor);
  add("mark 'shape_only'", n, node.shape_only);
  add("mark 'reads_shapes'", n, node.reads_shapes);
  add("mark 'chooses_by_layout'", n, node.chooses_by_layout);
  add("mark 'per_axis'", n, node.per_axis);
  add("mark 'absorbed'", n, node.absorbed);
  add("mark 'drops'", n, node.drops);
  add("mark 'axes_rewritten'", n, node.axes_rewritten);
  add("origin", n, content_of(node.origin));
  add("axis", n, node.axis);
  add("begin", n, std::bit_cast<std::uint64_t>(node.begin));
  add("list", n, content_of(node.list));
  add("region", n, content_of(node.region));
  add("number of operands", n, node.in_count);
  add("number of operands without captures", n, node.real_in);
  add("number of results", n, node.out_count);
  for (std::uint32_t i = 0; node.alive && i < node.in_count; ++i) add("operand", n, content_of(d.in(n, i)));
  for (std::uint32_t i = 0; node.alive && i < node.out_count; ++i) add("result", n, content_of(d.out(n, i)));
}

void DraftState::add_value(const Draft& d, DValue v) {
  const DraftValue& value = d[v];
  add("origin", v, content_of(value.origin));
  add("like", v, content_of(value.like));
  add("mark 'retyped'", v, value.retyped);
  add("definition", v, content_of(value.def));
  add("slot", v, value.slot);
  add("shape", v, content_of(value.shape));
  add("type", v, static_cast<std::uint64_t>(value.dtype));
  add("tensor", v, content_of(value.tensor));
  add("mark 'live_out'", v, value.live_out);
  add("number of uses", v, value.use_count);
  for (DUse u = d.first_use(v); u; u = d.next_use(u)) {
    add("user", v, content_of(d.user(u)));
    add("slot of a use", v, d.slot(u));
  }
}

DraftState::DraftState(const Draft& d) {
  entries_.reserve(32 * (d.node_count() + d.value_count()));
  add("number of nodes", DNode{}, d.node_count());
  add("number of values", DNode{}, d.value_count());
  DNode last;
  for (DNode n = d.first(); n; last = n, n = d[n].next) {
    add("position in the order", n, content_of(d[n].prev));
    add("key, or that of the node before it,", n, !last || d.before(last, n));
  }
  add("end of the order", DNode{}, content_of(d.last()));
  for (std::uint32_t i = 0; i < d.node_count(); ++i) add_node(d, DNode{i});
  for (std::uint32_t i = 0; i < d.value_count(); ++i) add_value(d, DValue{i});
}

std::string DraftState::difference(const Draft& d) const {
  const DraftState now(d);
  const auto [was, is] = std::ranges::mismatch(entries_, now.entries_);
  if (was == entries_.end() && is == now.entries_.end()) return {};
  const Entry& at = is == now.entries_.end() ? *was : *is;
  const std::string place =
      (at.of_node ? "node " : "value ") + std::to_string(at.id) + ": its " + at.what + ' ';
  if (was == entries_.end() || is == now.entries_.end() || was->what != is->what || was->id != is->id)
    return place + (is == now.entries_.end() ? "is gone" : "is new");
  return place + "is " + text(is->content) + ", was " + text(was->content);
}

}  // namespace graphopt
