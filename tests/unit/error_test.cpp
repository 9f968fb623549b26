// The text of errors, as users see it.
#include "graphopt/error.h"

#include <gtest/gtest.h>

namespace graphopt {
namespace {

TEST(Error, NamesThePlaceTheFactAndTheRemedy) {
  const Error error{ErrorKind::Input,
                    {"zoo/det.onnx", "", "conv_12", "Conv", "input 1 'w12'"},
                    "its weights are in 'det.bin', which is not there",
                    "put 'det.bin' next to the model, or give --external-root DIR"};
  EXPECT_EQ(
      to_string(error),
      "graphopt: error: zoo/det.onnx: node 'conv_12' (Conv), input 1 'w12': its weights are in 'det.bin', "
      "which is not there\n  help: put 'det.bin' next to the model, or give --external-root DIR");
}

TEST(Error, LeavesOutWhatIsEmpty) {
  EXPECT_EQ(to_string(Error{ErrorKind::Internal, {}, "lost count", ""}), "graphopt: error: lost count");
  EXPECT_EQ(to_string(Place{}), "");
  EXPECT_EQ(to_string(Place{"m.onnx", "", "", "", ""}), "m.onnx");
  EXPECT_EQ(to_string(Place{"", "main/loop_3.body", "#418", "If", ""}),
            "graph 'main/loop_3.body', node #418 (If)");
  EXPECT_EQ(to_string(Place{"m.onnx", "", "", "Conv", ""}), "m.onnx: Conv");
}

TEST(Error, ShowsControlCharactersOfHostileNames) {
  EXPECT_EQ(to_string(Place{"a\nb", "", "x\x1b[31m\x7f", "", ""}), "a\\nb: node 'x\\x1b[31m\\x7f'");
  EXPECT_EQ(to_string(Error{ErrorKind::Input, {}, "\x1b\xc3\xa4", ""}), "graphopt: error: \\x1b\xc3\xa4");
}

}  // namespace
}  // namespace graphopt
