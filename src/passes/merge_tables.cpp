// merge-tables: looks up the rows of several constant tables, which a Concat joins, in one table.
//
// Problem: recommendation models have one embedding table per feature: dozens of Gathers of a few rows each,
// joined by a Concat. On small batches each Gather costs a launch that takes longer than its copy.
// Method: a run of neighbouring operands of a Concat, each a Gather(table, index) along axis 0, possibly
// followed by a deformation. Tables: constants of one type and row shape, without other uses. Indices: one
// type, one shape. Then
//     table = Concat of the tables along axis 0     (offset of table i: the number of rows before it)
//     index = joined indices + offsets              (joined at the position where the Concat joins the rows)
//     run   = Reshape(Gather(table, index))
// The joined index is: a tensor of which the indices are slices, or a Gather of some of its slices; else a
// Concat along an axis of known extent; else Concat, Reshape to [tables, elements] and, unless the tables
// come first, Transpose.
// Exact: elements are only copied. Row-major order of the run: outer dims, table, rest of the index and row.
// A negative index counts from the end of its own table: unless it is provably >= 0, Mod(index, rows) is
// applied first, which is index + rows for negative ones. An index outside its table is an error that the
// joint table would hide; so all must be provably inside (constants, Clip, Mod, ArgMax ..., see range_of).
// Offsets must fit in the type of the indices.
// Assumes: at -O3 without --exact, that indices are inside their tables. An index that made the model fail
// may then read a row of the same or of another table.
// Lowers: nodes, counted before the rewrite; bytes stay: the rows are the same, and offsets take less than
// the removed names. Ends: the number of nodes falls.
// Left alone: more than kMostJoinedBytes of tables (they would be copied in memory), scalar indices, opset <
// 7 (< 10 where Mod is needed), sub-byte types and strings.
//
//   a = Gather (t, i)  b = Gather (u, j)            c = Concat <axis = 1> (i, j)  d = Mod (c, rows)
//   y = Concat <axis = 1> (a, b)              =>    e = Add (d, offsets)  y = Gather (t_and_u, e)

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "ops/attributes.h"
#include "ops/constants.h"
#include "ops/deformation.h"
#include "ops/node_facts.h"
#include "passes/index_range.h"
#include "passes/joined_constants.h"
#include "passes/rule_pass.h"
#include "rewrite/build.h"
#include "rewrite/match.h"

namespace graphopt {
namespace {

class MergeTables final : public Rule {
 public:
  static constexpr Counter kCounter{"merged", "groups of tables that became one"};
  std::string_view name() const override { return "tables"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::Concat>; }

  bool match(const MatchContext& c, NodeId n) override {
    using namespace pattern;
    const Model& m = c.model;
    if (!matches(c, n, op(OpKind::Concat).and_more().opset(7))) return false;
    const ValueId y = m.output(n, 0);
    const auto axis = int_attr(m, n, names::axis);
    const auto normal =
        axis && c.infer.has_rank(y) ? normalize_axis(*axis, c.infer.dims(y).size()) : std::nullopt;
    if (!normal) return c.no(n, "the axis or the rank is not known");
    axis_ = static_cast<std::size_t>(*normal);
    for (std::size_t at = 0; at < m.input_count(n);) {
      collect_run(c, n, at);
      if (run_.size() >= 2 && plan(c, n)) return true;
      at += std::max<std::size_t>(1, run_.size());
    }
    return false;
  }

