// Steps of saving that are the same for a model alone and for the models of a set.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "graphopt/error.h"
#include "ir/model.h"
#include "onnx/wire.h"
#include "support/file.h"

namespace graphopt {

inline constexpr std::uint64_t kLargestMessage = 0x7FFFFFFF;  // bytes, protobuf's own limit

// Checks that files that will be read through maps still have their length.
std::optional<Error> shrunk_input(const Model& m);
// OUT may be IN, but not a file that contains weights of the model: both would be lost.
std::optional<Error> hits_weights(const Model& m, const std::string& path);
// The error of a model of so many bytes, more than kLargestMessage.
Error too_large(const std::string& path, std::uint64_t bytes, std::string remedy);

Status write_ranges(const std::vector<wire::ByteRange>& ranges, OutputFile& out);
std::string sha256_of(const std::vector<wire::ByteRange>& ranges);

}  // namespace graphopt
