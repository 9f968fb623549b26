#include "schedule/least_memory.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "schedule/facts.h"
#include "schedule/memory.h"

namespace graphopt::schedule {
namespace {

using Peaks = std::pair<std::uint64_t, std::uint64_t>;  // of the accelerators in sum, of the host

// Which subgraphs have run, a bit each. The bytes of a string are its hash.
using Ran = std::string;
bool has(const Ran& ran, Index s) { return ((ran[s / 8] >> (s % 8)) & 1) != 0; }
void add(Ran& ran, Index s) { ran[s / 8] = static_cast<char>(ran[s / 8] | (1 << (s % 8))); }

struct Set {
  Ran ran;
  std::vector<Index> ready;              // subgraphs, ascending
  std::vector<std::uint64_t> now, peak;  // by device, bytes
  std::uint32_t parent = 0;              // among the sets with one subgraph less
  Index added = 0;
};

// How a set was made; the rest of it is not needed later.
struct Made {
  std::uint32_t parent = 0;
  Index added = 0;
};

Peaks peaks_of(const std::vector<std::uint64_t>& by_device) {
  Peaks out;
  for (std::size_t d = 0; d + 1 < by_device.size(); ++d) out.first += by_device[d];
  if (!by_device.empty()) out.second = by_device.back();
  return out;
}

class Search {
 public:
  Search(const Problem& p, const LeastMemoryOptions& options) : p_(p), options_(options) {}

  // An order, and its peaks; an empty one where it would take too long.
  std::pair<Order, Peaks> run() {
    std::vector<Set> sets{first()};
    std::vector<std::vector<Made>> made;
    for (std::size_t size = 0; size < p_.subgraphs.size(); ++size) {
      std::vector<Set> next = larger(sets);
      if (steps_ > 2 * options_.most_steps || next.empty()) return {};
      sets = best_of(std::move(next));
      std::vector<Made>& level = made.emplace_back();
      for (const Set& s : sets) level.push_back({s.parent, s.added});
    }
    Order out(made.size());
    std::uint32_t at = 0;
    for (std::size_t i = made.size(); i-- > 0;) {
      out[i] = made[i][at].added;
      at = made[i][at].parent;
    }
    return {std::move(out), peaks_of(sets[0].peak)};
  }

 private:
  Set first() const {
    Set out{.ran = Ran((p_.subgraphs.size() + 7) / 8, '\0'),
            .ready = {},
            .now = std::vector<std::uint64_t>(p_.devices),
            .peak = std::vector<std::uint64_t>(p_.devices)};
    for (Index s = 0; s < p_.subgraphs.size(); ++s)
      if (std::ranges::none_of(p_.subgraphs[s].inputs,
                               [this](Index v) { return p_.values[v].from.has_value(); }))
        out.ready.push_back(s);
    return out;
  }

  std::vector<Set> larger(const std::vector<Set>& sets) {
    std::vector<Set> out;
    std::unordered_map<std::string, std::size_t> number;
    for (std::uint32_t i = 0; i < sets.size(); ++i)
      for (const Index s : sets[i].ready) {
        Set made = with(sets[i], s);
        made.parent = i;
        const auto [at, is_new] = number.try_emplace(made.ran, out.size());
        if (is_new) out.push_back(std::move(made));
        else if (rank(made) < rank(out[at->second])) out[at->second] = std::move(made);
      }
    return out;
  }

  static std::tuple<Peaks, std::uint64_t> rank(const Set& s) {
    std::uint64_t now = 0;
    for (const std::uint64_t bytes : s.now) now += bytes;
    return {peaks_of(s.peak), now};
  }

  std::vector<Set> best_of(std::vector<Set> sets) const {
    std::ranges::stable_sort(sets, {}, rank);
    const std::size_t most = steps_ > options_.most_steps ? 1 : options_.most_sets;
    if (sets.size() > most) sets.erase(sets.begin() + static_cast<std::ptrdiff_t>(most), sets.end());
    return sets;
  }

  // The set with one subgraph more, which is ready.
  Set with(const Set& set, Index s) {
    Set out = set;
    const Subgraph& subgraph = p_.subgraphs[s];
    const Index device = subgraph.device;
    out.added = s;
    std::uint64_t& now = out.now[device];
    for (const Index v : subgraph.inputs)
      if (!is_on(set.ran, v, device)) now += *p_.values[v].bytes;
    for (const Index v : subgraph.outputs) now += *p_.values[v].bytes;
    out.peak[device] = std::max(out.peak[device], now + subgraph.workspace_bytes);
    add(out.ran, s);
    for (const std::vector<Index>* values : {&subgraph.inputs, &subgraph.outputs})
      for (const Index v : *values)
        if (!is_read_later(out.ran, v, device)) now -= *p_.values[v].bytes;
    std::erase(out.ready, s);
    for (const Index v : subgraph.outputs)
      for (const Index reader : p_.values[v].to)
        if (is_ready(out.ran, reader) && std::ranges::find(out.ready, reader) == out.ready.end())
          out.ready.insert(std::ranges::upper_bound(out.ready, reader), reader);
    return out;
  }

  bool is_on(const Ran& ran, Index v, Index device) {
    const Value& value = p_.values[v];
    if (value.from && p_.subgraphs[*value.from].device == device) return true;
    steps_ += value.to.size();
    return std::ranges::any_of(value.to,
                               [&](Index r) { return p_.subgraphs[r].device == device && has(ran, r); });
  }

  bool is_read_later(const Ran& ran, Index v, Index device) {
    steps_ += p_.values[v].to.size() + 1;
    return std::ranges::any_of(p_.values[v].to,
                               [&](Index r) { return p_.subgraphs[r].device == device && !has(ran, r); });
  }

  bool is_ready(const Ran& ran, Index s) {
    steps_ += p_.subgraphs[s].inputs.size();
    return std::ranges::all_of(p_.subgraphs[s].inputs,
                               [&](Index v) { return !p_.values[v].from || has(ran, *p_.values[v].from); });
  }

  const Problem& p_;
  const LeastMemoryOptions& options_;
  std::size_t steps_ = 0;
};

}  // namespace

Order least_memory_order(const Problem& p, const LeastMemoryOptions& options) {
  Order file = file_order(p);
  std::vector<std::uint64_t> peaks;
  for (Index d = 0; d < p.devices; ++d) {
    const auto found = account(p, file, d);
    if (!found) return file;
    peaks.push_back(found->peak);
  }
  auto [order, found] = Search(p, options).run();
  return !order.empty() && found < peaks_of(peaks) ? std::move(order) : std::move(file);
}

}  // namespace graphopt::schedule
