// What a pass leaves alone although ONNX text cannot say it: values that annotations name, constants whose
// content is not available, and constants that would take too much memory.

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <string>
#include <vector>

#include "infer_case.h"
#include "ir/reader_access.h"
#include "passes/pipeline.h"

namespace graphopt {
namespace {

constexpr const char* kFactors = R"(g (float[n] x) => (float[m] y) <float[1] a = {3}, float[1] b = {5}> {
  p = Mul (x, a)
  y = Mul (p, b)
})";
constexpr const char* kTables = R"(g (int64[n,1] i) => (float[n,5,1] y)
  <float[2,1] t0 = {1, 2}, float[2,1] t1 = {3, 4}, float[2,1] t2 = {5, 6}, float[2,1] t3 = {7, 8},
   float[2,1] t4 = {9, 10}>
  {
    p0 = Gather (t0, i)
    p1 = Gather (t1, i)
    p2 = Gather (t2, i)
    p3 = Gather (t3, i)
    p4 = Gather (t4, i)
    y = Concat <axis = 1> (p0, p1, p2, p3, p4)
  })";
constexpr const char* kProducts = R"(g (float[n,2] x) => (float[n,2] c, float[n,2] d)
  <float[2,2] u = {1, 2, 3, 4}, float[2,2] v = {5, 6, 7, 8}, float[2] p = {1, 2}, float[2] q = {3, 4}>
  {
    a = Gemm (x, u, p)
    b = Gemm (x, v, q)
    c = Softmax (a)
    d = LogSoftmax (b)
  })";

// Runs one pass at -O3 and returns the number of its rewrites.
std::uint64_t rewrites(InferCase& given, const std::string& pass) {
  PipelineOptions o;
  o.passes = {pass};
  o.pass.strictness = Strictness::Assuming;
  o.verify_each = true;
  given.facts->run();
  const auto report = run_pipeline(*given.model, *given.facts, o);
  EXPECT_TRUE(report.ok()) << to_string(report.error());
  return report.ok() ? report->rewrites : 0;
}

std::uint64_t rewrites(const std::string& text, const std::string& pass, const std::string& pinned = {}) {
  InferCase given(text);
  if (!pinned.empty()) ReaderAccess::value(*given.model, given.value(pinned)).pinned = true;
  return rewrites(given, pass);
}

TEST(PassesLeaveAlone, PinnedValues) {
  struct Case {
    const char* pass;
    const char* text;
    std::vector<const char*> pinned;
  };
  const Case cases[] = {
      {"sequence-idioms",
       R"(g (float[4,3] x, int64 i) => (float[3] y) {
         s = SplitToSequence <keepdims = 0> (x)
         y = SequenceAt (s, i)
       })",
       {"s"}},
      {"sequence-idioms",
       R"(g (float[4,3] x) => (float[2,3] y) <int64[2] two = {2, 2}, int64 one = {1}> {
         s = SplitToSequence (x, two)
         y = SequenceAt (s, one)
       })",
       {"s"}},
      {"sequence-idioms",
       R"(g (float[2] x, float[3] z) => (float[5] y) {
         s = SequenceConstruct (x, z)
         y = ConcatFromSequence <axis = 0> (s)
       })",
       {"s"}},
      {"merge-matmuls", kProducts, {"a", "b", "u", "v", "p", "q"}},
      {"merge-tables", kTables, {"t1"}},
      {"merge-initializers",
       R"(g (float[2] x) => (float[2] y) <float[2] a = {1, 2}, float[2] b = {1, 2}> {
         t = Add (x, a)
         y = Mul (t, b)
       })",
       {"a", "b"}},
      {"constant-folding",
       R"(g (float[2] x) => (float[2] y) <float[2] a = {1, 2}> {
         t = Neg (a)
         y = Mul (t, x)
       })",
       {"t", "a"}},
      {"drop-identity", R"(g (float[2] x) => (float[2] y) { t = Identity (x) y = Neg (t) })", {"t"}},
      {"common-subexpressions",
       R"(g (float[2] x) => (float[2] y) {
         a = Neg (x)
         b = Neg (x)
         y = Mul (a, b)
       })",
       {"a", "b"}},
      {"compose",
       R"(g (float[2,4] x) => (float[2,4] y) <int64[1] a = {0}> {
         u = Unsqueeze (x, a)
         y = Squeeze (u, a)
       })",
       {"x", "u", "y"}},
      {"simplify-loops",
       R"(g (float[2] x, int64 n) => (float[2] y) {
         y, z = Loop (n, "", x, x) <body = b (int64 i, bool c, float[2] p, float[2] q)
           => (bool c, float[2] s, float[2] r) {
           s = Neg (p)
           d = Exp (q)
           r = Neg (q)
         }>
       })",
       {"p", "d"}},
      {"drop-unused-outputs",
       R"(g (float[2,4] x, float[4] s) => (float[2,4] y) {
         y, mean = LayerNormalization (x, s)
       })",
       {"mean"}},
  };
  for (const Case& c : cases) {
    EXPECT_GT(rewrites(c.text, c.pass), 0u) << c.pass << ": " << c.text;
    for (const char* name : c.pinned) EXPECT_EQ(rewrites(c.text, c.pass, name), 0u) << c.pass << ": " << name;
  }
}

