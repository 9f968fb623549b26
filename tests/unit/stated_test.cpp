// What inference and folding state about the small models of tests/vectors/stated. Rows say what must be
// stated and, as nothing else may be, what must not: each row turns on a condition of a rule or kernel: an
// operand that is absent, a rank, an extent or a constant that is not known, an attribute of another value or
// kind, an opset, a negative axis. tests/equal/stated.py compares the rows with runs of ONNX Runtime.
#include "unit/stated_case.h"

#include <gtest/gtest.h>

#include <fstream>

namespace graphopt {
namespace {

// A row is a model from its operator sets on, then lines with "> " of what is stated; an empty line ends it.
void check(const std::string& family) {
  std::ifstream file(GRAPHOPT_TESTS_DIR "/vectors/stated/" + family + ".txt");
  ASSERT_TRUE(file) << family;
  std::string model, stated;
  std::size_t number = 0, first = 0, rows = 0;
  for (std::string line; !file.eof();) {
    std::getline(file, line);
    ++number;
    if (line.starts_with("#")) continue;
    if (line.starts_with("> ")) {
      stated += line.substr(2) + ' ';
    } else if (!line.empty()) {
      if (model.empty()) first = number;
      model += line + ' ';
    } else if (!model.empty()) {
      ++rows;
      EXPECT_EQ(StatedCase::of("<ir_version: 10, opset_import: " + model), stated)
          << family << ".txt:" << first << ": " << model;
      model.clear();
      stated.clear();
    }
  }
  EXPECT_GT(rows, 0u) << family;
}

TEST(Stated, Contraction) { check("contraction"); }
TEST(Stated, Control) { check("control"); }
TEST(Stated, Elementwise) { check("elementwise"); }
TEST(Stated, Microsoft) { check("microsoft"); }
TEST(Stated, Movement) { check("movement"); }
TEST(Stated, Reduction) { check("reduction"); }
TEST(Stated, Sequence) { check("sequence"); }
TEST(Stated, Shape) { check("shape"); }
TEST(Stated, Window) { check("window"); }

}  // namespace
}  // namespace graphopt
