// Levels of device switches: partitions that one sweep finds.
//
// The level of a unit is the largest number of switches between devices on a path that ends in it. An edge
// inside a class of equal level and device keeps the level, every other edge raises it, so the quotient over
// these classes has no cycle, for any number of devices; and no partition has fewer subgraphs than levels.
//
// With two devices in use, blocks of alternating devices that each take everything that is ready are the
// fewest possible subgraphs, of accelerators and in all, for one of the two devices to start with. (A block
// of any other sequence can take what is ready earlier, too, since it need not be connected.) The block of a
// unit is its level, counted from 1 for units of the second device that read nothing.
#pragma once

#include <vector>

#include "partition/unit_graph.h"

namespace graphopt::partition {

// By unit; from the consumers backwards if `backward`.
std::vector<Index> switch_levels(const UnitGraph& graph, bool backward);

// No partition with the colors of the units has fewer subgraphs: of each device, there are as many as it
// comes up on one path; and in all, as many as there are levels.
LowerBound lower_bound(const UnitGraph& graph);

// Devices that units go to, ascending.
std::vector<Index> used_devices(const UnitGraph& graph);

// Classes of equal level and device.
Labels level_classes(const UnitGraph& graph, const std::vector<Index>& levels);

// The weakly connected parts of classes.
Labels components(const UnitGraph& graph, const Labels& classes);

// Blocks in execution order, numbered from 0. All units of a block have one color.
struct Blocks {
  std::vector<Index> color;  // by block
  Labels of;                 // by unit
};

// Returns the alternating blocks that start with `first`. Precondition: units go to `first` and at most one
// other device.
Blocks alternating_blocks(const UnitGraph& graph, Index first);

// Moves units to another block of their device, between the last block that they read from and the first one
// that reads them, where that saves borders; blocks that become empty are left out.
Blocks settle(const UnitGraph& graph, Blocks blocks);

}  // namespace graphopt::partition
