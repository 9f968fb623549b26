// Device profiles: which there are, and what one takes of a model (docs/devices.md).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graphopt/device_enums.h"
#include "graphopt/error.h"
#include "graphopt/stages/infer.h"
#include "graphopt/stages/load.h"

namespace graphopt {

struct DeviceListing {
  std::string name, file;  // the name that selects it, and where it was found
  std::string id;
  DeviceKind kind = DeviceKind::Other;
  bool host = false;        // takes every node
  std::uint64_t rules = 0;  // support rules
  std::string version;      // of the profile
  struct Source {
    std::string document, version;
  };
  std::vector<Source> sources;
  std::string
      problem;  // the first mistake of a profile that cannot be used; the fields from id on say nothing
};

// Returns the profiles beside the program and in the user's configuration folder, by name.
std::vector<DeviceListing> list_devices();

struct DeviceCheckOptions {
  std::string profile;  // a name, or a file: with '/' or ending in ".json"
  std::string input;    // a file; "-" is stdin
  std::string external_root;
  DimNames dim_names = DimNames::Expressions;
  std::vector<ShapeOption> shapes;  // as --shape and --dim
  std::vector<DimOption> dims;
  bool process_ends = false;  // as in Options
};

// What a device takes of a model, as it is: no pass has run.
struct DeviceCheck {
  std::string device;  // the id of the profile
  DeviceKind kind = DeviceKind::Other;
  std::string profile, version;  // its file; its version
  std::vector<DeviceListing::Source> sources;
  std::string model;
  // Of the main graph, without Constant nodes: those are data. A node with bodies counts as one.
  std::uint64_t nodes = 0, supported = 0;
  // About what fixed shapes would make supported: each open dim of an input is taken for a number that meets
  // what the profile asks for (sizes that do not give less), and what follows from it for one, too, where its
  // formula is known (elsewhere sizes give more). As `supported` where no dim of an input is open.
  std::uint64_t supported_fixed = 0;
  std::vector<std::string> open;   // options that fix the open dims of inputs: "--dim 'batch=SIZE'"
  std::vector<std::string> notes;  // of the profile: what its sources leave open

  struct Refused {
    std::string op;  // "Conv", "com.microsoft::Attention"
    DeviceRefusal reason = DeviceRefusal::None;
    std::uint64_t nodes = 0;
    std::string example;  // the text of the nearest miss among them
  };
  std::vector<Refused> refused;  // by operator and reason, most nodes first

  struct Node {
    std::string name, op;  // a node without a name has that of its first result
    bool supported = false;
    DeviceRefusal reason = DeviceRefusal::None;  // None when supported
    std::uint64_t failed = 0;  // failed conditions of the nearest rule; 0 where none applies
    std::string text;          // "Conv rule 1: input 1 'w' is no constant"
  };
  // Refused nodes first: those with the fewest failed conditions, then those that no rule is about; then the
  // supported ones. Equal ones in the order of the graph.
  std::vector<Node> listed;

  std::vector<std::string> warnings;  // of the model, and rules about operators that do not exist
};

Result<DeviceCheck> check_device(const DeviceCheckOptions& options);
std::string to_json(const DeviceCheck& check);

}  // namespace graphopt
