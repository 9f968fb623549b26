// Bucket marks from texts and from files: both forms say the same, and each mistake gets a message that says
// what to write instead.
#include "buckets/marks/marks.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "buckets/marks/parse_marks.h"

namespace graphopt {
namespace {

using List = std::vector<std::int64_t>;
using Names = std::vector<std::string>;

// A folder with files, removed in the end.
class Folder {
 public:
  explicit Folder(const std::string& name) : path_(std::filesystem::path(testing::TempDir()) / name) {
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string add(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name) << text;
    return (path_ / name).string();
  }

 private:
  std::filesystem::path path_;
};

BucketGroup group_of(const std::string& spec) {
  auto g = parse_bucket_spec(spec);
  EXPECT_TRUE(g) << to_string(g.error());
  return g ? *g : BucketGroup{};
}

TEST(BucketSpec, HasWhatTheTextSays) {
  const BucketGroup g = group_of(" src , tgt = 16 .. 512 : step=8 , align=4 , pad=-1.5 , fixed ");
  EXPECT_EQ(g.symbols, (Names{"src", "tgt"}));
  EXPECT_EQ(g.range, (IntRange{16, 512}));
  EXPECT_EQ(g.method, BucketMethod::Step);
  EXPECT_EQ(g.step, 8);
  EXPECT_EQ(g.align, 4);
  EXPECT_EQ(g.pad, MarkNumber(-1.5));
  EXPECT_TRUE(g.fixed);
  EXPECT_EQ(g.from, "--bucket ' src , tgt = 16 .. 512 : step=8 , align=4 , pad=-1.5 , fixed '");
  EXPECT_EQ(group_of("s=1..2:geo=1.25").ratio, 1'250'000'000);
  EXPECT_EQ(group_of("s=1..2:geo=1.000000001").ratio, 1'000'000'001);
  EXPECT_EQ(group_of("s=1..2:geo=2").ratio, 2 * kRatioOne);
  EXPECT_EQ(group_of("s=1..2:max").method, BucketMethod::Max);
  EXPECT_EQ(group_of("s=1..2:pow2,pad=9007199254740993").pad, MarkNumber(std::int64_t{9007199254740993}));
  EXPECT_EQ(number_text(*group_of("s=1..2:pow2,pad=-inf").pad), "-inf");
  EXPECT_EQ(group_of("s=8,+2,pad=0").values, (List{2, 8}));
}

TEST(BucketSpec, NamesMayBeOdd) {
  EXPECT_EQ(group_of("x[1]=1,2").symbols, Names{"x[1]"});
  EXPECT_EQ(group_of("N-N,past + seq,?=1,2").symbols, (Names{"N-N", "past + seq", "?"}));
  EXPECT_EQ(group_of("'a=b,c' , 'it\\'s \\\\',d=1,2").symbols, (Names{"a=b,c", "it's \\", "d"}));
  EXPECT_EQ(group_of("it's=1,2").symbols, Names{"it's"});
  EXPECT_EQ(group_of("длина/x:0=1,2").symbols, Names{"длина/x:0"});
}

TEST(BucketSpec, ReadsFilesOfLengths) {
  const Folder folder("bucket_lengths");
  const std::string path = folder.add("a:b,c.txt", "3\n5 2\n3\n");
  const BucketGroup g = group_of("s=1..8:hist=" + path + ":2,align=2");
  EXPECT_EQ(g.method, BucketMethod::Hist);
  EXPECT_EQ(g.lengths_file, path);
  EXPECT_EQ(g.most, 2);
  EXPECT_EQ(g.align, 2);
  EXPECT_EQ(g.lengths, (std::vector<LengthCount>{{3, 2}, {5, 2}}));
  const BucketGroup automatic = group_of("s=1..8:hist=" + path + ":auto");
  EXPECT_FALSE(automatic.most);
  EXPECT_EQ(automatic.share, kDefaultBucketShare);
  EXPECT_EQ(group_of("s=1..8:hist=" + path + ":auto:0.25").share, 0.25);
  const auto missing = parse_bucket_spec("s=1..8:hist=" + path + ".not:2");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::Usage);
  EXPECT_EQ(missing.error().place.file, path + ".not");
  EXPECT_TRUE(missing.error().what.ends_with("(--bucket 's=1..8:hist=" + path + ".not:2' names it)"))
      << missing.error().what;
  const auto junk = parse_bucket_spec("s=4..8:hist=" + path + ":2");
  ASSERT_FALSE(junk);
  EXPECT_EQ(junk.error().what,
            "line 1: the length 3 is outside the range 4..8 of the buckets (2 such in all)");
}

TEST(BucketSpec, MistakesSayWhatToWrite) {
  struct Case {
    std::string spec, what, remedy;  // parts of the messages
  };
  const std::vector<Case> cases = {
      {"", "the text is empty", "SYMBOL=LOW..HIGH:METHOD"},
      {"seq", "there is no '='", "seq=16..512:pow2"},
      {"seq=", "there are no sizes after '='", "seq=16..512:pow2"},
      {"=1,2", "a name is empty", "src,tgt=16..512:pow2"},
      {"a,,b=1,2", "a name is empty", ""},
      {"a,b,a=1,2", "symbol 'a' is twice in its group", "once"},
      {"'a=1,2", "a quote is not closed", "\\'"},
      {"'a'b=1,2", "found 'b=1,2' after the quoted name 'a'", "','"},
      {"seq=512..16:pow2", "the range 512..16 is reversed", "write 16..512"},
      {"seq=0..0:pow2", "the range 0..0 holds no size but 0", "1 or more"},
      {"seq=0", "the range 0..0 holds no size but 0", "1 or more"},
      {"seq=-4..16:pow2", "the range -4..16 begins below 0", "write 1..16"},
      {"seq=..16:pow2", "the least size is missing", "whole number"},
      {"seq=4..:pow2", "the greatest size is missing", "whole number"},
      {"seq=4..x:pow2", "found 'x' as the greatest size", "whole number"},
      {"seq=4..16", "the range 4..16 has no method", "4..16:pow2"},
      {"seq=4..16,align=8", "the range 4..16 has no method", "4..16:pow2"},
      {"seq=4..16:", "there is no method after ':'", "pow2"},
      {"seq=4..16:pow3", "there is no method 'pow3'", "did you mean 'pow2'?"},
      {"seq=4..16:pow2=3", "there is no method 'pow2=3'", "pow2"},
      {"seq=4..16:step", "there is no method 'step'", "step=64"},
      {"seq=4..16:step=0", "found step=0", "from 1"},
      {"seq=4..16:step=x", "found 'x' as the step", "whole number"},
      {"seq=4..16:step=9999999999", "found step=9999999999", "2147483647"},
      {"seq=4..16:geo=1", "found geo=1", "above 1"},
      {"seq=4..16:geo=0.5", "found geo=0.5", "above 1"},
      {"seq=4..16:geo=nan", "found 'nan' as the ratio", "1.25"},
      {"seq=4..16:geo=inf", "found geo=0", "above 1"},
      {"seq=4..16:geo=1e30", "found geo=0", "below 2^31"},
      {"seq=4..16:hist=f", "found 'hist=f'", "hist=lengths.txt:8"},
      {"seq=4..16:hist=f:x", "found 'x' as the number of buckets", "whole number"},
      {"seq=4..16:hist=f:0", "found 0 as the number of buckets", "from 1"},
      {"seq=4..16:hist=f:auto:x", "found 'auto:x'", "auto:0.01"},
      {"seq=4..16:hist=f:auto:2", "found auto:2", "0 to 1"},
      {"seq=4..16:pow2,align=0", "found align=0", "from 1"},
      {"seq=4..16:pow2,align=8,align=8", "'align=' is given twice", "once"},
      {"seq=4..16:pow2,alin=8", "found 'alin=8'", "did you mean 'align='?"},
      {"seq=4..16:pow2,7", "found '7'", "options: align=8"},
      {"seq=4..16:pow2,,fixed", "found ''", "options: align=8"},
      {"seq=4..16:pow2,pad=x", "found 'x' as a pad value", "-inf"},
      {"seq=4..16:pow2,pad=nan", "found 'nan' as a pad value", "-inf"},
      {"seq=4..16:pow2,pad=", "found '' as a pad value", "-inf"},
      {"seq=4..16:pow2,min=2", "'min' is given with the range 4..16", "write 2..16"},
      {"seq=4..16:geo=1.5,fixed", "'fixed' makes no sense with geo, hist and max", "seq=1,2,4,16,fixed"},
      {"seq=4..16:max,fixed", "'fixed' makes no sense", "leave 'fixed' out"},
      {"seq=4..99999999999:pow2", "the size 99999999999 is too large", "2147483647"},
      {"seq=4..99999999999999999999:pow2", "does not fit into 64 bits", "2147483647"},
      {"seq=1,99999999999999999999", "does not fit into 64 bits", "2147483647"},
      {"seq=1,2147483648", "the size 2147483648 is too large", "2147483647"},
      {"seq=abc", "found 'abc' where sizes should stand", "batch=1,2,4,8"},
      {"seq=1,2x", "found '2x' as a size", "whole number"},
      {"seq=1,x", "found 'x'", "options: align=8"},
      {"seq=-1,2", "the size -1 is negative", "0 or more"},
      {"seq=16:pow2", "the method 'pow2' comes after one number", "1..512:pow2"},
      {"seq=2,4,min=3", "the bucket 2 lies below the least size 3", "'min'"},
      {"seq=2,4,min=5", "the range 5..4 is reversed", "4..5"},
      {"seq=4,6,align=4", "the bucket 6 is no multiple of align=4", "write 8"},
  };
  for (const Case& c : cases) {
    const auto g = parse_bucket_spec(c.spec, "--mark");
    ASSERT_FALSE(g) << c.spec;
    const Error& e = g.error();
    EXPECT_EQ(e.kind, ErrorKind::Usage);
    EXPECT_TRUE(e.what.starts_with("--mark '" + c.spec + "': ")) << e.what;
    EXPECT_NE(e.what.find(c.what), std::string::npos) << e.what;
    EXPECT_NE(e.remedy.find(c.remedy), std::string::npos) << c.spec << ": " << e.remedy;
    EXPECT_FALSE(e.remedy.empty()) << c.spec;
  }
}

TEST(BucketSpec, NoTextCrashesTheReader) {
  std::mt19937 random(5);
  const std::vector<std::string> parts = {"s",   "'",      "\\",   "=",     ",",     "..",  ":",     "1",
                                          "8",   "-",      "pow2", "step=", "geo=",  "1.5", "hist=", "auto",
                                          "max", "align=", "min=", "pad=",  "fixed", " ",   "x",     "\xff"};
  std::size_t good = 0;
  for (int i = 0; i < 100000; ++i) {
    std::string text = i % 2 == 0 ? "s=1..8:" : "";
    for (std::size_t n = random() % 9; n > 0; --n) text += parts[random() % parts.size()];
    const auto g = parse_bucket_spec(text);
    if (!g) {
      ASSERT_FALSE(g.error().remedy.empty()) << text;
      continue;
    }
    ASSERT_FALSE(check_group(*g)) << text;
    ++good;
  }
  EXPECT_GT(good, 500U);
}

TEST(BucketMarksFile, SaysTheSameAsTheTexts) {
  const Folder folder("bucket_marks");
  const std::string lengths = folder.add("lengths.txt", "3\n5 2\n");
  const std::string path = folder.add("marks.json", R"({
    "groups": [{"symbols": ["src", "tgt"], "range": [16, 512], "method": {"pow2": {}}, "align": 8, "pad": 0},
               {"symbols": ["batch"], "values": [8, 1, 2, 4], "min": 1, "fixed": true, "pad": "-inf"},
               {"symbols": ["s"], "range": [1, 64], "method": {"step": 8}, "fixed": true},
               {"symbols": ["g"], "range": [1, 64], "method": {"geo": 1.15}},
               {"symbols": ["m"], "range": [1, 64], "method": {"max": {}}, "pad": 0.5},
               {"symbols": ["h"], "range": [1, 64],
                "method": {"hist": {"file": "lengths.txt", "buckets": 2}}},
               {"symbols": ["a"], "range": [1, 64],
                "method": {"hist": {"file": "lengths.txt", "buckets": "auto", "share": 0.5}}}],
    "inputs": {"ids": {"pad": 0, "values": [0, 30521]}, "x y": {"values": ["-inf", 2.5]},
               "m": {"pad": "inf"}},
    "dims": {"total": "past + seq"}, "limit": {"count": 12},
    "where": "batch*src <= 4096", "require": "repair"})");
  const auto from_file = parse_marks({}, path);
  ASSERT_TRUE(from_file) << to_string(from_file.error());
  const Names specs = {"src,tgt=16..512:pow2,align=8,pad=0",
                       "batch=8,1,2,4,min=1,fixed,pad=-inf",
                       "s=1..64:step=8,fixed",
                       "g=1..64:geo=1.15",
                       "m=1..64:max,pad=0.5",
                       "h=1..64:hist=" + lengths + ":2",
                       "a=1..64:hist=" + lengths + ":auto:0.5"};
  const auto from_texts = parse_marks(specs, "");
  ASSERT_TRUE(from_texts) << to_string(from_texts.error());
  ASSERT_EQ(from_file->groups.size(), specs.size());
  for (std::size_t i = 0; i < specs.size(); ++i) {
    BucketGroup a = from_file->groups[i], b = from_texts->groups[i];
    EXPECT_EQ(a.from, "groups[" + std::to_string(i) + "]");
    EXPECT_EQ(b.from, "--bucket '" + specs[i] + "'");
    a.from = b.from = "";
    a.lengths_file = b.lengths_file = "";
    EXPECT_EQ(a, b) << specs[i];
  }
  EXPECT_EQ(from_file->file, path);
  const double inf = std::numeric_limits<double>::infinity();
  const std::vector<InputMark> inputs = {
      {"ids", MarkNumber(std::int64_t{0}), {{MarkNumber(std::int64_t{0}), MarkNumber(std::int64_t{30521})}}},
      {"x y", {}, {{MarkNumber(-inf), MarkNumber(2.5)}}},
      {"m", MarkNumber(inf), {}}};
  EXPECT_EQ(from_file->inputs, inputs);
  EXPECT_EQ(from_file->dims, (std::vector<DimRelation>{{"total", "past + seq"}}));
  EXPECT_EQ(from_file->limit, 12);
  EXPECT_EQ(from_file->where, "batch*src <= 4096");
  EXPECT_EQ(from_file->require, BucketRequire::Repair);
  EXPECT_EQ(from_texts->limit, kDefaultBucketLimit);
  EXPECT_FALSE(from_texts->require);
  EXPECT_EQ(from_texts->where + from_texts->file, "");

  const auto both = parse_marks(Names{"z=1,2"}, path);
  ASSERT_TRUE(both);
  EXPECT_EQ(both->groups.back().symbols, Names{"z"});
  EXPECT_EQ(both->groups.size(), specs.size() + 1);
}

TEST(BucketMarksFile, MistakesNameTheirPath) {
  struct Case {
    std::string text, what, remedy;  // parts of the messages
  };
  const std::string s = R"({"groups": [{"symbols": ["s"], )";
  const std::vector<Case> cases = {
      {"", "syntax error", "RFC 8259"},
      {"[]", "found a list of 0", "an object with the keys groups, inputs"},
      {R"({"group": []})", "group: there is no such key", "did you mean 'groups'?"},
      {R"({"where": "a", "where": "b"})", "where: the key occurs twice", "remove one"},
      {R"({"groups": {}})", "groups: found an object", "a list of objects"},
      {R"({"groups": [3]})", "groups[0]: found 3", "symbols, range"},
      {R"({"groups": [{"values": [1]}]})", "groups[0]: the key \"symbols\" is missing", "add it"},
      {R"({"groups": [{"symbols": [], "values": [1]}]})", "groups[0].symbols: found a list of 0",
       "at least 1"},
      {R"({"groups": [{"symbols": [""], "values": [1]}]})", "groups[0].symbols[0]: found \"\"", "not empty"},
      {R"({"groups": [{"symbols": ["s"]}]})", "groups[0]: there are no sizes", "a range and a method"},
      {s + R"("values": []}]})", "groups[0].values: found a list of 0", "at least 1"},
      {s + R"("values": [1.5]}]})", "groups[0].values[0]: found 1.5", "a whole number"},
      {s + R"("values": [1], "range": [1, 2]}]})", "a list of sizes has no range", "'min'"},
      {s + R"("values": [1], "method": {"pow2": {}}}]})", "a list of sizes has no method", "'min'"},
      {s + R"("range": [1]}]})", "groups[0].range: found a list of 1", "[least, greatest]"},
      {s + R"("range": [1, null]}]})", "groups[0].range[1]: found null", "a whole number"},
      {s + R"("range": [9, 2], "method": {"max": {}}}]})", "groups[0]: the range 9..2 is reversed",
       "write 2..9"},
      {s + R"("range": [1, 2]}]})", "groups[0]: the range 1..2 has no method", "pow2"},
      {s + R"("range": [1, 2], "method": "pow2"}]})", "groups[0].method: found \"pow2\"", "{\"pow2\": {}}"},
      {s + R"("range": [1, 2], "method": {"pow2": {}, "max": {}}}]})", "groups[0].method: found an object",
       "one key"},
      {s + R"("range": [1, 2], "method": {"pow": {}}}]})", "groups[0].method: found \"pow\"",
       "did you mean 'pow2'?"},
      {s + R"("range": [1, 2], "method": {"pow2": 3}}]})", "groups[0].method.pow2: found 3", "{}"},
      {s + R"("range": [1, 2], "method": {"step": 0}}]})", "groups[0].method.step: found 0", "at least 1"},
      {s + R"("range": [1, 2], "method": {"geo": "2"}}]})", "groups[0].method.geo: found \"2\"", "above 1"},
      {s + R"("range": [1, 2], "method": {"geo": 1}}]})", "groups[0]: found geo=1", "above 1"},
      {s + R"("range": [1, 2], "method": {"hist": {"file": "f"}}}]})", "the key \"buckets\" is missing",
       "add it"},
      {s + R"("range": [1, 2], "method": {"hist": {"file": "f", "buckets": "x"}}}]})",
       "groups[0].method.hist.buckets: found \"x\"", "\"auto\""},
      {s + R"("range": [1, 2], "method": {"hist": {"file": "f", "buckets": 3, "share": 0.1}}}]})",
       "groups[0].method.hist: \"share\" is given with a number of buckets", "\"auto\""},
      {s + R"("range": [1, 2], "method": {"hist": {"file": "f", "buckets": "auto", "share": "x"}}}]})",
       "groups[0].method.hist.share: found \"x\"", "0 to 1"},
      {s + R"("values": [1], "align": 0}]})", "groups[0]: found align=0", "from 1"},
      {s + R"("values": [1], "pad": "nan"}]})", "groups[0].pad: found \"nan\"", "\"-inf\""},
      {s + R"("values": [1], "fixed": 1}]})", "groups[0].fixed: found 1", "true or false"},
      {R"({"inputs": []})", "inputs: found a list of 0", "an object"},
      {R"({"inputs": {"x": {"pads": 0}}})", "inputs.x.pads: there is no such key", "did you mean 'pad'?"},
      {R"({"inputs": {"x y": {"pad": true}}})", "inputs[\"x y\"].pad: found true", "a number"},
      {R"({"inputs": {"x": {"values": [0]}}})", "inputs.x.values: found a list of 1", "[least, greatest]"},
      {R"({"dims": {"t": 3}})", "dims.t: found 3", "a text"},
      {R"({"limit": {"count": 0}})", "limit.count: found 0", "at least 1"},
      {R"({"limit": {"count": 65537}})", "limit.count: found 65537", "from 1 to 65536"},
      {R"({"limit": 64})", "limit: found 64", "count"},
      {R"({"where": ""})", "where: found \"\"", "not empty"},
      {R"({"require": "prove"})", "require: found \"prove\"", "did you mean 'proved'?"},
  };
  for (const Case& c : cases) {
    const auto read = read_marks(c.text, "m.json");
    ASSERT_FALSE(read) << c.text;
    const Error& e = read.error();
    EXPECT_EQ(e.kind, ErrorKind::Usage);
    EXPECT_EQ(e.place.file, "m.json");
    EXPECT_NE(e.what.find(c.what), std::string::npos) << c.text << ": " << e.what;
    EXPECT_NE(e.remedy.find(c.remedy), std::string::npos) << c.text << ": " << e.remedy;
  }
}

TEST(BucketMarksFile, AllMistakesAreShown) {
  const auto read =
      read_marks(R"({"groups": [{"symbols": ["s"], "values": [0]}, {"symbols": ["t"]}], "limits": 3})", "m");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.errors().size(), 3U);
  const auto missing = parse_marks(Names{"a=2..1:max", "b=x"}, "no/such/marks.json");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.errors().size(), 3U);
  EXPECT_EQ(missing.error().kind, ErrorKind::Usage);
  EXPECT_EQ(missing.error().place.file, "no/such/marks.json");
}

