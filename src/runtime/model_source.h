// A model in protobuf form, for the runtime.
#pragma once

#include <string>
#include <string_view>

namespace graphopt {

struct ModelSource {
  std::string path;             // a file; its external data is next to it
  std::string_view bytes;       // used when `path` is empty; the owner keeps them
  std::string external_folder;  // the folder of the external data of `bytes`
};

}  // namespace graphopt