  void apply(PassContext& c, NodeId n) override {
    Model& m = c.model;
    const GraphId g = m.node(n).graph;
    const std::string base(m.text(m.value(m.output(n, 0)).name));
    const auto add = [&](OpKind kind, std::vector<ValueId> operands, const char* suffix,
                         std::optional<std::size_t> axis = {}) {
      const std::string name = base + suffix;
      const IntAttr along{names::axis, static_cast<std::int64_t>(axis.value_or(0))};
      return m.output(add_operator({m, g, n, name}, kind, operands, {&along, axis ? 1U : 0U}), 0);
    };
    const auto constant = [&](TensorId t, const char* suffix) {
      return m.add_initializer(g, base + suffix, t);
    };
    const auto list = [&](std::vector<std::int64_t> numbers, const char* suffix) {
      return constant(m.make_int64s(numbers), suffix);
    };

    ValueId index = source_;
    if (form_ == IndexForm::Select) {
      index = add(OpKind::Gather, {source_, list(selected_, "_selected")}, "_index", place_);
    } else if (form_ != IndexForm::Whole) {
      std::vector<ValueId> parts;
      for (const Lookup& b : run_) parts.push_back(b.index);
      index = add(OpKind::Concat, parts, "_index", form_ == IndexForm::Direct ? place_ : 0);
      if (form_ != IndexForm::Direct)
        index = add(OpKind::Reshape,
                    {index, list({static_cast<std::int64_t>(run_.size()), -1}, "_index_shape")}, "_index");
      if (form_ == IndexForm::Columns) {
        index = add(OpKind::Transpose, {index}, "_index");
        const std::int64_t swapped[] = {1, 0};
        m.set_attr_ints(m.value(index).def, names::perm, swapped);
      }
    }
    if (modulo_) index = add(OpKind::Mod, {index, constant(per_table(m, true), "_rows")}, "_index");
    index = add(OpKind::Add, {index, constant(per_table(m, false), "_offsets")}, "_index");

    const Value& first = m.value(run_[0].table);
    const TensorId joint = join_constants(m, tables(), 0);
    const ValueId table = m.add_initializer(first.graph, m.text(first.name), joint);
    // Where the Concat has nothing left to join it becomes the last node.
    const bool whole = run_.size() == m.input_count(n);
    const auto become = [&](OpKind kind, ValueId x, ValueId y) {
      const ValueId both[] = {x, y};
      m.set_op(n, standard_op(m, kind));
      m.remove_attr(n, names::axis);
      m.set_operands(n, both);
    };
    if (whole && !reshape_) {
      become(OpKind::Gather, table, index);
      m.set_attr_int(n, names::axis, 0);
      return;
    }
    ValueId result = add(OpKind::Gather, {table, index}, "_rows_found", 0);
    if (whole) return become(OpKind::Reshape, result, list(target_, "_shape"));
    if (reshape_) result = add(OpKind::Reshape, {result, list(target_, "_run_shape")}, "_run");
    std::vector<ValueId> operands;
    for (std::size_t i = 0; i < m.input_count(n); ++i) {
      if (i == first_) operands.push_back(result);
      if (i < first_ || i >= first_ + run_.size()) operands.push_back(m.input(n, i));
    }
    m.set_operands(n, operands);
  }

 private:
  struct Lookup {
    NodeId gather;
    ValueId table, index;
    TensorId tensor;
    std::int64_t rows = 0;
    bool deformed = false;  // a deformation between Gather and Concat
    bool negative = false;  // the index may count from the end
  };
  enum class IndexForm : std::uint8_t {
    Whole,    // the indices are all slices of one tensor, in order
    Select,   // they are some slices of one tensor
    Direct,   // joined along one of their own axes, whose extent is known
    Rows,     // [tables, elements]
    Columns,  // [elements, tables]
  };
  static constexpr std::size_t kJoiningNodes[] = {0, 1, 1, 2, 3};  // by form
  // Of an offset: indices are stored once, but an offset per index.
  static constexpr std::int64_t kMostRepeats = 4096;
  // How near a miss at a branch is: nearer than those of the patterns, not as near as those of a whole run.
  static constexpr std::size_t kBranch = 8;

  // Collects in run_ the operands from `at` on that are rows of compatible tables.
  void collect_run(const MatchContext& c, NodeId n, std::size_t at) {
    const Model& m = c.model;
    run_.clear();
    first_ = at;
    for (std::size_t i = at; i < m.input_count(n); ++i) {
      Lookup b;
      if (!read(c, n, m.input(n, i), b)) return;
      const Lookup& like = run_.empty() ? b : run_[0];
      const Tensor &t = m.tensor(b.tensor), &other = m.tensor(like.tensor);
      if (t.dtype != other.dtype ||
          !std::ranges::equal(std::span(t.dims).subspan(1), std::span(other.dims).subspan(1)) ||
          c.infer.dtype(b.index) != c.infer.dtype(like.index) || !c.infer.same_shape(b.index, like.index) ||
          !c.infer.same_shape(m.input(n, i), m.input(n, first_))) {
        c.no(b.gather, "differs from its neighbour in a type or in dims", kBranch);
        return;
      }
      run_.push_back(b);
    }
  }

