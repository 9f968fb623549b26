#include "buckets/single/dispatch_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ops/constants.h"
#include "support/half.h"

namespace graphopt {
namespace {

constexpr int kMaxLayoutDepth = 32;

template <class T> std::string bytes_of(T x) {
  std::string raw(sizeof x, '\0');
  std::memcpy(raw.data(), &x, sizeof x);
  return raw;
}

class Planner {
 public:
  Planner(const Model& m, const Inference& inference, const BucketDecision& decision,
          const BucketMarks& marks)
      : m_(m), inference_(inference), decision_(decision), marks_(marks) {}

  Result<DispatchPlan> run() {
    plan_.file = m_.file;
    if (decision_.refusal)
      return usage("the model cannot be padded: " + decision_.refusal->reason,
                   "see 'graphopt inspect --bucketable'");
    plan_.dims = m_.dims.clone();
    plan_.symbols = decision_.symbols;
    plan_.buckets = decision_.buckets;
    const auto divisibilities = decision_.choice.analysis->divisibilities();
    plan_.multiples.assign(divisibilities.begin(), divisibilities.end());
    if (!marks_.where.empty()) {
      auto filter = ShapeFilter::parse(marks_.where, plan_.buckets.symbols, marks_.dims);
      if (!filter) return filter.errors();
      plan_.filter.emplace(*std::move(filter));
    }
    for (const ValueId v : m_.graph_inputs(m_.main()))
      if (auto error = input(v)) return *std::move(error);
    for (const DimId s : plan_.others) (void)plan_.dims.assert_range(s, {1, kMaxInputExtent});
    for (std::size_t i = 0; i < m_.graph_output_count(m_.main()); ++i)
      if (auto error = output(m_.graph_output(m_.main(), i))) return *std::move(error);
    return std::move(plan_);
  }

 private:
  Error usage(std::string what, std::string remedy) const {
    return {ErrorKind::Usage, {m_.file, {}, {}, {}, {}}, std::move(what), std::move(remedy)};
  }
  std::string name(ValueId v) const { return std::string(m_.text(m_.value(v).name)); }

  // None where the layout is deeper than anybody needs.
  std::optional<AxisPlace> place(LayoutId id, int depth = 0) const {
    const Layout& l = decision_.choice.analysis->layouts()[id];
    AxisPlace out{l.kind, l.padded, l.extent, {}};
    if (depth == kMaxLayoutDepth) return std::nullopt;
    for (const LayoutId part : l.parts) {
      auto p = place(part, depth + 1);
      if (!p) return std::nullopt;
      out.parts.push_back(*std::move(p));
    }
    return out;
  }
  std::optional<std::vector<AxisPlace>> places(ValueId v) const {
    std::vector<AxisPlace> out;
    for (const LayoutId l : decision_.choice.analysis->value(v).layouts) {
      auto p = l ? place(l) : AxisPlace{};
      if (!p) return std::nullopt;
      out.push_back(*std::move(p));
    }
    return out;
  }
  // Whether shapes of the inputs say all extents that a padded axis has in it.
  bool follows_from_inputs(const AxisPlace& axis) const {
    if (!axis.padded) return true;
    std::vector<const AxisPlace*> todo{&axis};
    while (!todo.empty()) {
      const AxisPlace* a = todo.back();
      todo.pop_back();
      for (const DimId s : m_.dims.symbols_of(a->extent))
        if (!is_marked(s) && std::ranges::find(plan_.others, s) == plan_.others.end()) return false;
      for (const AxisPlace& part : a->parts) todo.push_back(&part);
    }
    return true;
  }
  // A dim that is stated is no product of layouts, and segments of it are plain.
  static bool is_flat(const AxisPlace& axis) {
    return axis.kind != LayoutKind::Product &&
           std::ranges::all_of(axis.parts, [](const AxisPlace& p) { return p.parts.empty(); });
  }
  bool is_marked(DimId s) const {
    return std::ranges::any_of(plan_.symbols, [&](DimId x) { return m_.dims.canonical(x) == s; });
  }

