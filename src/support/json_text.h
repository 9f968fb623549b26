// JSON that is written. JSON that a user gives is read without exceptions: `Json::parse(text, nullptr,
// false)`, which is_discarded() for what is no JSON, or json_walk.h.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace graphopt {

using Json = nlohmann::ordered_json;  // fields keep the order in which they are written

// Returns a number, or "nan", "inf", "-inf", which JSON does not have.
Json json_number(double d);

// Returns the text, with a newline at its end. In strings that are not UTF-8 (names in models may be
// anything) U+FFFD replaces the wrong bytes; Json::dump throws on them.
std::string json_text(const Json& json);

// Returns the text as json_text() writes it: names that are different bytes can be one text there.
std::string utf8_text(std::string text);

}  // namespace graphopt
