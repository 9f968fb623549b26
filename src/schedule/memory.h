// The memory that one device needs for a request, subgraph by subgraph.
//
// Problem: a device with little memory runs subgraphs one after the other. A value is on it from the subgraph
// that makes it, or from the first that reads it, to the last that reads it; where all of them do not fit,
// some have to leave for a while.
// Method: an exact account of one order. Before a subgraph starts, its missing inputs are loaded, and room is
// made for its outputs and its workspace. Where there is a budget, values that it does not need leave, first
// the one that is read last (Belady: the furthest next use), then the larger one, then the one with the
// greater number; a value that the host does not have is stored first. After it has run, what the host or
// another device needs is stored, and what the device needs no more is freed. Inputs are never overwritten in
// place. Weights are not counted. Ends: one step for each subgraph, and each value leaves at most once a
// step.
//
//   budget 100, a: 40, b: 30; c needs b and 50    =>    spill a, evict a, run c ... load a
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "schedule/problem.h"

namespace graphopt::schedule {

enum class Event : std::uint8_t {
  Load,   // the value comes from the host
  Run,    // the subgraph runs
  Store,  // a copy of the value goes to the host
  Spill,  // the same, since its room is needed
  Evict,  // the value leaves for a while
  Free,   // the value leaves for good
};

struct Step {
  Event event = Event::Run;
  Index what = 0;   // Run: a subgraph; else a value
  Index place = 0;  // of the subgraph for which it happens, in the order
  friend bool operator==(const Step&, const Step&) = default;
};

// What is stored of values that only the device reads.
enum class Retain : std::uint8_t {
  Outputs,  // nothing
  All,      // every value, when it is freed: for debugging
};

// The subgraph that no order of leaving makes room for.
struct Misfit {
  Index subgraph = 0;
  std::uint64_t needed = 0;  // bytes, next to those that have to stay
  std::uint64_t pinned = 0;  // bytes that have to stay: its inputs
  std::uint64_t budget = 0;
};

struct Account {
  std::vector<Step> steps;
  std::uint64_t peak = 0;  // bytes
  Index peak_at = 0;       // place of the first subgraph at which there are as many
  std::uint64_t stored_bytes = 0;
  std::optional<Misfit> misfit;  // then the account ends there
};

struct AccountOptions {
  std::optional<std::uint64_t> budget;  // bytes; none: no end
  Retain retain = Retain::Outputs;
};

// Returns nothing where the size of a value that comes to the device is not known, or where all sizes
// together are 2^64 or more. `order`: all subgraphs, producers first. O((n + values + readers) log n).
std::optional<Account> account(const Problem& p, const Order& order, Index device,
                               const AccountOptions& options = {});

}  // namespace graphopt::schedule
