// Neighbours of the golden cases of each pass: models in which one thing became odd, and what must hold of
// every pass then, whatever its rules are.
//
//   a value is named from outside of the graph   it stays, under its name, and gets no further readers; no
//                                                rewrite costs nodes because its node stays
//   an attribute of a node is one of a call      it stays, and nothing looks through it: all goes as if its
//                                                operator were unknown
//   a node lacks a result or an operand          the pass comes back; so it does where a rank or a dim of an
//                                                operand is not known
//   nothing reads the results of a node          no rewrite is counted for it
//   the opset is newer than the table            the pass comes back
//   only some of the rewrites are allowed        no others are made
// After each of them the model is valid, and a second run finds nothing left to do.
//
// tests/property/neighbours.py draws a sample of neighbours that ONNX Runtime can tell from the original;
// these are all that it cannot, since it does not load them or does not know the names of values.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "infer/infer.h"
#include "ir/reader_access.h"
#include "onnx/reader.h"
#include "ops/node_facts.h"
#include "passes/pass.h"
#include "passes/pipeline.h"

namespace graphopt {
namespace {

struct GoldenCase {
  std::string name;
  Model model;
  PipelineOptions options;
};

// Returns the options of a case's line RUN; none where it has others than these.
std::optional<PipelineOptions> options_of(const std::string& text) {
  PipelineOptions o;
  int level = 2;
  bool exact = false;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (word.starts_with("--passes=")) {
      std::istringstream list(word.substr(9));
      for (std::string pass; std::getline(list, pass, ',');) o.passes.push_back(pass);
    } else if (word == "--exact") {
      exact = true;
    } else if (word.size() == 3 && word.starts_with("-O")) {
      level = word[2] - '0';
    } else {
      return std::nullopt;
    }
  }
  if (o.passes.empty()) return std::nullopt;
  o.pass.fold_limit = 1 << 20;
  o.pass.strictness = strictness_of(level, exact);
  return o;
}

// Has the text import an opset of the standard operators that the table does not know.
std::string in_newer_opset(const std::string& text) {
  return std::regex_replace(text, std::regex(R"re("" ?: ?[0-9]+)re"), "\"\" : 99");
}

// The cases of a pass that apply, as they are or `changed`.
std::vector<GoldenCase> golden_cases(
    const std::string& pass,
    const std::function<std::string(const std::string&)>& changed = std::identity{}) {
  std::vector<GoldenCase> out;
  const std::filesystem::path folder = std::filesystem::path(GRAPHOPT_TESTS_DIR) / "golden" / pass;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) files.push_back(entry.path());
  std::ranges::sort(files);
  for (const auto& path : files) {
    std::stringstream stream;
    stream << std::ifstream(path).rdbuf();
    const std::string text = stream.str(), run = "# RUN: graphopt ", before = "=== before\n";
    const std::size_t options = text.find(run), begin = text.find(before), end = text.find("=== after\n");
    if (options == std::string::npos || begin == std::string::npos || end == std::string::npos) continue;
    const std::size_t first = options + run.size(), model = begin + before.size();
    auto o = options_of(text.substr(first, text.find('\n', first) - first));
    if (!o) continue;
    std::vector<Warning> warnings;
    auto loaded = load_model_from_memory(changed(text.substr(model, end - model)), "case", "", warnings);
    if (!loaded) {
      ADD_FAILURE() << path << " is not loaded";
      continue;
    }
    out.push_back({path.stem().string(), std::move(*loaded), std::move(*o)});
  }
  return out;
}

// Returns the number of rewrites.
std::uint64_t run(Model& m, const PipelineOptions& o) {
  Inference infer(m, {});
  infer.run();
  const auto report = run_pipeline(m, infer, o);
  if (!report.ok()) {
    ADD_FAILURE() << to_string(report.error());
    return 0;
  }
  return report->rewrites;
}

// The model after the change and the run. Without `verify` it may be one that contradicts itself.
Model rewritten(const GoldenCase& given, const std::function<void(Model&)>& change, bool verify = true) {
  Model m = given.model.clone();
  change(m);
  PipelineOptions options = given.options;
  options.verify_each = verify;
  run(m, options);
  EXPECT_EQ(run(m, options), 0u) << "a second run rewrites again";
  return m;
}

