// partition: which device runs which nodes of the optimized main graph (docs/devices.md), as subgraphs that
// run one after the other, and the files and the manifest that say so (docs/manifest.md).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "graphopt/device_enums.h"
#include "graphopt/words.h"

namespace graphopt {

enum class PartitionAlgorithm : std::uint8_t {
  Grow,    // subgraphs grow from several starts until no two can be one
  Fewest,  // the fewest subgraphs: always with two devices, with more as far as a search goes
  Depth,   // neighbours of neighbouring depth join; for comparison
};
template <> struct Words<PartitionAlgorithm> {
  static constexpr std::string_view plural = "algorithms";
  static constexpr std::array<std::string_view, 3> all = {"grow", "fewest", "depth"};
};

// In which order the manifest lets the subgraphs run.
enum class SubgraphOrder : std::uint8_t {
  File,    // that of their nodes in OUT
  Memory,  // one with a low peak of memory
};
template <> struct Words<SubgraphOrder> {
  static constexpr std::string_view plural = "orders";
  static constexpr std::array<std::string_view, 2> all = {"file", "memory"};
};

// Why nodes run on a lower device than the first one that takes them.
enum class MoveReason : std::uint8_t {
  Cost,          // saves time
  MinNodes,      // the subgraph had fewer nodes than its device asks for
  MaxSubgraphs,  // the device had more subgraphs than it takes
  Memory,        // they do not fit into the device's memory
  MinGain,       // the subgraph saved less time than --min-gain asks for
};
template <> struct Words<MoveReason> {
  static constexpr std::string_view plural = "reasons";
  static constexpr std::array<std::string_view, 5> all = {"cost", "min_nodes", "max_subgraphs", "memory",
                                                          "min_gain"};
};

// Forms of a partitioned model for other programs (docs/exports.md).
enum class Export : std::uint8_t {
  Triton,          // OUT.triton: a model repository of Triton Inference Server
  OrtAnnotations,  // OUT.layers.json: where ONNX Runtime puts the nodes of OUT
  GenAi,           // OUT.genai: a decoder as a pipeline of onnxruntime-genai
  OrtPackage,      // OUT.ort-package: OUT and the models of buckets as a model package of ONNX Runtime
};
inline constexpr std::array kExports = {Export::Triton, Export::OrtAnnotations, Export::GenAi,
                                        Export::OrtPackage};
template <> struct Words<Export> {
  static constexpr std::string_view plural = "exports";
  static constexpr std::array<std::string_view, kExports.size()> all = {"triton", "ort-annotations", "genai",
                                                                        "ort-package"};
};

struct PartitionStage {
  // Bytes of a device for the tensors of one request, in place of its profile's memory_bytes. They decide
  // what the schedule of the manifest spills, not how the model is cut.
  struct DeviceBudget {
    std::string device;  // the id of a profile
    std::uint64_t bytes = 0;
  };
  // Nodes whose layer_ann or pipeline stage begins with a text, or equals it, run on a device.
  struct LayerRule {
    std::string device;  // the id of a profile
    std::string text;
    bool exact = false;
  };
  struct Options {
    std::string
        devices;  // "npu,gpu.json": profiles in the order in which they are tried; empty: no partition
    PartitionAlgorithm algorithm = PartitionAlgorithm::Grow;
    bool connected = false;  // subgraphs of accelerators are weakly connected
    // The least number of nodes of an accelerator's subgraph, in place of that of its profile; 0: of that.
    std::uint32_t min_nodes = 0;
    // A subgraph of an accelerator makes a run faster by so many nanoseconds, or its nodes are on a lower
    // device. Without costs in the profiles nothing moves for it.
    std::uint64_t min_gain_ns = 0;
    // Nodes run where the model says; the profiles decide about those that name no device. Nothing moves to
    // save time or for limits of a profile. Without rules the model names ids of profiles.
    bool given = false;
    std::vector<LayerRule> layers;
    // Where sizes are numbers, the order in which accelerators need the fewest bytes that was found.
    SubgraphOrder order = SubgraphOrder::File;
    std::vector<DeviceBudget> budgets;  // each device once; of the others those of the profiles
    bool plan = false;                  // only tell: nothing is annotated or written
    bool parts = true;                  // a file for each subgraph; false: OUT and the manifest only
    std::string manifest;               // its path; empty: that of OUT with .manifest.json for .onnx
    // The folder of all files that the manifest lists but OUT: the manifest's or one below it, and OUT's or
    // one below it. A relative path begins at the manifest's folder; empty: OUT's folder.
    std::string parts_dir;
    std::vector<Export> exports;  // written beside OUT; others that an earlier run wrote there go
  };

  struct Device {
    std::string id;
    bool host = false;
    std::uint64_t nodes = 0, subgraphs = 0;
    // Multiply-adds of its nodes in one run, as inspect counts them: a formula over the symbols (empty:
    // none), nodes that are not counted for unknown shapes, and where all devices have numbers the share.
    std::string multiply_adds;
    std::uint64_t uncounted_nodes = 0;
    std::optional<double> work;
  };
  struct Subgraph {
    std::string id, device;
    std::uint64_t nodes = 0, inputs = 0, outputs = 0;  // borders only: not inputs and outputs of the model
    std::string first;                                 // the name of its first node
  };
  // Nodes that went to a lower device than the one named.
  struct Refused {
    std::string device, op;
    DeviceRefusal reason = DeviceRefusal::None;
    std::string detail;  // of the first of them
    std::uint64_t count = 0;
  };
  // Nodes that a device takes and that went to a lower one, for one reason.
  struct Moved {
    std::string from, to;
    MoveReason reason = MoveReason::Cost;
    std::uint64_t count = 0;
  };
  // What became of a node for which --explain all:NODE asks.
  struct Explained {
    std::string node, op;          // its name, and its operator
    std::string device, subgraph;  // empty: it is not in OUT
    struct Refusal {
      std::string device, reason;
    };
    std::vector<Refusal> refused;  // devices before that one in the list, and why it is not there
    // Without a device: nodes of OUT in its place, as far as that is known, and by which lowering they came.
    std::vector<std::string> replaced_by;
    std::string lowered_for, expansion;  // empty: passes replaced it
  };
  struct Report {
    PartitionAlgorithm algorithm = PartitionAlgorithm::Grow;
    std::vector<Device> devices;  // in the order of their priority, the host last
    std::vector<Subgraph> subgraphs;
    std::vector<Refused> refused;               // most frequent first
    std::vector<Moved> moved;                   // in the order in which they were made
    std::vector<Explained> explained;           // in the order of --explain
    std::optional<std::uint64_t> given;         // nodes whose device the model names; nothing if not asked
    std::uint64_t border_values = 0;            // one for each value and subgraph that reads it
    std::optional<std::uint64_t> border_bytes;  // nothing where a size is not a number
    std::uint64_t switches = 0;  // subgraphs on the longest chain that changes the device: a lower bound
    bool proven = false;         // no partition with the same devices of nodes has fewer subgraphs
    // Estimated times of one sequential run; nothing where the profiles state no costs.
    std::optional<std::int64_t> run_ns, host_ns;
    std::string network;   // the id in the manifest; empty when none was written
    std::string manifest;  // its path; empty when none was written
    std::string drawing;   // Graphviz text; empty when RegionsStage::Options::draw does not ask for it
  };
};

// Returns a time with three digits and a unit: "28.8 ms".
std::string time_text(std::int64_t ns);

}  // namespace graphopt
