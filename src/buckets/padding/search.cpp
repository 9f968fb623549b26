#include "buckets/padding/search.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>

#include "ops/attributes.h"

namespace graphopt {
namespace {

constexpr std::size_t kMaxTries = 40;  // of combinations, for up to kFewInputs inputs
constexpr std::size_t kFewInputs = 4, kSomeInputs = 8;

using Elements = std::vector<PadElement>;

PadElement numbered(double v) { return {PadElement::Kind::Number, v}; }

// Integers that losses ignore are candidates for all integers.
Elements candidates(DType type, std::span<const std::int64_t> ignored) {
  if (is_float(type)) return {numbered(0), numbered(1), numbered(-kInfinity)};
  Elements out{numbered(0), numbered(1)};
  if (is_signed_int(type) && bits_of(type) >= 32)
    for (const std::int64_t v : ignored) out.push_back(numbered(static_cast<double>(v)));
  return out;
}

// What attributes of nodes outside of bodies name as ignored, as far as an int32 holds it; few, in the order
// of nodes.
std::vector<std::int64_t> ignored_numbers(const Model& m) {
  constexpr std::size_t kMost = 2;
  std::vector<std::int64_t> out;
  for (NodeId n = m.first_node(m.main()); n && out.size() < kMost; n = m.next_node(n)) {
    const auto v = int_attr(m, n, names::ignore_index);
    const bool is_new = v && *v != 0 && *v != 1 && std::ranges::find(out, *v) == out.end();
    if (is_new && *v >= std::numeric_limits<std::int32_t>::min() &&
        *v <= std::numeric_limits<std::int32_t>::max())
      out.push_back(*v);
  }
  return out;
}

// Combinations of choices, one per input, sorted by how far they are from the first ones. Single changes come
// before double ones.
std::vector<std::vector<std::size_t>> combinations(std::span<const Elements> choices) {
  std::vector<std::vector<std::size_t>> out{std::vector<std::size_t>(choices.size(), 0)};
  if (choices.size() > kSomeInputs) return out;
  const std::size_t most = choices.size() <= kFewInputs ? kMaxTries : 1 + 2 * choices.size();
  const auto distance = [](const std::vector<std::size_t>& c) {
    return std::accumulate(c.begin(), c.end(), std::size_t{0});
  };
  for (std::size_t done = 0; done < out.size() && out.size() < 4 * kMaxTries; ++done) {
    for (std::size_t i = choices.size(); i-- > 0;) {
      std::vector<std::size_t> next = out[done];
      if (++next[i] < choices[i].size() && std::ranges::find(out, next) == out.end()) out.push_back(next);
    }
  }
  std::ranges::stable_sort(out, {}, distance);
  if (out.size() > most) out.resize(most);
  return out;
}

class ElementSearch {
 public:
  ElementSearch(Model& m, const Inference& inference, PaddingOptions options,
                std::shared_ptr<ConstantFacts> constants)
      : m_(m), inference_(inference), options_(std::move(options)), constants_(std::move(constants)) {}

  PaddingChoice best() {
    find_inputs();
    std::vector<Elements> choices;
    const std::vector<std::int64_t> ignored = ignored_numbers(m_);
    for (const ValueId v : inputs_) {
      const auto given = options_.pads.find(v);
      choices.push_back(given != options_.pads.end() ? Elements{given->second}
                                                     : candidates(inference_.dtype(v), ignored));
    }
    PaddingChoice first;
    for (const auto& combination : combinations(choices)) {
      Elements elements;
      for (std::size_t i = 0; i < inputs_.size(); ++i) elements.push_back(choices[i][combination[i]]);
      PaddingChoice tried = attempt(elements);
      const Contamination* refusal = tried.analysis->refusal();
      if (!refusal) return weakened(std::move(tried));
      // No element changes a count.
      const bool hopeless =
          refusal->repair == BucketRepair::TrueMean || refusal->repair == BucketRepair::TrueStatistics;
      if (!first.analysis) first = std::move(tried);
      if (hopeless) break;
    }
    return first;
  }

 private:
  void find_inputs() {
    PaddingAnalysis probe(m_, inference_, options_);
    for (const ValueId v : m_.graph_inputs(m_.main()))
      if (probe.is_padded_input(v) && !options_.lengths.contains(v)) inputs_.push_back(v);
  }

  PaddingChoice attempt(const Elements& elements) const {
    PaddingOptions options = options_;
    PaddingChoice out;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      options.pads[inputs_[i]] = elements[i];
      out.inputs.push_back({inputs_[i], elements[i]});
    }
    out.analysis = std::make_unique<PaddingAnalysis>(m_, inference_, std::move(options), constants_);
    out.analysis->run();
    return out;
  }

  PaddingChoice weakened(PaddingChoice safe) const {
    if (inputs_.size() > 64) return safe;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (options_.pads.contains(inputs_[i])) continue;
      for (const auto kind : {PadElement::Kind::Any, PadElement::Kind::Finite}) {
        Elements elements;
        for (const PaddingChoice::Input& input : safe.inputs) elements.push_back(input.element);
        elements[i].kind = kind;
        PaddingChoice weaker = attempt(elements);
        if (weaker.analysis->refusal() ||
            weaker.analysis->assumptions().size() > safe.analysis->assumptions().size())
          continue;
        safe = std::move(weaker);
        break;
      }
    }
    return safe;
  }

  Model& m_;
  const Inference& inference_;
  PaddingOptions options_;
  std::vector<ValueId> inputs_;
  std::shared_ptr<ConstantFacts> constants_;
};

}  // namespace

PaddingChoice choose_padding(Model& m, const Inference& inference, PaddingOptions options) {
  const auto constants = std::make_shared<ConstantFacts>();
  PaddingChoice first = ElementSearch(m, inference, options, constants).best();
  if (!first.analysis->refusal() || !first.analysis->has_segments()) return first;
  options.last_segment_first = true;
  PaddingChoice turned = ElementSearch(m, inference, std::move(options), constants).best();
  return turned.analysis->refusal() ? std::move(first) : std::move(turned);
}

}  // namespace graphopt
