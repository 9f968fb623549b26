#include "support/json_text.h"

#include <algorithm>

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

std::string utf8_text(std::string text) {
  if (std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; })) return text;
  const std::string quoted = Json(std::move(text)).dump(-1, ' ', false, Json::error_handler_t::replace);
  return Json::parse(quoted, nullptr, false).get<std::string>();
}

}  // namespace graphopt
