// Lists of requests: what each line means, and that every mistake is an error that names its line.
#include "runner/request_list.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace graphopt::runner {
namespace {

RequestList list_of(const std::string& text, const std::string& file = "dir/list.jsonl") {
  auto list = read_request_list(text, file);
  for (const Error& e : list ? Errors{} : list.errors()) ADD_FAILURE() << to_string(e);
  return list ? *std::move(list) : RequestList{};
}

std::string why(const std::string& text) {
  const auto list = read_request_list(text, "list.jsonl");
  if (list) return "read";
  std::string out;
  for (const Error& e : list.errors()) {
    EXPECT_EQ(e.kind, ErrorKind::Usage);
    EXPECT_EQ(e.place.file, "list.jsonl");
    EXPECT_FALSE(e.remedy.empty()) << e.what;
    out += e.what + '\n';
  }
  return out;
}

void expect_refused(const std::string& text, const std::string& part) {
  EXPECT_NE(why(text).find(part), std::string::npos) << text << " gives: " << why(text);
}

const std::vector<GivenFile>& files_of(const ListedRequest& r) {
  static const std::vector<GivenFile> none;
  const auto* files = std::get_if<std::vector<GivenFile>>(&r.source);
  EXPECT_NE(files, nullptr);
  return files == nullptr ? none : *files;
}

TEST(RequestList, ReadsEachFormOfALine) {
  const RequestList list = list_of(
      "{\"id\": \"a\", \"inputs\": \"all.npz\"}\n"
      "\n"
      "{\"id\": \"b\", \"inputs\": {\"x\": \"x.npy\", \"y\": \"/abs/all.npz\"}, \"network\": \"n\"}\r\n"
      "{\"id\": \"c\", \"draw\": {\"seq\": 13, \"batch\": [1, 4]}, \"seed\": 7, \"repeat\": 100}\n"
      "   \t\n"
      "{\"inputs\": {}, \"repeat\": 1}\n"
      "{\"draw\": {}}");
  ASSERT_EQ(list.lines.size(), 5U);
  EXPECT_EQ(list.requests, 104U);
  const auto& [a, b, c, d, e] =
      std::tie(list.lines[0], list.lines[1], list.lines[2], list.lines[3], list.lines[4]);
  EXPECT_EQ(a.id, "a");
  EXPECT_EQ(a.line, 1U);
  EXPECT_TRUE(a.network.empty());
  ASSERT_EQ(files_of(a).size(), 1U);
  EXPECT_EQ(files_of(a)[0].input, "");
  EXPECT_EQ(files_of(a)[0].file, "dir/all.npz");
  EXPECT_EQ(b.network, "n");
  EXPECT_EQ(b.line, 3U);
  ASSERT_EQ(files_of(b).size(), 2U);
  EXPECT_EQ(files_of(b)[0].input, "x");
  EXPECT_EQ(files_of(b)[0].file, "dir/x.npy");
  EXPECT_EQ(files_of(b)[1].file, "/abs/all.npz");
  const auto* drawn = std::get_if<DrawnInputs>(&c.source);
  ASSERT_NE(drawn, nullptr);
  EXPECT_EQ(drawn->seed, 7U);
  ASSERT_EQ(drawn->dims.size(), 2U);
  EXPECT_EQ(drawn->dims[0].symbol, "seq");
  EXPECT_EQ(drawn->dims[0].low, 13);
  EXPECT_EQ(drawn->dims[0].high, 13);
  EXPECT_EQ(drawn->dims[1].low, 1);
  EXPECT_EQ(drawn->dims[1].high, 4);
  EXPECT_EQ(id_of(a, 0), "a");
  EXPECT_EQ(id_of(c, 0), "c.0");
  EXPECT_EQ(id_of(c, 99), "c.99");
  EXPECT_EQ(id_of(d, 0), "6.0");  // with the key `repeat` ids have numbers, also of one request
  EXPECT_EQ(id_of(e, 0), "7");
}

TEST(RequestList, PathsAreRelativeToTheListsFolder) {
  const std::string text = "{\"inputs\": \"all.npz\"}";
  EXPECT_EQ(files_of(list_of(text, "list.jsonl").lines.at(0))[0].file, "all.npz");
  EXPECT_EQ(files_of(list_of(text, "-").lines.at(0))[0].file, "all.npz");
  EXPECT_EQ(files_of(list_of(text, "/list.jsonl").lines.at(0))[0].file, "/all.npz");
  EXPECT_EQ(files_of(list_of(text, "a/b/list.jsonl").lines.at(0))[0].file, "a/b/all.npz");
}

TEST(RequestList, RefusesWrongLines) {
  expect_refused("", "no request");
  expect_refused("\n \n", "no request");
  expect_refused("\n{\"inputs\": \"a.npz\",}", "line 2: column ");
  expect_refused("[1]", "line 1: ");
  expect_refused("3", "line 1: found 3");
  expect_refused("{\"inputs\": \"a.npz\"} {}", "line 1: column ");
  expect_refused("{\"inputs\": \"a.npz\", \"inputs\": \"b.npz\"}", "twice");
  expect_refused("{\"input\": \"a.npz\"}", "input: there is no such key");
  expect_refused("{}", "neither");
  expect_refused("{\"inputs\": \"a.npz\", \"draw\": {}}", "has \"inputs\" and \"draw\"");
  expect_refused("{\"inputs\": \"a.npy\"}", "inputs: found \"a.npy\"");
  expect_refused("{\"inputs\": 3}", "inputs: found 3");
  expect_refused("{\"inputs\": {\"x\": 3}}", "inputs.x: found 3");
  expect_refused("{\"inputs\": {\"x\": \"\"}}", "inputs.x: found \"\"");
  expect_refused("{\"inputs\": {\"\": \"x.npy\"}}", "an input has a name");
  expect_refused("{\"inputs\": {}, \"seed\": 1}", "seed: nothing is drawn");
  expect_refused("{\"draw\": [1]}", "draw: found a list of 1");
  expect_refused("{\"draw\": {\"n\": -1}}", "draw.n: found -1");
  expect_refused("{\"draw\": {\"n\": 1.5}}", "draw.n: found 1.5");
  expect_refused("{\"draw\": {\"n\": [4, 1]}}", "draw.n: found [4, 1]");
  expect_refused("{\"draw\": {\"n\": [4, null]}}", "draw.n: found a list of 2");
  expect_refused("{\"draw\": {\"n\": [4]}}", "draw.n: found a list of 1");
  expect_refused("{\"draw\": {\"n\": \"8..40\"}}", "draw.n: found \"8..40\"");
  expect_refused("{\"draw\": {}, \"seed\": -1}", "seed: found -1");
  expect_refused("{\"draw\": {}, \"repeat\": 0}", "repeat: found 0");
  expect_refused("{\"draw\": {}, \"repeat\": 1000000001}", "repeat: found 1000000001");
  expect_refused("{\"draw\": {}, \"network\": \"\"}", "network: found \"\"");
  expect_refused("{\"draw\": {}, \"id\": 3}", "id: found 3");
  expect_refused("{\"draw\": {}, \"id\": \"\xFF\"}", "line 1: ");
  expect_refused("{\"draw\": {}, \"repeat\": 1000000000}\n{\"draw\": {}}", "line 2: the list asks for more");
  expect_refused("{\"inputs\": " + std::string(100000, '['), "line 1: ");
  expect_refused("{\"id\": \"" + std::string(kLongestLine, 'a') + "\"}", "longer than 1 MiB");
}

TEST(RequestList, IdsAreNamesOfFiles) {
  for (const char* id : {"a", "A.b-c_9", "7", "-"}) EXPECT_EQ(wrong_id(id), "") << id;
  for (const char* id :
       {"", ".", "..", "a/b", "a\\b", "../a", ".a", "a.", "a..b", "a b", "a\nb", "\xC3\xBC", "a:b", "a*"})
    EXPECT_NE(wrong_id(id), "") << id;
  EXPECT_NE(wrong_id(std::string("a\0b", 3)), "");
  EXPECT_EQ(wrong_id(std::string(kMostId, 'x')), "");
  EXPECT_NE(wrong_id(std::string(kMostId + 1, 'x')), "");
  expect_refused("{\"draw\": {}, \"id\": \"../a\"}", "id: it has a '/'");
  expect_refused("{\"draw\": {}, \"id\": \"\"}", "id: it is empty");
}

TEST(RequestList, NoTwoRequestsHaveOneId) {
  const auto two = [](const std::string& first, const std::string& second) {
    return why("{\"draw\": {}, " + first + "}\n{\"draw\": {}, " + second + "}\n");
  };
  const auto refused = [&](const std::string& first, const std::string& second, const std::string& part) {
    EXPECT_NE(two(first, second).find(part), std::string::npos) << first << ", " << second;
  };
  refused("\"id\": \"a\"", "\"id\": \"a\"", "line 2: id: line 1 has 'a', too");
  refused("\"id\": \"a\"", "\"id\": \"A\"", "line 2: id: that of line 1, 'a', differs in case only");
  refused("\"id\": \"2\"", "\"seed\": 1", "line 2: id: line 1 has '2', too");
  refused("\"id\": \"c\", \"repeat\": 3", "\"id\": \"c.2\"", "line 2: id: line 1 has 'c.2', too");
  refused("\"id\": \"C.0\"", "\"id\": \"c\", \"repeat\": 3", "line 1: id: line 2 has 'C.0', too");
  refused("\"id\": \"c\", \"repeat\": 3", "\"id\": \"c\"", "line 2: id: line 1");
  EXPECT_EQ(two("\"id\": \"c\", \"repeat\": 3", "\"id\": \"c.3\""), "read");
  EXPECT_EQ(two("\"id\": \"c\", \"repeat\": 3", "\"id\": \"c.02\""), "read");
  EXPECT_EQ(two("\"id\": \"c\", \"repeat\": 3", "\"id\": \"c.1\", \"repeat\": 2"), "read");
  EXPECT_EQ(two("\"id\": \"a\"", "\"id\": \"b\""), "read");
}

TEST(RequestList, TenErrorsAtMost) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "{\"draw\": 1, \"repeat\": 0}\n";
  const auto list = read_request_list(text, "list.jsonl");
  ASSERT_FALSE(list);
  EXPECT_EQ(list.errors().size(), kMaxErrors);
  EXPECT_NE(list.errors()[9].what.find("line 5: "), std::string::npos);
}

TEST(RequestList, ARandomChangeIsReadOrRefused) {
  const std::string good =
      "{\"id\": \"a\", \"inputs\": {\"x\": \"x.npy\"}}\n{\"draw\": {\"seq\": [1, 3]}, \"seed\": 7, "
      "\"repeat\": 100}\n";
  ASSERT_EQ(why(good), "read");
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    std::string broken = good;
    for (int k = 0; k < 2; ++k) broken[random() % broken.size()] = static_cast<char>(random());
    (void)why(broken);
  }
  for (std::size_t size = 0; size < good.size(); ++size) (void)why(good.substr(0, size));
}

}  // namespace
}  // namespace graphopt::runner
