// The names of all attributes of ai.onnx operators, with fixed ids: every StringPool interns them first, in
// this order, so code selects an attribute by comparing two integers: `attribute.name == names::axis`.
//
// Sorted by bytes (checked by the compiler), so that the id of a name can also be found at compile time. A
// test compares the list with the schemas and fails when a newer opset has a name that is missing here.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "support/ids.h"

namespace graphopt {

// Index i holds the text of NameId(i); 0 is "".
// clang-format off
inline constexpr auto kKnownNames = std::to_array<std::string_view>({
    "", "activation", "activation_alpha", "activation_beta", "activations", "align_corners", "allowzero",
    "alpha", "antialias", "approximate", "auto_pad", "axes", "axis", "batch_axis", "batch_dims", "beta",
    "bias", "block_size", "blocksize", "body", "broadcast", "case_change_action", "ceil_mode",
    "center_point_box", "chunk_size", "clip", "consumed_inputs", "coordinate_transformation_mode",
    "count_include_pad", "cubic_coeff_a", "delimiter", "detect_negative", "detect_positive", "dilations",
    "direction", "directions", "dtype", "else_branch", "end", "ends", "epsilon", "equation",
    "exclude_outside", "exclusive", "extrapolation_value", "fmod", "gamma", "group", "height_scale",
    "hidden_size", "high", "ignore_index", "input_forget", "interleaved", "inverse", "is_case_sensitive",
    "is_causal", "is_test", "k", "keep_aspect_ratio_policy", "keepdims", "kernel_shape", "kv_num_heads",
    "lambd", "largest", "layout", "left_window_size", "linear_before_reset", "locale", "low", "max",
    "max_gram_length", "max_skip_count", "maxsplit", "mean", "min", "min_gram_length", "mode", "momentum",
    "nearest_mode", "new_axis", "ngram_counts", "ngram_indexes", "noop_with_empty_axes", "num_groups",
    "num_heads", "num_outputs", "num_scan_inputs", "offset_group", "onesided", "output_datatype",
    "output_dtype", "output_height", "output_padding", "output_sequence", "output_shape", "output_width", "p",
    "padding_mode", "paddings", "pads", "pattern", "periodic", "perm", "pixel_format", "pool_int64s",
    "pool_strings", "pooled_shape", "precision", "q_num_heads", "qk_matmul_output_mode", "ratio", "reduction",
    "reverse", "right_window_size", "rotary_embedding_dim", "round_mode", "sample_size", "sampling_ratio",
    "saturate", "scale", "scales", "scan_input_axes", "scan_input_directions", "scan_output_axes",
    "scan_output_directions", "seed", "select_last_index", "shape", "size", "softcap", "softmax_precision",
    "sorted", "sparse_value", "spatial", "spatial_scale", "split", "start", "starts", "stash_type",
    "stopwords", "storage_order", "strides", "then_branch", "time_axis", "to", "training_mode", "transA",
    "transB", "type", "update_rule", "upper", "value", "value_float", "value_floats", "value_int",
    "value_ints", "value_string", "value_strings", "weights", "width_scale",
});
// clang-format on

consteval bool known_names_are_sorted() {
  for (std::size_t i = 1; i < kKnownNames.size(); ++i)
    if (!(kKnownNames[i - 1] < kKnownNames[i])) return false;
  return kKnownNames[0].empty();
}
static_assert(known_names_are_sorted(), "kKnownNames: sorted, each once, the empty name first");

// The id of a known name; a name that is not in the list does not compile.
consteval NameId known_name(std::string_view text) {
  std::size_t low = 0, high = kKnownNames.size();
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (kKnownNames[middle] < text) low = middle + 1;
    else high = middle;
  }
  if (low == kKnownNames.size() || kKnownNames[low] != text) throw "not a known name";
  return NameId{static_cast<std::uint32_t>(low)};
}

