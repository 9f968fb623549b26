// The ways to make a model smaller. Each makes edits of the session's model and attempts them; none knows
// what the test is about. reduce.cpp has their order.
#pragma once

#include "reduce/session.h"

namespace graphopt {

// cuts.cpp
void drop_outputs(Session& s);
void cut_nodes(Session& s);

// bodies.cpp
void inline_functions(Session& s);
void unfold_bodies(Session& s);
void cut_bodies(Session& s);
void drop_branch_results(Session& s);

// operands.cpp
void bypass_nodes(Session& s);
void rewire_operands(Session& s);
void merge_inputs(Session& s);
void drop_details(Session& s);

// constants.cpp
void lift_constants(Session& s);
void clear_constants(Session& s);

// sizes.cpp
void bind_symbols(Session& s);
void shrink_extents(Session& s);

// texts.cpp
void drop_texts(Session& s);

}  // namespace graphopt
