// A list of requests: JSON, one object on each line.
//
//   {"id": "a", "inputs": "all.npz"}                            the arrays of an archive, by their names
//   {"id": "b", "inputs": {"x": "x.npy", "y": "all.npz"}}       a file for each input (request_inputs.h)
//   {"id": "c", "draw": {"seq": 13}, "seed": 7, "repeat": 100}  drawn inputs (drawn_requests.h): c.0 ... c.99
//   {"draw": {"seq": [8, 40]}}                                  a size within a range; the id is the line
//
//   id       what answers are called, `<id>.npz`: letters, digits, '.', '_' and '-', at most kMostId of them;
//            not with '.' at the begin or the end, nor with "..". Without one it is the number of the line.
//   network  of which manifest, where there are several
//   repeat   so many requests, whose ids are id.0, id.1, ...: each has values of its own with `draw`, and
//            all have the same with `inputs`. Without it there is one request, whose id is `id`.
//
// A line needs one of `inputs` and `draw`. Paths are relative to the folder of the list. Blank lines are
// skipped.
//
// Problem: a list may be long, and its arrays longer. Method: arrays are not read, and a line that stands for
// many requests stays one entry. Memory: the entries, which are shorter than the list, and their ids again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "graphopt/error.h"
#include "graphopt/stages/infer.h"
#include "runner/request_inputs.h"

namespace graphopt::runner {

inline constexpr std::size_t kMostId = 128;                    // bytes
inline constexpr std::uint64_t kMostRequests = 1'000'000'000;  // of a list, and of `repeat`
inline constexpr std::size_t kLongestLine = std::size_t{1} << 20;

struct DrawnInputs {
  std::vector<DimOption> dims;  // sizes of symbols; the others are free
  std::uint64_t seed = 0;
};

using RequestSource = std::variant<std::vector<GivenFile>, DrawnInputs>;

// A line of the list.
struct ListedRequest {
  std::string id;
  std::string network;   // empty: none was named
  std::size_t line = 0;  // from 1
  std::uint64_t repeat = 1;
  bool numbered = false;  // `repeat` was given: the ids have numbers
  RequestSource source;
};

// Returns the id of the i-th request of a line, i from 0.
std::string id_of(const ListedRequest& request, std::uint64_t i);

struct RequestList {
  std::vector<ListedRequest> lines;
  std::uint64_t requests = 0;  // with repeats
};

// Returns the requests of a list's text, in the order of its lines; one at least. `file` is for messages, and
// its folder is that of the paths. Up to kMaxErrors errors of kind Usage, each with the list and the line:
// what is no JSON, unknown keys, wrong values, wrong ids, and ids that two requests have, also where they
// differ in case only.
Result<RequestList> read_request_list(std::string_view text, const std::string& file);
// Opens the file ("-" is the standard input, whose paths are relative to the working folder).
Result<RequestList> open_request_list(const std::string& file);

// Returns what is wrong with an id ("it has a '/'"); empty where it is one.
std::string wrong_id(std::string_view id);

}  // namespace graphopt::runner
