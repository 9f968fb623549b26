// Members of the manifest that every manifest has.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace graphopt {

// Returns the text of a member. Precondition: the object has it, and it is a text.
inline std::string text_of(const nlohmann::json& object, const char* key) {
  return object.at(key).get<std::string>();
}

}  // namespace graphopt
