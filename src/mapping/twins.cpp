#include "mapping/twins.h"

#include <unordered_map>
#include <unordered_set>

#include "mapping/value_numbers.h"

namespace graphopt::mapping {

std::array<std::vector<Twins>, 2> count_twins(const Matching& m, const View& view, const Ends& ends,
                                              bool weights, Labels& labels) {
  const ValueNumbers alike =
      number_values(m, view, ends, weights ? Contents::Shared : Contents::Ignored, labels);
  const ValueNumbers computed = number_values(m, view, ends, Contents::All, labels);
  std::array<std::vector<Twins>, 2> out;
  for (const std::size_t s : kSides) {
    const Index size = static_cast<Index>(m.side(s).size());
    struct Class {
      Index operators = 0;
      std::unordered_set<Index> values;
    };
    std::unordered_map<Index, Class> classes;  // by number
    for (Index i = 0; i < size; ++i) {
      Class& of = classes[alike.both[s][i]];
      ++of.operators;
      of.values.insert(computed.forward[s][i]);
    }
    for (Index i = 0; i < size; ++i) {
      const Class& of = classes[alike.both[s][i]];
      out[s].push_back({of.operators, static_cast<Index>(of.values.size())});
    }
  }
  return out;
}

}  // namespace graphopt::mapping
