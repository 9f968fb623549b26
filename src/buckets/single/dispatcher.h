// Which bucket a run takes, worked out from the shapes of its inputs, as nodes.
//
// Problem: the proof holds for shapes that were promised: each symbol in its range and the same wherever it
// occurs, "past + seq" the sum of both, "where" true. A caller may come with any others. Method: the shapes
// of all inputs are joined into one list, and a symbol is picked from the first place where it stands alone;
// one that stands nowhere alone is solved for ("2*n" / 2; "floor((h)/(2))" gives the least h). From then on
// all is done for all symbols at once: few nodes, however many inputs a model has. Each statement about a dim
// is then checked with the symbols' values, so that what was solved needs no proof. Symbols outside their
// ranges count as their least value meanwhile, so that nothing is divided by 0. The bucket is looked up in a
// table (bucket_cells.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "buckets/formula_writer.h"
#include "buckets/single/bucket_cells.h"
#include "buckets/single/dispatch_plan.h"
#include "rewrite/emitter.h"

namespace graphopt {

class Dispatcher {
 public:
  // `inputs`: the values of plan.inputs in the main graph, into which nodes are written. The pool has the
  // plan's ids, and grows.
  Dispatcher(const DispatchPlan& plan, DimPool& pool, Emitter& out, std::vector<ValueId> inputs);

  // Returns what cannot be written, as a text.
  std::optional<std::string> run();

  ValueId is_covered() const { return covered_; }  // bool, rank 0: the shape has a bucket
  ValueId bucket() const { return bucket_; }       // its number: int64, rank 0; none where there is just one
  ValueId symbols() const { return symbols_; }     // int64: the plan's symbols, then the others
  // Returns the position there of a symbol in its canonical form.
  std::optional<std::int64_t> position_of(DimId symbol) const;
  // The Shape of an input of the plan.
  ValueId shape(std::size_t input) const { return shapes_[input]; }

 private:
  struct Dim {
    DimId extent;               // canonical
    std::int64_t position = 0;  // in the list of all dims
    bool is_source = false;     // of a symbol that stands alone here
  };
  void join_shapes();
  std::optional<std::string> find_symbols();
  DimId solved(DimId extent, DimId symbol, DimId seen);
  void find_ranges();
  bool check_dims();
  bool check_filter();
  bool check_multiples();
  void check_fixed();
  void find_bucket();
  ValueId joined_conditions();
  // The symbol in its range.
  ValueId safe(std::size_t symbol);
  void require_equal(ValueId a, ValueId b) {
    conditions_.push_back(out_.node(OpKind::Equal, {a, b}, "equal"));
  }

  const DispatchPlan& plan_;
  DimPool& pool_;
  Emitter& out_;
  std::vector<ValueId> inputs_, shapes_;
  std::vector<Dim> dims_;
  ValueId all_dims_, symbols_, safe_symbols_, covered_, bucket_;
  std::vector<DimId> ids_;           // of the plan's symbols, then the others; canonical
  std::vector<ValueId> conditions_;  // lists of bool
  FormulaWriter formulas_;           // over symbols in their ranges
};

}  // namespace graphopt
