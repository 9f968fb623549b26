// LSTM, GRU and RNN. Forward, step t sees steps 0 to t alone. With sequence_lens the steps behind a length
// are not run: their results are 0, and states end at the length.
#include <algorithm>
#include <array>
#include <cctype>

#include "buckets/padding/rules.h"

namespace graphopt::padding {
namespace {

// Returns true if no state grows with the steps: P has more of them than the true run.
bool stays_bounded(const PaddingContext& c) {
  const Attr* given = c.m.find_attr(c.n, names::activations);
  static constexpr std::array<std::string_view, 4> kBounded{"sigmoid", "tanh", "hardsigmoid", "softsign"};
  return !given || std::ranges::all_of(given->strings, [](Bytes name) {
    std::string lower;  // names are compared without regard to case
    for (const char ch : name) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(ch)));
    return std::ranges::find(kBounded, lower) != kBounded.end();
  });
}

}  // namespace

bool recurrent(PaddingContext& c) {
  const PaddedValue& x = c.in(0);
  const std::string_view direction = c.attr_text(names::direction, "forward");
  if (c.attr(names::layout, 0) != 0) return c.refuse("with layout 1 it is not analysed");
  if (x.rank() != 3 || x.is_padded(2)) return c.refuse("its features are padded", {.axis = 2});
  for (const std::size_t i : {std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{7}})
    if (c.has(i) && c.in(i).padded != 0) return c.refuse("its weights are padded");
  const bool has_lengths = c.has(4);
  if (has_lengths) {
    const PaddedValue& lengths = c.in(4);
    if (lengths.rank() != 1 || lengths.layouts[0] != x.layouts[1])
      return c.refuse("its lengths have another layout of padding than its batch");
    const DimId most = c.a.in_padded_run(c.extent(0, 0));
    const Content* bad = c.bad_padding(lengths, lengths.padded, [&](const Content& p) {
      return most && c.math.at_least(p, 0) && c.math.less_equal(p.high, {0, most});
    });
    if (bad && !lengths.pure)
      return c.refuse("padding of its lengths may be out of range: it holds " + c.math.text(*bad));
  }
  for (const std::size_t i : {std::size_t{5}, std::size_t{6}})
    if (c.has(i) && (c.in(i).rank() != 3 || c.in(i).layouts[1] != x.layouts[1]))
      return c.refuse("its initial state has another layout of padding than its batch");
  const bool steps_padded = x.is_padded(0);
  if (steps_padded) {
    if (!c.layouts.is_prefix(x.layouts[0]))
      return c.refuse("it runs over padding within an axis", {.axis = 0});
    if (!has_lengths && direction != "forward")
      return c.refuse(
          "backwards it starts in the padding of " + c.axis_text(x, 1) + "; it has no sequence_lens",
          {.axis = 0, .repair = BucketRepair::Lengths});
  }
  const bool finite = c.whole(0).finite() && c.weights(1).finite();
  const Content content =
      stays_bounded(c) ? ContentMath::combined({c.whole(0), c.weights(1)}) : ContentMath::anything();
  for (std::size_t i = 0; i < 3 && i < c.output_count(); ++i) {
    if (!c.has_output(i)) continue;
    if (i > 0 && steps_padded && !has_lengths) {
      c.refuse("its final state is computed past the true end of " + c.axis_text(x, 1) +
                   "; it has no sequence_lens",
               {.axis = 0, .repair = BucketRepair::Lengths});
      c.contaminate(i);
      continue;
    }
    auto l = c.inferred(i);
    if (!l || l->size() != (i == 0 ? 4u : 3u)) return c.refuse("the extents of its results are not known");
    (*l)[i == 0 ? 2 : 1] = x.layouts[1];
    if (i == 0) (*l)[0] = x.layouts[0];
    const bool ok = c.set(i, c.make(c.output_type(i), std::move(*l), [&](AxisMask region) {
      const bool behind = i == 0 && has_lengths && region == 1;
      return behind && finite ? ContentMath::number(0) : content;
    }));
    if (!ok) return false;
  }
  return true;
}

}  // namespace graphopt::padding
