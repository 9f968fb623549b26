// What stages need to put their reports, and lists of files, into JSON. JSON that a user gives is read
// without exceptions: `Json::parse(text, nullptr, false)`, which is_discarded() for what is no JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace graphopt {

struct Report;

// Of all reports in JSON; grows when a field changes its meaning or is removed.
inline constexpr int kJsonFormat = 2;

using Json = nlohmann::ordered_json;  // fields keep the order in which they are written

// Returns a number, or "nan", "inf", "-inf", which JSON does not have.
Json json_number(double d);

// Returns the report of a run, in which each stage has what it says.
Json report_json(const Report& report);

// Returns the text, with a newline at its end. In strings that are not UTF-8 (names in models may be
// anything) U+FFFD replaces the wrong bytes; Json::dump throws on them.
std::string json_text(const Json& json);

}  // namespace graphopt
