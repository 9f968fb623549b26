// Problem: the same elementwise operators stand downstream of all parts of two or more Splits that cut equal
// shapes at the same places: the gates of recurrent cells add the parts of two products, x * w and h * u. A
// walk along the branches of one Split (merge_split.cpp) ends there, since each operator has a part of
// another Split as its operand.
// Method: a walk goes downstream in lockstep over all parts at once. A *row* is one value per part: first the
// results of the Split that it starts from, then those of equal elementwise nodes, one per part, that read
// values of rows. Where such nodes read the results of a further Split with the same axis and proven equal
// shapes, at the places of the parts, these results are a row, too. Other operands must be common
// (merge_operands.h). One node per row of nodes then reads the whole operands of the Splits; a row that
// something else reads is its *exit*: a new Split makes its values, which keep their names. A Split without
// other readers is removed; one that has some stays for them.
// Exact: as merge_split. No cycle: each replaced node depends on every Split and every common operand of its
// row, so none of these depends on one of the nodes.
// Bytes: the exits must not move more bits per element than the removed Splits did. While they do, the last
// row of nodes is given up.
// Lowers C' by n - 1 per row of nodes, for n parts, and by 1 if fewer exits are made than Splits removed.
// Ends: a walk visits each use of a row once, and at most SearchLimits::branch_nodes uses and operands per
// part.
//
//   a, b = Split <axis = 1> (x, n)          z = Add (x, y)
//   c, d = Split <axis = 1> (y, n)          u, v = Split <axis = 1> (z, n)
//   u = Add (a, c)                    =>
//   v = Add (b, d)
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "draft/data_movement.h"
#include "hoist/moves/conditions.h"
#include "hoist/moves/merge_operands.h"
#include "ops/node_facts.h"

namespace graphopt {
namespace {

enum class From : std::uint8_t { Absent, Row, Outside };

// One operand position of a row of nodes.
struct RowOperand {
  From from = From::Absent;
  std::size_t row = 0;
  DValue value;  // Outside: the common operand
};

struct PartRow {
  std::vector<DValue> values;  // one per part
  DNode split;                 // a row of parts: their Split; else none
  std::vector<DNode> nodes;    // a row of nodes
  std::vector<RowOperand> in;
  bool read = false;     // a row of nodes reads it
  bool outside = false;  // something else does
  DValue made;           // the whole value
  DNode maker;           // the node that makes it
};

class PairWalk {
 public:
  PairWalk(Draft& d, DNode split, const MoveOptions& o)
      : d_(d),
        options_(o),
        axis_(d[split].axis),
        whole_(d.shape(d.in(split, 0))),
        parts_(d.outs(split).begin(), d.outs(split).end()) {
    add_parts(split);
  }

  // Returns whether equal nodes read parts of two Splits at least, and the exits do not move more than the
  // Splits did.
  bool find(MoveRefusal& why) {
    d_.clear_marks();
    for (std::size_t r = 0; r < rows_.size(); ++r)
      for (const DNode n : readers_of(rows_[r].values[0]))
        if (!d_.marked(n)) find_row(n, why);
    if (std::ranges::count_if(rows_, [](const PartRow& r) { return r.split && r.read; }) < 2) return false;
    find_exits();
    while (more_bits_ > 0 || stuck_ > 0) {
      why = stuck_ > 0 ? MoveRefusal::Type : MoveRefusal::Bytes;
      give_up_last();
    }
    return std::ranges::any_of(rows_, [](const PartRow& r) { return !r.nodes.empty(); });
  }

  bool build(MoveRefusal& why) {
    for (PartRow& row : rows_) {
      if (row.split) {
        row.made = d_.in(row.split, 0);
        row.maker = row.split;
        continue;
      }
      std::vector<DValue> in;
      DNode last;  // a replaced node comes after all that its row needs
      for (const RowOperand& o : row.in) {
        in.push_back(o.from == From::Row ? rows_[o.row].made : o.value);
        const DNode needs = o.from == From::Row                ? rows_[o.row].maker
                            : o.value && !d_.constant(o.value) ? d_.def(o.value)
                                                               : DNode{};
        if (needs && (!last || d_.before(last, needs))) last = needs;
      }
      row.made = d_.new_value(whole_, d_[row.values[0]].dtype);
      row.maker = d_.new_elementwise(row.nodes[0], in, row.made, d_[last].next);
    }
    for (const PartRow& row : rows_)
      if (!row.split && row.outside && !make_exit(row)) {
        why = MoveRefusal::ShapeUnknown;
        return false;
      }
    for (std::size_t r = rows_.size(); r-- > 0;) {
      for (const DNode n : rows_[r].nodes) d_.erase(n);
      if (dies(rows_[r]) && d_[rows_[r].split].alive && d_.in(rows_[r].split, 0) == rows_[r].made)
        d_.erase(rows_[r].split);
    }
    return true;
  }

 private:
  // Adds the results of a Split as a row.
  std::size_t add_parts(DNode split) {
    PartRow row;
    row.values.assign(d_.outs(split).begin(), d_.outs(split).end());
    row.split = split;
    return add_row(std::move(row));
  }
  std::size_t add_row(PartRow row) {
    row_at_[row.values[0].index()] = rows_.size();
    rows_.push_back(std::move(row));
    return rows_.size() - 1;
  }

