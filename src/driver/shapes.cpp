#include "driver/shapes.h"

#include <algorithm>

#include "driver/regions.h"
#include "driver/stages/stage.h"
#include "shapes/written_types.h"

namespace graphopt {

Bindings bindings_of(const InferStage::Options& options) {
  Bindings out;
  for (const ShapeOption& s : options.shapes) out.shapes.push_back({s.input, s.dims});
  for (const DimOption& d : options.dims) out.symbols.push_back({d.symbol, d.low, d.high});
  return out;
}

std::vector<std::string> empty_sizes(const InferStage::Options& options) {
  std::vector<std::string> out;
  const auto add = [&out](const std::string& option, const std::string& remedy) {
    out.push_back(option + ": a dim is 0, so tensors with it have no elements (" + remedy + ")");
  };
  for (const DimOption& d : options.dims)
    if (d.low == 0 && d.high == 0)
      add("--dim " + d.symbol + "=0", "without the option the dim stays as it is, for all sizes");
  for (const ShapeOption& s : options.shapes) {
    std::string dims;
    for (const std::int64_t d : s.dims) dims += (dims.empty() ? "" : ",") + std::to_string(d);
    if (std::ranges::find(s.dims, 0) != s.dims.end())
      add("--shape " + s.input + '=' + dims, "-1 keeps a dim as it is, for all sizes");
  }
  return out;
}

namespace {

std::vector<TypeOverride> types_of(const Options& options, Work& work, bool specialized,
                                   bool before_regions = false) {
  return written_types(work.model, *work.inference,
                       {.specialized = specialized,
                        .on_inputs_only = work.left_alone || work.states_less,
                        .all = options.infer.write_types && !work.left_alone && !work.states_less,
                        .passes_ran = is_wanted(Stage::CleanUp, options) && !work.left_alone,
                        .short_names = options.strip.names && !work.left_alone,
                        .calls_come = before_regions && writes_region_functions(options),
                        .file_values = work.file_values});
}

}  // namespace

std::vector<TypeOverride> saved_types(const Options& options, Work& work) {
  if (!work.inference) return {};
  return types_of(options, work, specializes(bindings_of(options.infer)));
}

std::vector<TypeOverride> saved_types_of_bound(const Options& options, Work& work) {
  return types_of(options, work, true);
}

std::vector<TypeOverride> coming_types(const Options& options, Work& work, bool bound) {
  return types_of(options, work, bound || specializes(bindings_of(options.infer)), true);
}

PartTypes::PartTypes(Work& work, std::span<const TypeOverride> saved)
    : m_(work.model),
      borders_(work.model, *work.inference),
      kept_(work.model),
      saved_(saved.begin(), saved.end()),
      position_(work.model.value_count(), 0) {
  for (std::size_t i = 0; i < saved_.size(); ++i)
    position_[saved_[i].value.index()] = static_cast<std::uint32_t>(i) + 1;
}

TypeId PartTypes::filled(TypeId border, TypeId saved) {
  const Type a = m_.types[border], b = m_.types[saved];  // copies: the pool grows below
  if (a.kind != TypeKind::Tensor || b.kind != a.kind || !a.has_rank || a.dims.size() != b.dims.size())
    return border;
  std::vector<DimId> dims(a.dims.begin(), a.dims.end());
  for (std::size_t i = 0; i < dims.size(); ++i)
    if (!dims[i]) dims[i] = b.dims[i];
  return m_.types.tensor(a.elem, dims);
}

std::vector<TypeOverride> PartTypes::of(const ModelPart& part) {
  std::vector<TypeOverride> types = borders_.of(part);
  std::vector<ValueId> borders;
  for (TypeOverride& t : types) {
    borders.push_back(t.value);
    if (const std::uint32_t position = position_[t.value.index()]; position != 0)
      t.type = filled(t.type, saved_[position - 1].type);
  }
  std::ranges::sort(borders);
  const WrittenModel written(m_, &part, &kept_);
  for (std::size_t i = 0; i < written.value_count(); ++i) {
    const ValueId v = written.value(i);
    const std::uint32_t position = position_[v.index()];
    if (position != 0 && !std::ranges::binary_search(borders, v)) types.push_back(saved_[position - 1]);
  }
  return types;
}

}  // namespace graphopt
