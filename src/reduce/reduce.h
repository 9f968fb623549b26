// Makes a model small while a test answers as it did.
//
// Problem: a result is wrong or a program crashes on a model of thousands of nodes, and five of them are to
// blame. Which five, only running it again on smaller models tells.
// Method: the strategies (strategies.h), bold ones first: a run of the test takes a second, making a
// candidate takes milliseconds. As long as any of them made the model smaller, all begin again; what was
// tested once is not tested twice.
// Ends: each step makes the measure smaller (measure.h).
#pragma once

#include <functional>
#include <string_view>

#include "reduce/session.h"

namespace graphopt {

// Calls `begin` with the name of each strategy. Ends when nothing helps any more, or with the session.
void reduce_model(Session& s, const std::function<void(std::string_view)>& begin);

}  // namespace graphopt
