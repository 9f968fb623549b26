// See input_check.h.
#include "runner/input_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "runner/padding.h"
#include "support/nearest.h"
#include "support/quote_name.h"

namespace graphopt::runner {
namespace {

using deploy::ValueKind;
using deploy::ValueType;

constexpr std::string_view kSeeNetwork = "\"network\" of the manifest has the types of its inputs";

std::string input_text(const std::string& name) { return "input " + quote_name(name); }

std::string_view kind_text(const HostValue& value) {
  switch (value.kind) {
    case HostValue::Kind::Absent: return "nothing";
    case HostValue::Kind::Tensor: return "a tensor";
    case HostValue::Kind::Sequence: return "a sequence";
    case HostValue::Kind::Map: return "a map";
  }
  return "";
}

class InputChecker {
 public:
  explicit InputChecker(const deploy::Network& network) : network_(network) {
    // Names of dims that stand alone; other texts over them are formulas (ir/dim.h).
    for (const auto& [name, bounds] : network.symbols) {
      names_.insert(name);
      pool_.symbol(name);
    }
  }

  Result<Extents> run(std::span<const NamedValue> inputs) {
    std::vector<const HostValue*> given(network_.inputs.size(), nullptr);
    for (const NamedValue& v : inputs) {
      const auto at = std::ranges::find(network_.inputs, v.name, &deploy::NetworkValue::name);
      if (at == network_.inputs.end()) {
        unknown(v.name);
        continue;
      }
      const HostValue*& place = given[static_cast<std::size_t>(at - network_.inputs.begin())];
      if (place) problem(input_text(v.name), "is given twice", "give it once");
      else place = &v.value;
    }
    for (std::size_t i = 0; i < given.size(); ++i) {
      const deploy::NetworkValue& wanted = network_.inputs[i];
      if (given[i]) value(input_text(wanted.name), wanted.type, *given[i]);
      else if (!wanted.optional) problem(input_text(wanted.name), "is not given", "give a value for it");
    }
    bounds();
    formulas();
    if (!errors_.empty()) return std::move(errors_);
    return std::move(extents_);
  }

 private:
  struct Dim {
    std::string where;
    std::size_t axis = 0;
    std::int64_t extent = 0;
  };

  void problem(const std::string& where, const std::string& what, std::string_view remedy) {
    if (errors_.size() < kMaxErrors)
      errors_.push_back({ErrorKind::Usage, {}, where + ' ' + what, std::string(remedy)});
  }
  void problem(const Dim& at, const std::string& what, std::string_view remedy) {
    problem(fmt::format("{}, axis {}:", at.where, at.axis), what, remedy);
  }
  void unknown(const std::string& name) {
    std::vector<std::string> names;
    for (const deploy::NetworkValue& v : network_.inputs) names.push_back(v.name);
    problem(input_text(name), "is none of the network's", suggest(name, names, "inputs"));
  }

  // `where`: "input 'x'", or "input 'x', element 3". Types nest as deep as the manifest's reader allows, a
  // hundred levels.
  void value(const std::string& where, const ValueType& type, const HostValue& v) {
    const auto is_not = [&](std::string_view wanted) {
      problem(where, fmt::format("takes {}, and {} is given", wanted, kind_text(v)), kSeeNetwork);
    };
    switch (type.kind) {
      case ValueKind::Tensor:
        if (v.kind == HostValue::Kind::Tensor) tensor(where, type, v);
        else is_not("a tensor");
        break;
      case ValueKind::SparseTensor: is_not("a sparse tensor, which cannot be given"); break;
      case ValueKind::Optional:
        if (v.kind != HostValue::Kind::Absent && !type.elem.empty()) value(where, type.elem[0], v);
        break;
      case ValueKind::Sequence:
        if (v.kind != HostValue::Kind::Sequence) return is_not("a sequence");
        // Dims of elements are equal neither to each other nor to those of other inputs, whatever their
        // names.
        compares_symbols_ = false;
        for (std::size_t i = 0; !type.elem.empty() && i < v.items.size(); ++i)
          value(fmt::format("{}, element {}", where, i), type.elem[0], v.items[i]);
        compares_symbols_ = true;
        break;
      case ValueKind::Map:
        if (v.kind == HostValue::Kind::Map) map(where, type, v);
        else is_not("a map");
        break;
    }
  }

