// See drawn_requests.h.
#include "runner/drawn_requests.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>

#include "infer/infer.h"
#include "onnx/reader.h"
#include "runner/bucket_request.h"
#include "runtime/input_plan.h"
#include "runtime/random.h"
#include "support/nearest.h"
#include "support/quote_name.h"

namespace graphopt::runner {
namespace {

constexpr unsigned kDrawsOfUsual = 8;  // with the same usual sizes, before others are tried

// A symbol of the inputs, and what its size may be.
struct DrawnSymbol {
  std::string name;
  deploy::Bounds bounds;                            // of the network
  const deploy::Buckets::Symbol* bucket = nullptr;  // none: it has no buckets
  std::vector<std::int64_t> usual;                  // sizes, the most likely legal one first
  std::int64_t highest() const { return bounds.max.value_or(kMaxInputExtent); }
};

// Returns the multiple of `step` below a size, or where that is below `low` the one above it.
std::int64_t multiple(std::int64_t size, std::int64_t step, std::int64_t low) {
  const std::int64_t below = size / step * step;
  return below < low && size <= kMaxInputExtent ? (low + step - 1) / step * step : below;
}

std::string range_text(std::int64_t low, std::optional<std::int64_t> high) {
  if (!high) return fmt::format("at least {}", low);
  return low == *high ? std::to_string(low) : fmt::format("{}..{}", low, *high);
}

}  // namespace

struct DrawnRequests::State {
  InputPlan plan;
  std::vector<deploy::Buckets::Symbol> buckets;
  std::optional<BucketRequests> conditions;  // of buckets; none: there are no buckets
  std::vector<DrawnSymbol> symbols;          // of the plan, in its order
  std::mutex pools;                          // evaluating a dim may change the pool that it is of

  bool fits_bucket(const Binding& sizes) const {
    if (!conditions) return true;
    Extents extents;
    for (const DimBinding& size : sizes) extents.emplace(size.symbol, size.value);
    // Where a symbol is none of OUT's inputs, nothing can be said.
    return std::ranges::any_of(buckets, [&](const auto& symbol) { return !extents.contains(symbol.name); }) ||
           conditions->meets_conditions(extents);
  }
};

DrawnRequests::DrawnRequests(std::unique_ptr<State> s) : s_(std::move(s)) {}
DrawnRequests::DrawnRequests(DrawnRequests&&) noexcept = default;
DrawnRequests& DrawnRequests::operator=(DrawnRequests&&) noexcept = default;
DrawnRequests::~DrawnRequests() = default;

Result<DrawnRequests> DrawnRequests::make(InputPlan plan, const deploy::Manifest& manifest) {
  auto s = std::make_unique<State>();
  s->plan = std::move(plan);
  if (manifest.buckets) {
    s->buckets = manifest.buckets->symbols;
    Result<BucketRequests> conditions = BucketRequests::make(manifest);
    if (!conditions) return conditions.errors();
    s->conditions.emplace(*std::move(conditions));
  }
  const std::vector<Binding> candidates = candidate_bindings(s->plan);
  for (const PlannedSymbol& planned : s->plan.state().symbols) {
    DrawnSymbol& symbol = s->symbols.emplace_back();
    symbol.name = planned.name;
    symbol.bounds.min = planned.range.low;
    if (planned.range.high < kMaxInputExtent) symbol.bounds.max = planned.range.high;
    if (const auto at = manifest.network.symbols.find(planned.name); at != manifest.network.symbols.end()) {
      symbol.bounds.min = std::max(symbol.bounds.min, at->second.min);
      if (at->second.max && *at->second.max < symbol.highest()) symbol.bounds.max = at->second.max;
      symbol.bounds.multiple_of = at->second.multiple_of;
    }
    if (const auto at = std::ranges::find(s->buckets, planned.name, &deploy::Buckets::Symbol::name);
        at != s->buckets.end())
      symbol.bucket = &*at;
    for (const Binding& candidate : candidates)
      if (const auto at = std::ranges::find(candidate, planned.name, &DimBinding::symbol);
          at != candidate.end())
        symbol.usual.push_back(
            std::clamp(at->value, symbol.bounds.min, std::max(symbol.bounds.min, symbol.highest())));
  }
  return DrawnRequests(std::move(s));
}

Result<DrawnRequests> DrawnRequests::open(const std::string& out, const deploy::Manifest& manifest) {
  LoadOptions options;
  options.path = out;
  const auto names = manifest.tool.options.find("dim_names");
  if (names != manifest.tool.options.end())
    if (const auto* word = std::get_if<std::string>(&names->second))
      options.dim_expressions = *word != "opaque";
  std::vector<Warning> warnings;
  Result<Model> model = load_model(options, warnings);
  if (!model) return model.errors();
  Inference inference(*model, InferOptions{});
  inference.run();
  return make(plan_inputs(*model, inference), manifest);
}

Status DrawnRequests::check(const std::vector<DimOption>& dims, const SizesPlace& place) const {
  Errors errors;
  const auto refuse = [&](std::string what, std::string remedy) {
    if (errors.size() < kMaxErrors)
      errors.push_back(
          {place.kind, {place.file, {}, {}, {}, {}}, place.from + ": " + std::move(what), std::move(remedy)});
  };
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const DimOption& dim = dims[i];
    const std::string name = quote_name(dim.symbol);
    const auto at = std::ranges::find(s_->symbols, dim.symbol, &DrawnSymbol::name);
    if (at == s_->symbols.end()) {
      std::vector<std::string> names;
      for (const DrawnSymbol& known : s_->symbols) names.push_back(known.name);
      refuse(fmt::format("the inputs have no symbol {}", name), suggest(dim.symbol, names, "symbols"));
      continue;
    }
    const auto end = dims.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::find_if(dims.begin(), end, [&](const DimOption& d) { return d.symbol == dim.symbol; }) != end)
      refuse(fmt::format("symbol {} is given twice", name), "give each symbol once");
    const deploy::Bounds& b = at->bounds;
    if (dim.low > dim.high)
      refuse(fmt::format("{}..{} of symbol {} is a reversed range", dim.low, dim.high, name),
             fmt::format("write {}..{}", dim.high, dim.low));
    else if (dim.low < b.min || dim.high > at->highest())
      refuse(fmt::format("symbol {} is {}, and the network takes {}", name, range_text(dim.low, dim.high),
                         range_text(b.min, b.max)),
             "give sizes that it takes");
    else if (const std::int64_t step = b.multiple_of.value_or(1); dim.high / step * step < dim.low)
      refuse(fmt::format("symbol {} is {}, and the network takes multiples of {}", name,
                         range_text(dim.low, dim.high), step),
             "give a multiple, or a range with one in it");
  }
  if (!errors.empty()) return errors;
  return Done{};
}