// Gives the initializer the content of t.
void replace(InferCase& given, const char* name, Tensor t) {
  ReaderAccess::value(*given.model, given.value(name)).tensor = given.model->add_tensor(std::move(t));
}

// The tensor as the loader gives it for one that is stored in segments, or with another element type, which
// it does not read: without content.
Tensor unread(DType type, std::vector<std::int64_t> dims) {
  Tensor t;
  t.dtype = type;
  for (const std::int64_t d : dims) t.elements *= d;
  t.dims = std::move(dims);
  return t;
}

TEST(PassesLeaveAlone, ConstantsWhoseContentIsNotAvailable) {
  for (const char* name : {"u", "v", "p", "q"}) {
    InferCase given(kProducts);
    replace(
        given, name,
        unread(DType::Float, name[0] < 't' ? std::vector<std::int64_t>{2} : std::vector<std::int64_t>{2, 2}));
    EXPECT_EQ(rewrites(given, "merge-matmuls"), 0u) << name;
  }
  for (const auto& [name, dims] : std::vector<std::pair<const char*, std::vector<std::int64_t>>>{
           {"w", {2, 1, 2}}, {"b", {2}}, {"k", {}}}) {
    constexpr const char* kScaled = R"(g (float[1,1,4] x) => (float[1,2,3] y)
      <float[2,1,2] w = {1, 2, 3, 4}, float[2] b = {1, 2}, float k = {2}>
      {
        c = Conv (x, w, b)
        y = Mul (c, k)
      })";
    EXPECT_EQ(rewrites(kScaled, "fold-affine"), 1u);
    InferCase given(kScaled);
    replace(given, name, unread(DType::Float, dims));
    EXPECT_EQ(rewrites(given, "fold-affine"), 0u) << name;
  }
  for (const char* name : {"a", "b"}) {
    InferCase given(kFactors);
    replace(given, name, unread(DType::Float, {1}));
    EXPECT_EQ(rewrites(given, "merge-factors"), 0u) << name;
  }
  EXPECT_EQ(rewrites(kFactors, "merge-factors"), 1u);
  for (const char* name : {"t0", "t1", "t4"}) {
    InferCase given(kTables);
    replace(given, name, unread(DType::Float, {2, 1}));
    EXPECT_EQ(rewrites(given, "merge-tables"), 0u) << name;
  }
  {
    // Nor do their elements bound an index. With a modulus of 2 the index is inside.
    const auto with_modulus = [&](bool readable) {
      InferCase given(R"(g (int64[n,1] k) => (float[n,5,1] y)
        <int64 two = {2}, float[2,1] t0 = {1, 2}, float[2,1] t1 = {3, 4}, float[2,1] t2 = {5, 6},
         float[2,1] t3 = {7, 8}, float[2,1] t4 = {9, 10}>
        {
          i = Mod (k, two)
          p0 = Gather (t0, i)
          p1 = Gather (t1, i)
          p2 = Gather (t2, i)
          p3 = Gather (t3, i)
          p4 = Gather (t4, i)
          y = Concat <axis = 1> (p0, p1, p2, p3, p4)
        })");
      if (!readable) replace(given, "two", unread(DType::Int64, {}));
      PipelineOptions o;
      o.passes = {"merge-tables"};
      given.facts->run();
      const auto report = run_pipeline(*given.model, *given.facts, o);
      return report.ok() ? report->rewrites : 100;
    };
    EXPECT_EQ(with_modulus(true), 1u);
    EXPECT_EQ(with_modulus(false), 0u);
  }
  {
    constexpr const char* kDropout = R"(g (float[2] x) => (float[2] y) <float r = {0.5}, bool no = {0}> {
      d = Dropout (x, r, no)
      y = Neg (d)
    })";
    EXPECT_EQ(rewrites(kDropout, "drop-identity"), 1u);
    InferCase given(kDropout);
    replace(given, "no", unread(DType::Bool, {}));
    EXPECT_EQ(rewrites(given, "drop-identity"), 0u);
  }
  {
    constexpr const char* kIf = R"(g (float[2] x) => (float[2] y) <bool yes = {1}> {
      y = If (yes) <then_branch = t () => (float[2] p) { p = Neg (x) },
                    else_branch = e () => (float[2] q) { q = Abs (x) }>
    })";
    EXPECT_EQ(rewrites(kIf, "inline-if"), 1u);
    InferCase given(kIf);
    replace(given, "yes", unread(DType::Bool, {}));
    EXPECT_EQ(rewrites(given, "inline-if"), 0u);
  }
}

