#include "draft/draft_support.h"

#include <algorithm>
#include <string>
#include <utility>

#include "draft/draft_nodes.h"
#include "ir/bodies.h"

namespace graphopt {
namespace {

class TrialNodes {
 public:
  TrialNodes(const Draft& d, PassContext& c)
      : d_(d),
        c_(c),
        m_(c.model),
        form_(d, c.model, [this](std::span<const std::int64_t> numbers, const std::string& name) {
          return m_.add_initializer(d_.graph(), name, m_.make_int64s(numbers));
        }) {
    m_.begin_trial();
  }
  ~TrialNodes() { m_.undo_trial(); }
  TrialNodes(const TrialNodes&) = delete;
  TrialNodes& operator=(const TrialNodes&) = delete;

  NodeId make(DNode n) {
    const DraftNode& node = d_[n];
    if (!node.made && has_bodies(m_, node.origin)) return node.origin;  // no move changes it
    std::vector<ValueId> in, out;
    for (std::uint32_t k = 0; k < node.real_in; ++k) in.push_back(operand(d_.in(n, k)));
    for (const DValue v : d_.outs(n)) out.push_back(v ? value(v) : ValueId{});
    if (node.made) return form_.make(n, in, out, {});
    const NodeId made = m_.add_node_as(node.origin, d_.graph(), in, out);
    m_.rename(made, m_.node(node.origin).name);
    form_.write_attributes(n, made, "trial");
    return made;
  }

  // Lets inference know what was made.
  void infer() {
    c_.infer.infer_in_trial({});
    for (const auto& [v, of] : made_) {
      const DraftValue& known = d_[of];
      c_.infer.assume_in_trial(v, known.shape ? m_.types.tensor(known.dtype, d_.shapes().dims(known.shape))
                                              : m_.types.tensor(known.dtype));
    }
  }

 private:
  ValueId operand(DValue v) {
    if (!v) return {};
    if (d_[v].origin) return d_[v].origin;
    return d_.constant(v) ? m_.add_initializer(d_.graph(), "trial", form_.tensor_of(v)) : value(v);
  }
  ValueId value(DValue v) {
    const ValueId made = m_.add_value(d_.graph(), m_.fresh_name("trial"));
    made_.push_back({made, v});
    return made;
  }

  const Draft& d_;
  PassContext& c_;
  Model& m_;
  DraftNodes form_;
  std::vector<std::pair<ValueId, DValue>> made_;
};

}  // namespace

std::vector<DeviceSet> supporting(const Draft& d, std::span<const DNode> nodes, PassContext& c) {
  TrialNodes trial(d, c);
  std::vector<NodeId> made;
  for (const DNode n : nodes) made.push_back(trial.make(n));
  trial.infer();
  std::vector<DeviceSet> out(made.size());
  std::ranges::transform(made, out.begin(), [&c](NodeId n) { return c.support->supporting(n); });
  return out;
}

}  // namespace graphopt