Result<DrawnRequest> DrawnRequests::draw(const DrawnInputs& what, std::uint64_t number) const {
  const State& s = *s_;
  const std::lock_guard<std::mutex> guard(s_->pools);
  const std::uint64_t seed = RandomStream(fmt::format("request {}", number), what.seed).bits();
  std::vector<RandomStream> streams;  // by symbol: what one draws does not change another
  for (const DrawnSymbol& symbol : s.symbols) streams.emplace_back("size of " + symbol.name, seed);
  const InputStyle style{.seed = seed, .turn = static_cast<unsigned>(number & 0xFF)};
  std::optional<DrawnRequest> legal;
  bool varies = false;
  for (unsigned attempt = 0; attempt < kMostDraws; ++attempt) {
    DrawnRequest drawn;
    for (std::size_t i = 0; i < s.symbols.size(); ++i) {
      const DrawnSymbol& symbol = s.symbols[i];
      const auto asked = std::ranges::find(what.dims, symbol.name, &DimOption::symbol);
      std::int64_t low = symbol.bounds.min, size = low;
      if (asked != what.dims.end() || (symbol.bucket != nullptr && !symbol.bucket->fixed)) {
        const bool own = asked != what.dims.end();
        low = own ? asked->low : std::max(low, symbol.bucket->low);
        const std::int64_t high = own ? asked->high : std::min(symbol.highest(), symbol.bucket->high);
        size = streams[i].between(low, high + 1);
        varies = varies || high > low;
      } else if (symbol.bucket != nullptr && !symbol.bucket->sizes.empty()) {
        const auto& sizes = symbol.bucket->sizes;
        size = sizes[streams[i].bits() % sizes.size()];
        varies = varies || sizes.size() > 1;
      } else if (!symbol.usual.empty()) {
        size = symbol.usual[attempt / kDrawsOfUsual % symbol.usual.size()];
        varies = varies || symbol.usual.size() > 1;
      }
      drawn.sizes.push_back({symbol.name, multiple(size, symbol.bounds.multiple_of.value_or(1), low)});
    }
    const bool fits = s.fits_bucket(drawn.sizes);
    if (fits || !legal) {
      if (auto inputs = make_inputs(s.plan, drawn.sizes, style, {}, kMostDrawnBytes)) {
        drawn.inputs = *std::move(inputs);
        if (fits) return drawn;
        legal = std::move(drawn);
      }
    }
    if (!varies) break;
  }
  if (legal) return *std::move(legal);
  return Error{
      ErrorKind::Input,
      {},
      "no sizes were found for which all dims of the inputs are known, and they have less than 1 GiB",
      "give sizes of symbols with --dim, or with \"draw\" in the list"};
}

}  // namespace graphopt::runner
