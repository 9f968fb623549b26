// See buckets_reader.h.
#include "deploy/buckets_reader.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "support/json_scan.h"

namespace graphopt::deploy {

using Json = JsonWalk::Json;
using Path = JsonWalk::Path;
using Read = JsonWalk::Read;

namespace {

constexpr std::string_view kCutPrefix = "prefix";
constexpr std::uint64_t kMostAxes = 1U << 20;

}  // namespace

BucketsReader::BucketsReader(ManifestWalk& walk, const Json& section, const NetworkNames& network,
                             const Ids& devices, Buckets& to)
    : walk_(walk), section_(section), network_(network), devices_(devices), to_(to) {
  for (const Json& group : entries_of(member_of(section, "groups")))
    for (const Json& name : entries_of(group))
      if (name.is_string() && !symbols_.find(name.get<std::string>())) symbols_.add(name.get<std::string>());
  for (const std::string& name : symbols_.names()) {
    to_.symbols.emplace_back();
    to_.symbols.back().name = name;
  }
  const Ids extra(member_of(section, "extra_inputs"), "name", "inputs");
  network_.inputs.insert(extra.names().begin(), extra.names().end());
}

Read BucketsReader::to_by_symbol(bool all, std::function<void(const Json&, const Path&, Index)> read) {
  return [this, all, read = std::move(read)](const Json& j, const Path& path) {
    std::vector<bool> found(symbols_.size(), false);
    const bool is_object =
        walk_.members(j, path, [&](const std::string& name, const Json& v, const Path& at) {
          const auto i = symbols_.find(name);
          if (!i) return walk_.unknown(at, name, symbols_);
          found[*i] = true;
          read(v, at, *i);
        });
    for (std::size_t i = 0; is_object && all && i < found.size(); ++i)
      if (!found[i]) walk_.problem(path, "the key \"" + symbols_.names()[i] + "\" is missing", "add it");
  };
}

Read BucketsReader::to_layouts(std::vector<LayoutTree>& to) {
  return walk_.to_list(to, "layouts", [this](const Json& j, const Path& at, LayoutTree& layout, std::size_t) {
    auto read = j.is_string() ? parse_layout(j.get_ref<const std::string&>()) : std::nullopt;
    if (read) layout = *std::move(read);
    else walk_.refuse(j, at, "a layout, as \"seq\", \"batch x seq\" or \"past ++ seq\"");
  });
}

Read BucketsReader::groups() {
  return [this](const Json& j, const Path& path) {
    std::set<std::string> seen;
    walk_.list(j, path, 1, "lists of symbols", [&](const Json& group, const Path& at) {
      std::vector<std::string>& names = to_.groups.emplace_back();
      walk_.to_texts(names, 1, "symbols")(group, at);
      for (const std::string& name : names)
        if (!seen.insert(name).second) walk_.twice(at, name, "each symbol is in one group");
    });
  };
}

Read BucketsReader::sizes() {
  return to_by_symbol(true, [this](const Json& j, const Path& path, Index s) {
    walk_.list(j, path, 1, "sizes", [&](const Json& entry, const Path& at) {
      const auto size = walk_.integer(entry, at, 0);
      std::vector<std::int64_t>& sizes = to_.symbols[s].sizes;
      if (size && !sizes.empty() && *size <= sizes.back())
        walk_.refuse(entry, at, "sizes in ascending order");
      if (size) sizes.push_back(*size);
    });
  });
}

Read BucketsReader::ranges() {
  return to_by_symbol(true, [this](const Json& j, const Path& path, Index s) {
    const auto range = walk_.range(j, path, 0);
    if (!range) return;
    if (j[1].is_null()) return walk_.refuse(j[1], json_path(path, 1), "a whole number");
    to_.symbols[s].low = range->low;
    to_.symbols[s].high = range->high;
  });
}

Read BucketsReader::fixed() {
  return [this](const Json& j, const Path& path) {
    std::vector<Index> fixed;
    walk_.to_references(fixed, symbols_)(j, path);
    for (const Index s : fixed) to_.symbols[s].fixed = true;
  };
}

Read BucketsReader::where() {
  return [this](const Json& j, const Path& path) {
    if (j.is_string() && symbols_of_comparison(j.get_ref<const std::string&>()))
      to_.where = j.get<std::string>();
    else walk_.refuse(j, path, "a comparison of two extents, as \"batch*seq <= 4096\"");
  };
}

Read BucketsReader::inputs() {
  return [this](const Json& j, const Path& path) {
    walk_.members(j, path, [this](const std::string& name, const Json& v, const Path& at) {
      Buckets::Input& i = to_.inputs.emplace_back();
      i.name = name;
      if (!network_.inputs.contains(name))
        walk_.problem(at, "the network has no such input", "name one of its inputs");
      bool has_pad = false;
      const auto pad = [&](const Json& number, const Path& to) {
        has_pad = true;
        constexpr double kInfinity = std::numeric_limits<double>::infinity();
        if (number == "inf") i.pad = kInfinity;
        else if (number == "-inf") i.pad = -kInfinity;
        else if (number.is_number()) i.pad = number.get<double>();
        else walk_.refuse(number, to, "a number, \"inf\" or \"-inf\"");
      };
      const auto side = [this](const Json& text, const Path& to) {
        if (text != "end") walk_.refuse(text, to, "\"end\"");
      };
      const std::size_t before = walk_.errors().size();
      walk_.object(v, at,
                   {{"dims", to_layouts(i.dims), true},
                    {"pad_class", walk_.to_word(i.pad_class), true},
                    {"pad", pad},
                    {"side", side}});
      if (walk_.errors().size() == before && has_pad != (i.pad_class != PadClass::None))
        walk_.problem(at, has_pad ? "no axis is padded, and \"pad\" is given" : "the key \"pad\" is missing",
                      "give \"pad\" unless \"pad_class\" is \"none\"");
    });
  };
}

Read BucketsReader::extra_inputs() {
  return walk_.to_list(to_.extra_inputs, "objects",
                       [this](const Json& j, const Path& path, Buckets::ExtraInput& i, std::size_t) {
                         const auto symbol = [&](const Json& v, const Path& at) {
                           Index s = 0;
                           walk_.to_reference(s, symbols_)(v, at);
                           if (s < symbols_.size()) i.symbol = symbols_.names()[s];
                         };
                         const auto dtype = [this](const Json& v, const Path& at) {
                           if (v != "int64") walk_.refuse(v, at, "\"int64\"");
                         };
                         const auto shape = [this](const Json& v, const Path& at) {
                           if (!v.is_array() || !v.empty())
                             walk_.refuse(v, at, "[]: one number, which has no dims");
                         };
                         walk_.object(j, path,
                                      {{"name", walk_.to_text(i.name, false), true},
                                       {"symbol", symbol, true},
                                       {"dtype", dtype, true},
                                       {"shape", shape, true}});
                       });
}

void BucketsReader::output(const Json& j, const Path& path, Buckets::Output& o) {
  const auto extent = [this](const Json& v, const Path& at, Extent& to, std::size_t) {
    if (v.is_string() && symbols_of_extent(v.get_ref<const std::string&>())) to = v.get<std::string>();
    else walk_.refuse(v, at, "an extent, as \"past + seq\"");
  };
  const auto cut = [&](const Json& v, const Path& at) {
    if (v == kCutPrefix) return;
    if (v.is_array()) to_layouts(o.cut.emplace())(v, at);
    else walk_.refuse(v, at, "\"prefix\" or a list of layouts");
  };
  const std::size_t before = walk_.errors().size();
  walk_.object(j, path, {{"dims", walk_.to_list(o.dims, "extents", extent), true}, {"cut", cut, true}});
  if (walk_.errors().size() == before && o.cut && o.cut->size() != o.dims.size())
    walk_.problem(json_path(path, "cut"), "found a list of " + std::to_string(o.cut->size()),
                  "allowed: " + std::to_string(o.dims.size()) + " layouts, one for each dim");
}

Read BucketsReader::outputs() {
  return [this](const Json& j, const Path& path) {
    walk_.members(j, path, [this](const std::string& name, const Json& v, const Path& at) {
      Buckets::Output& o = to_.outputs.emplace_back();
      o.name = name;
      if (!network_.outputs.contains(name))
        walk_.problem(at, "the network has no such output", "name one of its outputs");
      output(v, at, o);
    });
  };
}

Read BucketsReader::constraints() {
  return walk_.to_list(
      to_.constraints, "constraints", [this](const Json& j, const Path& at, Constraint& c, std::size_t) {
        auto read = j.is_string() ? parse_constraint(j.get_ref<const std::string&>()) : std::nullopt;
        if (read) c = *std::move(read);
        else walk_.refuse(j, at, "a constraint, as \"(h + 1) mod 2 == 0\"");
      });
}

Read BucketsReader::assumptions() {
  return walk_.to_list(to_.assumptions, "objects",
                       [this](const Json& j, const Path& at, Buckets::Assumption& a, std::size_t) {
                         walk_.object(j, at,
                                      {{"node", walk_.to_text(a.node), true},
                                       {"kind", walk_.to_word(a.kind), true},
                                       {"text", walk_.to_text(a.text), true}});
                       });
}

Read BucketsReader::repairs() {
  return walk_.to_list(to_.repairs, "objects",
                       [this](const Json& j, const Path& at, Buckets::Repair& r, std::size_t) {
                         walk_.object(j, at,
                                      {{"node", walk_.to_text(r.node), true},
                                       {"operator", walk_.to_text(r.op), true},
                                       {"kind", walk_.to_word(r.kind), true},
                                       {"text", walk_.to_text(r.text), true}});
                       });
}

Read BucketsReader::refused() {
  return [this](const Json& j, const Path& path) {
    Buckets::Refusal r;
    const auto axis = [&](const Json& v, const Path& at) {
      if (v.is_number_unsigned() && v.get<std::uint64_t>() <= kMostAxes) r.axis = v.get<int>();
      else walk_.refuse(v, at, "the place of an axis");
    };
    walk_.object(j, path,
                 {{"reason", walk_.to_text(r.reason), true},
                  {"remedy", walk_.to_text(r.remedy), true},
                  {"node", walk_.to_text(r.node)},
                  {"operator", walk_.to_text(r.op)},
                  {"axis", axis},
                  {"input", walk_.to_text(r.input)},
                  {"content", walk_.to_text(r.content)},
                  {"needs", walk_.to_text(r.needs)},
                  {"repair", walk_.to_word(r.repair)},
                  {"unrepaired", walk_.to_text(r.unrepaired)}});
    to_.refused = std::move(r);
  };
}

Read BucketsReader::waste() {
  return to_by_symbol(false, [this](const Json& j, const Path& path, Index s) {
    Buckets::Waste& w = to_.waste.emplace_back();
    w.symbol = symbols_.names()[s];
    walk_.object(j, path,
                 {{"observed", walk_.to_count(w.observed), true},
                  {"elements", walk_.to_count(w.elements), true},
                  {"padded_elements", walk_.to_count(w.padded_elements), true}});
  });
}

void BucketsReader::model(const Json& j, const Path& path, BucketModel& m, PartitionedReader& reader) {
  m.at.resize(symbols_.size());
  const auto at = [&](const Json& v, const Path& to, Index s) {
    const auto size = walk_.integer(v, to, 0);
    if (size) m.at[s] = *size;
  };
  walk_.object(j, path,
               {{"file", walk_.to_path(m.file), true},
                {"at", to_by_symbol(true, at), true},
                {"nodes", walk_.to_count(m.nodes), true},
                {"peak_bytes", walk_.to_count_or_null(m.peak_bytes), true},
                {"partition", reader.partition(), true},
                {"subgraphs", reader.subgraphs(), true},
                {"borders", reader.borders(), true},
                {"schedule", reader.schedule()},
                {"statistics", reader.statistics(), true}});
}

Read BucketsReader::models() {
  return [this](const Json& j, const Path& path) {
    if (j.is_array()) to_.models.resize(j.size());  // readers refer to them
    walk_.list(j, path, 1, "objects", [this](const Json& entry, const Path& at) {
      BucketModel& m = to_.models[models_.size()];
      PartitionedNames names{network_, devices_, Ids(member_of(entry, "subgraphs"), "id", "subgraphs")};
      ModelReader& reader = models_.emplace_back(walk_, std::move(names), m);
      model(entry, at, m, reader.reader);
    });
  };
}

void BucketsReader::read(const Path& path) {
  walk_.object(section_, path,
               {{"verdict", walk_.to_word(to_.verdict), true},
                {"symbols", sizes(), true},
                {"fixed", fixed(), true},
                {"groups", groups(), true},
                {"ranges", ranges(), true},
                {"where", where()},
                {"constraints", constraints(), true},
                {"assumptions", assumptions(), true},
                {"inputs", inputs(), true},
                {"extra_inputs", extra_inputs(), true},
                {"repairs", repairs()},
                {"outputs", outputs(), true},
                {"refused", refused()},
                {"waste", waste()},
                {"models", models(), true},
                {"fallback", walk_.to_path(to_.fallback), true},
                {"data", walk_.to_path_or_null(to_.data), true}});
}

void BucketsReader::check(const Path& path, std::span<const Device> devices, const FileRoles& files) {
  check_verdict(path);
  const Path models = json_path(path, "models");
  check_models(models);
  for (std::size_t i = 0; i < models_.size(); ++i) models_[i].reader.check(json_path(models, i), devices);
  check_files(path, files);
}

void BucketsReader::check_verdict(const Path& path) {
  const Path at = json_path(path, "verdict");
  if (to_.refused.has_value() != (to_.verdict == BucketVerdict::Refused))
    walk_.problem(at,
                  "the verdict is " + std::string(word(to_.verdict)) +
                      (to_.refused ? ", and \"refused\" is there" : ", and \"refused\" is missing"),
                  "\"refused\" says why the verdict is refused, and is there for no other one");
  if (to_.assumptions.empty() ? to_.verdict == BucketVerdict::Assumed : to_.verdict == BucketVerdict::Proved)
    walk_.problem(at,
                  "the verdict is " + std::string(word(to_.verdict)) +
                      (to_.assumptions.empty() ? " without an assumption" : ", and there are assumptions"),
                  "what is proved needs no assumption, what is assumed has one");
}

// The models are in the order of their sizes, each for other ones, and the sizes are those of the symbols.
void BucketsReader::check_models(const Path& path) {
  for (std::size_t i = 0; i < to_.models.size(); ++i) {
    const BucketModel& m = to_.models[i];
    const Path at = json_path(json_path(path, i), "at");
    for (std::size_t s = 0; s < m.at.size(); ++s)
      if (!std::ranges::binary_search(to_.symbols[s].sizes, m.at[s]))
        walk_.problem(json_path(at, to_.symbols[s].name), "found " + std::to_string(m.at[s]),
                      "allowed: a size of this symbol");
    if (i > 0 && to_.models[i - 1].at >= m.at)
      walk_.problem(at, "these sizes do not come after those of the model before",
                    "put the models in the order of their sizes, each once");
  }
}

// Each model's file is listed, as the fallback and the weights are.
void BucketsReader::check_files(const Path& path, const FileRoles& files) {
  const auto expect = [&](const Path& at, const std::string& file, FileRole role) {
    if (const auto found = files.find(file); found == files.end() || found->second != role)
      walk_.problem(at, "found \"" + file + '"',
                    "allowed: a path in \"files\" whose role is " + std::string(word(role)));
  };
  expect(json_path(path, "fallback"), to_.fallback, FileRole::Model);
  if (!to_.data.empty()) expect(json_path(path, "data"), to_.data, FileRole::ExternalData);
  for (std::size_t i = 0; i < to_.models.size(); ++i)
    expect(json_path(json_path(json_path(path, "models"), i), "file"), to_.models[i].file, FileRole::Model);
}

}  // namespace graphopt::deploy
