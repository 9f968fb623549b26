// See selection.h.
#include "passes/selection.h"

#include <algorithm>

#include "ops/attributes.h"

namespace graphopt {

std::optional<Ranges> ranges_of(const MatchContext& c, NodeId n) {
  const Model& m = c.model;
  const ValueId x = m.input(n, 0);
  std::optional<std::vector<std::int64_t>> starts, ends, steps;
  if (m.opset(n) >= 10) {
    starts = int_operand(m, n, 1);
    ends = int_operand(m, n, 2);
    steps = int_operand(m, n, 4);
    if (m.input(n, 4) && !steps) return std::nullopt;
  } else {
    const auto list = [&](NameId name) -> std::optional<std::vector<std::int64_t>> {
      const auto given = ints_attr(m, n, name);
      return given ? std::optional(std::vector(given->begin(), given->end())) : std::nullopt;
    };
    starts = list(names::starts);
    ends = list(names::ends);
  }
  const auto written = axes_of(m, n);
  if (!starts || !ends || !written || starts->size() != ends->size()) return std::nullopt;
  std::vector<std::int64_t> axes = *written;
  for (std::size_t i = 0; i < starts->size() && written->empty(); ++i)
    axes.push_back(static_cast<std::int64_t>(i));
  const auto normalized = normalize_axes(axes, c.infer.dims(x).size());
  if (!normalized || normalized->size() != starts->size() || (steps && steps->size() != starts->size()))
    return std::nullopt;
  Ranges out;
  for (std::size_t i = 0; i < starts->size(); ++i)
    out.push_back({(*normalized)[i], (*starts)[i], (*ends)[i], steps ? (*steps)[i] : 1});
  return out;
}

std::optional<std::int64_t> extent(const MatchContext& c, ValueId v, std::int64_t axis) {
  const auto dims = c.infer.dims(v);  // none where the rank is not known
  const auto at = static_cast<std::size_t>(axis);
  return at < dims.size() ? c.model.dims.value(dims[at]) : std::nullopt;
}

bool count_from_front(AxisRange& r, std::optional<std::int64_t> extent) {
  if (r.step < 1) return false;
  if (!extent) return r.start >= 0 && r.end >= 0;
  const auto from_front = [&](std::int64_t i) {
    return std::clamp(i < 0 ? i + *extent : i, std::int64_t{0}, *extent);
  };
  r.start = from_front(r.start);
  r.end = from_front(r.end);
  return true;
}

}  // namespace graphopt
