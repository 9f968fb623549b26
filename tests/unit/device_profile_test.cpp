// The reader of device profiles: every key reaches its member, and no text makes it throw or crash.

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include "device_case.h"
#include "devices/profile_reader.h"
#include "onnx/reader.h"  // of device_case.h

namespace graphopt {
namespace {

using Types = std::vector<DType>;
using Texts = std::vector<std::string>;
using Options = std::vector<std::pair<std::string, std::string>>;

TEST(DeviceProfile, HasWhatTheFileSays) {
  const Result<Profile> read = read_profile(R"({
    "format": "graphopt.device", "version": "1.12", "id": "n.1_a-b", "kind": "fpga", "host": true,
    "priority": 3,
    "profile": {"version": "v", "measured": true, "notes": ["left", "open"],
                "source": [{"document": "d", "version": "1", "date": "2026-01-02"}, {"document": "e"}]},
    "memory_bytes": 10, "launch_ns": 11, "to_device_bytes_per_s": 12, "from_device_bytes_per_s": 13,
    "transfer_latency_ns": 14, "connected": true, "min_nodes": 15, "max_subgraphs": 16,
    "control_flow": "whole",
    "shapes": "bounded", "ranks": [1, null], "dtypes": ["FLOAT6E3M2", "FLOAT"], "extents": [0, 7],
    "omitted": [{"op": "A", "domain": "ai.onnx", "by": "converter", "note": "n"},
                {"op": "A", "domain": "own", "by": "source"}],
    "ep": {"name": "X", "options": {"b": "1", "a": "2"}}, "openvino_device": "NPU",
    "allow_nodes": ["a*"], "deny_nodes": ["b", "c"],
    "atomic": [{"kind": "qdq"}, {"kind": "state"}, {"kind": "sequence"}, {"kind": "optional"},
               {"kind": "chain", "ops": ["A", "B"]}, {"kind": "nodes", "names": ["n", "m"]}],
    "cost": {"flops_per_s": {"*": 1, "INT8": 2, "FLOAT": 3}, "memory_bytes_per_s": 4, "node_ns": 5,
             "table": "t"},
    "rules": []})",
                                            "dir/p.json");
  ASSERT_TRUE(read) << to_string(read.error());
  const Profile& p = *read;
  EXPECT_EQ(p.file, "dir/p.json");
  EXPECT_EQ(p.id, "n.1_a-b");
  EXPECT_EQ(p.kind, DeviceKind::Fpga);
  EXPECT_TRUE(p.host);
  EXPECT_EQ(p.priority, 3);
  EXPECT_EQ(p.profile_version, "v");
  EXPECT_TRUE(p.measured);
  ASSERT_EQ(p.sources.size(), 2U);
  EXPECT_EQ(p.sources[0].document + p.sources[0].version + p.sources[0].date, "d12026-01-02");
  EXPECT_EQ(p.sources[1].document, "e");
  EXPECT_EQ(p.memory_bytes, 10);
  EXPECT_EQ(p.launch_ns, 11);
  EXPECT_EQ(p.to_device_bytes_per_s, 12);
  EXPECT_EQ(p.from_device_bytes_per_s, 13);
  EXPECT_EQ(p.transfer_latency_ns, 14);
  EXPECT_TRUE(p.connected);
  EXPECT_EQ(p.min_nodes, 15);
  EXPECT_EQ(p.max_subgraphs, 16);
  EXPECT_EQ(p.control_flow, ControlFlow::Whole);
  EXPECT_EQ(p.shapes, ShapeNeed::Bounded);
  EXPECT_EQ(p.ranks, (IntRange{1, IntRange{}.high}));
  EXPECT_EQ(p.dtypes, (Types{DType::Float6E3M2, DType::Float}));
  EXPECT_EQ(p.extents, (IntRange{0, 7}));
  EXPECT_EQ(p.notes, (Texts{"left", "open"}));
  ASSERT_TRUE(p.omitted && p.omitted->size() == 2);
  const OmittedOperator &a = (*p.omitted)[0], &b = (*p.omitted)[1];
  EXPECT_EQ(a.domain + '/' + a.op + '/' + a.note, "/A/n");
  EXPECT_EQ(a.by, OmittedBy::Converter);
  EXPECT_EQ(b.domain, "own");
  EXPECT_EQ(b.by, OmittedBy::Source);
  EXPECT_EQ(p.ep, "X");
  EXPECT_EQ(p.ep_options, (Options{{"b", "1"}, {"a", "2"}}));
  EXPECT_EQ(p.openvino_device, "NPU");
  EXPECT_EQ(p.allow_nodes, Texts{"a*"});
  EXPECT_EQ(p.deny_nodes, (Texts{"b", "c"}));
  ASSERT_EQ(p.atomic.size(), 6U);
  for (std::size_t i = 0; i < p.atomic.size(); ++i) EXPECT_EQ(static_cast<std::size_t>(p.atomic[i].kind), i);
  EXPECT_EQ(p.atomic[4].members, (Texts{"A", "B"}));
  EXPECT_EQ(p.atomic[5].members, (Texts{"n", "m"}));
  ASSERT_TRUE(p.cost);
  const std::vector<std::pair<DType, std::int64_t>> flops = {
      {DType::Undefined, 1}, {DType::Float, 3}, {DType::Int8, 2}};
  EXPECT_EQ(p.cost->flops_per_s, flops);
  EXPECT_EQ(p.cost->memory_bytes_per_s, 4);
  EXPECT_EQ(p.cost->node_ns, 5);
  EXPECT_EQ(p.cost->table, "t");
}