std::vector<NodeId> nodes_of(const Model& m) {
  std::vector<NodeId> out;
  for (std::size_t i = 0; i < m.node_count(); ++i)
    if (const NodeId n{i}; m.alive(n) && !m.is_return(n)) out.push_back(n);
  return out;
}
std::vector<ValueId> values_of(const Model& m) {
  std::vector<ValueId> out;
  for (std::size_t i = 0; i < m.value_count(); ++i)
    if (const ValueId v{i}; m.alive(v)) out.push_back(v);
  return out;
}
std::vector<ValueId> operands_of(const Model& m, NodeId n) {
  std::vector<ValueId> out;
  for (std::size_t i = 0; i < m.input_count(n); ++i) out.push_back(m.input(n, i));
  return out;
}
std::vector<UseId> uses_of(const Model& m, ValueId v) {
  std::vector<UseId> out;
  for (UseId u = m.first_use(v); u; u = m.next_use(u)) out.push_back(u);
  return out;
}
std::vector<NodeId> users_of(const Model& m, ValueId v) {
  std::vector<NodeId> out;
  for (const UseId u : uses_of(m, v)) out.push_back(m.user(u));
  return out;
}
std::string named(const Model& m, ValueId v) { return std::string(m.text(m.value(v).name)); }
std::string described(const Model& m, NodeId n) {
  const ValueId y = m.output(n, 0);
  return std::string(m.text(m.op(n).type)) + " of " + (y ? named(m, y) : "no result");
}

// Takes a result from all that read it. An output of a graph becomes one of its inputs; returns false where
// there is none.
bool unread(Model& m, ValueId v) {
  for (const UseId u : uses_of(m, v)) {
    const NodeId user = m.user(u);
    const auto inputs = m.graph_inputs(m.node(user).graph);
    if (m.is_return(user) && inputs.empty()) return false;
    m.set_operand(user, m.slot(u), m.is_return(user) ? inputs.front() : ValueId{});
  }
  return true;
}

bool is_one_of(const PassInfo* pass, std::span<const std::string_view> names) {
  return std::ranges::find(names, pass->name) != names.end();
}

class PassNeighbours : public testing::TestWithParam<const PassInfo*> {
 protected:
  PassNeighbours() : cases_(golden_cases(std::string(GetParam()->name))) {}
  std::vector<GoldenCase> cases_;
};

// They let nodes read a value that a body, a function or a sequence read for them.
constexpr std::string_view kReadDirectly[] = {"inline-functions", "unroll-loops", "sequence-values",
                                              "sequence-idioms"};

// They write regions of the graph anew: equal values take the place of operands, and each may be read by more
// nodes. What a search may not do is held by tests of its moves.
constexpr std::string_view kSearches[] = {"hoist-reshape", "aggregate-elementwise"};

// They make a node that takes the place of several, or let one read what another one of several has read.
constexpr std::string_view kReadAnew[] = {
    "batch-products",   "common-subexpressions", "compose",          "inline-if",    "loop-invariants",
    "merge-factors",    "merge-matmuls",         "merge-reductions", "merge-slices", "merge-tables",
    "neutral-elements", "raise-activations",     "raise-gemm",       "raise-norms",  "raise-shuffles",
    "reduce-keepdims",  "resolve-types",         "select-parts",     "share-rows",   "signed-zeros"};

TEST_P(PassNeighbours, PinnedValuesStay) {
  for (const GoldenCase& given : cases_) {
    const Model unpinned = rewritten(given, [](Model&) {});
    const std::size_t most = std::max(nodes_of(given.model).size(), nodes_of(unpinned).size());
    for (const ValueId v : values_of(given.model)) {
      if (given.model.value(v).graph != given.model.main()) continue;
      SCOPED_TRACE(given.name + ": " + named(given.model, v));
      const Model m = rewritten(given, [v](Model& x) { ReaderAccess::value(x, v).pinned = true; });
      ASSERT_TRUE(m.alive(v));
      EXPECT_EQ(named(m, v), named(given.model, v));
      if (!is_one_of(GetParam(), kReadDirectly) && !is_one_of(GetParam(), kSearches)) {
        EXPECT_LE(nodes_of(m).size(), most) << "a node that stays is made a second time";
        EXPECT_LE(m.use_count(v), given.model.use_count(v)) << "more nodes read it than before";
        if (is_one_of(GetParam(), kReadAnew)) continue;
        const std::vector<NodeId> before = users_of(given.model, v);
        for (const NodeId user : users_of(m, v))
          EXPECT_NE(std::ranges::find(before, user), before.end()) << described(m, user) << " reads it now";
      }
    }
  }
}

