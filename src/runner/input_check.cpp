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
      if (place) problem(v.name, "is given twice", "give it once");
      else place = &v.value;
    }
    for (std::size_t i = 0; i < given.size(); ++i) {
      const deploy::NetworkValue& wanted = network_.inputs[i];
      if (given[i]) value(wanted.name, wanted.type, *given[i], {});
      else if (!wanted.optional) problem(wanted.name, "is not given", "give a value for it");
    }
    bounds();
    formulas();
    if (!errors_.empty()) return std::move(errors_);
    return std::move(extents_);
  }

 private:
  struct Dim {
    std::string input;
    std::size_t axis = 0;
    std::int64_t extent = 0;
  };

  void problem(const std::string& input, const std::string& what, std::string remedy) {
    if (errors_.size() < kMaxErrors)
      errors_.push_back({ErrorKind::Usage, {}, "input " + quote_name(input) + ' ' + what, std::move(remedy)});
  }
  void problem(const Dim& at, const std::string& what, std::string remedy) {
    if (errors_.size() < kMaxErrors)
      errors_.push_back({ErrorKind::Usage,
                         {},
                         fmt::format("input {}, axis {}: {}", quote_name(at.input), at.axis, what),
                         std::move(remedy)});
  }
  void unknown(const std::string& name) {
    std::vector<std::string> names;
    for (const deploy::NetworkValue& v : network_.inputs) names.push_back(v.name);
    problem(name, "is none of the network's", suggest(name, names, "inputs"));
  }

  // `of`: what it is of the input, "" or "element 3: ". Types nest as deep as the manifest's reader allows, a
  // hundred levels.
  void value(const std::string& input, const ValueType& type, const HostValue& v, const std::string& of) {
    const auto is_not = [&](std::string_view wanted) {
      problem(input, fmt::format("takes {}{}, and {} is given", of, wanted, kind_text(v)),
              std::string(kSeeNetwork));
    };
    switch (type.kind) {
      case ValueKind::Tensor:
        if (v.kind != HostValue::Kind::Tensor) return is_not("a tensor");
        return tensor(input, type, v, of);
      case ValueKind::SparseTensor: return is_not("a sparse tensor, which cannot be given");
      case ValueKind::Optional:
        if (v.kind == HostValue::Kind::Absent || type.elem.empty()) return;
        return value(input, type.elem[0], v, of);
      case ValueKind::Sequence:
        if (v.kind != HostValue::Kind::Sequence) return is_not("a sequence");
        for (std::size_t i = 0; !type.elem.empty() && i < v.items.size(); ++i)
          value(input, type.elem[0], v.items[i], fmt::format("{}in element {} ", of, i));
        return;
      case ValueKind::Map: {
        if (v.kind != HostValue::Kind::Map) return is_not("a map");
        const auto counts = [](const HostValue& item) {
          return item.dims.size() == 1 ? elements_of(item) : std::nullopt;
        };
        if (v.items.size() != 2 || !counts(v.items[0]) || counts(v.items[0]) != counts(v.items[1]))
          return problem(input,
                         "takes " + of + "a map, and its keys and values are not as many as each other",
                         "give two tensors of rank 1 and of one extent");
        if (type.dtype != DType::Undefined && v.items[0].dtype != type.dtype)
          return wrong_type(input, type.dtype, v.items[0].dtype, of + "keys of ");
        const bool has_type = !type.elem.empty() && type.elem[0].kind == ValueKind::Tensor;
        if (has_type && type.elem[0].dtype != DType::Undefined && v.items[1].dtype != type.elem[0].dtype)
          return wrong_type(input, type.elem[0].dtype, v.items[1].dtype, of + "values of ");
        return;
      }
    }
  }

  void wrong_type(const std::string& input, DType wanted, DType found, const std::string& of) {
    problem(input, fmt::format("takes {}{}, and {} is given", of, dtype_name(wanted), dtype_name(found)),
            "convert it before it is given");
  }

  void tensor(const std::string& input, const ValueType& type, const HostValue& v, const std::string& of) {
    if (type.dtype != DType::Undefined && v.dtype != type.dtype)
      return wrong_type(input, type.dtype, v.dtype, of);
    if (!elements_of(v))
      return problem(input, "has other elements than its dims say " + of,
                     "give as many elements as the product of the dims, packed");
    if (!type.shape) return;
    if (v.dims.size() != type.shape->size())
      return problem(input,
                     fmt::format("takes {}{} dims, and {} are given", of, type.shape->size(), v.dims.size()),
                     std::string(kSeeNetwork));
    for (std::size_t a = 0; a < v.dims.size(); ++a) dim((*type.shape)[a], {input, a, v.dims[a]});
  }

  void dim(const deploy::ValueDim& wanted, const Dim& given) {
    if (const auto* number = std::get_if<std::int64_t>(&wanted)) {
      if (*number != given.extent)
        problem(given, fmt::format("the extent is {}, and {} is given", *number, given.extent),
                std::string(kSeeNetwork));
      return;
    }
    const auto* text = std::get_if<std::string>(&wanted);
    if (!text) return;
    if (const DimId formula = names_.contains(*text) ? DimId{} : pool_.expression(*text, names_)) {
      formulas_.emplace_back(formula, given);
      return;
    }
    const auto [at, fresh] = extents_.emplace(*text, given.extent);
    if (fresh) first_.emplace(*text, given);
    else if (at->second != given.extent)
      problem(given,
              fmt::format("{} is {}, as axis {} of input {} has it, and {} is given", quote_name(*text),
                          at->second, first_[*text].axis, quote_name(first_[*text].input), given.extent),
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
  std::map<std::string, Dim, std::less<>> first_;  // by symbol: where its extent was seen
  std::vector<std::pair<DimId, Dim>> formulas_;
  Errors errors_;
};

}  // namespace

Result<Extents> check_inputs(const deploy::Network& network, std::span<const NamedValue> inputs) {
  return InputChecker(network).run(inputs);
}

}  // namespace graphopt::runner
