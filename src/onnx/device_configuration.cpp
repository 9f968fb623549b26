#include "onnx/device_configuration.h"

#include <algorithm>

#include "onnx/append_fields.h"
#include "onnx/fields.h"
#include "onnx/wire.h"

namespace graphopt {
namespace {

namespace nf = field::node;
namespace mf = field::model;
using wire::append_field;
using wire::Field;
using wire::Fields;
using wire::Kind;

// The text of a field of a message; the last one counts.
std::string_view text_in(Bytes message, std::uint32_t number) {
  std::string_view found;
  Fields fields(message);
  for (Field f; fields.next(f);)
    if (f.number == number && f.kind == Kind::Length) found = f.bytes;
  return found;
}

bool is_configuration(const Field& f, std::string_view id) {
  return f.number == mf::kConfiguration && f.kind == Kind::Length &&
         text_in(f.bytes, field::configuration::kName) == id;
}

// Returns whether there was one.
bool erase_configuration(Model& m, std::string_view id) {
  return std::erase_if(m.rest, [id](Bytes whole) { return is_configuration(wire::first_field(whole), id); }) >
         0;
}

bool is_stage_of(const Field& f, std::string_view id) {
  return f.number == nf::kDevices && f.kind == Kind::Length &&
         text_in(f.bytes, field::devices::kConfigurationId) == id;
}

void set_configuration(Model& m, std::string_view id, std::span<const std::string> devices) {
  erase_configuration(m, id);
  std::string content, whole;
  append_field(content, field::configuration::kName, id);
  wire::append_number(content, field::configuration::kDeviceCount, devices.size());
  for (const std::string& device : devices) append_field(content, field::configuration::kDevice, device);
  append_field(whole, mf::kConfiguration, content);
  m.rest.push_back(m.keep(whole));
}

}  // namespace

void set_pipeline_stages(Model& m, std::string_view id, std::span<const std::string> devices,
                         std::span<const NodeStage> stages) {
  m.ir_version = std::max(m.ir_version, kDeviceConfigurationIrVersion);
  set_configuration(m, id, devices);
  std::string proto, entry;
  for (const NodeStage& one : stages) {
    proto.clear();
    Fields fields(m.node(one.node).proto);
    for (Field f; fields.next(f);)
      if (!wire::in_ir(f) && !is_stage_of(f, id)) proto += f.whole;
    entry.clear();
    append_field(entry, field::devices::kConfigurationId, id);
    wire::append_number(entry, field::devices::kPipelineStage, one.stage);
    append_field(proto, nf::kDevices, entry);
    m.set_bytes(one.node, m.keep(proto));
  }
}

void drop_pipeline_stages(Model& m, std::string_view id) {
  if (!erase_configuration(m, id)) return;
  std::string proto;
  for (NodeId n = m.first_node(m.main()); n; n = m.next_node(n)) {
    proto.clear();
    bool found = false;
    Fields fields(m.node(n).proto);
    for (Field f; fields.next(f);) {
      if (is_stage_of(f, id)) found = true;
      else if (!wire::in_ir(f)) proto += f.whole;
    }
    if (found) m.set_bytes(n, m.keep(proto));
  }
}

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

bool has_configuration(std::string_view model, std::string_view id) {
  Fields fields(model);
  for (Field f; fields.next(f);)
    if (is_configuration(f, id)) return true;
  return false;
}

}  // namespace graphopt
