// Options as those tools list them: onnxsim 0.4 and 0.8, onnxslim 0.1, onnxoptimizer 0.4, ONNX Runtime's
// convert_onnx_models_to_ort and optimizer scripts. And options that graphopt once had.
#include "peer_options.h"

#include <algorithm>

namespace graphopt::tool {
namespace {

struct PeerOption {
  std::string_view option, own;
};

constexpr std::string_view kShape =
    "--shape NAME=1,3,224,224 fixes an input's shape, --dim SYMBOL=1 a symbol";
constexpr std::string_view kCheck = "--check compares both models in ONNX Runtime";
constexpr std::string_view kExternal =
    "--external-data always puts the weights into a file of their own, --external-file NAME into this one";
constexpr std::string_view kPasses = "--disable-pass NAME leaves a pass out; --list-passes shows them all";
constexpr std::string_view kFolding =
    "--disable-pass constant-folding leaves it out; --fold-limit bounds its results";
constexpr std::string_view kInference =
    "types and shapes are inferred without being written; --infer writes them";
constexpr std::string_view kFixpoint = "passes run until none changes anything";
constexpr std::string_view kList = "--list-passes shows them";
constexpr std::string_view kLevels = "-O0 to -O3 choose what runs; --exact keeps every bit";

constexpr std::string_view kModel = "the model is a word of its own: graphopt IN -o OUT";
constexpr std::string_view kTypes = "element types, opset and precision stay what they are in the model";

constexpr PeerOption kOptions[] = {
    {"-i", kModel},
    {"-in", kModel},
    {"--bucket-repair", "--bucket-require repair"},
    {"--check-n", kCheck},
    {"--disable-shape-inference", kInference},
    {"--dynamic-input-shape", "dynamic dims stay dynamic by themselves"},
    {"--fixed_point", kFixpoint},
    {"--fixed-point", kFixpoint},
    {"--float16", kTypes},
    {"--fp16", kTypes},
    {"--in", kModel},
    {"--input", kModel},
    {"--input_model", kModel},
    {"--input-model", kModel},
    {"--input-shape", kShape},
    {"--input-shapes", kShape},
    {"--input_shape", kShape},
    {"--level", kLevels},
    {"--model", kModel},
    {"--model-check", kCheck},
    {"--model-check-inputs", kCheck},
    {"--mutable-initializer", "initializers that are inputs may be fed, unless --constant-defaults is given"},
    {"--no-constant-folding", kFolding},
    {"--no-large-tensor", "--fold-limit 64K, the default, bounds what one folded constant may add"},
    {"--no-shape-infer", kInference},
    {"--opt-level", kLevels},
    {"--opset", kTypes},
    {"--optimization-level", kLevels},
    {"--optimization_level", kLevels},
    {"--opt_level", kLevels},
    {"--overwrite-input-shape", kShape},
    {"--print_all_passes", kList},
    {"--print_fuse_elimination_passes", kList},
    {"--quantize", kTypes},
    {"--save-as-external-data", kExternal},
    {"--save_as_external_data", kExternal},
    {"--seeds", "--check=N compares results on N sets of inputs"},
    {"--size-threshold", "--external-threshold is the size from which weights go into their file"},
    {"--skip-constant-folding", kFolding},
    {"--skip-fuse-bn",
     "--disable-pass fold-affine keeps BatchNormalization apart; --exact every rounding rewrite"},
    {"--skip-fusion-patterns", kPasses},
    {"--skip-optimization", kPasses},
    {"--skip-optimizations", kPasses},
    {"--skip-optimizer", kPasses},
    {"--skip-shape-inference", kInference},
    {"--skip_fusion_patterns", kPasses},
    {"--tensor-size-threshold", "--fold-limit bounds what one folded constant may add"},
    {"--test-input-shape", kShape},
    {"--unused-output", "--outputs NAME,... names the outputs that stay"},
    {"--use_external_data_format", kExternal},
};

constexpr std::string_view kOptimize = "graphopt IN -o OUT; no word stands before the model";
constexpr std::string_view kInspect = "graphopt inspect IN";
constexpr std::string_view kRunBoth = "graphopt IN --check; graphopt compare IN OUT for two files";

constexpr std::string_view kLists = "graphopt --list-passes, or graphopt --list-devices";

struct PeerCommand {
  std::string_view word, own;
};

constexpr PeerCommand kCommands[] = {
    {"check", kRunBoth},
    {"diff", "graphopt compare IN OUT"},
    {"help", "graphopt --help"},
    {"infer", "graphopt IN -o OUT -O0 --infer"},
    {"info", kInspect},
    {"list", kLists},
    {"list-devices", "graphopt --list-devices"},
    {"list-passes", "graphopt --list-passes"},
    {"optimize", kOptimize},
    {"partition", "graphopt IN --devices LIST -o OUT; --plan shows the subgraphs alone"},
    {"passes", "graphopt --list-passes"},
    {"print", kInspect},
    {"run", kOptimize},
    {"show", kInspect},
    {"simplify", kOptimize},
    {"slim", kOptimize},
    {"summary", kInspect},
    {"validate", kRunBoth},
    {"verify", kRunBoth},
    {"version", "graphopt --version"},
};

}  // namespace

std::string_view own_command(std::string_view word) {
  const auto* at = std::ranges::find(kCommands, word, &PeerCommand::word);
  return at == std::end(kCommands) ? std::string_view{} : at->own;
}

std::string_view own_form(std::string_view option) {
  const auto* at = std::ranges::find(kOptions, option, &PeerOption::option);
  return at == std::end(kOptions) ? std::string_view{} : at->own;
}

}  // namespace graphopt::tool