  // Returns the row whose first value this is. A Split of equal parts becomes a row.
  std::optional<std::size_t> row_of(DValue v) {
    if (const auto it = row_at_.find(v.index()); it != row_at_.end()) return it->second;
    const DNode q = d_.def(v);
    if (!d_.is(q, NodeClass::Split) || d_[v].slot != 0 || d_[q].axis != axis_ ||
        d_.shape(d_.in(q, 0)) != whole_ || d_[q].out_count != parts_.size())
      return std::nullopt;
    for (std::uint32_t i = 0; i < parts_.size(); ++i)
      if (!d_.out(q, i) || d_.shape(d_.out(q, i)) != d_.shape(parts_[i])) return std::nullopt;
    return add_parts(q);
  }

  std::vector<DNode> readers_of(DValue v) {
    std::vector<DNode> out;
    for (DUse u = d_.first_use(v); u; u = d_.next_use(u)) {
      if (!visit(visits_, 1)) break;
      const DNode n = d_.user(u);
      if (d_.is(n, NodeClass::Elementwise) && std::ranges::find(out, n) == out.end()) out.push_back(n);
    }
    return out;
  }

  // Counts a visited use or operand. Returns false if there were too many on so many parts.
  bool visit(std::size_t& visits, std::size_t parts) {
    if (visits++ < kSearchLimits.branch_nodes * parts) return true;
    d_.hit_limit(SearchLimit::BranchNodes);
    return false;
  }

  // Makes a row of n, which reads the first value of a row, and of equal nodes on the other parts, if there
  // are such nodes and one can replace them.
  void find_row(DNode first, MoveRefusal& why) {
    PartRow row;
    std::size_t rows = 0;
    for (std::uint32_t slot = 0; slot < d_[first].in_count; ++slot) {
      if (slot > 0 && !visit(visits_, 1)) return;
      RowOperand& in = row.in.emplace_back();
      const DValue v = d_.in(first, slot);
      if (!v) continue;
      in.from = From::Outside;
      if (operand_kind(d_.model(), d_[first].origin, slot) == Operand::Fixed) continue;
      if (const auto r = row_of(v)) {
        in.from = From::Row;
        in.row = *r;
        ++rows;
      }
    }
    if (rows == 0) return;
    std::vector<bool> swapped{false};
    row.nodes.push_back(first);
    row.values.push_back(d_.out(first));
    for (std::uint32_t i = 1; i < parts_.size(); ++i) {
      bool swap = false;
      const DNode n = matching(row, i, swap);
      if (!n) return;
      row.nodes.push_back(n);
      row.values.push_back(d_.out(n));
      swapped.push_back(swap);
    }

    MoveRefusal of_one_split = MoveRefusal::None;  // which merge_split reports
    if (!may_merge(row, swapped, rows > 1 ? why : of_one_split)) return;
    for (const DNode n : row.nodes) d_.mark(n);
    for (const RowOperand& in : row.in)
      if (in.from == From::Row) rows_[in.row].read = true;
    add_row(std::move(row));
  }

  // Returns the node on part i that matches the first node of the row, one with equal common operands if
  // there is one. `swap`: its first two operands are swapped.
  DNode matching(const PartRow& row, std::uint32_t i, bool& swap) {
    const DNode first = row.nodes[0];
    DValue via;
    for (const RowOperand& in : row.in)
      if (in.from == From::Row) {
        const DValue v = rows_[in.row].values[i];
        if (!via || d_[v].use_count < d_[via].use_count) via = v;
      }
    DNode found;
    for (DUse u = d_.first_use(via); u; u = d_.next_use(u)) {
      if (!visit(visits_others_, parts_.size())) return {};
      const DNode n = d_.user(u);
      if (!d_.is(n, NodeClass::Elementwise) || d_.marked(n) || d_[n].in_count != d_[first].in_count ||
          d_.model().node(d_[n].origin).op != d_.model().node(d_[first].origin).op)
        continue;
      for (const bool other : {false, true}) {
        if (other && !facts_of(d_.model(), d_[first].origin).commutative) continue;
        bool equal = true;
        if (!reads_rows(row, n, i, other, equal) || (found && !equal)) continue;
        found = n;
        swap = other;
        if (equal) return found;
      }
    }
    return found;
  }

  static std::uint32_t slot_of(std::uint32_t slot, bool swap) { return swap && slot < 2 ? 1 - slot : slot; }

  // Returns whether n reads value i of the rows that the row reads. `equal`: its other operands are those of
  // the row's first node.
  bool reads_rows(const PartRow& row, DNode n, std::uint32_t i, bool swap, bool& equal) const {
    for (std::uint32_t slot = 0; slot < row.in.size(); ++slot) {
      const DValue v = d_.in(n, slot_of(slot, swap)), w = d_.in(row.nodes[0], slot);
      if (row.in[slot].from == From::Row && v != rows_[row.in[slot].row].values[i]) return false;
      if (row.in[slot].from != From::Row) equal &= v == w || equal_constants(d_, v, w);
    }
    return true;
  }

