// The working form of one graph while moves are tried: nodes, values and uses in dense arrays, with an undo
// log.
//
// Problem: whether a move pays is known only after the clean-up that it makes possible (two Reshapes become
// adjacent and cancel), so a candidate has to be carried out before it can be priced. Doing so in the model
// would leave ids, names and tensors of thousands of refused candidates in it, and would infer types again
// each time.
// Method: the draft holds what moves need, no more: the class of each node, operands, results, and shapes
// that follow the moves by construction. Every change is logged; roll_back() undoes all since the last
// commit(), exactly, the order of use lists and of nodes included, at the cost of what was changed.
// write_draft() (draft_write.h) writes the kept changes to the model. The list of nodes is in canonical order
// (depth, structural colour), not in that of the file, and decisions follow the list. Ids follow the file,
// since neighbours are near each other there; no decision may depend on ids.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "draft/search_limits.h"
#include "draft/shapes.h"
#include "ir/model.h"
#include "ops/facts.h"
#include "support/intern_index.h"
#include "support/large_array.h"

namespace graphopt {

using DNode = Id<struct DraftNodeTag>;    // a node of a draft
using DValue = Id<struct DraftValueTag>;  // a value of a draft
using DUse = Id<struct DraftUseTag>;
using ListId = Id<struct DraftListTag>;  // an interned list of integers (a Transpose's perm)

enum class NodeClass : std::uint8_t {
  Elementwise,
  Deformation,  // Reshape, Squeeze, Unsqueeze, Flatten: its target is the shape of its result
  Transpose,    // `list` is the perm
  Concat,       // `axis`, counted from the start
  Split,   // `axis`; `list` holds the lengths if they have to be written anew, else they stay as they were
  Gather,  // of one element of an axis, by a constant scalar: `axis`, `begin`
  Slice,   // of static bounds on one axis, of step 1 or of one element, from opset 10 on: `axis`, `begin`
  Other,
};

// One line of the cache: large graphs are bound by memory.
struct alignas(64) DraftNode {
  NodeClass node_class = NodeClass::Other;
  AxisWork work = AxisWork::None;  // works along axes: `list` holds those of operand 0 (axis_work.h)
  bool alive : 1 = true;
  bool made : 1 = false;               // not a node of the model: `origin` only gives operator and attributes
  bool changed : 1 = false;            // operands, results or axis differ from the model's
  bool heavy : 1 = false;              // Conv, MatMul, Gemm ...: runtimes execute an epilogue with it
  bool anchor : 1 = false;             // opens a region (regions/regions.h)
  bool shape_only : 1 = false;         // a shape computation: costs nothing, is never moved
  bool reads_shapes : 1 = false;       // one of its operands is a shape
  bool chooses_by_layout : 1 = false;  // elementwise, with kernels that choose their loop by the layout of
                                       // the operands (moves/conditions.h)
  bool per_axis : 1 = false;           // elementwise, with vectors along `axis` as operands (Q/DQ per axis)
  bool absorbed : 1 = false;           // elementwise, in the epilogue of a heavy anchor (cost.h)
  bool drops : 1 = false;              // the axes that it works along are not in its result
  bool axes_rewritten : 1 = false;     // works along the axes of `list` now, no longer along those that its
                                       // attributes and operands in the model name
  NodeId origin;
  std::uint32_t first_in = 0, in_count = 0;  // uses; those beyond real_in are captures by the node's bodies
  std::uint32_t real_in = 0;
  std::uint32_t first_out = 0, out_count = 0;
  std::uint32_t axis = 0;
  std::int64_t begin = 0;  // the first element that a Slice or Gather takes of its axis; the block size of a
                           // DepthToSpace, and minus that of a SpaceToDepth
  ListId list;
  DNode region;           // of an elementwise node: the anchor of its region; none: in no region
  DNode prev, next;       // the list of nodes, in topological order
  std::uint64_t key = 0;  // ascending along the list
};
static_assert(sizeof(DraftNode) == 64);

struct DraftValue {
  ValueId origin;  // the model's value; none for a new one
  ValueId like;    // of a new one: the model's value that it replaces, and is named after, if there is one
  bool retyped = false;  // the model's value `like` itself, with another shape and another name
  DNode def;
  std::uint32_t slot = 0;
  ShapeId shape;  // none: unknown
  DType dtype = DType::Undefined;
  TensorId tensor;  // of a constant; its dims may differ from `shape`, its bytes do not
  // A graph output, captured, pinned, of an outer graph, or an operand that must stay computed: it keeps its
  // name and its content.
  bool live_out = false;
  DUse first_use, last_use;
  std::uint32_t use_count = 0;
};

struct DraftUse {
  DValue value;
  DNode user;
  DUse prev, next;
};

class Draft {
 public:
  Draft(Model& model, GraphId graph) : model_(model), graph_(graph), shapes_(model.dims) {}
  // Uses the memory of another draft, whose content is lost: the system would have to clear new pages.
  Draft(Model& model, GraphId graph, Draft&& spare);

