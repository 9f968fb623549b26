// See bucket_request.h.
#include "runner/bucket_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <utility>
#include <variant>

#include "buckets/marks/bucket_lists.h"
#include "buckets/marks/marks.h"
#include "runner/padding.h"
#include "support/quote_name.h"

namespace graphopt::runner {
namespace {

Error wrong_manifest(std::string what) {
  return {ErrorKind::Input,
          {},
          "\"buckets\" of the manifest: " + std::move(what),
          "write the set of files again"};
}

std::string axis_text(std::string_view kind, const std::string& name, std::size_t axis) {
  return fmt::format("{} {}, axis {}", kind, quote_name(name), axis);
}

// A problem of one value, which names it.
Errors named(Errors errors, std::string_view kind, const std::string& name) {
  for (Error& e : errors) e.what = fmt::format("{} {}: {}", kind, quote_name(name), e.what);
  return errors;
}

const HostValue* find_value(std::span<const NamedValue> values, std::string_view name) {
  const auto at = std::ranges::find(values, name, &NamedValue::name);
  return at == values.end() ? nullptr : &at->value;
}

std::optional<std::int64_t> bound_to(const Bindings& at, DimId symbol) {
  const auto found = std::ranges::find(at, symbol, &DimPool::Binding::symbol);
  return found == at.end() ? std::nullopt : std::optional(found->value);
}

// The symbols of a layout that have no extent: none, or the one, or more than one.
struct Unknown {
  std::size_t count = 0;
  DimId symbol;
};
Unknown unknown_of(const AxisLayout& layout, const Bindings& at) {
  Unknown out;
  for (const DimId s : layout.symbols())
    if (!bound_to(at, s)) {
      ++out.count;
      out.symbol = s;
    }
  return out;
}

__extension__ typedef unsigned __int128 WideProduct;  // ISO C++ has no such type

// A product beyond 128 bits counts as the greatest number.
bool is_smaller_product(std::span<const std::int64_t> a, std::span<const std::int64_t> b) {
  const auto product = [](std::span<const std::int64_t> sizes) {
    if (std::ranges::find(sizes, 0) != sizes.end()) return WideProduct{0};
    WideProduct out = 1;
    for (const std::int64_t n : sizes)
      if (__builtin_mul_overflow(out, static_cast<WideProduct>(n), &out)) return ~WideProduct{0};
    return out;
  };
  return product(a) < product(b);
}

PaddedAxis unpadded(std::int64_t n) { return {n, n, {{0, 0, n}}}; }

// Nothing is padded where no symbol is.
bool is_same(const AxisLayout& layout, const Bindings& own, const Bindings& larger) {
  return layout.is_known() && std::ranges::all_of(layout.symbols(), [&](DimId s) {
           return bound_to(own, s) == bound_to(larger, s);
         });
}

// The axis of an input that has `n` entries; none where they are not those of the layout. Of one that nothing
// is known about no entry is padded.
std::optional<PaddedAxis> input_axis(const AxisLayout& layout, std::int64_t n, const Formulas& formulas,
                                     const Bindings& own, const Bindings& larger) {
  if (!layout.is_known() || is_same(layout, own, larger)) return unpadded(n);
  const auto size = layout.size(formulas, own), outer = layout.size(formulas, larger);
  auto pieces = layout.pieces(formulas, own, larger);
  if (size != n || !outer || !pieces) return std::nullopt;
  return PaddedAxis{n, *outer, *std::move(pieces)};
}

// The axis of an output that has `n` entries. Behind the true ones of a plain extent there may be any number
// of others.
std::optional<PaddedAxis> output_axis(const AxisLayout& layout, std::int64_t n, const Formulas& formulas,
                                      const Bindings& own, const Bindings& larger) {
  if (is_same(layout, own, larger)) return unpadded(n);
  const auto size = layout.size(formulas, own);
  if (!size || *size > n) return std::nullopt;
  if (layout.is_leaf()) return PaddedAxis{*size, n, {{0, 0, *size}}};
  auto pieces = layout.pieces(formulas, own, larger);
  if (layout.size(formulas, larger) != n || !pieces) return std::nullopt;
  return PaddedAxis{*size, n, *std::move(pieces)};
}

HostValue scalar(std::int64_t n) {
  HostValue out;
  out.kind = HostValue::Kind::Tensor;
  out.dtype = DType::Int64;
  out.raw.assign(sizeof n, '\0');
  std::memcpy(out.raw.data(), &n, sizeof n);
  return out;
}

}  // namespace

// What is known of a request.
struct BucketRequests::Found {
  struct Axis {
    const std::string* input;
    std::size_t axis;
    const AxisLayout* layout;
    std::int64_t extent;
  };
  std::vector<Axis> axes;
  Extents extents;
  Bindings at;  // the same, of symbols in formulas
};

Result<BucketRequests> BucketRequests::make(const deploy::Manifest& manifest) {
  BucketRequests out;
  const deploy::Buckets& section = *manifest.buckets;
  for (const deploy::Buckets::Symbol& s : section.symbols) {
    out.formulas_.symbol(s.name);
    out.symbols_.push_back({s.name, s.fixed, s.low, s.high});
  }
  out.bounds_.insert(manifest.network.symbols.begin(), manifest.network.symbols.end());
  for (const deploy::Buckets::Input& i : section.inputs)
    if (Status read = out.read_input(i, manifest.network); !read) return read.errors();
  for (const deploy::Buckets::Output& o : section.outputs)
    if (Status read = out.read_output(o); !read) return read.errors();
  if (Status read = out.read_conditions(section); !read) return read.errors();
  for (const deploy::NetworkValue& v : manifest.network.inputs) {
    const bool is_section = std::ranges::find(out.inputs_, v.name, &Input::name) != out.inputs_.end();
    if (is_section || !v.type.shape) continue;
    Named bare{v.name, {}};
    for (std::size_t a = 0; a < v.type.shape->size(); ++a)
      if (const auto* name = std::get_if<std::string>(&(*v.type.shape)[a])) bare.axes.emplace_back(a, *name);
    if (!bare.axes.empty()) out.named_.push_back(std::move(bare));
  }
  out.extra_inputs_ = section.extra_inputs;
  for (const deploy::BucketModel& m : section.models) out.models_.push_back({m.at});
  return out;
}

Status BucketRequests::read_input(const deploy::Buckets::Input& input, const deploy::Network& network) {
  Input& out = inputs_.emplace_back();
  out.name = input.name;
  for (const deploy::LayoutTree& tree : input.dims) {
    const AxisLayout& axis = out.axes.emplace_back(formulas_, tree);
    if (!axis.is_known() && axis.text() != deploy::kUnknownExtent)
      return wrong_manifest(axis_text("input", input.name, out.axes.size() - 1) + " is " + axis.text() +
                            ", which cannot be evaluated");
  }
  const auto of = std::ranges::find(network.inputs, input.name, &deploy::NetworkValue::name);
  if (of != network.inputs.end()) out.dtype = of->type.dtype;
  if (input.pad_class == PadClass::None) return Done{};
  auto element = element_of(out.dtype, input.pad);
  // Where any number will do, and the type does not hold the one that is given, zero bits do.
  const int bits = bits_of(out.dtype);
  if (!element && input.pad_class != PadClass::Const && (bits > 0 || out.dtype == DType::String))
    element = std::string((static_cast<std::size_t>(bits) + 7) / 8, '\0');
  if (!element)
    return wrong_manifest(fmt::format("input {} is padded with {}, which is no {}", quote_name(input.name),
                                      input.pad, dtype_name(out.dtype)));
  out.element = *std::move(element);
  return Done{};
}

Status BucketRequests::read_output(const deploy::Buckets::Output& output) {
  Output& out = outputs_.emplace_back();
  out.name = output.name;
  if (output.cut) {
    for (const deploy::LayoutTree& tree : *output.cut) out.axes.emplace_back(formulas_, tree);
    return Done{};
  }
  for (const deploy::Extent& extent : output.dims) {
    deploy::LayoutTree leaf;
    leaf.extent = extent;
    out.axes.emplace_back(formulas_, leaf);
  }
  return Done{};
}

Status BucketRequests::read_conditions(const deploy::Buckets& section) {
  for (const deploy::Constraint& c : section.constraints) {
    const DimId extent = formulas_.read(c.extent);
    if (!extent) return wrong_manifest("the constraint " + c.text() + " cannot be evaluated");
    constraints_.push_back({extent, c.divisor});
  }
  if (section.where.empty()) return Done{};
  std::vector<BucketSymbol> symbols;
  for (const deploy::Buckets::Symbol& s : section.symbols) symbols.emplace_back().name = s.name;
  Result<ShapeFilter> where = ShapeFilter::parse(section.where, symbols, {});
  if (!where) return wrong_manifest(where.error().what);
  where_ = *std::move(where);
  return Done{};
}

Status BucketRequests::bare_extents(std::span<const NamedValue> inputs, Found& found) const {
  for (const Named& bare : named_) {
    const HostValue* value = find_value(inputs, bare.input);
    if (!value || value->kind != HostValue::Kind::Tensor) continue;
    for (const auto& [axis, name] : bare.axes) {
      if (axis >= value->dims.size()) continue;  // check_inputs() says that the rank is another one
      const std::int64_t n = value->dims[axis];
      const auto [at, fresh] = found.extents.emplace(name, n);
      if (!fresh && at->second != n)
        return Error{ErrorKind::Usage,
                     {},
                     fmt::format("{}: {} is {} in another input, and {} is given",
                                 axis_text("input", bare.input, axis), quote_name(name), at->second, n),
                     "give inputs in which a symbol has one extent"};
    }
  }
  found.at = formulas_.bind(found.extents);
  return Done{};
}

// An axis whose layout has one unknown symbol gives its extent: `past ++ seq` when one of both is known.
// Each round but the last one finds an extent.
Status BucketRequests::solved_extents(Found& found) const {
  const auto learn = [&](DimId symbol, std::int64_t n) {
    found.at.push_back({symbol, n});
    found.extents.emplace(std::string(formulas_.name(symbol)), n);
  };
  for (bool solved = true; solved;) {
    solved = false;
    for (const Found::Axis& a : found.axes) {
      const Unknown unknown = unknown_of(*a.layout, found.at);
      if (unknown.count != 1) continue;
      const std::string name(formulas_.name(unknown.symbol));
      const auto bucket = std::ranges::find(symbols_, name, &Symbol::name);
      std::optional<std::int64_t> n;
      if (a.layout->is_symbol()) n = a.extent;
      else if (bucket != symbols_.end())
        n = a.layout->solve(formulas_, found.at, unknown.symbol, a.extent, bucket->low, bucket->high);
      else n = a.layout->solve(formulas_, found.at, unknown.symbol, a.extent, 0, a.extent);
      if (!n)
        return Error{ErrorKind::Usage,
                     {},
                     fmt::format("{}: the extent is '{}', which no {} that was promised makes {}{}",
                                 axis_text("input", *a.input, a.axis), a.layout->text(), quote_name(name),
                                 a.extent, found.extents.empty() ? "" : " with " + to_string(found.extents)),
                     "give inputs of extents within the ranges of the buckets"};
      learn(unknown.symbol, *n);
      solved = true;
    }
  }
  return Done{};
}

Result<Extents> BucketRequests::extents(std::span<const NamedValue> inputs) const {
  Found found;
  if (Status bare = bare_extents(inputs, found); !bare) return bare.errors();
  for (const Input& i : inputs_) {
    const HostValue* value = find_value(inputs, i.name);
    if (!value) continue;
    if (value->kind != HostValue::Kind::Tensor || value->dims.size() != i.axes.size())
      return Error{ErrorKind::Usage,
                   {},
                   fmt::format("input {} takes a tensor of {} dims, and {} are given", quote_name(i.name),
                               i.axes.size(), value->dims.size()),
                   "\"network\" of the manifest has the types of its inputs"};
    for (std::size_t a = 0; a < i.axes.size(); ++a)
      if (i.axes[a].is_known()) found.axes.push_back({&i.name, a, &i.axes[a], value->dims[a]});
  }
  if (Status solved = solved_extents(found); !solved) return solved.errors();
  // A symbol of one value need not be in any dim: its dims are numbers.
  for (const Symbol& s : symbols_)
    if (s.low == s.high) found.extents.emplace(s.name, s.low);
  found.at = formulas_.bind(found.extents);
  for (const Found::Axis& a : found.axes) {
    if (unknown_of(*a.layout, found.at).count > 0) continue;
    const auto n = a.layout->size(formulas_, found.at);
    if (n == a.extent) continue;
    return Error{
        ErrorKind::Usage,
        {},
        fmt::format("{}: the extent is '{}', {} with {}, and {} is given",
                    axis_text("input", *a.input, a.axis), a.layout->text(),
                    n ? std::to_string(*n) : "which is no number", to_string(found.extents), a.extent),
        "give inputs whose extents agree"};
  }
  return std::move(found.extents);
}

bool BucketRequests::are_promised(const Extents& extents) const {
  for (const Symbol& s : symbols_)
    if (!extents.contains(s.name)) return false;
  for (const auto& [name, n] : extents) {
    const auto bucket = std::ranges::find(symbols_, name, &Symbol::name);
    if (bucket != symbols_.end()) {
      if (n < bucket->low || n > bucket->high || n > kMaxBucketExtent) return false;
      continue;
    }
    // Other symbols are at least 1: an empty tensor is for the fallback, which all shapes can use.
    if (n < 1) return false;
    const auto of = bounds_.find(name);
    if (of == bounds_.end()) continue;
    const deploy::Bounds& b = of->second;
    if (n < b.min || (b.max && n > *b.max) || (b.multiple_of && n % *b.multiple_of != 0)) return false;
  }
  return meets_conditions(extents);
}

bool BucketRequests::meets_conditions(const Extents& extents) const {
  const Bindings at = formulas_.bind(extents);
  for (const Constraint& c : constraints_) {
    const auto n = formulas_.value(c.extent, at);
    if (!n || *n % c.divisor != 0) return false;
  }
  if (!where_) return true;
  std::vector<std::int64_t> sizes;
  for (const Symbol& s : symbols_) sizes.push_back(extents.find(s.name)->second);
  return where_->holds(sizes).value_or(false);
}

bool BucketRequests::holds(const Model& model, const Extents& extents) const {
  for (std::size_t s = 0; s < symbols_.size(); ++s) {
    const std::int64_t n = extents.find(symbols_[s].name)->second;
    if (symbols_[s].fixed ? model.at[s] != n : model.at[s] < n) return false;
  }
  return true;
}

std::optional<std::size_t> BucketRequests::choose(const Extents& extents) const {
  if (!are_promised(extents)) return std::nullopt;
  std::optional<std::size_t> best;
  std::vector<std::int64_t> least;
  for (std::size_t m = 0; m < models_.size(); ++m)
    if (holds(models_[m], extents) && (!best || is_smaller_product(models_[m].at, least))) {
      best = m;
      least = models_[m].at;
    }
  return best;
}

Extents BucketRequests::padded(Extents extents, std::size_t model) const {
  for (std::size_t s = 0; s < symbols_.size(); ++s) extents[symbols_[s].name] = models_[model].at[s];
  return extents;
}

Result<std::vector<NamedValue>> BucketRequests::pad(std::vector<NamedValue> inputs, const Extents& extents,
                                                    std::size_t model) const {
  const Bindings own = formulas_.bind(extents), larger = formulas_.bind(padded(extents, model));
  for (NamedValue& v : inputs) {
    const auto of = std::ranges::find(inputs_, v.name, &Input::name);
    if (of == inputs_.end()) continue;
    if (v.value.kind != HostValue::Kind::Tensor || v.value.dims.size() != of->axes.size() ||
        v.value.dtype != of->dtype)
      return Error{ErrorKind::Usage,
                   {},
                   fmt::format("input {} is no {} tensor of {} dims", quote_name(v.name),
                               dtype_name(of->dtype), of->axes.size()),
                   "\"network\" of the manifest has the types of its inputs"};
    std::vector<PaddedAxis> axes;
    for (std::size_t a = 0; a < of->axes.size(); ++a) {
      const std::int64_t n = v.value.dims[a];
      auto axis = input_axis(of->axes[a], n, formulas_, own, larger);
      if (!axis)
        return Error{ErrorKind::Usage,
                     {},
                     fmt::format("{}: {} entries are not '{}' with {}", axis_text("input", v.name, a), n,
                                 of->axes[a].text(), to_string(extents)),
                     "give the extents of these inputs"};
      axes.push_back(*std::move(axis));
    }
    Result<HostValue> value = pad_tensor(std::move(v.value), axes, of->element);
    if (!value) return named(value.errors(), "input", v.name);
    v.value = *std::move(value);
  }
  for (const deploy::Buckets::ExtraInput& e : extra_inputs_)
    if (const auto n = extents.find(e.symbol); n != extents.end())
      inputs.push_back({e.name, scalar(n->second)});
  return inputs;
}

// An extent that data decide has a symbol of its own, with one value in both runs.
Result<std::vector<NamedValue>> BucketRequests::cut(std::vector<NamedValue> outputs, const Extents& extents,
                                                    std::size_t model) const {
  Bindings own = formulas_.bind(extents), larger = formulas_.bind(padded(extents, model));
  const bool is_whole = std::ranges::all_of(symbols_, [&, s = std::size_t{0}](const Symbol& symbol) mutable {
    return extents.find(symbol.name)->second == models_[model].at[s++];
  });
  if (is_whole) return outputs;
  for (NamedValue& v : outputs) {
    const auto of = std::ranges::find(outputs_, v.name, &Output::name);
    if (of == outputs_.end() || v.value.kind != HostValue::Kind::Tensor) continue;
    if (v.value.dims.size() != of->axes.size())
      return Error{ErrorKind::Input,
                   {},
                   fmt::format("output {} has {} dims, and \"buckets\" of the manifest states {}",
                               quote_name(v.name), v.value.dims.size(), of->axes.size()),
                   "write the set of files again"};
    std::vector<PaddedAxis> axes;
    for (std::size_t a = 0; a < of->axes.size(); ++a) {
      const AxisLayout& layout = of->axes[a];
      const std::int64_t n = v.value.dims[a];
      if (const Unknown unknown = unknown_of(layout, larger); unknown.count == 1) {
        const auto found =
            layout.is_symbol() ? std::optional(n) : layout.solve(formulas_, larger, unknown.symbol, n, 0, n);
        for (Bindings* at : {&own, &larger})
          if (found) at->push_back({unknown.symbol, *found});
      }
      auto axis = output_axis(layout, n, formulas_, own, larger);
      if (!axis)
        return Error{ErrorKind::Input,
                     {},
                     fmt::format("{}: {} entries cannot be cut to '{}' with {}",
                                 axis_text("output", v.name, a), n, layout.text(), to_string(extents)),
                     "write the set of files again; let the fallback answer meanwhile"};
      axes.push_back(*std::move(axis));
    }
    Result<HostValue> value = cut_tensor(std::move(v.value), axes);
    if (!value) return named(value.errors(), "output", v.name);
    v.value = *std::move(value);
  }
  return outputs;
}

}  // namespace graphopt::runner