  bool may_merge(PartRow& row, const std::vector<bool>& swapped, MoveRefusal& why) {
    if (!same_elementwise(d_, row.nodes, whole_, options_, why)) return false;
    for (std::size_t i = 0; i < row.nodes.size(); ++i) {
      if (d_.shape(row.values[i]) != d_.shape(parts_[i])) return false;
      if (d_[row.nodes[i]].per_axis && d_[row.nodes[i]].axis == axis_) {
        why = MoveRefusal::AxisCut;
        return false;
      }
    }
    for (std::uint32_t slot = 0; slot < row.in.size(); ++slot) {
      if (row.in[slot].from != From::Outside) continue;
      std::vector<Branch> branches;
      for (std::size_t i = 0; i < row.nodes.size(); ++i) {
        const ShapeId part = d_.shape(parts_[i]);
        branches.push_back({row.nodes[i], d_.in(row.nodes[i], slot_of(slot, swapped[i])), part, part});
      }
      row.in[slot].value = common_operand(d_, branches, slot, axis_, row.nodes[0], why);

      if (!row.in[slot].value) return false;
    }
    for (const RowOperand& in : row.in)
      if (in.from == From::Outside) common_.insert(in.value.index());
    return true;
  }

  // Returns whether the row is the parts of a Split that is removed.
  static bool dies(const PartRow& row) { return row.split && row.read && !row.outside; }

  void find_exits() {
    for (PartRow& row : rows_)
      if (std::ranges::any_of(row.values, [this](DValue v) { return read_outside(v); })) leave(row);
    for (const PartRow& row : rows_)
      if (dies(row)) more_bits_ -= bits(row);
  }
  bool read_outside(DValue v) const {
    if (d_[v].live_out || common_.contains(v.index())) return true;
    for (DUse u = d_.first_use(v); u; u = d_.next_use(u))
      if (!d_.marked(d_.user(u))) return true;
    return false;
  }
  int bits(const PartRow& row) const { return bits_of(d_[row.values[0]].dtype); }
  // Notes that something outside reads the row: a row of nodes becomes an exit.
  void leave(PartRow& row) {
    row.outside = true;
    if (row.split) return;
    more_bits_ += bits(row);
    if (!type_can_move(d_, d_[row.values[0]].dtype)) ++stuck_;
  }

  // Gives up the last row of nodes, so that its nodes stay. Precondition: there is one.
  void give_up_last() {
    while (rows_.back().split) {
      if (dies(rows_.back())) more_bits_ += bits(rows_.back());
      rows_.pop_back();
    }
    const PartRow row = std::move(rows_.back());
    rows_.pop_back();
    more_bits_ -= bits(row);
    if (!type_can_move(d_, d_[row.values[0]].dtype)) --stuck_;
    for (const RowOperand& in : row.in) {
      if (in.from != From::Row || rows_[in.row].outside) continue;
      if (dies(rows_[in.row])) more_bits_ += bits(rows_[in.row]);
      leave(rows_[in.row]);
    }
  }

  // Makes the Split of an exit. Where the lengths are no numbers, a Split that is removed takes its place:
  // one upstream of the exit, which has the lengths.
  bool make_exit(const PartRow& row) {
    const DNode next = d_[row.maker].next;
    const bool numbers = std::ranges::all_of(parts_, [this](DValue v) {
      return d_.shapes().number(d_.shapes().dims(d_.shape(v))[axis_]).has_value();
    });
    if (numbers) {
      const DValue in[] = {row.made};
      const DNode made = d_.new_node(NodeClass::Split, {}, in, row.values, next);
      d_.set_axis(made, axis_);
      set_lengths(d_, made);
      return true;
    }
    for (const PartRow& source : rows_) {
      if (!dies(source) || d_.in(source.split, 0) != source.made || !d_.before(source.split, row.maker))
        continue;
      d_.move_before(source.split, next);
      d_.set_in(source.split, 0, row.made);
      d_.set_outs(source.split, row.values);
      return true;
    }
    return false;
  }

  Draft& d_;
  const MoveOptions& options_;
  const std::uint32_t axis_;
  const ShapeId whole_;
  const std::vector<DValue> parts_;
  std::vector<PartRow> rows_;
  std::map<std::size_t, std::size_t> row_at_;   // by the first value of each row
  std::set<std::size_t> common_;                // common operands
  std::size_t visits_ = 0, visits_others_ = 0;  // on the first part; on the others
  std::int64_t more_bits_ = 0;  // bits per element that exits move, less those of Splits that are removed
  std::size_t stuck_ = 0;       // exits of a type that no Split can move
};

}  // namespace

bool merge_pairs(Draft& d, DNode split, const MoveOptions& o, MoveRefusal& why) {
  if (d[split].out_count < 2 || !d.shape(d.in(split, 0))) return false;
  for (const DValue v : d.outs(split))
    if (!v || !d.shape(v)) return false;
  PairWalk walk(d, split, o);
  return walk.find(why) && walk.build(why);
}

}  // namespace graphopt