  static bool read(const MatchContext& c, NodeId n, ValueId v, Lookup& b) {
    using namespace pattern;
    const Model& m = c.model;
    if (!v || m.single_user(v) != n || !c.infer.has_rank(v))
      return c.no(n, "something else reads an operand, or its rank is not known", 0);
    ValueId found = v;
    if (const NodeId def = m.value(v).def; def && facts_of(m, def).cls == OpClass::Deformation) {
      b.deformed = true;
      found = m.input(def, 0);
      if (!found || m.single_user(found) != def) return c.no(def, "something else reads its operand", 0);
    }
    const auto table = constant(b.tensor).bind(b.table).single_use();
    if (!matches(c, found, op(OpKind::Gather, table, any(b.index)).bind(b.gather))) return false;
    const DType type = c.infer.dtype(b.index);
    if ((type != DType::Int32 && type != DType::Int64) || !c.infer.has_rank(b.index) ||
        c.infer.dims(b.index).empty())
      return c.no(b.gather, "the index is a scalar, or its type or rank is not known", kBranch);
    const Tensor& t = m.tensor(b.tensor);
    const auto axis = int_attr(m, b.gather, names::axis);
    if (t.dims.empty() || t.dims[0] < 1 || !axis || normalize_axis(*axis, t.dims.size()) != 0 ||
        bits_of(t.dtype) < 8)
      return c.no(b.gather, "it does not look up rows of whole bytes", kBranch);
    b.rows = t.dims[0];
    const Range r = range_of(c, b.index);
    if ((r.low < -b.rows || r.high >= b.rows) && c.options.strictness < Strictness::Assuming)
      return c.no(b.gather, "an index may be outside of the table", kBranch);
    b.negative = r.low < 0;
    return true;
  }

  std::vector<TensorId> tables() const {
    std::vector<TensorId> out;
    for (const Lookup& b : run_) out.push_back(b.tensor);
    return out;
  }

  bool plan(const MatchContext& c, NodeId n) {
    modulo_ = std::ranges::any_of(run_, &Lookup::negative);
    index_type_ = c.infer.dtype(run_[0].index);
    if (modulo_ && c.model.opset(n) < 10) return c.no(n, "before opset 10 there is no Mod");
    std::int64_t rows = index_type_ == DType::Int32 ? std::int64_t{0x7fffffff} : Range::kMax;
    for (const Lookup& b : run_) {
      rows -= b.rows;
      if (rows < 0) return c.no(n, "the type of the indices does not hold all offsets");
    }
    if (!may_be_copied(c.model, tables())) return c.no(n, "the tables are too large to be copied");
    if (!find_form(c, n)) return c.no(n, "the indices cannot be joined where the Concat joins the rows");
    if (!find_target(c, n)) return c.no(n, "no constant target states the result's dims");
    if (!fewer_nodes(c, n)) return c.no(n, "it would not have fewer nodes");
    return have_payloads(c.model, tables()) || c.no(n, "a table cannot be read");
  }

  // Finds a position such that the dims of an index before it have as many elements as the Concat's dims
  // before its axis; the form in which the indices are joined there; the axis `place_` of the joined index
  // that tells the tables apart; and the dims of the joint Gather's result.
  bool find_form(const MatchContext& c, NodeId n) {
    DimPool& dims = c.dims;
    const std::span<const DimId> index = c.infer.dims(run_[0].index),
                                 part = c.infer.dims(c.model.input(n, first_));
    const DimId outer = dims.product(part.first(axis_));
    const DimId count = dims.constant(static_cast<std::int64_t>(run_.size()));
    std::vector<std::size_t> places;
    for (std::size_t j = 0; j <= index.size(); ++j)
      if (dims.equal(dims.product(index.first(j)), outer) == Tri::Yes) places.push_back(j);
    if (places.empty() || !join_index(c, index, places, count)) return false;
    for (const std::int64_t d : std::span(c.model.tensor(run_[0].tensor).dims).subspan(1))
      joined_.push_back(dims.constant(d));
    return true;
  }

  // The form, and the dims of the joined index.
  bool join_index(const MatchContext& c, std::span<const DimId> index, std::span<const std::size_t> places,
                  DimId count) {
    joined_.assign(index.begin(), index.end());
    const auto slices = std::ranges::find_if(places, [&](std::size_t j) { return find_selection(c, j); });
    if (slices != places.end()) {
      place_ = *slices;
      joined_.insert(joined_.begin() + static_cast<std::ptrdiff_t>(place_), count);
      return true;
    }
    for (const std::size_t j : places)
      if (const auto extent = j < index.size() ? c.dims.value(index[j]) : std::nullopt; extent > 0) {
        form_ = IndexForm::Direct;
        place_ = j;
        repeat_ = *extent;
        joined_[j] = c.dims.mul(index[j], count);
        return repeat_ <= kMostRepeats;
      }
    const DimId elements = c.dims.product(index);
    const bool rows = places.front() == 0;
    form_ = rows ? IndexForm::Rows : IndexForm::Columns;
    place_ = rows ? 0 : 1;
    joined_ = rows ? std::vector{count, elements} : std::vector{elements, count};
    return elements && (rows || places.back() == index.size());
  }