  Model& model() const { return model_; }
  // The graph is in a function's body: shapes are facts about its present calls only, so shape operands of
  // the body are used again where they fit.
  bool in_function = false;

  GraphId graph() const { return graph_; }
  ShapeTable& shapes() { return shapes_; }
  const ShapeTable& shapes() const { return shapes_; }

  // --- reading ---------------------------------------------------------------------------------------------
  std::size_t node_count() const { return nodes_.size(); }
  std::size_t value_count() const { return values_.size(); }
  const DraftNode& operator[](DNode n) const { return nodes_[n.index()]; }
  const DraftValue& operator[](DValue v) const { return values_[v.index()]; }
  DNode first() const { return first_; }
  DNode last() const { return last_; }
  // Returns whether n is valid, alive, of this class and no shape computation.
  bool is(DNode n, NodeClass node_class) const {
    return n && nodes_[n.index()].alive && nodes_[n.index()].node_class == node_class &&
           !nodes_[n.index()].shape_only;
  }
  bool before(DNode a, DNode b) const { return nodes_[a.index()].key < nodes_[b.index()].key; }
  DValue in(DNode n, std::size_t slot) const {
    const DraftNode& node = nodes_[n.index()];
    return slot < node.in_count ? uses_[node.first_in + slot].value : DValue{};
  }
  DValue out(DNode n, std::size_t slot = 0) const {
    const DraftNode& node = nodes_[n.index()];
    return slot < node.out_count ? outputs_[node.first_out + slot] : DValue{};
  }
  std::span<const DValue> outs(DNode n) const {
    return std::span<const DValue>(outputs_).subspan(nodes_[n.index()].first_out,
                                                     nodes_[n.index()].out_count);
  }
  std::vector<DValue> ins(DNode n) const;
  // for (DUse u = d.first_use(v); u; u = d.next_use(u)) { d.user(u), d.slot(u) }
  DUse first_use(DValue v) const { return values_[v.index()].first_use; }
  DUse next_use(DUse u) const { return uses_[u.index()].next; }
  DNode user(DUse u) const { return uses_[u.index()].user; }
  std::uint32_t slot(DUse u) const { return u.index() - nodes_[uses_[u.index()].user.index()].first_in; }
  bool constant(DValue v) const { return v && values_[v.index()].tensor.valid(); }
  ShapeId shape(DValue v) const { return values_[v.index()].shape; }
  DNode def(DValue v) const { return values_[v.index()].def; }
  // Returns the user if v has exactly one use and is not live_out; else none.
  DNode single_user(DValue v) const;
  bool single_use(DValue v) const {
    return !values_[v.index()].live_out && values_[v.index()].use_count == 1;
  }
  std::span<const std::int64_t> list(ListId l) const { return lists_[l.index()]; }

  // --- limits ----------------------------------------------------------------------------------------------
  // Counts that a limit decided something. Neither logged nor undone: a refused candidate counts, too.
  void hit_limit(SearchLimit limit) const { limit_hits_.add(limit); }
  LimitHits& limit_hits() const { return limit_hits_; }

  // --- marks, for one walk at a time -----------------------------------------------------------------------
  void clear_marks() const {
    marks_.resize(nodes_.size());
    ++mark_;
  }
  bool marked(DNode n) const { return n.index() < marks_.size() && marks_[n.index()] == mark_; }
  // Marks n; returns false if it was marked already.
  bool mark(DNode n) const {
    if (marked(n)) return false;
    marks_[n.index()] = mark_;
    return true;
  }

