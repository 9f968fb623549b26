// The rows of the table of options, a function and a file for each group of --help.
#pragma once

#include <string_view>
#include <vector>

#include "graphopt/option_table.h"

namespace graphopt {

using Rows = std::vector<OptionRow<Options>>;

inline constexpr std::string_view kOptimizationGroup = "Optimization";
inline constexpr std::string_view kShapesGroup = "Shapes";
inline constexpr std::string_view kDevicesGroup = "Devices";
inline constexpr std::string_view kOutputGroup = "Output";
inline constexpr std::string_view kChecksGroup = "Checks and limits";
inline constexpr std::string_view kMessagesGroup = "Messages and reports";

void add_optimization_rows(Rows& rows);
void add_shape_rows(Rows& rows);
void add_device_rows(Rows& rows);
void add_output_rows(Rows& rows);
void add_check_rows(Rows& rows);
void add_message_rows(Rows& rows);

}  // namespace graphopt
