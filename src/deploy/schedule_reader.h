// Reads the key `schedule` of a partitioned model. Internal.
#pragma once

#include <functional>
#include <set>
#include <string>

#include "deploy/manifest.h"
#include "deploy/manifest_walk.h"

namespace graphopt::deploy {

struct NetworkNames {
  std::set<std::string, std::less<>> inputs, outputs;
};

// What the names in one model refer to.
struct PartitionedNames {
  const NetworkNames& network;
  const Ids& devices;
  Ids subgraphs;
};

class ScheduleReader {
 public:
  ScheduleReader(ManifestWalk& walk, const PartitionedNames& names, PartitionedNetwork& to)
      : walk_(walk), names_(names), to_(to) {}

  JsonWalk::Read schedule();
  // Checks that the schedule is the one that follows from the subgraphs, their order, and the sizes, budgets
  // and times that it states. Precondition: all keys of the network are right but this one, which was read
  // without a mistake. `path`: that of the object that has it.
  void check(const JsonWalk::Path& path);

 private:
  using Json = JsonWalk::Json;
  using Path = JsonWalk::Path;

  void memory(const Json& j, const Path& path, DeviceMemory& d);
  void throughput(const Json& j, const Path& path);

  ManifestWalk& walk_;
  const PartitionedNames& names_;
  PartitionedNetwork& to_;
  Ids values_{"values"};
};

}  // namespace graphopt::deploy