  std::optional<Error> input(ValueId v) {
    const Type& type = m_.types[m_.value(v).declared];
    if (type.kind != TypeKind::Tensor || !type.has_rank) return std::nullopt;
    DispatchPlan::Input in{name(v), type.elem, {type.dims.begin(), type.dims.end()}, {}, 0};
    auto axes = places(v);
    const bool is_padded = !axes || std::ranges::any_of(*axes, &AxisPlace::padded);
    // An extent that is stated nowhere may be known all the same, from what the model does with it.
    for (std::size_t i = 0; axes && i < std::min(in.dims.size(), axes->size()); ++i)
      if (!in.dims[i] && m_.dims.linked((*axes)[i].extent)) in.dims[i] = (*axes)[i].extent;
    for (const DimId d : in.dims)
      if (d)
        for (const DimId s : m_.dims.symbols_of(d))
          if (!is_marked(s) && std::ranges::find(plan_.others, s) == plan_.others.end())
            plan_.others.push_back(s);
    if (is_padded) {
      const auto padded = std::ranges::find(decision_.choice.inputs, v, &PaddingChoice::Input::input);
      // What may be anything finite may be 0, and so is what nobody chose an element for.
      const bool is_number =
          padded != decision_.choice.inputs.end() && padded->element.kind == PadElement::Kind::Number;
      in.pad = is_number ? padded->element.number : 0;
      const bool fits = axes && pad_element(type.elem, in.pad) &&
                        std::ranges::all_of(*axes, [](const AxisPlace& a) { return is_flat(a); });
      if (!fits)
        return usage(fmt::format("input '{}' cannot be padded with {} in the model itself: no operator "
                                 "writes that element of {}",
                                 in.name, in.pad, dtype_name(type.elem)),
                     "write a model per bucket, and let the caller pad");
      in.axes = *std::move(axes);
    }
    plan_.inputs.push_back(std::move(in));
    return std::nullopt;
  }

  std::optional<Error> output(ValueId v) {
    if (inference_.type_of(v).kind != TypeKind::Tensor)
      return usage(fmt::format("output '{}' is no tensor: branches per bucket cannot give it", name(v)),
                   "write a model per bucket");
    DispatchPlan::Output out{name(v), {}};
    if (m_.value(v).def) {
      auto axes = places(v);
      if (!axes || !std::ranges::all_of(*axes, [this](const AxisPlace& a) { return follows_from_inputs(a); }))
        return usage(fmt::format("output '{}' cannot be cut in the model itself: data decide an extent of an "
                                 "axis that is cut",
                                 name(v)),
                     "write a model per bucket, and let the caller cut");
      const auto is_gathered = [](const AxisPlace& a) { return a.padded && a.kind != LayoutKind::Prefix; };
      // Of each row of strings, ONNX Runtime's Gather (1.32) copies the first one alone.
      if (inference_.dtype(v) == DType::String && std::ranges::any_of(*axes, is_gathered))
        return usage(
            fmt::format("output '{}' cannot be cut in the model itself: ONNX Runtime does not gather "
                        "strings from padded segments",
                        name(v)),
            "write a model per bucket, and let the caller cut");
      if (std::ranges::any_of(*axes, &AxisPlace::padded)) out.axes = *std::move(axes);
    }
    plan_.outputs.push_back(std::move(out));
    return std::nullopt;
  }

  const Model& m_;
  const Inference& inference_;
  const BucketDecision& decision_;
  const BucketMarks& marks_;
  DispatchPlan plan_;
};

}  // namespace

std::optional<std::string> pad_element(DType type, double number) {
  switch (type) {
    case DType::Double: return bytes_of(number);
    case DType::Float: return bytes_of(static_cast<float>(number));
    case DType::Float16: return bytes_of(double_to_half(number));
    case DType::BFloat16: return bytes_of(float_to_bfloat16(static_cast<float>(number)));
    case DType::String: return number == 0 ? std::optional(std::string()) : std::nullopt;
    case DType::Complex64:
    case DType::Complex128:
      return number == 0 ? std::optional(std::string(static_cast<std::size_t>(bits_of(type)) / 8, '\0'))
                         : std::nullopt;
    default: break;
  }
  if (number != std::floor(number) || std::fabs(number) > 0x1p53) return std::nullopt;
  const auto integer = static_cast<std::int64_t>(number);
  return int_payload(type, std::span(&integer, 1));
}

Result<DispatchPlan> plan_dispatch(const Model& m, const Inference& inference, const BucketDecision& decision,
                                   const BucketMarks& marks) {
  return Planner(m, inference, decision, marks).run();
}

}  // namespace graphopt
