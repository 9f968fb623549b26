// A folder with the parts of a model, for an NPU that runs few operators and a host. Tests of it are skipped
// where no ONNX Runtime is found.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "graphopt/optimize.h"
#include "runtime/host_value.h"
#include "runtime/ort.h"
#include "unit/runtime_models.h"

namespace graphopt {

class RunnerCase : public testing::Test {
 protected:
  void SetUp() override {
    auto runtime = Runtime::open("");
    if (!runtime) GTEST_SKIP() << runtime.error().what;
    folder_ = std::filesystem::temp_directory_path() / ("graphopt_runner_" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
    std::ofstream(folder_ / "npu.json") << R"({"format": "graphopt.device", "version": "1.0", "id": "npu",
      "kind": "npu", "profile": {"version": "1", "source": [{"document": "a test"}]},
      "rules": [{"op": "MatMul"}, {"op": "Relu"}, {"op": "Add"}, {"op": "Gemm"}]})";
    std::ofstream(folder_ / "cpu.json") << R"({"format": "graphopt.device", "version": "1.0", "id": "cpu",
      "kind": "cpu", "host": true, "profile": {"version": "1", "source": [{"document": "a test"}]},
      "rules": [{"op": "*"}]})";
  }
  void TearDown() override {
    std::error_code none;
    if (!folder_.empty()) std::filesystem::remove_all(folder_, none);
  }

  // Writes the parts of a model, and with marks those of its buckets.
  void cut(const char* text, const std::vector<std::string>& marks = {}) {
    std::ofstream(folder_ / "m.onnx", std::ios::binary) << test::model_bytes(test::with_head(text));
    Options o;
    o.input = folder_ / "m.onnx";
    o.output = folder_ / "out.onnx";
    o.partition.devices = (folder_ / "npu.json").string() + "," + (folder_ / "cpu.json").string();
    o.buckets.marks = marks;
    Observer quiet;
    const auto done = optimize(o, quiet);
    ASSERT_TRUE(done.ok()) << to_string(done.error());
  }

  std::string manifest() const { return folder_ / "out.manifest.json"; }

  // OUT as a whole, in a session of its own.
  Result<std::unique_ptr<RuntimeSession>> whole_model() const {
    auto runtime = Runtime::open("");
    if (!runtime) return runtime.errors();
    return RuntimeSession::load(*runtime, {.path = folder_ / "out.onnx", .bytes = {}, .external_folder = {}},
                                {.optimize = true, .threads = 1});
  }

  static HostValue tensor(std::vector<std::int64_t> dims, const std::vector<float>& elements) {
    HostValue out;
    out.kind = HostValue::Kind::Tensor;
    out.dtype = DType::Float;
    out.dims = std::move(dims);
    out.raw.assign(reinterpret_cast<const char*>(elements.data()), elements.size() * sizeof(float));
    return out;
  }

  std::filesystem::path folder_;
};

}  // namespace graphopt
