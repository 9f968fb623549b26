// Formulas over extents (ir/dim.h) as nodes on int64.
//
// A formula is a polynomial over symbols and calls of floor-division, least and greatest. Each is written
// once. What is added comes first, so that a sum never begins with a difference. Sums and products wrap;
// where the result fits in 64 bits, it is right whatever wrapped on the way. Operands of calls must fit. The
// operators are those whose form is the same from opset 11 on; Min and Max take integers from 12 on, and Less
// and Where say the same before.
//
//   (h + 1) // 2    Div (Add (h, 1), 2)
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "ir/dim_terms.h"
#include "rewrite/emitter.h"

namespace graphopt {

class FormulaWriter {
 public:
  // Of all values, those of symbols included. Lists of one entry can be joined by Concat.
  enum class Form : std::uint8_t { Number, List };

  // `symbol` returns the value of a symbol, none for one that it does not know; it is asked once.
  FormulaWriter(Emitter& out, DimPool& pool, Form form, std::function<ValueId(DimId)> symbol)
      : out_(out), pool_(pool), form_(form), symbol_(std::move(symbol)) {}

  // Returns none for a formula with another symbol, and where an operand of a call may leave 64 bits. Calls
  // nest as deep as the pool allows.
  ValueId value(DimId d);
  // Returns floor(a / b) in place of a wrong number or a trap also where b is less than 1 or a negative.
  ValueId floor_div(ValueId a, ValueId b, bool nonnegative, bool positive);
  // By canonical id: all formulas that were written.
  const std::map<DimId, ValueId>& written() const { return known_; }

 private:
  ValueId number(std::int64_t v) { return form_ == Form::List ? out_.numbers({v}) : out_.number(v); }
  ValueId least_or_greatest(bool least, ValueId a, ValueId b);
  ValueId factor(const DimFactor& f);
  ValueId product(const DimProduct& t);
  bool bounded(DimId d) const;
  ValueId known(DimId symbol);

  Emitter& out_;
  DimPool& pool_;
  Form form_;
  std::function<ValueId(DimId)> symbol_;
  std::map<DimId, ValueId> known_;
};

}  // namespace graphopt
