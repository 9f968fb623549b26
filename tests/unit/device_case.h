// A device profile around some keys, asked about the nodes of a model in ONNX text.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "devices/profile_reader.h"
#include "devices/support.h"
#include "graphopt/error.h"
#include "infer_case.h"

namespace graphopt {

// The keys that each profile has, and those that are given, "\"rules\": []" for example.
inline std::string profile_text(const std::string& keys) {
  return R"({"format": "graphopt.device", "version": "1.0", "id": "npu", "kind": "npu",
             "profile": {"version": "1", "source": [{"document": "a test"}]})" +
         (keys.empty() ? "" : ", " + keys) + "}";
}

inline Profile profile_of(const std::string& keys) {
  const Result<Profile> profile = read_profile(profile_text(keys), "npu.json");
  if (profile) return *profile;
  for (const Error& e : profile.errors()) ADD_FAILURE() << to_string(e);
  return {};
}

class DeviceCase : public InferCase {
 public:
  DeviceCase(const std::string& keys, const std::string& graph, InferOptions options = {},
             const std::string& header =
                 R"(<ir_version: 10, opset_import: ["" : 17, "com.microsoft" : 1, "own" : 3]>)")
      : InferCase(graph, std::move(options), header),
        profile(profile_of(keys)),
        support(std::make_unique<Support>(profile, *model, *facts)) {}

  // "yes", or "REASON: text", of the node that makes the value.
  std::string says(const std::string& result) {
    const NodeId n = node_of(result);
    const Verdict v = support->check_all()[n.index()];
    if (v.supported()) return support->explain(n, v).empty() ? "yes" : "yes, with a reason";
    return std::string(word(v.refusal)) + ": " + support->explain(n, v);
  }

  Profile profile;
  std::unique_ptr<Support> support;
};

// What one rule, or several with commas, says about the node of `y`.
inline std::string says(const std::string& rules, const std::string& graph, InferOptions options = {}) {
  return DeviceCase("\"rules\": [" + rules + "]", graph, std::move(options)).says("y");
}

}  // namespace graphopt
