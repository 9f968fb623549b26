#include "onnx/device_configuration.h"

#include "onnx/fields.h"
#include "onnx/wire.h"

namespace graphopt {

using wire::Field;
using wire::Fields;
using wire::Kind;

std::vector<PipelineStage> pipeline_stages(const Model& m, NodeId n) {
  std::vector<PipelineStage> out;
  Fields node(m.node(n).proto);
  for (Field f; node.next(f);) {
    if (f.number != field::node::kDevices || f.kind != Kind::Length) continue;
    PipelineStage stage;
    bool stated = false;
    Fields configuration(f.bytes);
    for (Field g; configuration.next(g);) {
      if (g.number == field::devices::kConfigurationId && g.kind == Kind::Length)
        stage.configuration = g.bytes;
      if (g.number != field::devices::kPipelineStage || g.kind != Kind::Varint) continue;
      stage.number = wire::as_int32(g);
      stated = true;
    }
    if (stated) out.push_back(stage);
  }
  return out;
}

Configurations::Configurations(const Model& m) {
  for (const Bytes bytes : m.rest) {
    const Field f = wire::first_field(bytes);
    if (f.number != field::model::kConfiguration || f.kind != Kind::Length) continue;
    auto& [name, devices] = devices_.emplace_back();
    Fields configuration(f.bytes);
    for (Field g; configuration.next(g);) {
      if (g.kind != Kind::Length) continue;
      if (g.number == field::configuration::kName) name = g.bytes;
      if (g.number == field::configuration::kDevice) devices.push_back(g.bytes);
    }
  }
}

std::string_view Configurations::device(PipelineStage stage) const {
  for (const auto& [name, devices] : devices_)
    if (name == stage.configuration && stage.number >= 0 &&
        static_cast<std::size_t>(stage.number) < devices.size())
      return devices[static_cast<std::size_t>(stage.number)];
  return {};
}

}  // namespace graphopt
