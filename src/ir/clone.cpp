// Model: a copy that shares what never changes.
//
// Ids are indices, so the arrays of a model are copied as they are. Lists of attributes, and texts made here,
// lie in the arena of the model that made them: the clone keeps it alive and makes its own in another one.
// What a tensor learns of its payload when it is first asked (the unpacked form, the hash) is written into
// the tensor, so each model has tensors of its own; the payloads are shared. Then clones share nothing that
// anyone writes, and threads may work on one clone each.

#include "ir/model.h"

#include <memory>

#include "ir/model_state.h"

namespace graphopt {

Model Model::clone() const {
  Model m;
  m.file = file;
  m.ir_version = ir_version;
  m.opset_tables = opset_tables;
  m.rest = rest;
  m.file_bytes = file_bytes;
  m.had_external_data = had_external_data;
  m.external_data_bytes = external_data_bytes;
  m.data_files = data_files;
  m.keep_alive = keep_alive;
  m.keep_alive.push_back(arena_);
  m.names = names.clone();
  m.types = types.clone();
  m.dims = dims.clone();
  m.graphs_ = graphs_;
  m.nodes_ = nodes_.clone();
  m.values_ = values_.clone();
  m.uses_ = uses_.clone();
  m.output_slots_ = output_slots_.clone();
  m.attrs_ = attrs_.clone();
  const auto tensors = std::make_shared<Tensor[]>(tensors_.size());  // one allocation for all
  m.tensors_.reserve(tensors_.size());
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    tensors[static_cast<std::ptrdiff_t>(i)] = *tensors_[i];
    m.tensors_.emplace_back(tensors, &tensors[static_cast<std::ptrdiff_t>(i)]);
  }
  m.ops_ = ops_;
  m.functions_ = functions_;
  m.overwrites_ = overwrites_;
  m.overwriting_uses_ = overwriting_uses_;
  m.live_nodes_ = live_nodes_;
  m.live_of_kind_ = live_of_kind_;
  m.suffixes_ = suffixes_;
  *m.op_index_ = *op_index_;
  return m;
}

}  // namespace graphopt
