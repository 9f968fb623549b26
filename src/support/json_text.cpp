#include "support/json_text.h"

namespace graphopt {

Json json_number(double d) {
  if (d != d) return "nan";
  if (d > 1.7976931348623157e308) return "inf";
  if (d < -1.7976931348623157e308) return "-inf";
  return d;
}

std::string json_text(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace graphopt
