// Constants: fewer nodes that hold them, and fewer numbers in them that mean anything.
//
// Problem: weights are what makes a model large, and a reader of a small one wants to know which of their
// numbers matter. Method: results of Constant nodes become initializers. Then whole constants become zeros,
// many at a time, and of each that is left runs of its elements.
// Lowers: nodes; bytes that are not 0. Left alone: strings, and elements of less than a byte.

#include <algorithm>
#include <string>
#include <vector>

#include "ir/restate.h"
#include "reduce/chunks.h"
#include "reduce/strategies.h"

namespace graphopt {
namespace {

std::vector<NodeId> constant_nodes(const Model& m) {
  std::vector<NodeId> out;
  for (NodeId n = m.first_node(m.main()); n; n = m.next_node(n)) {
    const ValueId v = m.kind(n) == OpKind::Constant ? m.output(n, 0) : ValueId{};
    if (v && m.constant_of(v) && !m.is_graph_output(v) &&
        m.can_hold_constant(m.main(), m.tensor(m.constant_of(v)).dtype))
      out.push_back(n);
  }
  return out;
}

bool has_nonzero(Bytes raw) {
  return std::ranges::any_of(raw, [](char c) { return c != 0; });
}

// The values that are constants with something in them.
std::vector<ValueId> nonzero_constants(const Model& m) {
  std::vector<ValueId> out;
  for (std::size_t i = 0; i < m.value_count(); ++i) {
    const ValueId v{i};
    const Value& value = m.value(v);
    if (!value.alive || !value.is_initializer || value.is_sparse || !value.tensor) continue;
    if (bits_of(m.tensor(value.tensor).dtype) < 8) continue;
    const std::optional<Bytes> raw = m.raw(value.tensor);
    if (raw && has_nonzero(*raw)) out.push_back(v);
  }
  return out;
}

// The positions of elements that are not 0.
std::vector<std::size_t> nonzero_elements(Bytes raw, std::size_t width) {
  std::vector<std::size_t> out;
  for (std::size_t at = 0; at + width <= raw.size(); at += width)
    if (has_nonzero(raw.substr(at, width))) out.push_back(at);
  return out;
}

// Makes the payload of an initializer another one of the same size.
void set_payload(Model& m, ValueId v, std::string raw) {
  const Tensor& t = m.tensor(m.value(v).tensor);
  const TensorId made = m.make_tensor(t.dtype, t.dims, std::move(raw));
  set_tensor(m, v, made);
}

void clear_elements(Session& s, std::size_t place) {
  constexpr std::size_t kMostElements = std::size_t{1} << 20;
  constexpr int kMostAttempts = 40;
  int attempts = 0;
  const auto payload = [&]() -> Bytes {
    const std::vector<ValueId> constants = nonzero_constants(s.model());
    if (place >= constants.size()) return {};
    return s.model().raw(s.model().value(constants[place]).tensor).value_or(Bytes{});
  };
  const auto width = [&] {
    const std::vector<ValueId> constants = nonzero_constants(s.model());
    const DType type = s.model().tensor(s.model().value(constants[place]).tensor).dtype;
    return static_cast<std::size_t>(bits_of(type)) / 8;
  };
  const auto elements = [&]() -> std::vector<std::size_t> {
    const Bytes raw = payload();
    if (raw.empty() || raw.size() / width() > kMostElements || attempts >= kMostAttempts) return {};
    return nonzero_elements(raw, width());
  };
  remove_chunks(
      s, [&] { return elements().size(); },
      [&](std::size_t begin, std::size_t end) {
        const std::vector<std::size_t> at = elements();
        if (end > at.size() || end - begin == at.size()) return;  // all of them: tried before
        ++attempts;
        std::string raw(payload());
        for (std::size_t i = begin; i < end; ++i)
          std::fill_n(raw.begin() + static_cast<std::ptrdiff_t>(at[i]), width(), '\0');
        Edit e = s.edit();
        set_payload(e.model, nonzero_constants(s.model())[place], std::move(raw));
        s.attempt(std::move(e));
      });
}

}  // namespace

void lift_constants(Session& s) {
  remove_chunks(
      s, [&] { return constant_nodes(s.model()).size(); },
      [&](std::size_t begin, std::size_t end) {
        Edit e = s.edit();
        const std::vector<NodeId> nodes = constant_nodes(s.model());
        for (std::size_t i = begin; i < end; ++i) {
          const ValueId v = e.model.output(nodes[i], 0);
          e.model.make_constant(v, e.model.constant_of(v));
          e.cut[nodes[i].index()] = true;
        }
        s.attempt(std::move(e));
      });
}

void clear_constants(Session& s) {
  remove_chunks(
      s, [&] { return nonzero_constants(s.model()).size(); },
      [&](std::size_t begin, std::size_t end) {
        Edit e = s.edit();
        const std::vector<ValueId> all = nonzero_constants(s.model());
        for (std::size_t i = begin; i < end; ++i) {
          const std::optional<Bytes> raw = e.model.raw(e.model.value(all[i]).tensor);
          if (raw) set_payload(e.model, all[i], std::string(raw->size(), '\0'));
        }
        s.attempt(std::move(e));
      });
  for (std::size_t i = nonzero_constants(s.model()).size(); i-- > 0 && !s.ended();) clear_elements(s, i);
}

}  // namespace graphopt
