// Model: storage, use lists and queries. The functions that change a model are in mutate.cpp.

#include "ir/model.h"

#define XXH_INLINE_ALL  // header only: nothing to link
#include <xxhash.h>

#include <cstring>

#include "ir/model_state.h"
#include "ir/node_names.h"

namespace graphopt {

Model::Model() : arena_(std::make_shared<Arena>()), op_index_(std::make_unique<OpIndex>()) {
  opset_tables.emplace_back();
  add_graph({}, {}, 0);
}
Model::~Model() = default;
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;

const Attr* Model::find_attr(NodeId n, NameId name) const {
  for (const Attr& a : attrs(n))
    if (a.name == name) return &a;
  return nullptr;
}

bool Model::is_graph_output(ValueId v) const {
  for (UseId u = first_use(v); u; u = next_use(u))
    if (is_return(user(u))) return true;
  return false;
}

bool Model::is_captured(ValueId v) const {
  for (UseId u = first_use(v); u; u = next_use(u))
    if (node(user(u)).graph != value(v).graph) return true;
  return false;
}

NodeId Model::single_user(ValueId v) const {
  const Value& val = value(v);
  if (val.use_count != 1 || is_fixed(v)) return {};
  const NodeId n = user(val.first_use);
  return node(n).is_return || node(n).graph != val.graph ? NodeId{} : n;
}

NodeId Model::ancestor_in(GraphId g, NodeId n) const {
  while (n && node(n).graph != g) n = graph(node(n).graph).owner;
  return n;
}

bool Model::inside(GraphId inner, GraphId outer) const {
  for (; inner; inner = graph(inner).parent)
    if (inner == outer) return true;
  return false;
}

std::int64_t Model::opset(GraphId g, NameId domain) const {
  for (const OpsetImport& o : opset_tables[graph(g).opsets])
    if (o.domain == domain) return o.version;
  return 0;
}

std::int64_t Model::opset(NodeId n) const { return opset(node(n).graph, op(n).domain); }

TensorId Model::constant_of(ValueId v) const {
  if (!v) return {};
  const Value& val = value(v);
  if (val.is_input || is_fixed(v)) return {};
  return val.tensor;
}

void Model::set_overwrites(NodeId n, std::uint64_t operands) {
  Node& node = edit(n);
  const auto count = [&](bool more) {
    for (std::uint32_t i = 0; i < node.input_count; ++i)
      count_overwriting(UseId{node.first_use.index() + i}, i, more);
  };
  overwrites_ = overwrites_ || operands != 0;
  count(false);
  node.overwrites = operands;
  count(true);
}

namespace {
// Unpacks a payload that the file holds in typed fields.
void unpack(Tensor& t) {
  if (t.ready || t.decode == nullptr) return;
  auto out = std::make_shared<Unpacked>();
  if (!t.decode(t.proto, *out)) {
    t.decode = nullptr;  // broken: not tried again
    return;
  }
  t.raw = out->raw;
  t.owned = std::move(out);
  t.ready = true;
}
}  // namespace

void Model::unpack(TensorId id) const { graphopt::unpack(*tensors_[id.index()]); }

std::optional<Bytes> Model::raw(TensorId id) const {
  Tensor& t = *tensors_[id.index()];
  graphopt::unpack(t);
  if (!t.ready || t.dtype == DType::String) return std::nullopt;
  return t.raw;
}

const std::vector<std::string>* Model::strings(TensorId id) const {
  Tensor& t = *tensors_[id.index()];
  graphopt::unpack(t);
  return t.ready && t.dtype == DType::String && t.owned ? &t.owned->strings : nullptr;
}

Hash128 Model::content_hash(TensorId id) const {
  Tensor& t = *tensors_[id.index()];
  if (t.hash) return *t.hash;
  graphopt::unpack(t);
  XXH3_state_t state;
  XXH3_128bits_reset(&state);
  const auto add = [&](const void* p, std::size_t n) { XXH3_128bits_update(&state, p, n); };
  const std::uint64_t head[2] = {static_cast<std::uint64_t>(t.dtype), t.dims.size()};
  add(head, sizeof head);
  add(t.dims.data(), t.dims.size() * sizeof(std::int64_t));
  if (!t.ready) {
    // A payload that cannot be read equals only itself.
    const std::uint32_t self = id.index();
    add(&self, sizeof self);
  } else if (t.dtype == DType::String && t.owned) {
    for (const std::string& s : t.owned->strings) {
      const std::uint64_t size = s.size();
      add(&size, sizeof size);
      add(s.data(), s.size());
    }
  } else {
    add(t.raw.data(), t.raw.size());
  }
  const XXH128_hash_t h = XXH3_128bits_digest(&state);
  t.hash = Hash128{h.low64, h.high64};
  return *t.hash;
}

TensorId Model::add_tensor(Tensor t) {
  tensors_.push_back(std::make_shared<Tensor>(std::move(t)));
  return TensorId{tensors_.size() - 1};
}

TensorId Model::make_tensor(DType dtype, std::span<const std::int64_t> dims, std::string raw) {
  Tensor t;
  t.dtype = dtype;
  t.dims.assign(dims.begin(), dims.end());
  for (const std::int64_t d : dims) t.elements *= d;
  auto owned = std::make_shared<Unpacked>();
  owned->raw = std::move(raw);
  t.raw = owned->raw;
  t.owned = std::move(owned);
  t.ready = true;
  return add_tensor(std::move(t));
}

TensorId Model::make_int64s(std::span<const std::int64_t> values) {
  const std::int64_t n = static_cast<std::int64_t>(values.size());
  return make_tensor(DType::Int64, std::span(&n, 1),
                     std::string(reinterpret_cast<const char*>(values.data()), values.size_bytes()));
}

TensorId Model::make_int64(std::int64_t v) {
  return make_tensor(DType::Int64, {}, std::string(reinterpret_cast<const char*>(&v), sizeof v));
}

Bytes Model::keep(std::string_view bytes) {
  return {arena_->copy(bytes.data(), bytes.size(), 1), bytes.size()};
}

template <class T>
static std::span<const T> keep_in(std::pmr::memory_resource& memory, std::span<const T> v) {
  if (v.empty()) return {};
  auto* p = static_cast<T*>(memory.allocate(v.size_bytes(), alignof(T)));
  std::memcpy(static_cast<void*>(p), v.data(), v.size_bytes());  // T is trivially copyable in all four uses
  return {p, v.size()};
}

std::span<const std::int64_t> Model::keep(std::span<const std::int64_t> v) {
  return keep_in(arena_->memory, v);
}
std::span<const float> Model::keep(std::span<const float> v) { return keep_in(arena_->memory, v); }
std::span<const Bytes> Model::keep(std::span<const Bytes> v) { return keep_in(arena_->memory, v); }
std::span<const GraphId> Model::keep(std::span<const GraphId> v) { return keep_in(arena_->memory, v); }

void Model::add_listener(Listener* l) { listeners_.push_back(l); }
void Model::remove_listener(Listener* l) { std::erase(listeners_, l); }

std::string graph_path(const Model& m, GraphId g) {
  std::vector<std::string> parts;
  for (; g; g = m.graph(g).parent) {
    const Graph& graph = m.graph(g);
    if (graph.function) {
      const Function& f = m.function(graph.function);
      parts.push_back("function " + std::string(m.text(f.domain)) + "::" + std::string(m.text(f.name)));
    } else if (graph.owner) {
      const Node& owner = m.node(graph.owner);
      std::string part = owner.name == kEmptyName || !owner.name ? "#" + std::to_string(owner.file_index)
                                                                 : std::string(m.text(owner.name));
      parts.push_back(part + "." + std::string(m.text(graph.attribute)));
    } else if (parts.empty()) {
      return {};
    } else {
      parts.push_back("main");
    }
  }
  std::string out;
  for (auto it = parts.rbegin(); it != parts.rend(); ++it) out += (out.empty() ? "" : "/") + *it;
  return out;
}

Place place_of(const Model& m, GraphId g) {
  Place p;
  p.file = m.file;
  p.graph = graph_path(m, g);
  return p;
}

Place place_of(const Model& m, NodeId n) {
  const Node& node = m.node(n);
  Place p = place_of(m, node.graph);
  if (node.is_return) {
    p.node = "outputs";
    return p;
  }
  const Op& op = m.op(n);
  p.op = op.domain == kEmptyName ? std::string(m.text(op.type))
                                 : std::string(m.text(op.domain)) + "::" + std::string(m.text(op.type));
  if (has_name(m, n)) {
    p.node = m.text(node.name);
  } else if (node.file_index != Node::kNotInFile) {
    p.node = "#" + std::to_string(node.file_index);
  } else if (const ValueId out = m.output(n, 0)) {
    p.node = "of '" + std::string(m.text(m.value(out).name)) + "'";
  }
  return p;
}

}  // namespace graphopt