  // Returns true if all indices are slices x[..., k, ...] of one tensor along axis `place`.
  bool find_selection(const MatchContext& c, std::size_t place) {
    using namespace pattern;
    const Model& m = c.model;
    selected_.clear();
    source_ = {};
    std::int64_t extent = -1;
    bool in_order = true;
    for (const Lookup& b : run_) {
      ValueId x;
      TensorId t;
      NodeId slice;
      if (!matches(c.without_reasons(), b.index, op(OpKind::Gather, any(x), constant(t)).bind(slice)))
        return false;
      const auto number = int_scalar(m, t);
      const auto axis = int_attr(m, slice, names::axis);
      if (!number || !m.tensor(t).dims.empty() || !axis) return false;
      if (source_ && source_ != x) return false;
      const std::span<const DimId> d = c.infer.dims(x);  // none where the rank is not known
      if (normalize_axis(*axis, d.size()) != static_cast<std::int64_t>(place)) return false;
      source_ = x;
      extent = m.dims.value(d[place]).value_or(-1);
      const std::int64_t k = *number < 0 && extent >= 0 ? *number + extent : *number;
      in_order &= k == static_cast<std::int64_t>(selected_.size());
      selected_.push_back(k);
    }
    form_ =
        in_order && extent == static_cast<std::int64_t>(run_.size()) ? IndexForm::Whole : IndexForm::Select;
    return true;
  }

  // Computes the shape of the run as a constant of numbers, 0 (copy) and -1; see constant-shapes.
  bool find_target(const MatchContext& c, NodeId n) {
    const std::span<const DimId> part = c.infer.dims(c.model.input(n, first_));
    std::vector<DimId> wanted(part.begin(), part.end());
    wanted[axis_] = c.dims.mul(wanted[axis_], c.dims.constant(static_cast<std::int64_t>(run_.size())));
    if (std::ranges::any_of(wanted, [](DimId d) { return !d; })) return false;
    const auto same = [&c](DimId a, DimId b) { return c.dims.equal(a, b) == Tri::Yes; };
    auto numbers = reshape_target(c.dims, joined_, wanted, same);
    if (!numbers || !numbers->defined()) return false;
    target_ = std::move(numbers->numbers);
    reshape_ = !std::ranges::equal(joined_, wanted, same);
    return true;
  }

  bool fewer_nodes(const MatchContext& c, NodeId n) const {
    const Model& m = c.model;
    const bool slices = form_ == IndexForm::Whole || form_ == IndexForm::Select;
    std::size_t before = run_.size() + (run_.size() == m.input_count(n) ? 1 : 0);  // Gathers and Concat
    for (const Lookup& b : run_)
      before += (b.deformed ? 1 : 0) + (slices && m.use_count(b.index) == 1 ? 1 : 0);
    const std::size_t joining = kJoiningNodes[static_cast<std::size_t>(form_)];
    return 2 + joining + (modulo_ ? 1 : 0) + (reshape_ ? 1 : 0) < before;  // 2: Add and Gather
  }

  // Returns, for each element along the joint axis, the number of rows of its table (`rows`), or of the
  // tables before it; with dims that broadcast.
  TensorId per_table(Model& m, bool rows) const {
    std::vector<std::int64_t> numbers;
    std::int64_t offset = 0;
    const std::int64_t repeat = form_ == IndexForm::Direct ? repeat_ : 1;
    for (const Lookup& b : run_) {
      numbers.insert(numbers.end(), static_cast<std::size_t>(repeat), rows ? b.rows : offset);
      offset += b.rows;
    }
    const std::size_t row_rank = m.tensor(run_[0].tensor).dims.size() - 1;
    std::vector<std::int64_t> dims(joined_.size() - row_rank - place_, 1);
    dims[0] = static_cast<std::int64_t>(numbers.size());
    return m.make_tensor(index_type_, dims, int_payload(index_type_, numbers).value_or(""));
  }

  std::size_t axis_ = 0, first_ = 0, place_ = 0;
  std::vector<Lookup> run_;
  IndexForm form_ = IndexForm::Direct;
  std::vector<DimId> joined_;         // dims of the joint Gather's result
  std::vector<std::int64_t> target_;  // of the Reshape of that result
  std::vector<std::int64_t> selected_;
  ValueId source_;
  std::int64_t repeat_ = 1;
  DType index_type_ = DType::Int64;
  bool modulo_ = false, reshape_ = false;
};

}  // namespace

extern constinit const PassInfo merge_tables = {
    .name = "merge-tables",
    .summary = "look up rows of several constant tables in one table",
    .exact = Exact::Yes,
    .level = 1,
    .make = make_pass<RulePass<MergeTables>>};

}  // namespace graphopt