  // --- building (not logged) -------------------------------------------------------------------------------
  void reserve(std::size_t nodes);
  DValue put_value(const DraftValue& v);
  DNode put_node(const DraftNode& node, std::span<const DValue> in, std::span<const DValue> out);
  // Sets the order of the nodes, given by their indices, and with it that of the uses of each value. Call it
  // once, after the last put_node().
  void set_order(std::span<const std::uint32_t> order);
  ListId intern_list(std::vector<std::int64_t> list);
  void set_shape_only(DNode n) { nodes_[n.index()].shape_only = true; }

  // --- changing (logged from the first commit() on) --------------------------------------------------------
  DValue new_value(ShapeId shape, DType dtype, ValueId like = {});
  DValue new_constant(TensorId t, ShapeId shape, DType dtype);
  // Makes a node that the model does not have, right before `before` in the order (none: at the end).
  DNode new_node(NodeClass node_class, NodeId origin, std::span<const DValue> in, std::span<const DValue> out,
                 DNode before);
  // The same for a node with the operator and attributes of `like`.
  DNode new_elementwise(DNode like, std::span<const DValue> in, DValue out, DNode before);
  void set_axis(DNode n, std::uint32_t axis);
  void set_list(DNode n, ListId list);
  void set_axes_rewritten(DNode n);
  void set_in(DNode n, std::size_t slot, DValue v);
  void set_ins(DNode n, std::span<const DValue> in);
  void set_outs(DNode n, std::span<const DValue> out);
  // Gives v another shape, and with it another name. Precondition: nothing needs the old shape or name.
  void retype(DValue v, ShapeId shape);
  // Makes every use of `from` read `to`.
  void replace_uses(DValue from, DValue to);
  void erase(DNode n);  // precondition: its results have no uses, or are defined by another node by now
  void move_before(DNode n, DNode before);
  void set_region(DNode n, DNode region);
  void set_absorbed(DNode n, bool absorbed);

  bool unchanged() const { return log_.empty(); }
  void commit() {
    log_.clear();
    logs_ = true;
  }
  void roll_back();
  // Nodes that changed, or whose neighbours did, since clear_touched(); each once.
  std::span<const DNode> touched() const { return touched_; }
  void touch(DNode n);
  // Takes the next node from the queue of touched nodes, or none if the queue is empty. touch() puts a node
  // at the end of the queue, unless it is in the queue already.
  DNode next_pending();
  void clear_touched();

 private:
  struct Change {
    enum class What : std::uint8_t {
      Value,
      Node,
      Axis,
      List,
      Use,
      Ins,
      Outs,
      Erase,
      Move,
      Region,
      Absorbed,
      AxesRewritten,
      Changed,
      Def,
      Shape
    };
    What what;
    std::uint32_t a, b, c, d;
  };
  DNode append(DraftNode node, std::span<const DValue> in, std::span<const DValue> out);
  void link_use(DUse u, DValue v);
  void unlink_use(DUse u);
  void relink_use(DUse u, DValue v);  // undoes unlink_use, in reverse order
  void link_node(DNode n, DNode before);
  void unlink_node(DNode n);
  void renumber(DNode n);
  void mark_changed(DNode n);
  void define(DValue v, DNode n, std::uint32_t slot);
  void touch_value(DValue v);
  void log(const Change& c) {
    if (logs_) log_.push_back(c);
  }
  void undo(const Change& c);

  Model& model_;
  GraphId graph_;
  ShapeTable shapes_;
  LargeArray<DraftNode> nodes_;
  LargeArray<DraftValue> values_;
  LargeArray<DraftUse> uses_;
  LargeArray<DValue> outputs_;
  std::vector<std::vector<std::int64_t>> lists_;
  InternIndex list_index_;
  DNode first_, last_;
  LargeArray<Change> log_;
  bool logs_ = false;
  std::vector<DNode> touched_, pending_;
  std::size_t next_pending_ = 0;           // into pending_
  std::vector<std::uint8_t> is_pending_;   // by node
  std::vector<std::uint32_t> touched_at_;  // by node: the epoch in which it was touched
  std::uint32_t epoch_ = 1;
  mutable LimitHits limit_hits_;
  mutable std::vector<std::uint32_t> marks_;  // by node; scratch
  mutable std::uint32_t mark_ = 0;
};

}  // namespace graphopt
