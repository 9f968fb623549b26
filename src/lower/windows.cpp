// Expansions of operators with windows.
//
// conv-plane   a Conv along one axis as one along two, of which the first has extent 1 and a kernel of 1
// Rounds: each result is the sum of the same terms, and a kernel may add them in another order: by at most
// 2 (n + 1) u times the sum of their magnitudes, for n terms, with u the rounding unit.
// Left alone: types other than float; auto_pad, which divides pads by its own rule.
//
//   y = Conv <pads = [1, 1]> (x, w)    =>    u = Unsqueeze (x, {2})
//                                            c = Conv <pads = [0, 1, 0, 1]> (u, w as [m, c, 1, k])
//                                            y = Squeeze (c, {2})
#include <optional>
#include <utility>
#include <vector>

#include "lower/expansion.h"
#include "ops/attributes.h"
#include "ops/constants.h"
#include "ops/node_facts.h"

namespace graphopt {
namespace {

class ConvPlane final : public ExpansionRule {
 public:
  std::string_view name() const override { return "conv-plane"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::Conv>; }
  bool match(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    const ValueId x = m.input(n, 0), w = m.input(n, 1);
    return attributes_known(m, n) && c.infer.dtype(x) == DType::Float && c.infer.has_rank(x) &&
           c.infer.dims(x).size() == 3 && c.infer.has_rank(w) && c.infer.dims(w).size() == 3 &&
           string_attr(m, n, names::auto_pad).value_or("NOTSET") == "NOTSET";
  }
  void apply(PassContext& c, NodeId n) override {
    Model& m = c.model;
    Emitter e = emit(m, n);
    const std::int64_t axes[] = {2};
    const auto plane = [&](ValueId v, std::string_view what) {
      return e.built(what, [&](const Site& at) { return add_unsqueeze(at, v, axes); });
    };
    std::vector<ValueId> operands{plane(m.input(n, 0), "plane")};
    if (const TensorId t = m.constant_of(m.input(n, 1)); t && payload_of(m, t)) {
      Tensor kernel = m.tensor(t);
      kernel.dims.insert(kernel.dims.begin() + 2, 1);
      kernel.proto = {};
      kernel.external = false;
      kernel.hash.reset();
      operands.push_back(e.constant(m.add_tensor(std::move(kernel)), "kernel"));
    } else {
      operands.push_back(plane(m.input(n, 1), "kernel"));
    }
    if (const ValueId bias = m.input(n, 2)) operands.push_back(bias);
    const ValueId y = e.node(OpKind::Conv, operands, "convolved");
    const NodeId conv = m.value(y).def;
    for (const Attr& a : std::vector<Attr>(m.attrs(n).begin(), m.attrs(n).end())) {
      if (a.name == names::auto_pad) continue;
      if (a.kind == AttrKind::Int) m.set_attr_int(conv, a.name, a.i);
      if (a.kind != AttrKind::Ints) continue;
      std::vector<std::int64_t> numbers(a.ints.begin(), a.ints.end());
      if (a.name == names::pads) numbers.insert(numbers.begin() + 1, 0);
      numbers.insert(numbers.begin(), a.name == names::pads ? 0 : 1);
      m.set_attr_ints(conv, a.name, numbers);
    }
    give_result(m, n, e.built("line", [&](const Site& at) { return add_squeeze(at, y, axes); }));
  }
};

constexpr Expansion kWindowExpansions[] = {expansion<ConvPlane, Exact::No>()};

}  // namespace

std::span<const Expansion> window_expansions() { return kWindowExpansions; }

}  // namespace graphopt
