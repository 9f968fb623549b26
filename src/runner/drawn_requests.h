// Requests whose inputs are drawn: legal values for OUT, with sizes within what a manifest states.
//
// Problem: a partitioned model is to be run without data of its own, many times, with sizes that vary.
// Method: the inputs of OUT are planned once (runtime/inputs.h): indices stay within their tables, dims of
// one name agree. Each request then gets sizes for the symbols of the inputs, and values:
//
//   a symbol that the request states     that size, or one drawn within its range
//   one with buckets                     drawn within the promised range (of a fixed one: among its sizes)
//   any other                            a usual size, within the bounds that network.symbols states
//
// Sizes are drawn again, up to kMostDraws times, where the shapes would not do for a bucket (`where`,
// `constraints`), where a dim would be negative, and where the inputs would be too large. Shapes that still
// do not fit a bucket are legal all the same: they run in OUT.
//
// A request depends on the plan, its seed and its number alone, so the same ones are drawn on every machine,
// in any order and by any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "deploy/manifest.h"
#include "graphopt/error.h"
#include "graphopt/stages/infer.h"
#include "runner/request_list.h"
#include "runtime/inputs.h"

namespace graphopt::runner {

inline constexpr unsigned kMostDraws = 200;
inline constexpr std::uint64_t kMostDrawnBytes = std::uint64_t{1} << 30;  // of the inputs of one request

struct DrawnRequest {
  Binding sizes;  // of each symbol of the inputs of OUT, in their order
  std::vector<NamedValue> inputs;
};

// What names sizes, for messages: {ErrorKind::Usage, "", "--dim"}, or {ErrorKind::Usage, LIST, "line 3:
// draw"}.
struct SizesPlace {
  ErrorKind kind = ErrorKind::Usage;
  std::string file, from;
};

class DrawnRequests {
 public:
  // `plan`: of the inputs of the manifest's OUT. ErrorKind::Input where the manifest's buckets cannot be
  // read.
  static Result<DrawnRequests> make(InputPlan plan, const deploy::Manifest& manifest);
  // The same for OUT in a file, which is loaded and inferred for it, and not kept.
  static Result<DrawnRequests> open(const std::string& out, const deploy::Manifest& manifest);
  DrawnRequests(DrawnRequests&&) noexcept;
  DrawnRequests& operator=(DrawnRequests&&) noexcept;
  ~DrawnRequests();

  // Returns the errors of sizes: a symbol that the inputs do not have, or have twice here; a size that the
  // network does not take.
  Status check(const std::vector<DimOption>& dims, const SizesPlace& place) const;
  // Returns request `number` of a line. Precondition: check() accepted its sizes. May be called by several
  // threads at once. ErrorKind::Input where no drawn sizes give inputs.
  Result<DrawnRequest> draw(const DrawnInputs& what, std::uint64_t number) const;

 private:
  struct State;
  explicit DrawnRequests(std::unique_ptr<State> s);
  std::unique_ptr<State> s_;
};

}  // namespace graphopt::runner
