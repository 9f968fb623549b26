// Signatures are those that the formats themselves state.
#include "onnx/other_formats.h"

#include <algorithm>
#include <cctype>
#include <string>

namespace graphopt {
namespace {

struct Format {
  std::size_t at;  // of the signature
  std::string_view signature;
  const char* what;
  const char* remedy;
};

using namespace std::string_view_literals;

constexpr Format kFormats[] = {
    {0, "version https://git-lfs.github.com/spec/"sv,
     "it is a Git LFS pointer, not the file that it stands for", "fetch the file with: git lfs pull"},
    {0, "PK\3\4"sv, "it is a ZIP archive, as PyTorch saves its models (.pt, .pth) and Keras some of its own",
     "export the model to ONNX (torch.onnx.export, tf2onnx), or unpack the archive that holds it"},
    {0, "\x80\2"sv, "it is a Python pickle, as PyTorch saved its models (.pt, .pth)",
     "export the model to ONNX (torch.onnx.export)"},
    {0, "\x93NUMPY"sv, "it is an array of NumPy (.npy)", "give the model; arrays are no part of it"},
    {0, "\x1f\x8b"sv, "it is compressed with gzip", "unpack it: gunzip -c FILE | graphopt - -o OUT"},
    {0,
     "\xfd"
     "7zXZ\0"sv,
     "it is compressed with xz", "unpack it: xz -dc FILE | graphopt - -o OUT"},
    {0, "\x28\xb5\x2f\xfd"sv, "it is compressed with Zstandard",
     "unpack it: zstd -dc FILE | graphopt - -o OUT"},
    {0, "BZh"sv, "it is compressed with bzip2", "unpack it: bzip2 -dc FILE | graphopt - -o OUT"},
    {257, "ustar"sv, "it is a tar archive", "unpack it, and give the model"},
    {0, "\x89HDF\r\n"sv, "it is an HDF5 file, as Keras saves its models (.h5)",
     "export the model to ONNX (tf2onnx)"},
    {4, "TFL3"sv, "it is a model of TensorFlow Lite", "give the model in ONNX format (tf2onnx converts it)"},
    {4, "ORTM"sv, "it is a model in ONNX Runtime's own format (.ort)",
     "give the ONNX model that it was made of"},
    {8, "{\""sv, "it is a file of weights (.safetensors)",
     "give the model in ONNX format; weights are no graph"},
    {0, "{"sv, "it is JSON, not a model", "give a model in ONNX format, binary or text"},
    {0, "GGUF"sv, "it is a model of llama.cpp (GGUF)", "give the model in ONNX format"},
};

bool begins_like_html(std::string_view bytes) {
  const std::size_t begin = bytes.find_first_not_of(" \t\r\n");
  std::string start(begin == std::string_view::npos ? "" : bytes.substr(begin, 14));
  std::ranges::transform(start, start.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return start.starts_with("<!doctype html") || start.starts_with("<html");
}

}  // namespace

bool is_other_format(std::string_view bytes, Problems& problems) {
  for (const Format& f : kFormats) {
    if (bytes.size() < f.at || !bytes.substr(f.at).starts_with(f.signature)) continue;
    problems.add({}, f.what, f.remedy);
    return true;
  }
  if (begins_like_html(bytes)) {
    problems.add({}, "it is a web page, not a model",
                 "download the file itself, by the link to its raw content");
    return true;
  }
  return false;
}

}  // namespace graphopt
