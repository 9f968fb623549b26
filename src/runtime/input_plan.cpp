// Types of inputs become dims over the plan's own symbols, uses become fills. Names decide only where types
// and uses do not: a mask, a position and a length are integers like any other.
#include "runtime/input_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <string_view>
#include <unordered_set>

#include "ops/node_facts.h"
#include "runtime/compare.h"

namespace graphopt {
namespace {

constexpr std::uint64_t kMaxKeptDefault = 1 << 20;

bool contains_any(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(words,
                             [&](std::string_view w) { return text.find(w) != std::string_view::npos; });
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

// Copies expressions from the model's pool into the plan's. Symbols are copied by name. A name that reads as
// an expression over other names is drawn as that expression, also where inference must not believe it:
// inputs that the model does not accept would show nothing.
class Translator {
 public:
  Translator(const DimPool& from, InputPlan::State& to) : from_(from), to_(to) {}

  // Must be called for all dims of all inputs before the first translate(). A dim without a name is shown as
  // `place`.
  void know_symbols(DimId d, const std::string& place) {
    if (!d) return;
    const bool lone = from_.is_symbol(d);
    for (const DimId s : from_.symbols_of(d)) {
      if (!known_.insert(s).second) continue;
      const std::string_view name = from_.symbol_name(s);
      Range range = from_.range(s);
      range.low = std::max<std::int64_t>(range.low, 0);
      make_symbol(std::string(name), range, SymbolClass::General,
                  lone && !from_.linked(s) ? place : std::string(name));
      if (lone && from_.linked(s)) alone_.insert(name);
    }
  }

  void finish() {
    for (std::size_t i = 0; i < to_.symbols.size();) {
      const DimId parsed = to_.dims.expression(to_.dims.symbol_name(to_.symbols[i].id), alone_);
      const bool is_expression = parsed && to_.dims.assert_equal(to_.symbols[i].id, parsed) &&
                                 !to_.dims.is_symbol(to_.symbols[i].id);
      if (is_expression) to_.symbols.erase(to_.symbols.begin() + static_cast<std::ptrdiff_t>(i));
      else ++i;
    }
    for (PlannedSymbol& s : to_.symbols) s.range.low = std::max(s.range.low, to_.dims.range(s.id).low);
  }

  DimId translate(DimId d) {
    if (!d) return {};
    if (const auto v = from_.value(d)) return to_.dims.constant(*v);
    const auto [at, added] = made_.try_emplace(d);
    // None when it has symbols that no input has.
    if (added) at->second = to_.dims.canonical(to_.dims.parse(from_.print(d)));
    return at->second;
  }

  // Returns a symbol for a dim that is unknown, or could not be copied.
  DimId make_symbol(const std::string& name, Range range, SymbolClass cls, const std::string& shown = {}) {
    const DimId id = to_.dims.symbol(name, range);
    to_.symbols.push_back({shown.empty() ? name : shown, id, range, cls});
    return id;
  }

 private:
  const DimPool& from_;
  InputPlan::State& to_;
  std::map<DimId, DimId> made_;
  std::set<DimId> known_;
  std::unordered_set<std::string_view> alone_;
};

class Planner {
 public:
  Planner(const Model& m, const Inference& infer)
      : m_(m), infer_(infer), translator_(m.dims, plan_.state()), p_(plan_.state()) {}

  InputPlan make() {
    std::vector<ValueId> fed;
    for (const ValueId v : m_.graph_inputs(m_.main())) {
      // Before IR version 4 every initializer had to be an input too, and none can be overridden.
      if (m_.value(v).is_initializer && m_.ir_version < 4) continue;
      fed.push_back(v);
    }
    for (const ValueId v : fed) {
      std::size_t axis = 0;
      for (const DimId d : tensor_type(v).dims)
        translator_.know_symbols(d, fmt::format("{}.{}", m_.text(m_.value(v).name), axis++));
    }
    translator_.finish();
    for (const ValueId v : fed) plan_input(v);
    join_past_and_present();
    classify_rest();
    p_.takes_specials = takes_specials();
    p_.coarsest_float = coarsest_float();
    for (std::size_t i = 0; i < m_.graph_output_count(m_.main()); ++i)
      p_.rounds_at_one.push_back(rounds_upstream(m_.graph_output(m_.main(), i)));
    return std::move(plan_);
  }

 private:
  // Returns the tensor that a value is or contains. (Types are as deep as the file says, so this is a loop.)
  const Type& tensor_type(ValueId v) const {
    TypeId id = infer_.type(v);
    while (m_.types[id].kind == TypeKind::Optional || m_.types[id].kind == TypeKind::Sequence ||
           m_.types[id].kind == TypeKind::Map)
      id = m_.types[id].inner;
    return m_.types[id];
  }

  void plan_input(ValueId v) {
    PlannedInput input;
    input.name = m_.text(m_.value(v).name);
    const Type* type = &infer_.type_of(v);
    while (type->kind == TypeKind::Optional) type = &m_.types[type->inner];
    if (type->kind == TypeKind::Sequence || type->kind == TypeKind::Map) input.kind = type->kind;
    if (type->kind == TypeKind::Map) input.key = type->elem;

    const Type& tensor = tensor_type(v);
    PlannedTensor& t = input.tensor;
    t.dtype = tensor.elem;
    t.uses = uses_of_input(m_, infer_, v);
    if (!tensor.has_rank && tensor.kind == TypeKind::Tensor && input.kind != TypeKind::Map)
      t.rank = translator_.make_symbol(input.name + ".rank", {0, 8}, SymbolClass::Rank);
    for (std::size_t axis = 0; axis < tensor.dims.size(); ++axis) {
      DimId d = translator_.translate(tensor.dims[axis]);
      if (!d)
        d = translator_.make_symbol(fmt::format("{}.{}", input.name, axis), {0, Range::kMax},
                                    SymbolClass::General);
      t.dims.push_back(d);
    }
    for (std::size_t axis = 0; axis < t.dims.size(); ++axis) classify(t, axis, input.name);
    for (DimId& d : t.uses.dims) d = translator_.translate(d);
    for (IndexBound& b : t.uses.bounds) b.limit = translator_.translate(b.limit);
    choose_fill(lower(input.name), t);
    keep_default(v, input);
    p_.inputs.push_back(std::move(input));
  }

  void keep_default(ValueId v, PlannedInput& input) {
    const Value& value = m_.value(v);
    input.has_default = value.is_initializer;
    if (!value.is_initializer || !value.tensor) return;
    const Tensor& t = m_.tensor(value.tensor);
    const auto bytes = raw_size(t.dtype, static_cast<std::uint64_t>(t.elements));
    if (!bytes || *bytes > kMaxKeptDefault) return;
    const auto raw = m_.raw(value.tensor);
    if (!raw || raw->size() != *bytes) return;
    input.fallback.kind = HostValue::Kind::Tensor;
    input.fallback.dtype = t.dtype;
    input.fallback.dims = t.dims;
    input.fallback.raw = *raw;
  }

  void choose_fill(std::string_view name, PlannedTensor& t) {
    const bool number = t.dtype != DType::String;
    const Meaning meaning = t.uses.meaning;
    const bool bounded = meaning == Meaning::Index || meaning == Meaning::Length;
    if (!number)
      t.fill = !t.uses.texts.empty()             ? Fill::Texts
               : meaning == Meaning::NumericText ? Fill::ByMeaning
                                                 : Fill::Numbers;
    else if (contains_any(name, {"mask"}) && !bounded) t.fill = Fill::Mask;
    else if (is_int(t.dtype) && contains_any(name, {"position"}) && !contains_any(name, {"bias"}))
      t.fill = Fill::Positions;
    else if (meaning != Meaning::Data) t.fill = Fill::ByMeaning;
    else if (!t.uses.keys.empty() && is_int(t.dtype)) t.fill = Fill::Keys;
    else if (is_int(t.dtype) && contains_any(name, {"len"})) t.fill = Fill::Lengths;
  }

  // --- symbols ---------------------------------------------------------------------------------------------
  void classify(const PlannedTensor& t, std::size_t axis, std::string_view input) {
    const auto it =
        std::ranges::find_if(p_.symbols, [&](const PlannedSymbol& s) { return s.id == t.dims[axis]; });
    if (it == p_.symbols.end() || classified_.contains(it->name)) return;
    classified_.emplace(it->name, true);
    const std::string name = lower(it->name);
    const auto is_fixed = [&](std::size_t i, std::int64_t low, std::int64_t high) {
      const std::int64_t v = i < t.dims.size() ? p_.dims.value(t.dims[i]).value_or(-1) : -1;
      return v >= low && v <= high;
    };
    const bool floats = is_float(t.dtype);
    const bool planar = t.dims.size() == 4 && floats && axis >= 1;
    const bool picture = is_fixed(1, 1, 1) || is_fixed(1, 3, 3) || is_fixed(3, 1, 1) || is_fixed(3, 3, 3);
    const bool unnamed = name == fmt::format("{}.{}", lower(input), axis);
    SymbolClass& c = it->cls;
    if (!unnamed && contains_any(name, {"past", "cache", "kv"})) c = SymbolClass::Past;
    else if (!unnamed && (contains_any(name, {"batch"}) || name == "n" || name == "b" || name == "bs"))
      c = SymbolClass::Batch;
    else if (!unnamed && contains_any(name, {"sample", "audio", "wave"}) && axis > 0) c = SymbolClass::Audio;
    else if (!unnamed && contains_any(name, {"height", "width", "pixel"}))
      c = picture || t.dims.size() < 4 ? SymbolClass::Picture : SymbolClass::Feature;
    else if (!unnamed && contains_any(name, {"seq", "len", "tok", "time", "frame", "word", "ctx", "step"}))
      c = SymbolClass::Sequence;
    else if (axis == 0 && t.dims.size() > 1) c = SymbolClass::Batch;
    else if (planar && axis >= 2) c = picture ? SymbolClass::Picture : SymbolClass::Feature;
    else c = SymbolClass::General;
  }

  // Symbols that occur only in expressions are classified by name.
  void classify_rest() {
    for (PlannedSymbol& s : p_.symbols) {
      if (s.cls == SymbolClass::Rank || classified_.contains(s.name)) continue;
      const std::string name = lower(s.name);
      if (contains_any(name, {"past", "cache", "kv"})) s.cls = SymbolClass::Past;
      else if (contains_any(name, {"batch"})) s.cls = SymbolClass::Batch;
      else if (contains_any(name, {"seq", "len", "tok", "time"})) s.cls = SymbolClass::Sequence;
    }
  }

  // In a decoder with a cache the attention mask covers past and present tokens, whatever name an exporter
  // gave to that dim.
  void join_past_and_present() {
    std::map<DimId, int> uses;
    for (const PlannedInput& input : p_.inputs)
      for (const DimId d : input.tensor.dims) ++uses[d];
    DimId past, present;
    for (const PlannedSymbol& s : p_.symbols)
      if (s.cls == SymbolClass::Past && !past) past = s.id;
    for (const PlannedInput& input : p_.inputs)
      if (input.name.ends_with("input_ids") && !input.tensor.dims.empty() &&
          p_.dims.is_symbol(input.tensor.dims.back()))
        present = input.tensor.dims.back();
    if (!past || !present) return;
    for (PlannedInput& input : p_.inputs) {
      const bool mask = contains_any(input.name, {"attention_mask"}) && !contains_any(input.name, {"enc"});
      if (!mask || input.tensor.dims.empty()) continue;
      DimId& last = input.tensor.dims.back();
      if (!p_.dims.is_symbol(last) || uses[last] != 1 || last == past || last == present) continue;
      const DimId old = last;
      last = p_.dims.add(past, present);
      std::erase_if(p_.symbols, [&](const PlannedSymbol& s) { return s.id == old; });
    }
  }

  // Weights of fewer digits that are cast before anything is computed count too, by the result of their Cast
  // alone: what nodes give is what was rounded on the way.
  DType coarsest_float() const {
    DType coarsest = DType::Undefined;
    for (std::size_t i = 0; i < m_.node_count(); ++i) {
      const NodeId n{i};
      if (!m_.alive(n) || m_.is_return(n)) continue;
      for (const ValueId v : m_.outputs(n))
        if (v && default_tolerance(infer_.dtype(v)) > default_tolerance(coarsest)) coarsest = infer_.dtype(v);
    }
    return coarsest;
  }

  // Returns whether what `v` is moved or cast from rounds to a unit in the last place at 1.
  bool rounds_upstream(ValueId v) const {
    for (NodeId n = m_.value(v).def; n; n = v ? m_.value(v).def : NodeId{}) {
      if (rounds_at_one(m_.kind(n))) return true;
      if (!only_moves(facts_of(m_, n).cls) && m_.kind(n) != OpKind::Cast && m_.kind(n) != OpKind::Identity)
        return false;
      v = m_.input(n, 0);
    }
    return false;
  }

  // --- special values --------------------------------------------------------------------------------------
  bool takes_specials() const {
    for (std::size_t i = 0; i < m_.node_count(); ++i) {
      const NodeId n{i};
      if (!m_.alive(n) || m_.is_return(n)) continue;
      switch (m_.kind(n)) {
        case OpKind::Cast:
        case OpKind::CastLike:
          if (is_float(infer_.dtype(m_.input(n, 0))) && m_.output(n, 0) &&
              !is_float(infer_.dtype(m_.output(n, 0))) && infer_.dtype(m_.output(n, 0)) != DType::Bool)
            return false;
          break;
          // clang-format off
        case OpKind::Opaque: case OpKind::Loop: case OpKind::Scan: case OpKind::GridSample:
        case OpKind::RoiAlign: case OpKind::MaxRoiPool: case OpKind::DeformConv:
        case OpKind::NonMaxSuppression: case OpKind::NonZero: case OpKind::Compress: case OpKind::Resize:
        case OpKind::Upsample: case OpKind::AffineGrid: case OpKind::Range: case OpKind::TopK:
        case OpKind::Unique: case OpKind::Multinomial: case OpKind::MsCropAndResize:
        case OpKind::MsGridSample: case OpKind::MsBeamSearch: case OpKind::MsGreedySearch:
        case OpKind::MsSampling: case OpKind::MsWhisperBeamSearch: case OpKind::MsMoE: case OpKind::MsQMoE:
          return false;
        // clang-format on
        default: break;
      }
    }
    return true;
  }

  const Model& m_;
  const Inference& infer_;
  InputPlan plan_;
  Translator translator_;
  InputPlan::State& p_;
  std::map<std::string, bool> classified_;
};

}  // namespace

InputPlan::InputPlan() : s_(std::make_unique<State>()) {}
InputPlan::~InputPlan() = default;
InputPlan::InputPlan(InputPlan&&) noexcept = default;
InputPlan& InputPlan::operator=(InputPlan&&) noexcept = default;

InputPlan plan_inputs(const Model& model, const Inference& infer) { return Planner(model, infer).make(); }

}  // namespace graphopt