TEST(BucketMarksFile, LengthsAreRelativeToTheMarks) {
  const Folder folder("bucket_marks_missing");
  const std::string path = folder.add("marks.json", R"({"groups": [{"symbols": ["h"], "range": [1, 64],
      "method": {"hist": {"file": "not.txt", "buckets": 2}}}]})");
  const auto read = parse_marks({}, path);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().place.file, std::filesystem::path(path).replace_filename("not.txt").string());
  EXPECT_TRUE(read.error().what.ends_with("(" + path + ", groups[0] names it)")) << read.error().what;
}

TEST(BucketMarks, GroupsMustAgree) {
  struct Case {
    std::string text, what, remedy;
  };
  const std::vector<Case> cases = {
      {R"({"groups": [{"symbols": ["a", "s"], "values": [1]},
                      {"symbols": ["s"], "values": [2], "fixed": true}]})",
       "symbol 's' is in two groups: groups[0] and groups[1]", "leave it out of one of them"},
      {R"({"groups": [{"symbols": ["s"], "values": [1], "fixed": true},
                      {"symbols": ["s"], "values": [2], "fixed": true}]})",
       "symbol 's' is fixed twice: by groups[0] and by groups[1]", "one list"},
      {R"({"groups": [{"symbols": ["t"], "values": [1]}], "dims": {"t": "a + b"}})",
       "symbol 't' follows from others ('a + b'), and groups[0] gives it buckets of its own", "leave it out"},
      {R"({"inputs": {"x": {"pad": -1, "values": [0, 9]}}})",
       "the pad value -1 of input 'x' lies outside its range of values [0, 9]",
       "take a pad value from [0, 9]"},
      {R"({"inputs": {"x": {"pad": "-inf", "values": [-5.5, 9]}}})",
       "the pad value -inf of input 'x' lies outside its range of values [-5.5, 9]", "widen \"values\""},
      {R"({"inputs": {"x": {"pad": 9007199254740993, "values": [0, 9007199254740992.0]}}})",
       "the pad value 9007199254740993 of input 'x' lies outside", ""},
      {R"({"inputs": {"x": {"values": [9, 0]}}})", "the range of values [9, 0] of input 'x' is reversed",
       "write [0, 9]"},
  };
  for (const Case& c : cases) {
    const auto marks = read_marks(c.text, "m.json");
    ASSERT_TRUE(marks) << c.text << to_string(marks.error());
    const Errors errors = check_marks(*marks);
    ASSERT_EQ(errors.size(), 1U) << c.text;
    EXPECT_EQ(errors[0].kind, ErrorKind::Usage);
    EXPECT_EQ(errors[0].place.file, "m.json");
    EXPECT_NE(errors[0].what.find(c.what), std::string::npos) << errors[0].what;
    EXPECT_NE(errors[0].remedy.find(c.remedy), std::string::npos) << errors[0].remedy;
  }
  const auto twice = parse_marks(Names{"s=1,fixed", "s=2,fixed"}, "");
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().what,
            "symbol 's' is fixed twice: by --bucket 's=1,fixed' and by --bucket 's=2,fixed'");
  EXPECT_TRUE(
      check_marks(
          *read_marks(R"({"inputs": {"x": {"pad": 9, "values": [0, 9]}, "y": {"pad": 0, "values": [0, 0]}}})",
                      "m"))
          .empty());
}