TEST(DeviceProfile, HasTheRules) {
  const Profile p = profile_of(R"("rules": [{"op": "Conv", "domain": "ai.onnx", "opset": [1, 11],
    "inputs": [{"index": "rest", "presence": "required", "dtypes": [], "ranks": [0, 4], "constant": false,
                "extents": [2, 9], "bytes": [1, null],
                "dims": [{"axis": -2, "range": [-1, 5], "multiple_of": 8,
                "static": true}]},
               {"index": 3, "presence": "absent", "value": {"present": true}}],
    "outputs": [{"index": 0}], "shapes": "static", "same_dtype": [2, 0], "qdq": false, "note": "n",
    "attributes": {"z": {"enum": ["a", 1, 1.5]},
                   "a": {"range": [null, 2.5], "length": [1, 2], "present": true}}}])");
  ASSERT_EQ(p.rules.size(), 1U);
  const SupportRule& r = p.rules[0];
  EXPECT_EQ(r.domain, "");
  EXPECT_EQ(r.op, "Conv");
  EXPECT_EQ(r.opset, (IntRange{1, 11}));
  ASSERT_EQ(r.inputs.size(), 2U);
  const OperandCondition& rest = r.inputs[0];
  EXPECT_EQ(rest.index, OperandCondition::kRest);
  EXPECT_EQ(rest.presence, Presence::Required);
  EXPECT_EQ(rest.dtypes, Types{});
  EXPECT_EQ(rest.ranks, (IntRange{0, 4}));
  EXPECT_EQ(rest.constant, false);
  EXPECT_EQ(rest.extents, (IntRange{2, 9}));
  EXPECT_EQ(rest.bytes, (IntRange{1, IntRange{}.high}));
  ASSERT_EQ(rest.dims.size(), 1U);
  EXPECT_EQ(rest.dims[0].axis, -2);
  EXPECT_EQ(rest.dims[0].range, (IntRange{-1, 5}));
  EXPECT_EQ(rest.dims[0].multiple_of, 8);
  EXPECT_EQ(rest.dims[0].is_static, true);
  EXPECT_EQ(r.inputs[1].index, 3U);
  EXPECT_EQ(r.inputs[1].presence, Presence::Absent);
  ASSERT_TRUE(r.inputs[1].value);
  EXPECT_EQ(r.inputs[1].value->present, true);
  EXPECT_EQ(r.outputs.size(), 1U);
  EXPECT_EQ(r.shapes, ShapeNeed::Static);
  EXPECT_EQ(r.same_dtype, (std::vector<std::uint32_t>{2, 0}));
  EXPECT_EQ(r.qdq, false);
  EXPECT_EQ(r.note, "n");
  ASSERT_EQ(r.attributes.size(), 2U);
  EXPECT_EQ(r.attributes[0].name, "z");
  const std::vector<ProfileScalar> choices = {std::string("a"), std::int64_t{1}, 1.5};
  EXPECT_EQ(r.attributes[0].value.choices, choices);
  const ValueCondition& a = r.attributes[1].value;
  EXPECT_FALSE(a.low);
  EXPECT_EQ(a.high, ProfileNumber(2.5));
  EXPECT_EQ(a.length, (IntRange{1, 2}));
  EXPECT_EQ(a.present, true);
}

