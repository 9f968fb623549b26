#include "schedule/throughput.h"

#include <algorithm>

namespace graphopt::schedule {
namespace {

// Products of times and numbers of workers.
__extension__ typedef unsigned __int128 Wide;

constexpr std::uint64_t kMostNs = std::uint64_t{1} << 53;

std::uint64_t ns_of(const Problem& p, Index s) { return p.subgraphs[s].ns.value_or(0); }

// Returns by subgraph the longest way before it.
std::vector<std::uint64_t> ways_before(const Problem& p, const Order& order) {
  std::vector<std::uint64_t> out(p.subgraphs.size());
  for (const Index s : order)
    for (const Index v : p.subgraphs[s].inputs)
      if (const auto from = p.values[v].from) out[s] = std::max(out[s], out[*from] + ns_of(p, *from));
  return out;
}

std::vector<std::uint64_t> ways_after(const Problem& p, const Order& order) {
  std::vector<std::uint64_t> out(p.subgraphs.size());
  for (std::size_t i = order.size(); i-- > 0;)
    for (const Index v : p.subgraphs[order[i]].outputs)
      for (const Index reader : p.values[v].to)
        out[order[i]] = std::max(out[order[i]], out[reader] + ns_of(p, reader));
  return out;
}

}  // namespace

std::optional<Throughput> throughput(const Problem& p, const Order& order,
                                     const std::vector<std::uint64_t>& workers) {
  Throughput out;
  std::uint64_t total_ns = 0;  // of one request on one thread
  out.load_ns.resize(p.devices);
  for (const Subgraph& s : p.subgraphs) {
    if (!s.ns || *s.ns >= kMostNs - total_ns) return std::nullopt;
    total_ns += *s.ns;
    out.load_ns[s.device] += *s.ns;
  }
  if (total_ns == 0) return std::nullopt;
  // a / b > c / d, without a division
  const auto is_larger = [&](Index a, Index b) {
    return static_cast<Wide>(out.load_ns[a]) * workers[b] > static_cast<Wide>(out.load_ns[b]) * workers[a];
  };
  for (Index d = 1; d < p.devices; ++d)
    if (is_larger(d, out.bottleneck)) out.bottleneck = d;
  const std::vector<std::uint64_t> before = ways_before(p, order);
  for (const Index s : order) out.critical_path_ns = std::max(out.critical_path_ns, before[s] + ns_of(p, s));
  const Wide load = out.load_ns[out.bottleneck], hands = workers[out.bottleneck];
  out.limit_percent = static_cast<std::uint64_t>(hands * total_ns * 100 / load);
  out.window = static_cast<std::uint64_t>((hands * out.critical_path_ns + load - 1) / load) + 1;
  return out;
}

double earliest_end_ns(const Problem& p, const Order& order, const std::vector<std::uint64_t>& workers,
                       std::uint64_t requests) {
  const std::vector<std::uint64_t> before = ways_before(p, order), after = ways_after(p, order);
  double end = 0;
  for (const Index s : order) end = std::max(end, static_cast<double>(before[s] + ns_of(p, s)));
  for (Index d = 0; d < p.devices; ++d) {
    std::optional<std::uint64_t> head, tail;
    double load = 0;
    for (const Index s : order) {
      if (p.subgraphs[s].device != d) continue;
      load += static_cast<double>(ns_of(p, s));
      head = std::min(head.value_or(before[s]), before[s]);
      tail = std::min(tail.value_or(after[s]), after[s]);
    }
    if (!head) continue;
    const double busy = static_cast<double>(requests) * load / static_cast<double>(workers[d]);
    end = std::max(end, static_cast<double>(*head) + busy + static_cast<double>(*tail));
  }
  return end;
}

}  // namespace graphopt::schedule
