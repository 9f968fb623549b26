// A model in protobuf form, as the runtime takes it.
#pragma once

#include <string>
#include <string_view>

namespace graphopt {

struct ModelSource {
  std::string path;             // a file; its external data lies beside it
  std::string_view bytes;       // used when `path` is empty; the owner keeps them
  std::string external_folder;  // where the external data of `bytes` lies
};

}  // namespace graphopt
