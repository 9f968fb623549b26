// Where ONNX Runtime's library may lie.
#pragma once

#include <string>
#include <vector>

namespace graphopt {

struct OrtPlaces {
  bool named = false;  // by the user: what stands here must work, nothing else is tried
  std::string origin;  // "--ort", "GRAPHOPT_ORT" or ""
  std::vector<std::string>
      files;  // for dlopen, the best first; names without '/' are for the system's search
};

// `path` as given with --ort; empty to look at the environment, the system and the cache, in this order.
OrtPlaces ort_places(const std::string& path);

}  // namespace graphopt
