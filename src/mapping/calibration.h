// Confidence as the share of pairs that is right.
//
// Problem: the numbers that rules give say which pair is surer than another, not how often it is right.
// Method: for each reason a rising step function, fitted (isotonic regression) to pairs whose truth is known:
// models of tests/models and what other tools, exporters and known changes make of them. Reasons that are
// facts (a pair that the user gives, equal values) stay as they are, and what the order of operands chose is
// at most 0.6. The table, calibration.inc, is written by benchmarks/mapping_calibration.py.
#pragma once

#include "mapping/matching.h"

namespace graphopt::mapping {

double calibrated(Why why, double raw);

}  // namespace graphopt::mapping