TEST(DeviceProfile, DefaultsAreThoseOfTheSchema) {
  const Profile p = profile_of("");
  EXPECT_FALSE(p.host || p.priority || p.measured || p.memory_bytes || p.connected || p.max_subgraphs);
  EXPECT_FALSE(p.to_device_bytes_per_s || p.from_device_bytes_per_s || p.ranks || p.dtypes || p.cost);
  EXPECT_FALSE(p.extents || p.omitted);
  EXPECT_EQ(p.launch_ns + p.transfer_latency_ns, 0);
  EXPECT_EQ(p.min_nodes, 1);
  EXPECT_EQ(p.control_flow, ControlFlow::None);
  EXPECT_EQ(p.shapes, ShapeNeed::Any);
  EXPECT_EQ(profile_of(R"("memory_bytes": null, "max_subgraphs": null)").memory_bytes, std::nullopt);
}

TEST(DeviceProfile, ExtremeNumbers) {
  const Profile p = profile_of(R"("launch_ns": 9223372036854775807, "min_nodes": 2.0, "rules": [{"op": "A",
    "attributes": {"a": {"range": [-9223372036854775808, 1e308]}}}])");
  EXPECT_EQ(p.launch_ns, std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(p.min_nodes, 2);
  ASSERT_EQ(p.rules.size(), 1U);
  EXPECT_EQ(p.rules[0].attributes[0].value.low, ProfileNumber(std::numeric_limits<std::int64_t>::min()));
}

TEST(DeviceProfile, NoTextCrashesTheReader) {
  std::ifstream file(GRAPHOPT_TESTS_DIR "/vectors/devices/device.example.json");
  const std::string whole((std::istreambuf_iterator<char>(file)), {});
  ASSERT_TRUE(read_profile(whole, "p.json"));
  std::mt19937 random(1);
  const auto below = [&random](std::size_t n) { return random() % n; };
  const std::string bytes = R"("{}[],:-+.0123456789eEtrufalsn\/ )"
                            "\n\t\xff\x80";
  std::size_t taken = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text = whole;
    for (std::size_t k = 1 + below(4); k > 0; --k) {
      const std::size_t at = below(text.size());
      switch (below(4)) {
        case 0: text[at] = bytes[below(bytes.size())]; break;
        case 1: text.erase(at, 1 + below(20)); break;
        case 2: text.insert(at, 1, bytes[below(bytes.size())]); break;
        default: text.insert(at, whole.substr(below(whole.size()), below(40))); break;
      }
    }
    const Result<Profile> read = read_profile(text, "p.json");
    taken += read.ok();
    if (!read) {
      ASSERT_FALSE(read.errors().empty());
      ASSERT_LE(read.errors().size(), kMaxErrors);
      for (const Error& e : read.errors()) {
        ASSERT_EQ(e.kind, ErrorKind::Input);
        ASSERT_FALSE(e.what.empty() || e.remedy.empty());
      }
    }
  }
  EXPECT_GT(taken, 100U);  // most changes of a digit or of a name
}

}  // namespace
}  // namespace graphopt
