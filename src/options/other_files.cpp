// Problem: `-o net.engine` looks like a conversion, and would be an ONNX file that no other program takes
// under this name. Method: endings that stand for another format are refused with the way to it. Every other
// name is ONNX, binary or text (.pb too: ONNX models were once called so); a folder may be called anything.
#include "options/other_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <iterator>
#include <string>
#include <system_error>

#include "graphopt/option_rows.h"

namespace graphopt {
namespace {

struct OtherFile {
  std::string_view ending;
  std::string_view what;
  std::string_view remedy;  // {out}: the name without the ending; {onnx}: as a model; {file}: all of it
};

constexpr std::string_view kMaker = "write {onnx}, and convert it with its maker's tool";
constexpr std::string_view kTrt = "write {onnx}, then: trtexec --onnx={onnx} --saveEngine={file}";
constexpr std::string_view kOpenVino = "write {onnx}, then: ovc {onnx}";
constexpr std::string_view kOnnx = "give {onnx}";

constexpr OtherFile kFiles[] = {
    {".ort", "is ONNX Runtime's own format",
     "write {onnx}, then: python3 -m onnxruntime.tools.convert_onnx_models_to_ort {onnx}"},
    {".tflite", "is TensorFlow Lite's format", kMaker},
    {".engine", "is an engine of TensorRT", kTrt},
    {".trt", "is an engine of TensorRT", kTrt},
    {".plan", "is an engine of TensorRT", kTrt},
    {".xml", "is OpenVINO's format", kOpenVino},
    {".mlmodel", "is Core ML's format", kMaker},
    {".mlpackage", "is Core ML's format", kMaker},
    {".mnn", "is MNN's format", kMaker},
    {".rknn", "is Rockchip's format", kMaker},
    {".dlc", "is Qualcomm's format", kMaker},
    {".hef", "is Hailo's format", kMaker},
    {".pt", "is PyTorch's format", kOnnx},
    {".pth", "is PyTorch's format", kOnnx},
    {".h5", "is Keras's format", kOnnx},
    {".keras", "is Keras's format", kOnnx},
    {".safetensors", "is a file of weights", kOnnx},
    {".gguf", "is llama.cpp's format", kOnnx},
    {".npz", "is a file of NumPy", kOnnx},
    {".json", "is JSON",
     "write {out}.textproto for protobuf's text; --report NAME writes the figures as JSON"},
    {".txt", "does not say in which form",
     "write {onnx}txt for ONNX's text, or {out}.textproto for protobuf's"},
    {".dot", "is a drawing", "give {onnx}, and draw it with --dot {file}"},
    {".svg", "is a picture", "draw it: --dot - | dot -Tsvg -o {file}"},
    {".png", "is a picture", "draw it: --dot - | dot -Tpng -o {file}"},
    {".pdf", "is a picture", "draw it: --dot - | dot -Tpdf -o {file}"},
    {".gz", "is compressed", "write and compress it: -o - | gzip > {file}"},
    {".xz", "is compressed", "write and compress it: -o - | xz > {file}"},
    {".zst", "is compressed", "write and compress it: -o - | zstd > {file}"},
    {".bz2", "is compressed", "write and compress it: -o - | bzip2 > {file}"},
    {".zip", "is an archive", kOnnx},
};

}  // namespace

Status fits_output(std::string_view path) {
  std::string lower(path);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto* file =
      std::ranges::find_if(kFiles, [&lower](const OtherFile& f) { return lower.ends_with(f.ending); });
  std::error_code ignored;
  if (file == std::end(kFiles) || std::filesystem::is_directory(path, ignored)) return Done{};
  const std::string_view stem = path.substr(0, path.size() - file->ending.size());
  const std::string onnx = std::string(stem) + (stem.ends_with(".onnx") ? "" : ".onnx");
  return wrong_value("-o", path, std::string(file->what) + ", and graphopt writes ONNX",
                     fmt::format(fmt::runtime(file->remedy), fmt::arg("out", stem), fmt::arg("onnx", onnx),
                                 fmt::arg("file", path)));
}

}  // namespace graphopt
