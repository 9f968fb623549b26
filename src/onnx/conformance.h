// How far a model is one in the eyes of onnx itself: what its checker and its inference of shapes accept.
//
// A tool that makes models at random (reduce) asks this of each before it goes to a program that may do
// anything with an invalid one. The checker needs the whole message in memory: callers ask it of small
// models.
#pragma once

#include <cstdint>
#include <string_view>

namespace graphopt {

enum class Conformance : std::uint8_t {
  Broken,   // the checker refuses it
  Checked,  // the checker accepts it, inference finds types or extents that contradict each other
  Typed,    // both accept it
};

// `model`: a ModelProto without external data.
Conformance conformance_of(std::string_view model);

}  // namespace graphopt
