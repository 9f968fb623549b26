// What onnx's inference functions say of nodes, each question asked once.
//
// Problem: a body of 10^6 nodes has few different ones: the same operator on operands of the same types. To
// ask a function costs some thirty allocations, since types and attributes become protobuf for it, and the
// policies ask about each node several times.
// Method: an answer is kept under all that the function can see: schema, attributes as the file writes them,
// which results there are, and the types of the operands. Elements of constants are part of the question only
// where the function did ask for some. Whether it does is decided before it saw any, so that depends on the
// rest alone. Questions that are long, or of which a part is not comparable, are asked each time.
// Ends: the table is emptied when it is full, and when a number became known for a dim that had none.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "infer/onnx_operands.h"

namespace graphopt::onnx_functions {

struct Answer {
  bool taken = false;           // the function does not refuse the node
  bool axis_refused = false;    // but ONNX Runtime does (refuses_axis)
  bool reads_elements = false;  // the function asked for elements of an operand
  std::uint64_t source = 0;     // SeenOperand::source of the first result; the others follow
  std::vector<onnx::TypeProto> results;
  std::vector<TypeId> types;  // the same, for who wants it so: filled by the caller
};

class Answers {
 public:
  // Asks the function about n with these operands. What it throws for an attribute that cannot be read is
  // passed on.
  std::shared_ptr<Answer> ask(const Model& m, NodeId n, const SchemaFunctions::Function& f,
                              std::span<const SeenOperand> operands);

 private:
  using Key = std::vector<std::uint64_t>;
  struct Hash {
    std::size_t operator()(const Key& key) const;
  };
  bool add_bytes(Bytes bytes);
  bool make_key(const Model& m, NodeId n, const SchemaFunctions::Function& f,
                std::span<const SeenOperand> operands);
  bool add_elements(std::span<const SeenOperand> operands);
  std::shared_ptr<Answer> make(const Model& m, NodeId n, const SchemaFunctions::Function& f,
                               std::span<const SeenOperand> operands);

  std::unordered_map<Key, std::shared_ptr<Answer>, Hash> known_;
  Key key_;  // of the question that is asked
  std::uint32_t epoch_ = 0;
  std::uint64_t next_source_ = 1;
};

}  // namespace graphopt::onnx_functions
