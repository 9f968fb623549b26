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
// -O3 without --exact assumes that they are inside: an index that made the model fail may then give a row of
// the same or of another table. Offsets must fit in the type of the indices.
// Lowers: nodes, counted before the rewrite; bytes stay: the rows are the same, and offsets take less than
// the removed names. Ends: the number of nodes falls.
// Left alone: more than kMostBytes of tables (they would be copied in memory), scalar indices, opset < 7 (<
// 10 where Mod is needed), sub-byte types and strings.
//
//   a = Gather (t, i)  b = Gather (u, j)            c = Concat <axis = 1> (i, j)  d = Mod (c, rows)
//   y = Concat <axis = 1> (a, b)              =>    e = Add (d, offsets)  y = Gather (t_and_u, e)

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "ops/attributes.h"
#include "ops/deformation.h"
#include "ops/node_facts.h"
#include "passes/index_range.h"
#include "passes/rule_pass.h"

namespace graphopt {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;

constexpr OpKind kConcat[] = {OpKind::Concat};

class MergeTables final : public Rule {
 public:
  static constexpr Counter kCounter{"merged", "groups of tables that became one"};
  std::string_view name() const override { return "tables"; }
  std::span<const OpKind> roots() const override { return kConcat; }

  bool match(const PassContext& c, NodeId n) override {
    const Model& m = c.model;
    const ValueId y = m.output(n, 0);
    if (m.opset(n) < 7 || !y || !attributes_known(m, n) || !c.infer.has_rank(y)) return false;
    const auto axis = int_attr(m, n, names::axis);
    const auto normal = axis ? normalize_axis(*axis, c.infer.dims(y).size()) : std::nullopt;
    if (!normal) return false;
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
    const auto add = [&](OpKind kind, std::vector<ValueId> operands, const char* suffix) {
      return m.output(m.add_node_like(g, standard_op(m, kind), operands, 1, base + suffix, n), 0);
    };
    const auto constant = [&](TensorId t, const char* suffix) {
      return m.add_initializer(g, base + suffix, t);
    };
    const auto axis_attr = [&](ValueId v, std::size_t axis) {
      m.set_attr_int(m.value(v).def, names::axis, static_cast<std::int64_t>(axis));
    };

    ValueId index;
    const std::int64_t count = static_cast<std::int64_t>(run_.size());
    if (form_ == IndexForm::Whole) {
      index = source_;
    } else if (form_ == IndexForm::Select) {
      index = add(OpKind::Gather, {source_, constant(m.make_int64s(selected_), "_selected")}, "_index");
      axis_attr(index, place_);
    } else {
      std::vector<ValueId> parts;
      for (const Lookup& b : run_) parts.push_back(b.index);
      index = add(OpKind::Concat, parts, "_index");
      axis_attr(index, form_ == IndexForm::Direct ? place_ : 0);
      if (form_ != IndexForm::Direct) {
        const std::int64_t rows[] = {count, -1};
        index = add(OpKind::Reshape, {index, constant(m.make_int64s(rows), "_index_shape")}, "_index");
      }
      if (form_ == IndexForm::Columns) {
        index = add(OpKind::Transpose, {index}, "_index");
        const std::int64_t swapped[] = {1, 0};
        m.set_attr_ints(m.value(index).def, names::perm, swapped);
      }
    }
    if (modulo_) index = add(OpKind::Mod, {index, constant(per_table(m, true), "_rows")}, "_index");
    index = add(OpKind::Add, {index, constant(per_table(m, false), "_offsets")}, "_index");

    const TensorId joint = join_tables(m);
    const ValueId table =
        m.add_initializer(m.value(run_[0].table).graph, m.text(m.value(run_[0].table).name), joint);
    const bool whole =
        run_.size() ==
        m.input_count(n);  // then the Concat has nothing left to join, and becomes the last node
    const auto become = [&](OpKind kind, ValueId first, ValueId second) {
      const ValueId both[] = {first, second};
      m.set_op(n, standard_op(m, kind));
      m.remove_attr(n, names::axis);
      m.set_operands(n, both);
    };
    if (whole && !reshape_) {
      become(OpKind::Gather, table, index);
      m.set_attr_int(n, names::axis, 0);
      return;
    }
    ValueId result = add(OpKind::Gather, {table, index}, "_rows_found");
    axis_attr(result, 0);
    if (whole) return become(OpKind::Reshape, result, constant(m.make_int64s(target_), "_shape"));
    if (reshape_)
      result = add(OpKind::Reshape, {result, constant(m.make_int64s(target_), "_run_shape")}, "_run");
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

  // Collects in run_ the operands from `at` on that are rows of compatible tables.
  void collect_run(const PassContext& c, NodeId n, std::size_t at) {
    const Model& m = c.model;
    run_.clear();
    first_ = at;
    for (std::size_t i = at; i < m.input_count(n); ++i) {
      const auto b = branch(c, n, m.input(n, i));
      if (!b) return;
      if (!run_.empty()) {
        const Tensor& t = m.tensor(b->tensor);
        const Tensor& like = m.tensor(run_[0].tensor);
        if (t.dtype != like.dtype ||
            !std::ranges::equal(std::span(t.dims).subspan(1), std::span(like.dims).subspan(1)) ||
            c.infer.dtype(b->index) != c.infer.dtype(run_[0].index) ||
            !c.infer.same_shape(b->index, run_[0].index) ||
            !c.infer.same_shape(m.input(n, i), m.input(n, first_)))
          return;
      }
      run_.push_back(*b);
    }
  }

  static std::optional<Lookup> branch(const PassContext& c, NodeId n, ValueId v) {
    const Model& m = c.model;
    if (!v || m.single_user(v) != n || !c.infer.has_rank(v)) return std::nullopt;
    Lookup b;
    NodeId def = m.value(v).def;
    if (!def) return std::nullopt;
    if (facts_of(m, def).cls == OpClass::Deformation) {
      const ValueId before = m.input(def, 0);
      if (!before || m.single_user(before) != def) return std::nullopt;
      b.deformed = true;
      def = m.value(before).def;
    }
    if (!def || m.kind(def) != OpKind::Gather || !attributes_known(m, def)) return std::nullopt;
    b.gather = def;
    b.table = m.input(def, 0);
    b.index = m.input(def, 1);
    if (!b.table || !b.index || m.single_user(b.table) != def) return std::nullopt;
    b.tensor = m.constant_of(b.table);
    const DType type = c.infer.dtype(b.index);
    if (!b.tensor || (type != DType::Int32 && type != DType::Int64) || !c.infer.has_rank(b.index))
      return std::nullopt;
    const Tensor& t = m.tensor(b.tensor);
    const auto axis = int_attr(m, def, names::axis);
    if (t.dims.empty() || t.dims[0] < 1 || !axis || normalize_axis(*axis, t.dims.size()) != 0)
      return std::nullopt;
    if (bits_of(t.dtype) < 8 || c.infer.dims(b.index).empty()) return std::nullopt;
    b.rows = t.dims[0];
    const Range r = range_of(c, b.index);
    if ((r.low < -b.rows || r.high >= b.rows) && c.options.strictness < Strictness::Assuming)
      return std::nullopt;
    b.negative = r.low < 0;
    return b;
  }

  bool plan(const PassContext& c, NodeId n) {
    modulo_ = std::ranges::any_of(run_, &Lookup::negative);
    if (modulo_ && c.model.opset(n) < 10) return false;
    return sizes_fit(c) && find_form(c, n) && find_target(c, n) && fewer_nodes(c, n) && readable(c);
  }

  // Checked last, because it may read the tables from disk.
  bool readable(const PassContext& c) const {
    return std::ranges::all_of(run_, [&](const Lookup& b) {
      const Tensor& t = c.model.tensor(b.tensor);
      const auto raw = c.model.raw(b.tensor);
      return raw && raw->size() == raw_size(t.dtype, static_cast<std::uint64_t>(t.elements));
    });
  }

  bool sizes_fit(const PassContext& c) {
    const Model& m = c.model;
    std::uint64_t bytes = 0;
    std::int64_t rows = 0;
    index_type_ = c.infer.dtype(run_[0].index);
    const std::int64_t most = index_type_ == DType::Int32 ? std::int64_t{0x7fffffff} : Range::kMax;
    for (const Lookup& b : run_) {
      const Tensor& t = m.tensor(b.tensor);
      const auto size = raw_size(t.dtype, static_cast<std::uint64_t>(t.elements))
                            .value_or(std::numeric_limits<std::uint64_t>::max());
      if (size > kMostBytes - bytes || b.rows > most - rows) return false;
      rows += b.rows;
      bytes += size;
    }
    return true;
  }

  // Finds the position `place_` such that the first `place_` dims of an index have as many elements as the
  // Concat's dims before its axis; the form in which the indices are joined there; and the dims of the joint
  // Gather's result.
  bool find_form(const PassContext& c, NodeId n) {
    Model& m = c.model;
    const std::span<const DimId> index = c.infer.dims(run_[0].index), part = c.infer.dims(m.input(n, first_));
    const DimId outer = m.dims.product(part.first(axis_));
    const DimId count = m.dims.constant(static_cast<std::int64_t>(run_.size()));
    std::vector<std::size_t> places;
    for (std::size_t j = 0; j <= index.size(); ++j)
      if (m.dims.equal(m.dims.product(index.first(j)), outer) == Tri::Yes) places.push_back(j);
    if (places.empty()) return false;
    joined_.assign(index.begin(), index.end());
    for (const std::size_t j : places)
      if (find_selection(c, j)) {
        place_ = j;
        joined_.insert(joined_.begin() + static_cast<std::ptrdiff_t>(j), count);
        return add_row_dims(m);
      }
    for (const std::size_t j : places)
      if (j < index.size() && m.dims.value(index[j]).value_or(0) > 0) {
        form_ = IndexForm::Direct;
        place_ = j;
        repeat_ = *m.dims.value(index[j]);
        joined_[j] = m.dims.mul(index[j], count);
        return repeat_ <= kMostRepeats && add_row_dims(m);
      }
    const DimId elements = m.dims.product(index);
    if (!elements) return false;
    place_ = places.front();
    if (place_ == 0) {
      form_ = IndexForm::Rows;
      joined_ = {count, elements};
    } else if (places.back() == index.size()) {
      form_ = IndexForm::Columns;
      joined_ = {elements, count};
    } else {
      return false;
    }
    return add_row_dims(m);
  }

  bool add_row_dims(Model& m) {
    const Tensor& t = m.tensor(run_[0].tensor);
    for (std::size_t i = 1; i < t.dims.size(); ++i) joined_.push_back(m.dims.constant(t.dims[i]));
    return true;
  }

  // Returns true if all indices are slices x[..., k, ...] of one tensor along axis `place`.
  bool find_selection(const PassContext& c, std::size_t place) {
    const Model& m = c.model;
    selected_.clear();
    source_ = {};
    std::int64_t extent = -1;
    bool in_order = true;
    for (const Lookup& b : run_) {
      const NodeId def = m.value(b.index).def;
      if (!def || m.kind(def) != OpKind::Gather || !attributes_known(m, def)) return false;
      const ValueId x = m.input(def, 0), which = m.input(def, 1);
      const TensorId t = which ? m.constant_of(which) : TensorId{};
      const auto number = t && m.tensor(t).dims.empty() ? int_elements(m, t) : std::nullopt;
      const auto axis = int_attr(m, def, names::axis);
      if (!x || !number || !axis || !c.infer.has_rank(x) || (source_ && source_ != x)) return false;
      const std::span<const DimId> d = c.infer.dims(x);
      if (normalize_axis(*axis, d.size()) != static_cast<std::int64_t>(place)) return false;
      source_ = x;
      extent = m.dims.value(d[place]).value_or(-1);
      const std::int64_t k = number->front() < 0 && extent >= 0 ? number->front() + extent : number->front();
      in_order &= k == static_cast<std::int64_t>(selected_.size());
      selected_.push_back(k);
    }
    form_ =
        in_order && extent == static_cast<std::int64_t>(run_.size()) ? IndexForm::Whole : IndexForm::Select;
    return true;
  }

  // Computes the shape of the run as a constant of numbers, 0 (copy) and -1; see constant-shapes.
  bool find_target(const PassContext& c, NodeId n) {
    Model& m = c.model;
    const std::span<const DimId> part = c.infer.dims(m.input(n, first_));
    std::vector<DimId> wanted(part.begin(), part.end());
    wanted[axis_] = m.dims.mul(wanted[axis_], m.dims.constant(static_cast<std::int64_t>(run_.size())));
    for (const DimId d : wanted)
      if (!d) return false;
    const auto same = [&m](DimId a, DimId b) { return m.dims.equal(a, b) == Tri::Yes; };
    auto numbers = reshape_target(m.dims, joined_, wanted, same);
    if (!numbers || !numbers->defined()) return false;
    target_ = std::move(numbers->numbers);
    reshape_ = !std::ranges::equal(joined_, wanted, same);
    return true;
  }

  bool fewer_nodes(const PassContext& c, NodeId n) const {
    const Model& m = c.model;
    const bool whole = run_.size() == m.input_count(n);
    std::size_t before = run_.size() + (whole ? 1 : 0), after = 2;  // Gathers and Concat; Add and Gather
    for (const Lookup& b : run_) {
      before += b.deformed;
      const bool slice = form_ == IndexForm::Whole || form_ == IndexForm::Select;
      before += slice && m.use_count(b.index) == 1;
    }
    after += modulo_;
    after += form_ == IndexForm::Whole     ? 0
             : form_ == IndexForm::Columns ? 3
             : form_ == IndexForm::Rows    ? 2
                                           : 1;
    after += reshape_;
    return after < before;
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
    const std::size_t place = form_ == IndexForm::Rows ? 0 : form_ == IndexForm::Columns ? 1 : place_;
    std::vector<std::int64_t> dims(joined_.size() - row_rank - place, 1);
    dims[0] = static_cast<std::int64_t>(numbers.size());
    const DType type = index_type_;
    std::string raw;
    for (const std::int64_t x : numbers)
      for (int byte = 0; byte < bits_of(type) / 8; ++byte)
        raw.push_back(static_cast<char>(static_cast<std::uint64_t>(x) >> (8 * byte) & 0xff));
    return m.make_tensor(type, dims, std::move(raw));
  }

  TensorId join_tables(Model& m) const {
    std::string raw;
    std::vector<std::int64_t> dims = m.tensor(run_[0].tensor).dims;
    dims[0] = 0;
    for (const Lookup& b : run_) {
      raw += *m.raw(b.tensor);
      dims[0] += b.rows;
    }
    return m.make_tensor(m.tensor(run_[0].tensor).dtype, dims, std::move(raw));
  }

  static constexpr std::int64_t kMostRepeats =
      4096;  // of an offset: indices are stored once, but an offset per index

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
    .summary = "look rows of several constant tables up in one table",
    .exact = Exact::Yes,
    .level = 1,
    .make = make_pass<RulePass<MergeTables>>};

}  // namespace graphopt