TEST_P(PassNeighbours, PinnedValuesStayThoughNothingReadsThem) {
  for (const GoldenCase& given : cases_) {
    for (const NodeId n : nodes_of(given.model)) {
      if (given.model.node(n).graph != given.model.main()) continue;
      for (std::size_t i = 0; i < given.model.output_count(n); ++i) {
        const ValueId v = given.model.output(n, i);
        Model probe = given.model.clone();
        if (!v || !unread(probe, v)) continue;
        SCOPED_TRACE(given.name + ": " + named(given.model, v));
        const Model m = rewritten(given, [v](Model& x) {
          unread(x, v);
          ReaderAccess::value(x, v).pinned = true;
        });
        ASSERT_TRUE(m.alive(v));
        EXPECT_EQ(named(m, v), named(given.model, v));
      }
    }
  }
}

// Left out: nodes of which inference says what they give, whatever makes it, those that a rule takes with an
// If or a Loop, and copies.
bool stands_by_itself(const Model& m, const Inference& infer, NodeId n) {
  switch (m.kind(n)) {
    case OpKind::Opaque:
    case OpKind::FunctionCall:
    case OpKind::Constant:
    case OpKind::Identity:
    case OpKind::Dropout:
    case OpKind::If:
    case OpKind::Loop:
    case OpKind::Scan: return false;
    default: break;
  }
  const ValueId y = m.output(n, 0);
  return y && m.use_count(y) > 0 && infer.symbolic(y) == nullptr && m.node(n).graph == m.main();
}

// They go by what inference proves of results, which may hold for all values of an attribute.
constexpr std::string_view kByResults[] = {"constant-shapes", "drop-noop", "inline-if", "merge-tables",
                                           "resolve-types"};

// In the body of a function an attribute may be one of the call: nobody knows it, whatever its default is.
TEST_P(PassNeighbours, AttributesOfTheCallAreNotKnown) {
  if (is_one_of(GetParam(), kByResults) || is_one_of(GetParam(), kSearches)) return;
  for (const GoldenCase& given : cases_) {
    Model known = given.model.clone();
    Inference infer(known, {});
    infer.run();
    for (const NodeId n : nodes_of(given.model)) {
      if (!stands_by_itself(known, infer, n)) continue;
      const Model other = rewritten(
          given, [n](Model& x) { x.set_op(n, x.intern_op(OpKind::Opaque, "nobody", x.text(x.op(n).type))); });
      for (const AttrFact& fact : facts_of(given.model, n).attributes) {
        SCOPED_TRACE(given.name + ": " + described(given.model, n) + ", " + std::string(fact.name));
        const Model m = rewritten(given, [&](Model& x) {
          Attr a;
          a.name = x.names.intern(fact.name);
          a.kind = AttrKind::Undefined;
          a.ref = x.names.intern("of_the_call");
          x.set_attr(n, a);
        });
        EXPECT_TRUE(m.alive(n) || !other.alive(n)) << "it is gone";
        if (!m.alive(n)) continue;
        EXPECT_EQ(m.kind(n), given.model.kind(n));
        const bool unchanged = operands_of(m, n) == operands_of(given.model, n);
        EXPECT_TRUE(unchanged || (other.alive(n) && operands_of(m, n) == operands_of(other, n)))
            << "it has other operands";
      }
    }
  }
}

TEST_P(PassNeighbours, AbsentResultsAndOperands) {
  for (const GoldenCase& given : cases_) {
    for (const NodeId n : nodes_of(given.model)) {
      SCOPED_TRACE(given.name + ": " + described(given.model, n));
      for (std::size_t i = 0; i < given.model.output_count(n); ++i) {
        const ValueId v = given.model.output(n, i);
        Model probe = given.model.clone();
        if (!v || !unread(probe, v)) continue;
        const auto drop = [&](Model& x) {
          unread(x, v);
          x.drop_output(n, i);
        };
        rewritten(given, drop, false);
      }
      const std::vector<ValueId> operands = operands_of(given.model, n);
      for (std::size_t i = 0; i < operands.size(); ++i) {
        if (operands[i]) rewritten(given, [&](Model& x) { x.set_operand(n, i, {}); }, false);
        if (i + 1 < operands.size() || operands.empty()) continue;
        rewritten(given, [&](Model& x) { x.set_operands(n, std::span(operands).first(i)); }, false);
      }
    }
  }
}

