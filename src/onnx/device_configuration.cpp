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

void set_configuration(Model& m, std::string_view id, std::span<const std::string> devices) {
  std::erase_if(m.rest, [id](Bytes whole) { return is_configuration(wire::first_field(whole), id); });
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
    for (Field f; fields.next(f);) {
      const bool old = f.number == nf::kDevices && f.kind == Kind::Length &&
                       text_in(f.bytes, field::devices::kConfigurationId) == id;
      if (!wire::in_ir(f) && !old) proto += f.whole;
    }
    entry.clear();
    append_field(entry, field::devices::kConfigurationId, id);
    wire::append_number(entry, field::devices::kPipelineStage, one.stage);
    append_field(proto, nf::kDevices, entry);
    m.set_bytes(one.node, m.keep(proto));
  }
}

bool has_configuration(std::string_view model, std::string_view id) {
  Fields fields(model);
  for (Field f; fields.next(f);)
    if (is_configuration(f, id)) return true;
  return false;
}

}  // namespace graphopt
