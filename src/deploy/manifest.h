// What a partitioned model is, as plain data: so a runner, an export or a page needs nothing else. The
// document that says it is manifest_json.h's, docs/manifest.md has the meaning of each key, and a member has
// the name of its key.
//
// Problem: who makes, writes and reads a document by the names of its keys finds a mistake in one of them
// when it runs, if at all. Method: a struct for each object, an enum for each list of words, and numbers
// where the document names a subgraph, a device or a symbol, so that what was read or made refers to nothing
// that is not there.
//
// Subgraphs and devices are positions in `subgraphs` of the same model and in Manifest::devices. Sizes are
// bytes, times nanoseconds. Texts are bytes as in the model, which need not be UTF-8.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "deploy/layout_tree.h"
#include "graphopt/device_enums.h"
#include "graphopt/stages/buckets.h"
#include "graphopt/stages/partition.h"
#include "graphopt/words.h"
#include "ir/types.h"
#include "schedule/facts.h"
#include "schedule/throughput.h"

namespace graphopt::deploy {

using Index = std::uint32_t;  // of a subgraph or a device

enum class Algorithm : std::uint8_t { Depth, Grow, Fewest, None, Given };  // None: there is the host alone

// Why nodes are not on a better device.
enum class UnsupportedReason : std::uint8_t {
  Operator,
  Opset,
  Dtype,
  Rank,
  DynamicShape,
  Attribute,
  NotConstant,
  Denied,
  ControlFlow,
  Atomic,
  Memory,
  Cost,
  Other,  // the detail says which
};

enum class FileRole : std::uint8_t { Model, Subgraph, ExternalData, Profile, Other };

enum class ValueKind : std::uint8_t { Tensor, SparseTensor, Sequence, Optional, Map };

}  // namespace graphopt::deploy

namespace graphopt {

template <> struct Words<deploy::Algorithm> {
  static constexpr std::string_view plural = Words<PartitionAlgorithm>::plural;
  static constexpr std::array<std::string_view, 5> all = {word(PartitionAlgorithm::Depth),
                                                          word(PartitionAlgorithm::Grow),
                                                          word(PartitionAlgorithm::Fewest), "none", "given"};
};

template <> struct Words<deploy::UnsupportedReason> {
  static constexpr std::string_view plural = "reasons";
  static constexpr std::array<std::string_view, 13> all = {
      "operator", "opset",        "dtype",  "rank",   "dynamic_shape", "attribute", "not_constant",
      "denied",   "control_flow", "atomic", "memory", "cost",          "other"};
};

template <> struct Words<deploy::FileRole> {
  static constexpr std::string_view plural = "roles";
  static constexpr std::array<std::string_view, 5> all = {"model", "subgraph", "external_data", "profile",
                                                          "other"};
};

template <> struct Words<deploy::ValueKind> {
  static constexpr std::string_view plural = "kinds";
  static constexpr std::array<std::string_view, 5> all = {"tensor", "sparse_tensor", "sequence", "optional",
                                                          "map"};
};

}  // namespace graphopt

