// What is to be partitioned: a graph of plain numbers, the devices that can take each node, and what is known
// of times and memory.
//
// Nothing here knows ONNX. The caller numbers nodes 0 .. n-1 in any order and devices 0 .. k-1 in the order
// of their priority; the last device is the host, which takes every node. The numbering of nodes, values and
// weights enters no decision: ties are broken by `rank` alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "graphopt/error.h"

namespace graphopt::partition {

using Index = std::uint32_t;
inline constexpr Index kNone = 0xFFFFFFFFu;

// Lists of different lengths in one array.
class Rows {
 public:
  Rows() = default;
  // Precondition: first starts with 0, never falls and ends with items.size().
  Rows(std::vector<Index> first, std::vector<Index> items)
      : first_(std::move(first)), items_(std::move(items)) {}

  std::size_t size() const { return first_.size() - 1; }
  std::size_t item_count() const { return items_.size(); }
  std::span<const Index> operator[](std::size_t row) const {
    return std::span(items_).subspan(first_[row], first_[row + 1] - first_[row]);
  }
  void reserve(std::size_t rows, std::size_t items) {
    first_.reserve(rows + 1);
    items_.reserve(items);
  }
  void add(Index item) { items_.push_back(item); }  // to the row that end_row() ends
  void end_row() { first_.push_back(static_cast<Index>(items_.size())); }
  void add_row(std::span<const Index> row) {
    items_.insert(items_.end(), row.begin(), row.end());
    end_row();
  }
  friend bool operator==(const Rows&, const Rows&) = default;

 private:
  std::vector<Index> first_{0};
  std::vector<Index> items_;
};

// Sizes above this count as this, so that no sum of sizes overflows.
inline constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 40;

// Without it for a device, nothing is moved away from that device to save time.
struct DeviceCost {
  std::uint64_t launch_ns = 0;         // of each subgraph
  std::uint64_t latency_ns = 0;        // of each transfer
  std::uint64_t to_bytes_per_s = 0;    // from the host; 0: only the latency counts
  std::uint64_t from_bytes_per_s = 0;  // to the host; 0: only the latency counts
};

struct Device {
  bool connected = false;              // takes only weakly connected subgraphs; no meaning for the host
  Index min_nodes = 1;                 // of each subgraph; no meaning for the host
  std::optional<Index> max_subgraphs;  // no meaning for the host
  std::optional<std::uint64_t> memory_bytes;  // for weights and the peak of activations of one subgraph
  std::optional<DeviceCost> cost;             // of the host, only launch_ns counts
};

enum class GroupKind : std::uint8_t {
  Quantization,  // QuantizeLinear and DequantizeLinear with the operator between them
  ControlFlow,   // a node and nodes that it needs beside it
  State,         // what reads a past value and writes the present one
  NotTensor,     // producers and consumers of a sequence, optional or map
  UnknownRank,   // producers and consumers of a value that no border can state
  User,          // given by the user
  Assigned,      // given by the model
};

// Nodes that stay in one subgraph.
struct Group {
  GroupKind kind = GroupKind::User;
  std::vector<Index> nodes;
};

struct Value {
  Index producer = kNone;   // a node, or kNone: a network input or an initializer, which makes no border
  std::uint64_t bytes = 1;  // 1 where the size is unknown
  bool network_output = false;
  std::uint64_t least_bytes = 0;  // where the size is unknown: what memory has to hold at least
};

struct Problem {
  std::vector<Device> devices;  // in order of priority, the host last
  std::vector<Index> rank;      // by node: a permutation of 0 .. n-1
  Rows producers;  // by node: the nodes whose results it or a body of it reads, each once or more

  // By node, the row of `supports` with the devices that can take it, ascending. The host may be left out: it
  // takes everything.
  std::vector<Index> support_of;
  Rows supports;

  std::vector<Group> groups;

  // Values and the nodes that read them (bodies included), each once or more. A reader has the value's
  // producer among its producers. Empty: each node that is read has one result of 1 byte.
  std::vector<Value> values;
  Rows readers;  // by value

  // Time of each node on each device: node_ns[node * devices.size() + device]. Empty: no node takes time.
  std::vector<std::uint64_t> node_ns;

  // Weights, and the weights that each node reads. A weight that several nodes of a subgraph read counts
  // once.
  std::vector<std::uint64_t> weight_bytes;
  Rows weights;  // by node; empty: no node has weights

  std::size_t node_count() const { return rank.size(); }
  Index host() const { return static_cast<Index>(devices.size() - 1); }
};

enum class Algorithm : std::uint8_t {
  Grow,    // the default: several starts, merged to a fixpoint
  Fewest,  // the fewest subgraphs: proven for two devices, and for more within a budget
  Depth,   // the rule of neighbouring depths, with a guard against cycles
};

struct Options {
  Algorithm algorithm = Algorithm::Grow;
  bool connected = false;  // for all accelerators, as Device::connected for one
  bool assigned = false;   // the caller has chosen the devices: only what does not fit a memory moves
  // A subgraph moves to a lower device unless a run takes so much longer then; 0: where it takes less.
  std::uint64_t min_gain_ns = 0;
};

// Returns what makes the problem ill-formed: lists of different lengths, a rank that is no permutation, a
// name of a node, device or weight that does not exist, a cycle.
Status check(const Problem& problem);

}  // namespace graphopt::partition
