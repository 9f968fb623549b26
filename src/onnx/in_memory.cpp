#include "onnx/in_memory.h"

#include <vector>

#include "onnx/data_writer.h"

namespace graphopt {

std::optional<std::string> in_one_piece(MessageWriter& writer, std::uint64_t largest) {
  const std::vector<wire::ByteRange> ranges = writer.ranges();
  if (writer.size() > largest) return std::nullopt;
  std::string bytes;
  bytes.reserve(writer.size());
  for (const wire::ByteRange& range : ranges) bytes.append(range.data, range.size);
  return bytes;
}

Result<std::string> part_in_memory(const Model& model, std::span<const TypeOverride> types,
                                   const std::string& folder, const ModelPart& part) {
  SaveOptions options;
  options.path = folder + "/model";  // as below
  options.types = types;
  options.part = &part;
  std::optional<DataPlan> plan(std::in_place, model, options, true, false);
  if (plan->has_data()) plan.emplace(model, options, false, false);
  MessageWriter writer(model, options, *plan);
  if (std::optional<std::string> bytes = in_one_piece(writer, kLargestInMemory)) return *std::move(bytes);
  return Error{ErrorKind::Input,
               {model.file, {}, {}, {}, {}},
               "what is left of the model has " + std::to_string(writer.size()) +
                   " bytes, more than one message holds",
               "put its external data next to the model"};
}

}  // namespace graphopt
