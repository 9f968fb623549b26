// The operator table and its look-ups.
//
// The rows are written by family (facts_*.inc). The compiler sorts them by kind and opset, checks that no
// kind is missing and that names ascend within a domain, and makes an index from a kind to its rows. At run
// time there is nothing to set up: facts() scans the few rows of one kind, op_kind() is a binary search in
// one domain.
#include "ops/facts.h"

#include <algorithm>
#include <array>

#include "ops/facts_rows.h"

namespace graphopt {
namespace table {
namespace {

#include "ops/facts_anchor.inc"
#include "ops/facts_barrier.inc"
#include "ops/facts_elementwise.inc"
#include "ops/facts_heavy.inc"
#include "ops/facts_microsoft.inc"
#include "ops/facts_ml.inc"
#include "ops/facts_movement.inc"

// The kinds that no .inc file lists. An opaque operator may read anything and have any effect; a call does
// what its body does.
constexpr Row kOtherRows[] = {
    row(OpKind::Opaque, "", "", 0, Barrier, {0, 255}, {0, 255}, roles<Data>, kNone, P::Opaque,
        "nothing is known")
        .purity(Unknown)
        .by_values(),
    row(OpKind::FunctionCall, "", "", 0, Barrier, {0, 255}, {0, 255}, roles<Data>, kNone, P::Opaque,
        "what the function's body does")
        .purity(ControlFlow)
        .by_values(),
    row(OpKind::Border, "", "", 0, Barrier, {1, 1}, {1, 1}, roles<Data>, kNone, P::Opaque,
        "its operand, which nothing may look through"),
};

constexpr std::size_t kRowCount = std::size(kOtherRows) + std::size(kAnchorRows) + std::size(kBarrierRows) +
                                  std::size(kElementwiseRows) + std::size(kHeavyRows) +
                                  std::size(kMicrosoftRows) + std::size(kMlRows) + std::size(kMovementRows);

constexpr bool before(const OpFacts& a, const OpFacts& b) {
  return a.kind != b.kind ? a.kind < b.kind : a.since < b.since;
}

consteval std::array<OpFacts, kRowCount> sorted_rows() {
  std::array<OpFacts, kRowCount> all{};
  std::size_t n = 0;
  const auto take = [&](std::span<const Row> family) {
    for (const Row& r : family) all[n++] = r.facts;
  };
  take(kOtherRows);
  take(kAnchorRows);
  take(kBarrierRows);
  take(kElementwiseRows);
  take(kHeavyRows);
  take(kMicrosoftRows);
  take(kMlRows);
  take(kMovementRows);
  std::sort(all.begin(), all.end(), before);
  return all;
}

constexpr std::array<OpFacts, kRowCount> kRows = sorted_rows();

// The index of the first row of each kind; one more entry for the end.
consteval std::array<std::uint16_t, kOpKindCount + 1> index_of_rows() {
  std::array<std::uint16_t, kOpKindCount + 1> first{};
  for (const OpFacts& r : kRows) ++first[static_cast<std::size_t>(r.kind) + 1];
  for (std::size_t k = 0; k < kOpKindCount; ++k)
    first[k + 1] = static_cast<std::uint16_t>(first[k + 1] + first[k]);
  return first;
}
constexpr std::array<std::uint16_t, kOpKindCount + 1> kFirst = index_of_rows();

constexpr const OpFacts& first_row(std::size_t kind) { return kRows[kFirst[kind]]; }

// The kinds of one domain are contiguous. `newest`: the opset up to which the rows were checked; what a newer
// one changes is not known.
struct Domain {
  std::string_view name;
  OpKind first, last;
  int newest;
};
constexpr Domain kDomains[] = {
    {"", OpKind::Abs, OpKind::Xor, kNewestOpset},
    {"ai.onnx.ml", OpKind::MlArrayFeatureExtractor, OpKind::MlZipMap, 5},
    {"ai.onnx.preview", OpKind::PreviewFlexAttention, OpKind::PreviewFlexAttention, 1},
    {"ai.onnx.preview.training", OpKind::PreviewTrainingAdagrad, OpKind::PreviewTrainingMomentum, 1},
    {"com.microsoft", OpKind::MsAttention, OpKind::MsWordConvEmbedding, 1},
};

consteval bool rows_are_sorted() {
  for (std::size_t i = 1; i < kRows.size(); ++i)
    if (!before(kRows[i - 1], kRows[i])) return false;
  return true;
}
static_assert(rows_are_sorted(), "two rows of one operator and one opset");

consteval bool rows_are_complete() {
  for (std::size_t k = 0; k < kOpKindCount; ++k)
    if (kFirst[k] == kFirst[k + 1]) return false;
  for (std::size_t k = 0; k < kUnnamedKinds; ++k)
    if (static_cast<std::size_t>(kRows[k].kind) != k) return false;
  return true;
}
static_assert(rows_are_complete(), "an OpKind has no row");

// A pass leaves results out of pure operators alone. Result 0 always stays: some runtimes refuse a node
// without it.
consteval bool left_out_results_exist() {
  for (const OpFacts& r : kRows) {
    if (r.leave_out.results == 0) continue;
    if (r.purity != Pure && r.purity != Random) return false;
    if (r.max_outputs > 8 || r.leave_out.results >> r.max_outputs != 0 || (r.leave_out.results & 1) != 0)
      return false;
    for (unsigned i = 0; i < r.min_outputs; ++i)
      if ((r.leave_out.results >> i & 1) != 0) return false;
  }
  return true;
}
static_assert(left_out_results_exist(), "a result that may be left out is none, or required");

consteval bool domains_are_complete() {
  std::size_t next = kUnnamedKinds;
  for (const Domain& d : kDomains) {
    if (static_cast<std::size_t>(d.first) != next) return false;
    next = static_cast<std::size_t>(d.last) + 1;
    for (std::size_t k = static_cast<std::size_t>(d.first); k < next; ++k) {
      if (first_row(k).domain != d.name && first_row(k).kind != OpKind::MsSimplifiedLayerNormalization)
        return false;
      if (k + 1 < next && !(first_row(k).name < first_row(k + 1).name)) return false;
      for (std::size_t i = kFirst[k]; i < kFirst[k + 1]; ++i)
        if (kRows[i].name != first_row(k).name || kRows[i].since > d.newest) return false;
    }
  }
  return next == kOpKindCount;
}
static_assert(domains_are_complete(), "OpKind: names ascend within a domain, each domain in one piece");

const Domain* find_domain(std::string_view name) {
  if (name == "ai.onnx") name = {};
  for (const Domain& d : kDomains)
    if (d.name == name) return &d;
  return nullptr;
}

OpKind find_kind(const Domain& domain, std::string_view name) {
  std::size_t low = static_cast<std::size_t>(domain.first), high = static_cast<std::size_t>(domain.last) + 1;
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (first_row(middle).name < name) low = middle + 1;
    else high = middle;
  }
  const bool found = low <= static_cast<std::size_t>(domain.last) && first_row(low).name == name;
  return found ? static_cast<OpKind>(low) : OpKind::Opaque;
}

// An index by kind, since facts() is called for each node many times.
consteval std::array<int, kOpKindCount> newest_opsets() {
  std::array<int, kOpKindCount> newest{};
  for (std::size_t k = kUnnamedKinds; k < kOpKindCount; ++k)
    for (const Domain& d : kDomains)
      if (d.name == first_row(k).domain) newest[k] = d.newest;
  return newest;
}
constexpr std::array<int, kOpKindCount> kNewest = newest_opsets();

}  // namespace
}  // namespace table

