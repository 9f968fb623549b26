#include "verbs.h"

#include <algorithm>

namespace graphopt::tool {

extern const VerbEntry optimize_verb, batch_verb, inspect_verb, compare_verb, map_verb, run_verb, reduce_verb,
    check_device_verb;

std::span<const VerbEntry* const> all_verbs() {
  static constexpr const VerbEntry* kVerbs[] = {&optimize_verb, &batch_verb,       &inspect_verb,
                                                &compare_verb,  &map_verb,         &run_verb,
                                                &reduce_verb,   &check_device_verb};
  return kVerbs;
}

std::vector<std::string> verb_words() {
  std::vector<std::string> out;
  for (const VerbEntry* verb : all_verbs()) {
    const std::string first(verb->name.substr(0, verb->name.find(' ')));
    if (!first.empty() && std::ranges::find(out, first) == out.end()) out.push_back(first);
  }
  return out;
}

}  // namespace graphopt::tool