  void map(const std::string& where, const ValueType& type, const HostValue& v) {
    const auto counts = [](const HostValue& item) {
      return item.dims.size() == 1 ? elements_of(item) : std::nullopt;
    };
    if (v.items.size() != 2 || !counts(v.items[0]) || counts(v.items[0]) != counts(v.items[1]))
      return problem(where, "takes a map, and its keys and values are not as many as each other",
                     "give two tensors of rank 1 and of one extent");
    of_type(where + ", keys", type.dtype, v.items[0].dtype);
    if (!type.elem.empty() && type.elem[0].kind == ValueKind::Tensor)
      of_type(where + ", values", type.elem[0].dtype, v.items[1].dtype);
  }

  bool of_type(const std::string& where, DType wanted, DType found) {
    if (wanted == DType::Undefined || wanted == found) return true;
    problem(where, fmt::format("takes {}, and {} is given", dtype_name(wanted), dtype_name(found)),
            "convert it before it is given");
    return false;
  }

  void tensor(const std::string& where, const ValueType& type, const HostValue& v) {
    if (!of_type(where, type.dtype, v.dtype)) return;
    if (!elements_of(v))
      return problem(where, "has other elements than its dims say",
                     "give as many elements as the product of the dims, packed");
    if (!type.shape) return;
    if (v.dims.size() != type.shape->size())
      return problem(where, fmt::format("takes {} dims, and {} are given", type.shape->size(), v.dims.size()),
                     kSeeNetwork);
    for (std::size_t a = 0; a < v.dims.size(); ++a) dim((*type.shape)[a], {where, a, v.dims[a]});
  }

  void dim(const deploy::ValueDim& wanted, const Dim& given) {
    if (const auto* number = std::get_if<std::int64_t>(&wanted)) {
      if (*number != given.extent)
        problem(given, fmt::format("the extent is {}, and {} is given", *number, given.extent), kSeeNetwork);
      return;
    }
    const auto* text = std::get_if<std::string>(&wanted);
    if (!text || !compares_symbols_) return;
    if (const DimId formula = names_.contains(*text) ? DimId{} : pool_.expression(*text, names_)) {
      formulas_.emplace_back(formula, given);
      return;
    }
    const auto [at, fresh] = extents_.emplace(*text, given.extent);
    if (fresh) first_.emplace(*text, given);
    else if (at->second != given.extent)
      problem(given,
              fmt::format("{} is {}, as {}, axis {} has it, and {} is given", quote_name(*text), at->second,
                          first_[*text].where, first_[*text].axis, given.extent),
              "give inputs in which a symbol has one extent");
  }

  void bounds() {
    for (const auto& [name, n] : extents_) {
      const auto of = network_.symbols.find(name);
      if (of == network_.symbols.end()) continue;
      const deploy::Bounds& b = of->second;
      const std::string high = b.max ? fmt::format(" to {}", *b.max) : " on";
      if (n < b.min || (b.max && n > *b.max))
        problem(first_[name],
                fmt::format("{} is from {}{}, and {} is given", quote_name(name), b.min, high, n),
                "\"symbols\" of the manifest's network has the bounds");
      else if (b.multiple_of && n % *b.multiple_of != 0)
        problem(first_[name],
                fmt::format("{} is a multiple of {}, and {} is given", quote_name(name), *b.multiple_of, n),
                "\"symbols\" of the manifest's network has the bounds");
    }
  }

  // A formula over a symbol that no dim of a given input is says nothing.
  void formulas() {
    Bindings at;
    for (const auto& [name, n] : extents_)
      if (const DimId symbol = pool_.find_symbol(name)) at.push_back({symbol, n});
    for (const auto& [formula, given] : formulas_) {
      const auto n = pool_.evaluate(formula, at);
      if (n && *n != given.extent)
        problem(given,
                fmt::format("{} is {} with {}, and {} is given", quote_name(pool_.print(formula)), *n,
                            to_string(extents_), given.extent),
                "give inputs whose extents agree");
    }
  }

  const deploy::Network& network_;
  DimPool pool_;
  std::unordered_set<std::string_view> names_;
  Extents extents_;
  bool compares_symbols_ = true;
  std::map<std::string, Dim, std::less<>> first_;  // by symbol: where its extent was seen
  std::vector<std::pair<DimId, Dim>> formulas_;
  Errors errors_;
};

}  // namespace

Result<Extents> check_inputs(const deploy::Network& network, std::span<const NamedValue> inputs) {
  return InputChecker(network).run(inputs);
}

}  // namespace graphopt::runner