TEST(BucketMarks, UnknownNamesGetNearOnes) {
  BucketMarks marks =
      *read_marks(R"({"groups": [{"symbols": ["seq", "sqe", "x[1]", "y[1]", "x[a]", "x[]"], "values": [1]}],
      "inputs": {"idz": {}, "x": {}}, "dims": {"totl": "seq"}})",
                  "m.json");
  const Names symbols = {"seq", "total"}, inputs = {"ids", "x"};
  const Errors errors = unknown_names(marks, symbols, inputs);
  ASSERT_EQ(errors.size(), 6U);
  EXPECT_EQ(errors[0].what, "groups[0]: the model's inputs have no symbol 'sqe'");
  EXPECT_EQ(errors[0].remedy, "did you mean 'seq'?");
  EXPECT_EQ(errors[1].what, "groups[0]: the model's inputs have no symbol 'y[1]'");
  EXPECT_EQ(errors[1].remedy, "symbols of the inputs: seq, total");
  EXPECT_EQ(errors[4].what, "dims: the model's inputs have no symbol 'totl'");
  EXPECT_EQ(errors[4].remedy, "did you mean 'total'?");
  EXPECT_EQ(errors[5].what, "inputs: the model has no input 'idz'");
  EXPECT_EQ(errors[5].remedy, "did you mean 'ids'?");
}

