#include "exports/marker.h"

#include <nlohmann/json.hpp>

#include "deploy/manifest_json.h"

namespace graphopt {
namespace {

using nlohmann::json;

constexpr const char* kMarkerFormat = "graphopt.export";
constexpr const char* kMarkerVersion = "1.0";

}  // namespace

std::string marker_text(std::string_view form, std::string_view manifest, std::string_view sha256) {
  return deploy::document_text({{"format", kMarkerFormat},
                                {"version", kMarkerVersion},
                                {"form", form},
                                {"manifest", {{"path", manifest}, {"sha256", sha256}}}});
}

bool is_marker(std::string_view text, std::string_view form) {
  const json marker = json::parse(text, nullptr, false);
  const auto format = marker.find("format"), of = marker.find("form");
  return format != marker.end() && *format == kMarkerFormat && of != marker.end() && *of == form;
}

}  // namespace graphopt
