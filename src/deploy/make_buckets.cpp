// The section `buckets` of a manifest, made of the verdict in words: extents and layouts are read from their
// texts, so a manifest never says of a bucket what no reader understands.
#include <algorithm>
#include <utility>

#include "deploy/make_manifest.h"

namespace graphopt::deploy {
namespace {

// Returns the value that has this word. None for another word.
template <class E> std::optional<E> value_of(std::string_view text) {
  const auto at = std::ranges::find(Words<E>::all, text);
  if (at == Words<E>::all.end()) return std::nullopt;
  return static_cast<E>(at - Words<E>::all.begin());
}

class BucketsMaker {
 public:
  explicit BucketsMaker(const Bucketability& told) : told_(told) {}

  Result<Buckets> run(std::span<const SpecializeStage::Waste> waste) {
    out_.verdict = read<Verdict>(told_.verdict);
    for (const Bucketability::Symbol& s : told_.symbols)
      out_.symbols.push_back({s.name, s.sizes, s.low, s.high, s.fixed});
    out_.groups = told_.groups;
    out_.where = told_.where;
    if (!told_.where.empty() && !symbols_of_comparison(told_.where)) unreadable(told_.where);
    for (const Bucketability::Input& i : told_.inputs)
      out_.inputs.push_back({i.name, layouts(i.layouts), read<PadClass>(i.pad_class), i.pad});
    for (const Bucketability::SizedInput& i : told_.sized_inputs)
      out_.inputs.push_back({i.name, layouts(i.extents), PadClass::None, 0});
    for (const Bucketability::ExtraInput& i : told_.extra_inputs)
      out_.extra_inputs.push_back({i.name, i.symbol});
    for (const Bucketability::Repair& r : told_.repairs)
      out_.repairs.push_back({r.node, r.op, r.kind, r.text});
    for (const Bucketability::Output& o : told_.outputs) {
      Buckets::Output& output = out_.outputs.emplace_back();
      output.name = o.name;
      for (const std::string& extent : o.extents) output.dims.push_back(checked(extent));
      if (!o.is_prefix) output.cut = layouts(o.layouts);
    }
    for (const std::string& text : told_.constraints) {
      if (auto constraint = parse_constraint(text)) out_.constraints.push_back(*std::move(constraint));
      else unreadable(text);
    }
    for (const Bucketability::Assumption& a : told_.assumptions)
      out_.assumptions.push_back({a.node, read<AssumptionKind>(a.kind), a.text});
    if (out_.verdict == Verdict::Refused) {
      const Bucketability::Refusal& r = told_.refused;
      out_.refused = {r.reason,  r.node,  r.op,     r.axis,       r.input,
                      r.content, r.needs, r.repair, r.unrepaired, r.remedy};
    }
    for (const SpecializeStage::Waste& w : waste)
      out_.waste.push_back({w.symbol, w.observed, w.elements, w.padded_elements});
    if (!errors_.empty()) return errors_;
    return std::move(out_);
  }

 private:
  void unreadable(const std::string& text) {
    if (errors_.size() < kMaxErrors)
      errors_.push_back({ErrorKind::Internal, {}, "the manifest cannot say of buckets: '" + text + "'", {}});
  }

  template <class E> E read(const std::string& text) {
    const std::optional<E> v = value_of<E>(text);
    if (!v) unreadable(text);
    return v.value_or(E{});
  }

  Extent checked(const std::string& extent) {
    if (!symbols_of_extent(extent)) unreadable(extent);
    return extent;
  }

  std::vector<LayoutTree> layouts(const std::vector<std::string>& texts) {
    std::vector<LayoutTree> out;
    for (const std::string& text : texts) {
      if (auto layout = parse_layout(text)) out.push_back(*std::move(layout));
      else unreadable(text);
    }
    return out;
  }

  const Bucketability& told_;
  Buckets out_;
  Errors errors_;
};

}  // namespace

Result<Buckets> make_buckets(const Bucketability& told, std::span<const SpecializeStage::Waste> waste) {
  return BucketsMaker(told).run(waste);
}

}  // namespace graphopt::deploy