TEST(BucketMarks, PadsComeFromTheInputThenFromItsGroups) {
  const BucketMarks marks = *read_marks(R"({"groups": [{"symbols": ["a", "b"], "values": [1], "pad": 3},
      {"symbols": ["c"], "values": [1], "pad": 4}, {"symbols": ["d"], "values": [1]},
      {"symbols": ["e"], "values": [1], "pad": 3}],
      "inputs": {"x": {"pad": 5}, "y": {"values": [0, 3]}}})",
                                        "m.json");
  const auto pad = [&](std::string_view input, const Names& symbols) {
    const auto p = pad_of(marks, input, symbols);
    return !p ? p.error().what : *p ? number_text(**p) : "none";
  };
  EXPECT_EQ(pad("x", {"a", "c"}), "5");
  EXPECT_EQ(pad("y", {"a", "d", "b", "e"}), "3");
  EXPECT_EQ(pad("z", {"c"}), "4");
  EXPECT_EQ(pad("z", {"d"}), "none");
  EXPECT_EQ(pad("y", {"c"}),
            "the pad value 4 of input 'y', given by groups[1], lies outside its range of values [0, 3]");
  EXPECT_EQ(pad("z", {"a", "c"}),
            "input 'z' has dims of two groups with different pad values: 3 of groups[0], and 4 of groups[1]");
}

}  // namespace
}  // namespace graphopt
