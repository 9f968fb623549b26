#include "exports/marker.h"

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "deploy/manifest_json.h"
#include "support/file.h"

namespace graphopt {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::uintmax_t kLargestMarker = 1 << 16;
constexpr const char* kMarkerFormat = "graphopt.export";
constexpr const char* kMarkerVersion = "1.0";

bool is_marker(std::string_view text, std::string_view form) {
  const json marker = json::parse(text, nullptr, false);
  const auto format = marker.find("format"), of = marker.find("form");
  return format != marker.end() && *format == kMarkerFormat && of != marker.end() &&
         (form.empty() || *of == form);
}

}  // namespace

std::string marker_text(std::string_view form, std::string_view manifest, std::string_view sha256) {
  return deploy::document_text({{"format", kMarkerFormat},
                                {"version", kMarkerVersion},
                                {"form", form},
                                {"manifest", {{"path", manifest}, {"sha256", sha256}}}});
}

bool has_marker(const std::string& folder, std::string_view form) {
  std::error_code error;
  const std::string marker = folder + "/" + kMarkerFile;
  if (!fs::is_directory(fs::symlink_status(folder, error))) return false;
  if (!fs::is_regular_file(fs::symlink_status(marker, error))) return false;
  const std::uintmax_t size = fs::file_size(marker, error);
  if (error || size > kLargestMarker) return false;
  const auto image = FileImage::open(marker);
  return image && is_marker((*image)->bytes(), form);
}

}  // namespace graphopt
