#include "deploy/bucket_report.h"

#include <cmath>

namespace graphopt {
namespace {

Json number_of(double v) {
  if (std::isinf(v)) return json_number(v);
  return std::floor(v) == v && std::fabs(v) < 1e15 ? Json(static_cast<std::int64_t>(v)) : Json(v);
}

std::vector<std::string> texts_of(const std::vector<deploy::LayoutTree>& layouts) {
  std::vector<std::string> out;
  for (const deploy::LayoutTree& l : layouts) out.push_back(l.text());
  return out;
}

}  // namespace

Bucketability report_of(const deploy::Buckets& section, std::uint64_t buckets) {
  Bucketability out;
  out.verdict = section.verdict;
  for (const deploy::Buckets::Symbol& s : section.symbols)
    out.symbols.push_back({s.name, s.sizes, s.low, s.high, s.fixed});
  out.groups = section.groups;
  out.where = section.where;
  out.buckets = buckets;
  for (const deploy::Buckets::Input& i : section.inputs)
    out.inputs.push_back({i.name, texts_of(i.dims), i.pad_class, i.pad});
  for (const deploy::Buckets::Output& o : section.outputs)
    out.outputs.push_back({o.name, o.dims, o.cut ? texts_of(*o.cut) : std::vector<std::string>(), !o.cut});
  for (const deploy::Constraint& c : section.constraints) out.constraints.push_back(c.text());
  for (const deploy::Buckets::Assumption& a : section.assumptions)
    out.assumptions.push_back({a.node, a.kind, a.text});
  if (const auto& r = section.refused)
    out.refused = {r->op,      r->node,  r->axis,   r->input,      r->reason,
                   r->content, r->needs, r->repair, r->unrepaired, r->remedy};
  for (const deploy::Buckets::Repair& r : section.repairs)
    out.repairs.push_back({r.op, r.node, r.kind, r.text});
  for (const deploy::Buckets::ExtraInput& i : section.extra_inputs)
    out.extra_inputs.push_back({i.name, i.symbol});
  return out;
}

Json bucketability_json(const Bucketability& b) {
  Json j;
  j["verdict"] = word(b.verdict);
  j["symbols"] = Json::object();
  j["fixed"] = Json::array();
  j["groups"] = b.groups;
  j["ranges"] = Json::object();
  for (const Bucketability::Symbol& s : b.symbols) {
    j["symbols"][s.name] = s.sizes;
    j["ranges"][s.name] = {s.low, s.high};
    if (s.fixed) j["fixed"].push_back(s.name);
  }
  if (!b.where.empty()) j["where"] = b.where;
  j["buckets"] = b.buckets;
  j["inputs"] = Json::object();
  for (const Bucketability::Input& i : b.inputs) {
    Json& one = j["inputs"][i.name] = {{"dims", i.layouts}};
    const bool is_padded = i.pad_class != PadClass::None;
    if (is_padded) one["pad"] = number_of(i.pad);
    one["pad_class"] = word(i.pad_class);
    if (is_padded) one["side"] = "end";
  }
  j["extra_inputs"] = Json::array();
  for (const Bucketability::ExtraInput& i : b.extra_inputs)
    j["extra_inputs"].push_back(
        {{"name", i.name}, {"symbol", i.symbol}, {"dtype", "int64"}, {"shape", Json::array()}});
  j["outputs"] = Json::object();
  for (const Bucketability::Output& o : b.outputs)
    j["outputs"][o.name] = {{"dims", o.extents}, {"cut", o.is_prefix ? Json("prefix") : Json(o.layouts)}};
  j["constraints"] = b.constraints;
  j["assumptions"] = Json::array();
  for (const Bucketability::Assumption& a : b.assumptions)
    j["assumptions"].push_back({{"node", a.node}, {"kind", word(a.kind)}, {"text", a.text}});
  if (b.refused) {
    Json r = {{"reason", b.refused->reason}};
    if (!b.refused->node.empty()) r["node"] = b.refused->node;
    if (!b.refused->op.empty()) r["operator"] = b.refused->op;
    if (b.refused->axis >= 0) r["axis"] = b.refused->axis;
    if (!b.refused->input.empty()) r["input"] = b.refused->input;
    if (!b.refused->content.empty()) r["content"] = b.refused->content;
    if (!b.refused->needs.empty()) r["needs"] = b.refused->needs;
    if (b.refused->repair) r["repair"] = word(*b.refused->repair);
    if (!b.refused->unrepaired.empty()) r["unrepaired"] = b.refused->unrepaired;
    r["remedy"] = b.refused->remedy;
    j["refused"] = std::move(r);
  }
  if (!b.repairs.empty()) j["repairs"] = Json::array();
  for (const Bucketability::Repair& r : b.repairs)
    j["repairs"].push_back({{"node", r.node}, {"operator", r.op}, {"kind", word(r.kind)}, {"text", r.text}});
  return j;
}

nlohmann::json buckets_json(const Bucketability& report) {
  nlohmann::json out = bucketability_json(report);
  out.erase("buckets");  // their number: that of the models
  return out;
}

}  // namespace graphopt
