// load: reads the model and verifies it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace graphopt {

// What the name of an input's dim means when it can be read as an expression over names of other input dims.
enum class DimNames : std::uint8_t {
  Expressions,  // "past + seq" is the sum, as exporters mean it
  Opaque,       // each name is only a name: dims with equal names are equal, and nothing else is known
};

// The newest IR version that this library knows.
inline constexpr int kNewestIrVersion = 14;

struct LoadStage {
  struct Options {
    std::string external_root;  // folder from which external data may be read, besides the model's own
    DimNames dim_names = DimNames::Expressions;
    // Names of values of the main graph. The model is cut there before anything else: it has these inputs,
    // and no other but those with defaults, and these outputs, in this order. Inner values become inputs with
    // the types that inference finds, else with those in the file. Empty: inputs that are still read; all
    // outputs.
    std::vector<std::string> inputs, outputs;
    // Inputs with an initializer as default leave the interface: nobody feeds them, so they are constants. An
    // IR version below 4, which demands such inputs, is raised to 4. Only the main graph has them.
    bool constant_defaults = false;
    // The IR version to which the model is raised before anything else, 3 to kNewestIrVersion; 0: as the file
    // has it. An error if the model has a higher one.
    int ir_version = 0;
  };

  struct Report {
    std::vector<std::string> data_files;  // with weights of the model: paths, as they were opened
  };
};

}  // namespace graphopt