const OpFacts& facts(OpKind kind, int opset) {
  using namespace table;
  const auto k = static_cast<std::size_t>(kind);
  if (k >= kOpKindCount) return kRows[0];
  if (k < kUnnamedKinds) return kRows[k];
  if (opset > kNewest[k]) return kRows[0];
  for (std::size_t i = kFirst[k + 1]; i > kFirst[k]; --i)
    if (kRows[i - 1].since <= opset) return kRows[i - 1];
  return kRows[0];
}

OpKind op_kind(std::string_view domain, std::string_view name) {
  // ONNX Runtime has this operator in the default domain, without a schema in ONNX.
  constexpr std::string_view kSimplified = "SimplifiedLayerNormalization";
  if ((domain.empty() || domain == "ai.onnx") && name == kSimplified)
    return OpKind::MsSimplifiedLayerNormalization;
  const table::Domain* d = table::find_domain(domain);
  return d == nullptr ? OpKind::Opaque : table::find_kind(*d, name);
}

std::string_view op_name(OpKind kind) {
  const auto k = static_cast<std::size_t>(kind);
  return k < kOpKindCount ? table::first_row(k).name : std::string_view{};
}

std::string_view op_domain(OpKind kind) {
  const auto k = static_cast<std::size_t>(kind);
  return k < kOpKindCount ? table::first_row(k).domain : std::string_view{};
}

std::span<const OpFacts> all_facts() { return table::kRows; }

const AttrFact* find_attribute(const OpFacts& row, std::string_view name) {
  for (const AttrFact& a : row.attributes)
    if (a.name == name) return &a;
  return nullptr;
}

Role role_of(const OpFacts& row, std::size_t slot) {
  return row.roles.empty() ? Role::Data : row.roles[std::min(slot, row.roles.size() - 1)];
}

}  // namespace graphopt
