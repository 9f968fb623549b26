#include "infer/onnx_answers.h"

#include <algorithm>
#include <cstring>

#include "support/hash_chains.h"

namespace graphopt::onnx_functions {
namespace {

constexpr std::size_t kMostWords = 128;     // of a question that is kept
constexpr std::size_t kMostAnswers = 4096;  // that are kept

enum class Part : std::uint8_t { Absent, Type, Constant, Result };

constexpr std::uint64_t word(Part part, std::uint64_t number) {
  return number << 8 | static_cast<std::uint64_t>(part);
}

}  // namespace

std::size_t Answers::Hash::operator()(const Key& key) const {
  std::uint64_t h = key.size();
  for (const std::uint64_t x : key) h = mix_hash(h, x);
  return static_cast<std::size_t>(h ^ h >> 32);
}

bool Answers::add_bytes(Bytes bytes) {
  if (bytes.size() > kMostWords * sizeof(std::uint64_t)) return false;
  const std::size_t first = key_.size() + 1;
  key_.push_back(bytes.size());
  key_.resize(first + (bytes.size() + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t));
  if (!bytes.empty()) std::memcpy(key_.data() + first, bytes.data(), bytes.size());
  return true;
}

// Sets the key to all that the function can see but elements. Returns false where that cannot be compared.
bool Answers::make_key(const Model& m, NodeId n, const SchemaFunctions::Function& f,
                       std::span<const SeenOperand> operands) {
  const std::span<const ValueId> outputs = m.outputs(n);
  const std::span<const Attr> attrs = m.attrs(n);
  if (operands.size() + outputs.size() + attrs.size() > kMostWords) return false;
  key_.clear();
  key_.push_back(reinterpret_cast<std::uintptr_t>(&f));
  key_.push_back(outputs.size() << 32 | attrs.size());
  key_.push_back(operands.size());
  for (std::size_t i = 0; i < outputs.size(); i += 64) {
    std::uint64_t there = 0;
    for (std::size_t k = i; k < std::min(i + 64, outputs.size()); ++k)
      there |= std::uint64_t{outputs[k].valid()} << (k - i);
    key_.push_back(there);
  }
  for (const Attr& a : attrs)
    if (a.proto.empty() || !add_bytes(a.proto)) return false;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const SeenOperand& o = operands[i];
    if (!m.input(n, i)) {
      key_.push_back(word(Part::Absent, 0));
    } else if (o.constant) {
      key_.push_back(word(Part::Constant, o.dims.size() << 8 | static_cast<std::uint64_t>(o.dtype)));
      for (const std::int64_t d : o.dims) key_.push_back(static_cast<std::uint64_t>(d));
    } else if (o.proto != nullptr) {
      if (o.source == 0) return false;
      key_.push_back(word(Part::Result, o.source));
    } else {
      key_.push_back(word(Part::Type, std::uint64_t{o.type.index()} << 1 | std::uint64_t{o.type.valid()}));
    }
  }
  return key_.size() <= kMostWords;
}

bool Answers::add_elements(std::span<const SeenOperand> operands) {
  for (const SeenOperand& o : operands) {
    if (o.constant) {
      if (!add_bytes(o.raw)) return false;
    } else if (o.carried) {
      key_.push_back(o.carried->size());
      for (const std::int64_t x : *o.carried) key_.push_back(static_cast<std::uint64_t>(x));
    } else {
      key_.push_back(~std::uint64_t{0});  // no list is as long
    }
    if (key_.size() > kMostWords) return false;
  }
  return true;
}

std::shared_ptr<Answer> Answers::make(const Model& m, NodeId n, const SchemaFunctions::Function& f,
                                      std::span<const SeenOperand> operands) {
  LoadContext context(m, n, *f.schema, operands);
  auto answer = std::make_shared<Answer>();
  answer->taken = succeeds(f.infer, context);
  answer->axis_refused = refuses_axis(m, n, operands);
  answer->reads_elements = context.reads_elements();
  answer->results = context.take_outputs();
  answer->source = next_source_;
  next_source_ += answer->results.size();
  return answer;
}

std::shared_ptr<Answer> Answers::ask(const Model& m, NodeId n, const SchemaFunctions::Function& f,
                                     std::span<const SeenOperand> operands) {
  if (epoch_ != m.dims.epoch() || known_.size() >= kMostAnswers) known_.clear();
  epoch_ = m.dims.epoch();
  if (!make_key(m, n, f, operands)) return make(m, n, f, operands);
  auto found = known_.find(key_);
  if (found != known_.end() && found->second->reads_elements) {
    if (!add_elements(operands)) return make(m, n, f, operands);
    found = known_.find(key_);
  }
  if (found != known_.end()) return found->second;
  auto answer = make(m, n, f, operands);
  known_.emplace(key_, answer);
  return answer;
}

}  // namespace graphopt::onnx_functions