TEST_P(PassNeighbours, UnknownRanksAndDims) {
  for (const GoldenCase& given : cases_) {
    // A node of which nothing is known stands between a value and all that reads it.
    for (const ValueId v : values_of(given.model)) {
      if (given.model.value(v).is_initializer || given.model.use_count(v) == 0) continue;
      SCOPED_TRACE(given.name + ": " + named(given.model, v));
      rewritten(given, [v](Model& x) {
        const GraphId g = x.value(v).graph;
        const std::vector<UseId> uses = uses_of(x, v);
        const NodeId def = x.value(v).def;
        const ValueId operands[] = {v};
        const NodeId made = x.add_node_like(g, x.intern_op(OpKind::Opaque, "nobody", "Unknown"), operands, 1,
                                            "unknown", def ? x.next_node(def) : x.first_node(g));
        for (const UseId u : uses)
          if (!x.is_return(x.user(u))) x.set_operand(x.user(u), x.slot(u), x.output(made, 0));
      });
    }
    for (const ValueId v : given.model.graph_inputs(given.model.main())) {
      if (!given.model.value(v).declared) continue;
      const Type declared = given.model.types[given.model.value(v).declared];
      if (declared.kind != TypeKind::Tensor || !declared.has_rank) continue;
      SCOPED_TRACE(given.name + ": input " + named(given.model, v));
      rewritten(given, [&](Model& x) { x.declare(v, x.types.tensor(declared.elem)); });
      for (std::size_t i = 0; i < declared.dims.size(); ++i) {
        std::vector<DimId> dims(declared.dims.begin(), declared.dims.end());
        dims[i] = DimId{};
        rewritten(given, [&](Model& x) { x.declare(v, x.types.tensor(declared.elem, dims)); });
      }
    }
  }
}

// What nothing reads is left to dead-code: a rule that rewrites it finds it again in each round.
TEST_P(PassNeighbours, UnreadResults) {
  for (const GoldenCase& given : cases_) {
    for (const NodeId n : nodes_of(given.model)) {
      SCOPED_TRACE(given.name + ": " + described(given.model, n));
      Model probe = given.model.clone();
      if (std::ranges::all_of(given.model.outputs(n), [&](ValueId v) { return !v || unread(probe, v); }))
        rewritten(given, [n](Model& x) {
          for (const ValueId v : std::vector<ValueId>(x.outputs(n).begin(), x.outputs(n).end()))
            if (v) unread(x, v);
        });
    }
  }
}

// The nodes with their operators, operands and results, and the values that are constants.
std::string drawn(const Model& m) {
  std::string out;
  for (const NodeId n : nodes_of(m)) {
    out += std::to_string(n.index()) + " " + std::string(m.text(m.op(n).type));
    for (const ValueId v : operands_of(m, n)) out += " " + (v ? named(m, v) : "-");
    out += " =>";
    for (const ValueId v : m.outputs(n)) out += " " + (v ? named(m, v) : "-");
    out += "\n";
  }
  for (const ValueId v : values_of(m))
    if (m.value(v).is_initializer) out += named(m, v) + " ";
  return out;
}

// --bisect allows some rewrites and no others: the numbers that the journal counts are all that are made.
TEST_P(PassNeighbours, NoRewriteWithoutLeave) {
  constexpr std::uint64_t kMost = 4;
  for (const GoldenCase& given : cases_) {
    Model whole = given.model.clone();
    const std::uint64_t total = run(whole, given.options);
    for (std::uint64_t budget = 0; budget <= std::min(total, kMost); ++budget) {
      SCOPED_TRACE(given.name + ": " + std::to_string(budget) + " of " + std::to_string(total));
      Model m = given.model.clone();
      PipelineOptions options = given.options;
      options.rewrite_budget = budget;
      options.verify_each = true;
      EXPECT_EQ(run(m, options), budget);
      if (budget == 0) {
        EXPECT_EQ(drawn(m), drawn(given.model));
      }
      if (budget == total) {
        EXPECT_EQ(drawn(m), drawn(whole));
      }
    }
  }
}

// What is written would be of an opset that nobody knows: no builder makes it.
TEST_P(PassNeighbours, NewerOpset) {
  for (const GoldenCase& given : golden_cases(std::string(GetParam()->name), in_newer_opset)) {
    SCOPED_TRACE(given.name);
    rewritten(given, [](Model&) {});
  }
}

std::string test_name(const testing::TestParamInfo<const PassInfo*>& info) {
  std::string out(info.param->name);
  std::ranges::replace(out, '-', '_');
  return out;
}
INSTANTIATE_TEST_SUITE_P(Golden, PassNeighbours, testing::ValuesIn(all_passes().begin(), all_passes().end()),
                         test_name);

}  // namespace
}  // namespace graphopt
