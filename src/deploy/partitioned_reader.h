// Reads how one model is cut: the keys `partition`, `subgraphs`, `borders`, `schedule` and `statistics`.
// Internal.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "deploy/manifest.h"
#include "deploy/manifest_walk.h"
#include "deploy/schedule_reader.h"

namespace graphopt::deploy {

// Readers of these keys, for the table of the object that has them. All that it is given outlives it.
class PartitionedReader {
 public:
  PartitionedReader(ManifestWalk& walk, const PartitionedNames& names, PartitionedNetwork& to)
      : walk_(walk), names_(names), to_(to), schedule_(walk, names, to) {}

  JsonWalk::Read partition();
  JsonWalk::Read subgraphs();
  JsonWalk::Read borders();
  JsonWalk::Read schedule() { return schedule_.schedule(); }
  JsonWalk::Read statistics();
  // Checks what the keys say of each other. Precondition: they were read without a mistake. `path`: that of
  // the object that has them.
  void check(const JsonWalk::Path& path, std::span<const Device> devices);

 private:
  using Json = JsonWalk::Json;
  using Path = JsonWalk::Path;

  // A value that goes from one subgraph to another one.
  struct Transfer {
    std::string_view value;
    Index from = 0, to = 0;
    friend auto operator<=>(const Transfer&, const Transfer&) = default;
  };

  void plan(const Json& j, const Path& path);
  void subgraph(const Json& j, const Path& path, Subgraph& s, std::size_t i);
  void input(const Json& j, const Path& path, PortIn& v);
  void output(const Json& j, const Path& path, PortOut& v);
  void figures(const Json& j, const Path& path);
  void unsupported(const Json& j, const Path& path, Unsupported& u);

  void check_order(const Path& path);
  void check_nodes(const Path& path);
  void check_transfers(const Path& path);
  void check_network(const Path& path);
  void check_counts(const Path& path);
  void check_statistics(const Path& path, std::span<const Device> devices);
  // Refuses another number than the known one.
  void expect(const Path& path, std::uint64_t found, std::uint64_t known, std::string_view what);
  // The same of a key that may be left out: `to` becomes the known number.
  void expect(const Path& path, std::optional<std::uint64_t> found, std::uint64_t& to, std::uint64_t known,
              std::string_view what);
  const std::string& id(Index s) const { return to_.subgraphs[s].id; }

  ManifestWalk& walk_;
  const PartitionedNames& names_;
  PartitionedNetwork& to_;
  ScheduleReader schedule_;
  // Of `statistics`, keys that may be left out.
  std::optional<std::uint64_t> accelerator_subgraphs_, border_values_, largest_;
};

}  // namespace graphopt::deploy