// An attribute without content equals no other, not even itself: no group has this product.
TEST(PassesLeaveAlone, ProductsThatDifferFromThemselves) {
  InferCase given(kProducts);
  Attr alpha;
  alpha.name = given.model->names.intern("alpha");
  alpha.kind = AttrKind::Tensor;
  for (const char* name : {"a", "b"}) given.model->set_attr(given.node_of(name), alpha);
  EXPECT_EQ(rewrites(given, "merge-matmuls"), 0u);
}

// Zeros that take no memory until they are written.
class Zeros {
 public:
  explicit Zeros(std::size_t size)
      : size_(size),
        at_(mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {}
  ~Zeros() {
    if (at_ != MAP_FAILED) munmap(at_, size_);
  }
  Zeros(const Zeros&) = delete;
  Zeros& operator=(const Zeros&) = delete;

  bool mapped() const { return at_ != MAP_FAILED; }
  Tensor tensor(std::vector<std::int64_t> dims) const {
    Tensor t = unread(DType::Float, std::move(dims));
    t.raw = Bytes(static_cast<const char*>(at_), static_cast<std::size_t>(t.elements) * 4);
    t.ready = true;
    return t;
  }

 private:
  std::size_t size_;
  void* at_;
};

// They would be copied: at most 2^30 bytes, of all tables or weights together. A size that does not fit in 64
// bits can only be that of a constant without content.
TEST(PassesLeaveAlone, ConstantsThatAreTooLarge) {
  const Zeros zeros((std::size_t{1} << 30) + 64);
  ASSERT_TRUE(zeros.mapped());
  const std::int64_t most = std::int64_t{1} << 28;  // elements of four bytes
  const auto tables = [](Tensor t) {
    InferCase given(kTables);
    replace(given, "t1", std::move(t));
    return rewrites(given, "merge-tables");
  };
  EXPECT_EQ(tables(zeros.tensor({most - 7, 1})), 0u);  // beside the four others of two rows each
  EXPECT_EQ(tables(unread(DType::Float, {std::int64_t{1} << 62, 1})), 0u);
  EXPECT_EQ(tables(zeros.tensor({1000, 1})), 1u);

  const auto products = [](Tensor t) {
    InferCase given(R"(g (float[n,2] x) => (float[n,2] c, float[n,w] d)
      <float[2,2] u = {1, 2, 3, 4}, float[2,2] v = {5, 6, 7, 8}>
      {
        a = MatMul (x, u)
        b = MatMul (x, v)
        c = Softmax (a)
        d = LogSoftmax (b)
      })");
    replace(given, "v", std::move(t));
    return rewrites(given, "merge-matmuls");
  };
  EXPECT_EQ(products(zeros.tensor({2, most / 2 - 1})), 0u);  // beside the other of four elements
  EXPECT_EQ(products(unread(DType::Float, {2, std::int64_t{1} << 61})), 0u);
  EXPECT_EQ(products(zeros.tensor({2, 1000})), 1u);

  // Factors are multiplied element by element: no long ones.
  const std::vector<float> ones((std::size_t{1} << 16) + 1, 1.0f);
  const auto factors = [&](const char* name, std::int64_t elements) {
    InferCase given(kFactors);
    Tensor t = unread(DType::Float, {elements});
    t.raw = Bytes(reinterpret_cast<const char*>(ones.data()), static_cast<std::size_t>(elements) * 4);
    t.ready = true;
    replace(given, name, std::move(t));
    return rewrites(given, "merge-factors");
  };
  for (const char* name : {"a", "b"}) {
    EXPECT_EQ(factors(name, 1 << 16), 1u) << name;
    EXPECT_EQ(factors(name, (1 << 16) + 1), 0u) << name;
  }
}

// A result that nothing reads must not be kept as an initializer that nothing reads.
TEST(PassesLeaveAlone, ResultsThatNothingReads) {
  InferCase given(R"(g (float[2] x) => (float[2] y) <float[4] w = {1, 2, 3, 4}, int64[2] two = {2, 2}> {
    a, b = Split (w, two)
    y = Add (x, b)
  })");
  ASSERT_EQ(rewrites(given, "constant-folding"), 1u);
  std::vector<std::string> left;
  for (const ValueId v : given.model->graph(given.model->main()).initializers)
    if (given.model->alive(v)) left.emplace_back(given.model->text(given.model->value(v).name));
  EXPECT_EQ(left, (std::vector<std::string>{"w", "two", "b"}));
}

}  // namespace
}  // namespace graphopt
