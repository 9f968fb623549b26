// Texts of the file that mean nothing to a runtime: doc_strings and metadata_props, wherever they stand.
//
// Method: the IR keeps such fields in the bytes of what has them, so that these bytes are built anew without
// them; an attribute or tensor without any keeps its bytes, and no payload is copied for it. Training
// information is left as it is: it is a model of its own.
#pragma once

#include "ir/model.h"

namespace graphopt {

struct StrippedTexts {
  bool doc = false, metadata = false;
};

void strip_texts(Model& m, StrippedTexts what);

}  // namespace graphopt
