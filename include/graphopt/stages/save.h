// save: writes the model to Options::output.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace graphopt {

enum class ExternalData : std::uint8_t {
  Auto,  // weights stay in their files; models above 2 GiB get a data file
  Always,
  Never,
};

struct SaveStage {
  struct Options {
    ExternalData external_data = ExternalData::Auto;
    std::uint64_t external_threshold = 1024;  // tensors of at least this many bytes go to the data file
    // The name of the data file, which then stands beside OUT and holds all tensors from the threshold on, as
    // with Always. It and OUT are not replaced in one step: see SaveOptions::data_name. Empty: a name made of
    // OUT's and the content's. Not with sets of files (devices, buckets).
    std::string external_file;
    bool force = false;  // overwrite a write-protected output
  };

  struct File {
    std::string path;
    std::uint64_t bytes = 0;
  };
  // Weights of the written model that stay in data files which were there before the run.
  struct KeptData {
    std::vector<std::string> locations;  // relative to OUT's folder
    std::uint64_t bytes = 0;
  };
  struct Report {
    std::vector<File> files;  // all that stages of the run wrote; OUT first, of a set of files its list
    KeptData kept;
  };
};

}  // namespace graphopt