namespace names {
inline constexpr NameId activation = known_name("activation");
inline constexpr NameId activation_alpha = known_name("activation_alpha");
inline constexpr NameId activation_beta = known_name("activation_beta");
inline constexpr NameId activations = known_name("activations");
inline constexpr NameId align_corners = known_name("align_corners");
inline constexpr NameId allowzero = known_name("allowzero");
inline constexpr NameId alpha = known_name("alpha");
inline constexpr NameId antialias = known_name("antialias");
inline constexpr NameId approximate = known_name("approximate");
inline constexpr NameId auto_pad = known_name("auto_pad");
inline constexpr NameId axes = known_name("axes");
inline constexpr NameId axis = known_name("axis");
inline constexpr NameId batch_axis = known_name("batch_axis");
inline constexpr NameId batch_dims = known_name("batch_dims");
inline constexpr NameId beta = known_name("beta");
inline constexpr NameId bias = known_name("bias");
inline constexpr NameId block_size = known_name("block_size");
inline constexpr NameId blocksize = known_name("blocksize");
inline constexpr NameId body = known_name("body");
inline constexpr NameId broadcast = known_name("broadcast");
inline constexpr NameId case_change_action = known_name("case_change_action");
inline constexpr NameId ceil_mode = known_name("ceil_mode");
inline constexpr NameId center_point_box = known_name("center_point_box");
inline constexpr NameId chunk_size = known_name("chunk_size");
inline constexpr NameId clip = known_name("clip");
inline constexpr NameId consumed_inputs = known_name("consumed_inputs");
inline constexpr NameId coordinate_transformation_mode = known_name("coordinate_transformation_mode");
inline constexpr NameId count_include_pad = known_name("count_include_pad");
inline constexpr NameId cubic_coeff_a = known_name("cubic_coeff_a");
inline constexpr NameId delimiter = known_name("delimiter");
inline constexpr NameId detect_negative = known_name("detect_negative");
inline constexpr NameId detect_positive = known_name("detect_positive");
inline constexpr NameId dilations = known_name("dilations");
inline constexpr NameId direction = known_name("direction");
inline constexpr NameId directions = known_name("directions");
inline constexpr NameId dtype = known_name("dtype");
inline constexpr NameId else_branch = known_name("else_branch");
inline constexpr NameId end = known_name("end");
inline constexpr NameId ends = known_name("ends");
inline constexpr NameId epsilon = known_name("epsilon");
inline constexpr NameId equation = known_name("equation");
inline constexpr NameId exclude_outside = known_name("exclude_outside");
inline constexpr NameId exclusive = known_name("exclusive");
inline constexpr NameId extrapolation_value = known_name("extrapolation_value");
inline constexpr NameId fmod = known_name("fmod");
inline constexpr NameId gamma = known_name("gamma");
inline constexpr NameId group = known_name("group");
inline constexpr NameId height_scale = known_name("height_scale");
inline constexpr NameId hidden_size = known_name("hidden_size");
inline constexpr NameId high = known_name("high");
inline constexpr NameId ignore_index = known_name("ignore_index");
inline constexpr NameId input_forget = known_name("input_forget");
inline constexpr NameId interleaved = known_name("interleaved");
inline constexpr NameId inverse = known_name("inverse");
inline constexpr NameId is_case_sensitive = known_name("is_case_sensitive");
inline constexpr NameId is_causal = known_name("is_causal");
inline constexpr NameId is_test = known_name("is_test");
inline constexpr NameId k = known_name("k");
inline constexpr NameId keep_aspect_ratio_policy = known_name("keep_aspect_ratio_policy");
inline constexpr NameId keepdims = known_name("keepdims");
inline constexpr NameId kernel_shape = known_name("kernel_shape");
inline constexpr NameId kv_num_heads = known_name("kv_num_heads");
inline constexpr NameId lambd = known_name("lambd");
inline constexpr NameId largest = known_name("largest");
inline constexpr NameId layout = known_name("layout");
inline constexpr NameId left_window_size = known_name("left_window_size");
inline constexpr NameId linear_before_reset = known_name("linear_before_reset");
inline constexpr NameId locale = known_name("locale");
inline constexpr NameId low = known_name("low");
inline constexpr NameId max = known_name("max");
inline constexpr NameId max_gram_length = known_name("max_gram_length");
inline constexpr NameId max_skip_count = known_name("max_skip_count");
inline constexpr NameId maxsplit = known_name("maxsplit");
inline constexpr NameId mean = known_name("mean");
inline constexpr NameId min = known_name("min");
inline constexpr NameId min_gram_length = known_name("min_gram_length");
inline constexpr NameId mode = known_name("mode");
inline constexpr NameId momentum = known_name("momentum");
inline constexpr NameId nearest_mode = known_name("nearest_mode");
inline constexpr NameId new_axis = known_name("new_axis");
inline constexpr NameId ngram_counts = known_name("ngram_counts");
inline constexpr NameId ngram_indexes = known_name("ngram_indexes");
inline constexpr NameId noop_with_empty_axes = known_name("noop_with_empty_axes");
inline constexpr NameId num_groups = known_name("num_groups");
inline constexpr NameId num_heads = known_name("num_heads");
inline constexpr NameId num_outputs = known_name("num_outputs");
inline constexpr NameId num_scan_inputs = known_name("num_scan_inputs");
inline constexpr NameId offset_group = known_name("offset_group");
inline constexpr NameId onesided = known_name("onesided");
inline constexpr NameId output_datatype = known_name("output_datatype");
inline constexpr NameId output_dtype = known_name("output_dtype");
inline constexpr NameId output_height = known_name("output_height");
inline constexpr NameId output_padding = known_name("output_padding");
inline constexpr NameId output_sequence = known_name("output_sequence");
inline constexpr NameId output_shape = known_name("output_shape");
inline constexpr NameId output_width = known_name("output_width");
inline constexpr NameId p = known_name("p");
inline constexpr NameId padding_mode = known_name("padding_mode");
inline constexpr NameId paddings = known_name("paddings");
inline constexpr NameId pads = known_name("pads");
inline constexpr NameId pattern = known_name("pattern");
inline constexpr NameId periodic = known_name("periodic");
inline constexpr NameId perm = known_name("perm");
inline constexpr NameId pixel_format = known_name("pixel_format");
inline constexpr NameId pool_int64s = known_name("pool_int64s");
inline constexpr NameId pool_strings = known_name("pool_strings");
inline constexpr NameId pooled_shape = known_name("pooled_shape");
inline constexpr NameId precision = known_name("precision");
inline constexpr NameId q_num_heads = known_name("q_num_heads");
inline constexpr NameId qk_matmul_output_mode = known_name("qk_matmul_output_mode");
inline constexpr NameId ratio = known_name("ratio");
inline constexpr NameId reduction = known_name("reduction");
inline constexpr NameId reverse = known_name("reverse");
inline constexpr NameId right_window_size = known_name("right_window_size");
inline constexpr NameId rotary_embedding_dim = known_name("rotary_embedding_dim");
inline constexpr NameId round_mode = known_name("round_mode");
inline constexpr NameId sample_size = known_name("sample_size");
inline constexpr NameId sampling_ratio = known_name("sampling_ratio");
inline constexpr NameId saturate = known_name("saturate");
inline constexpr NameId scale = known_name("scale");
inline constexpr NameId scales = known_name("scales");
inline constexpr NameId scan_input_axes = known_name("scan_input_axes");
inline constexpr NameId scan_input_directions = known_name("scan_input_directions");
inline constexpr NameId scan_output_axes = known_name("scan_output_axes");
inline constexpr NameId scan_output_directions = known_name("scan_output_directions");
inline constexpr NameId seed = known_name("seed");
inline constexpr NameId select_last_index = known_name("select_last_index");
inline constexpr NameId shape = known_name("shape");
inline constexpr NameId size = known_name("size");
inline constexpr NameId softcap = known_name("softcap");
inline constexpr NameId softmax_precision = known_name("softmax_precision");
inline constexpr NameId sorted = known_name("sorted");
inline constexpr NameId sparse_value = known_name("sparse_value");
inline constexpr NameId spatial = known_name("spatial");
inline constexpr NameId spatial_scale = known_name("spatial_scale");
inline constexpr NameId split = known_name("split");
inline constexpr NameId start = known_name("start");
inline constexpr NameId starts = known_name("starts");
inline constexpr NameId stash_type = known_name("stash_type");
inline constexpr NameId stopwords = known_name("stopwords");
inline constexpr NameId storage_order = known_name("storage_order");
inline constexpr NameId strides = known_name("strides");
inline constexpr NameId then_branch = known_name("then_branch");
inline constexpr NameId time_axis = known_name("time_axis");
inline constexpr NameId to = known_name("to");
inline constexpr NameId training_mode = known_name("training_mode");
inline constexpr NameId transA = known_name("transA");
inline constexpr NameId transB = known_name("transB");
inline constexpr NameId type = known_name("type");
inline constexpr NameId update_rule = known_name("update_rule");
inline constexpr NameId upper = known_name("upper");
inline constexpr NameId value = known_name("value");
inline constexpr NameId value_float = known_name("value_float");
inline constexpr NameId value_floats = known_name("value_floats");
inline constexpr NameId value_int = known_name("value_int");
inline constexpr NameId value_ints = known_name("value_ints");
inline constexpr NameId value_string = known_name("value_string");
inline constexpr NameId value_strings = known_name("value_strings");
inline constexpr NameId weights = known_name("weights");
inline constexpr NameId width_scale = known_name("width_scale");
}  // namespace names

}  // namespace graphopt