namespace graphopt::deploy {

using Option = std::variant<std::string, std::int64_t, bool>;

struct Tool {
  std::string version;                    // of graphopt
  std::map<std::string, Option> options;  // those that change the result
};

using ValueDim = std::variant<std::monostate, std::int64_t, std::string>;  // not known, a number, a name

struct ValueType {
  ValueKind kind = ValueKind::Tensor;
  DType dtype = DType::Undefined;              // of tensors; of a map: of its keys. Undefined: not known
  std::optional<std::vector<ValueDim>> shape;  // of tensors; none: the rank is not known
  std::vector<ValueType> elem;                 // of the others: one; none: not known
};

struct NetworkValue {
  std::string name;
  ValueType type;
  bool optional = false;  // of inputs: it has a default in each part that reads it
};

struct Opset {
  std::string domain;  // "" is ai.onnx
  std::int64_t version = 0;
};

struct Bounds {
  std::int64_t min = 0;
  std::optional<std::int64_t> max;  // none: no end is known
  std::optional<std::int64_t> multiple_of;
};

struct Network {
  std::string id;         // "sha256:" and 64 digits (network_id.h)
  std::string source_id;  // of the model as it was read; empty: not known
  std::string name;
  std::int64_t ir_version = 0;
  std::vector<Opset> opset;  // sorted by domain
  std::vector<NetworkValue> inputs, outputs;
  std::map<std::string, Bounds> symbols;
};

struct ProfileId {
  std::string name, version;
  std::string sha256;  // 64 digits
};

struct ExecutionProvider {
  std::string name;
  std::map<std::string, std::string> options;
};

struct Device {
  std::string id;
  DeviceKind kind = DeviceKind::Other;
  std::int64_t priority = 0;  // 0 is tried first
  bool host = false;
  std::optional<ProfileId> profile;
  std::optional<ExecutionProvider> ep;
};

struct Absorbed {
  std::uint64_t nodes = 0;  // their number
  Index from = 0, to = 0;   // devices
  MoveReason reason = MoveReason::Cost;
  std::optional<std::int64_t> saved_ns;
};

struct PartitionPlan {
  Algorithm algorithm = Algorithm::None;
  bool connected = false;
  std::vector<Index> order;                // subgraphs; producers come first
  std::vector<std::vector<Index>> stages;  // subgraphs that do not depend on each other
  std::uint64_t lower_bound = 0;
  bool proven = false;
  std::vector<Absorbed> absorbed;
};

// Bytes: a number, a formula over symbols, or neither where an extent depends on data.
struct Size {
  std::optional<std::uint64_t> bytes;
  std::string formula;  // empty: none
  friend bool operator==(const Size&, const Size&) = default;
};

struct PortIn {
  std::string name;
  ValueType type;
  std::optional<Index> from;  // none: an input of the network
  bool capture = false;       // only bodies of nodes read it
};

struct PortOut {
  std::string name;
  ValueType type;
  std::vector<Index> to;  // subgraphs that read it
  bool network_output = false;
  std::string state_of;  // the network's input that it feeds in the next call; empty: none
};

struct Subgraph {
  std::string id;
  Index device = 0;
  std::string file;                // empty: none was written
  std::string content;             // as Network::id
  std::vector<std::string> nodes;  // names of nodes of the model, in execution order
  std::vector<PortIn> inputs;
  std::vector<PortOut> outputs;
  std::vector<Index> depends;
  std::uint64_t reference_count = 0;  // of subgraphs that wait for this one
  std::uint64_t weight_bytes = 0;
  Size peak_bytes;
  std::uint64_t components = 1;
};

// One transfer.
struct Border {
  std::string value;
  Index from = 0, to = 0;
  Size size;
};

// Nodes of one subgraph that read one value.
struct Group {
  Index subgraph = 0;
  std::string value, front;
  std::vector<std::string> back;
  std::uint64_t reference_count = 0;
  Size size;
};

struct Unsupported {
  Index device = 0;
  std::string op;
  UnsupportedReason reason = UnsupportedReason::Other;
  std::optional<std::string> detail;  // of the first node
  std::uint64_t count = 0;
};

struct Statistics {
  std::uint64_t nodes = 0, subgraphs = 0, accelerator_subgraphs = 0;
  std::vector<std::uint64_t> device_nodes;  // by device
  std::uint64_t border_values = 0;
  Size border;
  std::uint64_t largest_accelerator_subgraph_nodes = 0;
  std::vector<Unsupported> unsupported;  // most frequent first
};

// A value that a subgraph makes, or that goes into the network. Places are those of PartitionPlan::order.
struct ScheduledValue {
  std::string name;
  std::optional<Index> from;  // none: an input of the network
  std::vector<Index> to;
  std::uint64_t reference_count = 0;  // its readers, and one more where it is an output of the network
  Size size;
  std::int64_t first = -1, last = -1;  // where it is made, and where it is read last
  friend bool operator==(const ScheduledValue&, const ScheduledValue&) = default;
};

struct Spill {
  Index value = 0;  // of Schedule::values
  Index at = 0;     // the subgraph for which it leaves
  friend bool operator==(const Spill&, const Spill&) = default;
};

// The tensors of one request, weights apart.
struct DeviceMemory {
  Index device = 0;
  std::uint64_t weight_bytes = 0;            // of its subgraphs
  std::optional<std::uint64_t> peak;         // bytes; none: not known before a run
  Index peak_at = 0;                         // the first subgraph at which there are as many
  std::optional<std::uint64_t> budget;       // bytes; none: no end
  std::optional<std::vector<Spill>> spills;  // none: not known, or nothing fits the budget
  friend bool operator==(const DeviceMemory&, const DeviceMemory&) = default;
};

struct Schedule {
  std::vector<schedule::Group> groups;
  std::vector<ScheduledValue> values;
  std::vector<DeviceMemory> memory;                // of each device that has a subgraph
  std::optional<schedule::Throughput> throughput;  // none: times are not known
};

// How a model is cut: OUT, or the model of a bucket.
struct PartitionedNetwork {
  PartitionPlan partition;
  std::vector<Subgraph> subgraphs;
  std::vector<Border> borders;
  Statistics statistics;
  std::optional<Schedule> schedule;  // none: of a manifest before 1.2
};

struct BucketModel : PartitionedNetwork {
  std::string file;
  std::vector<std::int64_t> at;  // by symbol: its size
  std::uint64_t nodes = 0;
  std::optional<std::uint64_t> peak_bytes;  // of activations that one run of the whole needs; none: not known
};

struct Buckets {
  struct Symbol {
    std::string name;
    std::vector<std::int64_t> sizes;  // ascending
    std::int64_t low = 0, high = 0;   // what was promised
    bool fixed = false;               // matches a size exactly
  };
  struct Input {
    std::string name;
    std::vector<LayoutTree> dims;
    PadClass pad_class = PadClass::None;
    double pad = 0;  // may be infinite
  };
  struct ExtraInput {
    std::string name, symbol;  // an int64 without dims: the true extent of the symbol
  };
  struct Repair {
    std::string node, op;
    BucketRepair kind = BucketRepair::Mask;
    std::string text;
  };
  struct Output {
    std::string name;
    std::vector<Extent> dims;                    // the true extents
    std::optional<std::vector<LayoutTree>> cut;  // none: the first entries of each axis
  };
  struct Assumption {
    std::string node;
    BucketAssumption kind = BucketAssumption::MaskDominates;
    std::string text;
  };
  // Texts are empty where there is nothing to say.
  struct Refusal {
    std::string reason, node, op;
    int axis = -1;  // -1: none
    std::string input, content, needs;
    std::optional<BucketRepair> repair;
    std::string unrepaired, remedy;
  };
  struct Waste {
    std::string symbol;
    std::uint64_t observed = 0, elements = 0, padded_elements = 0;
  };

  BucketVerdict verdict = BucketVerdict::Refused;
  std::vector<Symbol> symbols;  // in the order in which the groups name them
  std::vector<std::vector<std::string>> groups;
  std::string where;  // a comparison of two extents; empty: none
  std::vector<Input> inputs;
  std::vector<ExtraInput> extra_inputs;
  std::vector<Repair> repairs;
  std::vector<Output> outputs;
  std::vector<Constraint> constraints;
  std::vector<Assumption> assumptions;
  std::optional<Refusal> refused;  // where the verdict is Refused
  std::vector<Waste> waste;
  std::vector<BucketModel> models;  // in lexicographic order of their sizes
  std::string fallback;             // the path of OUT
  std::string data;                 // the path of the weights; empty: there is no such file
};

struct File {
  std::string path;  // from the manifest's folder, with forward slashes
  FileRole role = FileRole::Other;
  std::string sha256;  // 64 digits
  std::uint64_t bytes = 0;
};

struct Manifest : PartitionedNetwork {
  Tool tool;
  Network network;
  std::vector<File> files;      // the first one of role Model is OUT
  std::vector<Device> devices;  // by priority; one is the host
  std::vector<Group> groups;
  std::optional<Buckets> buckets;
};

}  // namespace graphopt::deploy
