// What stages need to put their reports into JSON.
#pragma once

#include <nlohmann/json.hpp>

namespace graphopt {

using Json = nlohmann::ordered_json;  // fields keep the order in which they are written

// Returns a number, or "nan", "inf", "-inf", which JSON does not have.
Json json_number(double d);

}  // namespace graphopt
