// What the runner does with requests in buckets of shapes, for tests/equal/bucket_requests.py.
//
//   graphopt_bucket_requests MANIFEST REQUESTS
//
// REQUESTS is a JSON list of {"inputs": VALUES, "outputs": VALUES}; VALUES is a list of {"name", "dtype",
// "dims", and "hex" (raw bytes) or "strings"}. Prints a list with an object for each: "problems" (texts of
// check_inputs()), "extents" (null: none give these shapes, and "why"), "sizes" (of the schedule's values),
// "model" (a place in the manifest's models; null: the fallback), and with a model "inputs" (padded) and
// "outputs" (cut). The exit status is 1, with the error on stderr, for what cannot be read.
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "deploy/read_manifest.h"
#include "runner/bucket_request.h"
#include "runner/input_check.h"

namespace graphopt::runner {
namespace {

using Json = nlohmann::json;

std::string read(const char* path) {
  std::ostringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  return bytes.str();
}

unsigned digit(char c) { return static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10); }

std::vector<NamedValue> values_from(const Json& list) {
  std::vector<NamedValue> out;
  for (const Json& j : list) {
    NamedValue& v = out.emplace_back();
    v.name = j.at("name").get<std::string>();
    v.value.kind = HostValue::Kind::Tensor;
    v.value.dtype = dtype_from_name(j.at("dtype").get<std::string>()).value_or(DType::Undefined);
    v.value.dims = j.at("dims").get<std::vector<std::int64_t>>();
    if (j.contains("strings")) v.value.strings = j["strings"].get<std::vector<std::string>>();
    const std::string hex = j.value("hex", "");
    for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
      v.value.raw += static_cast<char>(digit(hex[i]) << 4 | digit(hex[i + 1]));
  }
  return out;
}

Json json_of(const std::vector<NamedValue>& values) {
  constexpr const char* kDigits = "0123456789abcdef";
  Json out = Json::array();
  for (const NamedValue& v : values) {
    std::string hex;
    for (const char c : v.value.raw) {
      hex += kDigits[static_cast<unsigned char>(c) >> 4];
      hex += kDigits[static_cast<unsigned char>(c) & 15];
    }
    Json& j = out.emplace_back(
        Json{{"name", v.name}, {"dtype", dtype_name(v.value.dtype)}, {"dims", v.value.dims}});
    if (v.value.dtype == DType::String) j["strings"] = v.value.strings;
    else j["hex"] = hex;
  }
  return out;
}

Json texts_of(const Errors& errors) {
  Json out = Json::array();
  for (const Error& e : errors) out.push_back(to_string(e));
  return out;
}

Json answer(const deploy::Manifest& manifest, const BucketRequests& buckets, const SizeFormulas& sizes,
            const Json& request) {
  std::vector<NamedValue> inputs = values_from(request.at("inputs"));
  Json out{{"problems", Json::array()}, {"extents", nullptr}, {"model", nullptr}};
  if (const auto checked = check_inputs(manifest.network, inputs); !checked)
    out["problems"] = texts_of(checked.errors());
  const Result<Extents> extents = buckets.extents(inputs);
  if (!extents) {
    out["why"] = texts_of(extents.errors());
    return out;
  }
  out["extents"] = *extents;
  for (const auto& bytes : sizes.bytes(*extents)) out["sizes"].push_back(bytes ? Json(*bytes) : Json());
  const auto model = buckets.choose(*extents);
  if (!model) return out;
  out["model"] = *model;
  const auto padded = buckets.pad(std::move(inputs), *extents, *model);
  out["inputs"] = padded ? json_of(*padded) : texts_of(padded.errors());
  const auto cut = buckets.cut(values_from(request.at("outputs")), *extents, *model);
  out["outputs"] = cut ? json_of(*cut) : texts_of(cut.errors());
  return out;
}

template <class T> int failed(const Result<T>& result) {
  std::fprintf(stderr, "%s\n", to_string(result.error()).c_str());
  return 1;
}

int run(const char* manifest_file, const char* requests_file) {
  const Result<deploy::Manifest> manifest = deploy::read_manifest(read(manifest_file), manifest_file);
  if (!manifest) return failed(manifest);
  const Result<BucketRequests> buckets = BucketRequests::make(*manifest);
  if (!buckets) return failed(buckets);
  std::vector<deploy::Size> stated;
  if (manifest->schedule)
    for (const deploy::ScheduledValue& v : manifest->schedule->values) stated.push_back(v.size);
  const SizeFormulas sizes(stated);
  Json out = Json::array();
  for (const Json& request : Json::parse(read(requests_file)))
    out.push_back(answer(*manifest, *buckets, sizes, request));
  std::printf("%s\n", out.dump().c_str());
  return 0;
}

}  // namespace
}  // namespace graphopt::runner

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s MANIFEST REQUESTS\n", argv[0]);
    return 1;
  }
  return graphopt::runner::run(argv[1], argv[2]);
}
