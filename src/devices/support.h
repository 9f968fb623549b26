// Whether a device takes a node, and if not, which condition of which rule refuses it.
//
// Problem: a device takes an operator in some versions, element types, ranks and forms only; a user wants the
// one reason that matters, and 10^6 nodes are asked.
// Method: the rules of a profile are indexed by operator; a node costs its operator's rules times the node's
// operands. All conditions of a rule hold together; rules of one operator are alternatives; without a rule
// there is no support; a Constant node is data and needs none. What is not known (a rank, a dim, an attribute
// that refers to a caller's) fails the condition that asks for it, so a profile never takes more than it
// says. A refusal is that of the nearest rule: one whose versions fit before one whose do not, then one that
// is not for QDQ groups before one that is, where the node touches none, then the one with the fewest failed
// conditions, then the first; its text is made only when it is asked for. Bodies are finished before the
// nodes that hold them, from the innermost graph on: no recursion.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "devices/profile.h"
#include "infer/infer.h"
#include "ir/model.h"

namespace graphopt {

struct Verdict {
  static constexpr std::uint32_t kNoRule = 0xFFFFFFFFu;

  DeviceRefusal refusal = DeviceRefusal::NoRule;
  std::uint32_t rule = kNoRule;  // into Profile::rules: the one that holds, or that of the nearest miss
  std::uint32_t failed = 0;      // failed conditions of that rule
  NodeId inner;  // ControlFlow: the first node inside that is refused; none: none is looked at

  bool supported() const { return refusal == DeviceRefusal::None; }
};

// The rules of one profile, ready to be asked about the nodes of one model. All three are kept by reference.
// Questions about dims may intern expressions in the model's pool; nothing else of the model changes.
class Support {
 public:
  // `fixed`: symbols that are taken for numbers. A condition on the size of a dim over these alone holds
  // where the bounds that are known leave a size that meets it.
  Support(const Profile& profile, Model& model, const Inference& inference,
          std::span<const DimId> fixed = {});
  ~Support();

  // Returns the verdict on the node alone: what a body contains is not looked at.
  Verdict check(NodeId n);
  // Returns the verdicts on all nodes, by node id; a node with bodies is supported only with every node
  // inside, at any depth. Dead nodes, return nodes and the bodies of functions have the verdict NoRule.
  std::vector<Verdict> check_all();
  // Returns one line about a refusal, "Conv rule 1: input 1 'w' is no constant"; rules of an operator are
  // counted from 1 in the order of the profile. Empty for a node that is supported.
  std::string explain(NodeId n, const Verdict& verdict);
  const Profile& profile() const;

 private:
  struct State;
  std::unique_ptr<State> s_;
};

// Returns a line for each rule about an operator of ai.onnx that no version of it has and that is one or two
// letters from one: such a rule never holds. Operators of other domains, and names that are far from all, may
// be a runtime's own.
std::vector<std::string> doubtful_rules(const Profile& profile);

// Returns whether the text matches the glob: * stands for any text, also with '/', ? for one byte. Linear in
// the text for each * of the pattern.
bool glob_matches(std::string_view glob, std::string_view text);

}  // namespace graphopt
