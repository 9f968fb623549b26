// Candidate places of ONNX Runtime's library.
#pragma once

#include <string>
#include <vector>

namespace graphopt {

struct OrtPlaces {
  bool named = false;              // by the user: this place must work, no other is tried
  std::string origin;              // "--ort", "GRAPHOPT_ORT" or ""
  std::vector<std::string> files;  // for dlopen, the best first; the system searches for names without '/'
};

// `path` as given with --ort; empty to try the environment, the system and the cache, in this order.
OrtPlaces ort_places(const std::string& path);

}  // namespace graphopt
