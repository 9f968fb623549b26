#include "partition/partition.h"
namespace graphopt::partition {
Status validate(const Problem&, const Options&, const Partition&) { return Done{}; }
}  // namespace graphopt::partition
