// strip: takes texts out of the optimized model that no result depends on.
#pragma once

namespace graphopt {

struct StripStage {
  struct Options {
    bool doc = false;  // doc_strings of the model, its graphs, nodes, attributes, tensors, values, functions
    bool metadata = false;  // their metadata_props; what the run itself writes there comes later, and stays
    // Values that are no inputs and no outputs of a graph, and nodes, get short names; what the file states
    // of the types of such values goes. Names by which the file refers to values from elsewhere (quantization
    // annotations, training information, sharding) stay.
    bool names = false;

    bool any() const { return doc || metadata || names; }
  };
};

}  // namespace graphopt
