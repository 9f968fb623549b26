// Sets of files: what is in a folder after a set was written, replaced, refused or given up.
#include "support/output_set.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <sstream>
#include <thread>

#include "support/sha256.h"

namespace graphopt {
namespace {

namespace fs = std::filesystem;

using Names = std::set<std::string>;
using Contents = std::vector<std::pair<std::string, std::string>>;  // stem and bytes

class Outputs : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::path(testing::TempDir()) / ("set-" + std::to_string(::getpid()) + "-" + test->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  Names names() const {
    Names out;
    for (const auto& entry : fs::directory_iterator(folder_)) out.insert(entry.path().filename().string());
    return out;
  }
  static std::string read(const std::string& file) {
    std::stringstream bytes;
    bytes << std::ifstream(file, std::ios::binary).rdbuf();
    return bytes.str();
  }
  static void put(const std::string& file, const std::string& text) {
    std::ofstream(file, std::ios::binary) << text;
  }

  static Result<std::vector<SetFile>> fill(OutputSet& set, const Contents& contents) {
    std::vector<SetFile> files;
    for (const auto& [stem, bytes] : contents) {
      Result<SetFile> file = set.add(stem, ".onnx", bytes.size(), sha256_hex(bytes),
                                     [&](OutputFile& out) { return out.write(bytes); });
      if (!file) return file.errors();
      files.push_back(*file);
    }
    return files;
  }
  Result<std::vector<SetFile>> write(const std::string& list, const Contents& contents,
                                     const FileBeside& beside = {}, bool force = false) {
    auto set = OutputSet::open(path(list), read_plain_list, force);
    if (!set) return set.errors();
    Result<std::vector<SetFile>> files = fill(**set, contents);
    if (!files) return files;
    if (Status s = (*set)->commit(plain_list(*files), beside); !s) return s.errors();
    return files;
  }
  Names named(const Result<std::vector<SetFile>>& files, const std::string& list) {
    EXPECT_TRUE(files.ok()) << to_string(files.error());
    Names out{list};
    if (files)
      for (const SetFile& f : *files) out.insert(f.name);
    return out;
  }
  // The folder has the set of this list and nothing else, and its files have the content that it says.
  void expect_whole(const std::string& list) {
    const auto files = read_plain_list(read(path(list)));
    ASSERT_TRUE(files);
    for (const SetFile& f : *files) EXPECT_EQ(sha256_hex(read(path(f.name))), f.sha256) << f.name;
  }

  fs::path folder_;
};

TEST_F(Outputs, NamesFilesByTheirContent) {
  const auto files = write("net.list", {{"net.s0", "one"}, {"net.s1", "two"}});
  EXPECT_EQ(names(), named(files, "net.list"));
  expect_whole("net.list");
  EXPECT_TRUE((*files)[0].name.starts_with("net.s0."));
  EXPECT_EQ((*files)[0].name.size(), std::string("net.s0.").size() + 32 + std::string(".onnx").size());
  EXPECT_EQ(*write("net.list", {{"net.s0", "one"}, {"net.s1", "two"}}), *files);
  EXPECT_NE((*write("net.list", {{"net.s0", "two"}}))[0].name, (*files)[0].name);
}

TEST_F(Outputs, NamesHoldPlainCharactersOnly) {
  const auto files =
      write("net.list", {{"../a b\n/\"é", "one"}, {"", "two"}, {std::string(300, 'x'), "three"}});
  EXPECT_EQ(names(), named(files, "net.list"));
  EXPECT_TRUE((*files)[0].name.starts_with("_.._a_b_____")) << (*files)[0].name;
}

TEST_F(Outputs, RemovesTheFilesOfTheSetThatItReplaces) {
  const auto old = write("net.list", {{"net.s0", "one"}, {"net.s1", "two"}});
  put(path("net.s0.onnx"), "of the user");
  const auto now = write("net.list", {{"net.s0", "one"}, {"net.s1", "three"}});
  Names expected = named(now, "net.list");
  expected.insert("net.s0.onnx");
  EXPECT_EQ(names(), expected);
  EXPECT_EQ((*old)[0], (*now)[0]);
  expect_whole("net.list");
}

TEST_F(Outputs, DoesNotWriteAFileAgainThatIsThere) {
  const auto old = write("net.list", {{"net.s0", "one"}});
  struct stat before{}, after{};
  ASSERT_EQ(::stat(path((*old)[0].name).c_str(), &before), 0);
  ASSERT_TRUE(write("net.list", {{"net.s0", "one"}}));
  ASSERT_EQ(::stat(path((*old)[0].name).c_str(), &after), 0);
  EXPECT_EQ(before.st_ino, after.st_ino);
  put(path((*old)[0].name), "oNe");  // damaged, of the same length
  ASSERT_TRUE(write("net.list", {{"net.s0", "one"}}));
  expect_whole("net.list");
}

TEST_F(Outputs, TwoSetsInOneFolderKeepTheirFiles) {
  const auto a = write("a.list", {{"net", "one"}});
  const auto b = write("b.list", {{"net", "one"}});
  EXPECT_NE((*a)[0].name, (*b)[0].name);  // of one stem and content
  ASSERT_TRUE(write("b.list", {{"net", "two"}}));
  expect_whole("a.list");
  // A copy of a list under another name owns nothing.
  fs::copy_file(path("a.list"), path("b.list"), fs::copy_options::overwrite_existing);
  ASSERT_TRUE(write("b.list", {{"net", "three"}}));
  expect_whole("a.list");
  expect_whole("b.list");
}

// A file of another set, or outside, is not removed whatever a list says of it.
TEST_F(Outputs, AHostileListRemovesNothing) {
  const auto other = write("other.list", {{"net", "weights"}});
  fs::create_directory(path("sub"));
  fs::create_directory(path("away"));
  const std::string text = "precious";
  // What would be the name of a file of net.list with this content.
  auto set = OutputSet::open(path("net.list"), read_plain_list, false);
  ASSERT_TRUE(set);
  const std::string mine = (*set)->named("x", ".onnx", text.size(), sha256_hex(text)).name;
  set->reset();
  put(path("away/" + mine), text);
  put(path("sub/" + mine), text);
  put(path("user.txt"), text);
  fs::create_symlink(path("away"), path("link"));
  fs::create_directory(path("y" + mine));
  const std::string sha = sha256_hex(text);
  std::vector<SetFile> hostile;
  const std::vector<std::string> hostile_names = {path("away/" + mine),
                                                  "../" + folder_.filename().string() + "/user.txt",
                                                  "user.txt",
                                                  "sub/" + mine,
                                                  "link/" + mine,
                                                  "./user.txt",
                                                  "sub/../user.txt",
                                                  (*other)[0].name,
                                                  ".",
                                                  "..",
                                                  "other.list",
                                                  "y" + mine,
                                                  "sub"};
  for (const std::string& name : hostile_names) hostile.push_back({name, 0, sha});
  hostile.push_back({(*other)[0].name, 0, (*other)[0].sha256});
  put(path("net.list"), plain_list(hostile));
  ASSERT_TRUE(write("net.list", {{"net", "one"}}));
  EXPECT_EQ(read(path("away/" + mine)), text);
  EXPECT_EQ(read(path("sub/" + mine)), text);
  EXPECT_EQ(read(path("user.txt")), text);
  EXPECT_TRUE(fs::is_directory(path("y" + mine)));
  expect_whole("other.list");
  // The name of its own is removed; a link of that name stays, and so does what it leads to.
  put(path(mine), text);
  fs::create_symlink(path("user.txt"), path("z" + mine));
  put(path("net.list"), plain_list({{mine, 0, sha}, {"z" + mine, 0, sha}}));
  ASSERT_TRUE(write("net.list", {{"net", "one"}}));
  EXPECT_FALSE(fs::exists(path(mine)));
  EXPECT_TRUE(fs::is_symlink(path("z" + mine)));
  EXPECT_EQ(read(path("user.txt")), text);
}

// --- files in a folder below the list ----------------------------------------------------------------------

TEST_F(Outputs, FilesCanStandInAFolderBelowTheList) {
  fs::create_directories(path("a/b c"));
  const auto save = [&](const std::string& list, const Contents& contents) {
    auto set = OutputSet::open(path(list), read_plain_list, false, {path("a/./b c"), {}});
    EXPECT_TRUE(set.ok()) << to_string(set.error());
    auto files = fill(**set, contents);
    EXPECT_TRUE(files.ok());
    EXPECT_TRUE((*set)->commit(plain_list(*files)));
    EXPECT_EQ((*set)->name_of(path("a/x")), "a/x");
    EXPECT_EQ((*set)->name_of(path("../x")), "");
    return *files;
  };
  const auto in_folder = [&] {
    Names out;
    for (const auto& e : fs::directory_iterator(path("a/b c")))
      out.insert("a/b c/" + e.path().filename().string());
    return out;
  };
  const auto named_by = [](const std::vector<SetFile>& files) {
    Names out;
    for (const SetFile& f : files) out.insert(f.name);
    return out;
  };
  save("net.list", {{"net.s0", "one"}, {"net.s1", "two"}});
  const std::vector<SetFile> files = save("net.list", {{"net.s0", "one"}, {"net.s1", "three"}});
  EXPECT_EQ(in_folder(), named_by(files));
  EXPECT_EQ(names(), (Names{"a", "net.list"}));
  expect_whole("net.list");
  // A list of the same name and text that stands elsewhere owns none of them.
  const auto own = write("a/b c/net.list", {{"net.s0", "one"}});
  ASSERT_TRUE(own);
  ASSERT_TRUE(write("a/b c/net.list", {{"net.s0", "four"}}));
  expect_whole("net.list");
  fs::copy_file(path("net.list"), path("a/net.list"));
  ASSERT_TRUE(write("a/net.list", {}));
  expect_whole("net.list");
  // After a move of the files into the list's folder those that are below go, and the user's folder stays.
  ASSERT_TRUE(write("net.list", {{"net.s0", "one"}}));
  for (const SetFile& f : files) EXPECT_FALSE(fs::exists(path(f.name)));
  EXPECT_TRUE(fs::is_directory(path("a/b c")));
  expect_whole("net.list");
}

TEST_F(Outputs, AFolderThatARunMadeGoesWithItsFiles) {
  const auto save = [&](const std::string& list, const std::string& folder, const Contents& contents) {
    auto set = OutputSet::open(path(list), read_plain_list, false, {path(folder), {}});
    EXPECT_TRUE(set.ok()) << to_string(set.error());
    auto files = fill(**set, contents);
    EXPECT_TRUE(files.ok());
    EXPECT_TRUE((*set)->commit(plain_list(*files)));
  };
  const Contents contents = {{"net.s0", "one"}, {"net.s1", "two"}};
  save("net.list", "a/b/c", contents);
  expect_whole("net.list");
  EXPECT_EQ(names(), (Names{"a", "net.list"}));
  save("net.list", "a/d", contents);  // `b` goes with `c`
  expect_whole("net.list");
  EXPECT_FALSE(fs::exists(path("a/b")));
  save("other.list", "a/d", contents);
  save("net.list", ".", contents);  // the other set is still there
  expect_whole("other.list");
  expect_whole("net.list");
  save("net.list", "a/d", {});
  save("other.list", "e", contents);
  EXPECT_EQ(names(), (Names{"e", "net.list", "other.list"}));
  put(path("e/user.txt"), "mine");
  save("other.list", ".", contents);
  EXPECT_EQ(read(path("e/user.txt")), "mine");
  // One that the user made stays, also when it is empty; and nothing is left of a run that was given up.
  fs::create_directory(path("mine"));
  save("net.list", "mine", contents);
  save("net.list", "mine/a", contents);
  save("net.list", ".", contents);
  EXPECT_TRUE(fs::is_empty(path("mine")));
  const Names before = names();
  {
    auto set = OutputSet::open(path("net.list"), read_plain_list, false, {path("x/y"), {}});
    ASSERT_TRUE(set);
    EXPECT_TRUE(fs::is_directory(path("x/y")));
    ASSERT_TRUE(fill(**set, {{"net.s0", "three"}}));
  }
  EXPECT_EQ(names(), before);
  expect_whole("net.list");
}

TEST_F(Outputs, AFileInTheWayOfAFolder) {
  put(path("file"), "mine");
  fs::create_symlink(path("absent"), path("dangling"));
  const Names before = names();
  for (const std::string name : {"file", "file/sub", "dangling", "dangling/sub"}) {
    const auto set = OutputSet::open(path("net.list"), read_plain_list, false, {path(name), {}});
    EXPECT_FALSE(set.ok()) << name;
    EXPECT_EQ(names(), before) << name;
  }
}

TEST_F(Outputs, RefusesAFolderThatTheListCannotName) {
  fs::create_directories(path("sub"));
  fs::create_directories(path("back\\slash"));
  fs::create_directories(path("line\nbreak"));
  fs::create_directory_symlink(path("sub"), path("back\\slash/link"));
  const auto what = [&](const std::string& list, const std::string& folder) {
    const auto set = OutputSet::open(path(list), read_plain_list, false, {path(folder), {}});
    return set.ok() ? std::string("opened") : set.error().what;
  };
  const Names before = names();
  EXPECT_TRUE(what("sub/net.list", ".").find("which is not below its own folder") != std::string::npos);
  EXPECT_TRUE(what("sub/net.list", "sub/..").find("which is not below") != std::string::npos);
  EXPECT_TRUE(
      what("net.list", "back\\slash").ends_with("a folder's name has a backslash or a control character"));
  EXPECT_TRUE(
      what("net.list", "line\nbreak").ends_with("a folder's name has a backslash or a control character"));
  EXPECT_EQ(what("net.list", "absent"), "opened");            // it is made, and goes when nothing is written
  EXPECT_EQ(what("net.list", "back\\slash/link"), "opened");  // links are followed
  EXPECT_EQ(names(), before);
  EXPECT_TRUE(fs::is_empty(path("sub")));
}

// --- failures ----------------------------------------------------------------------------------------------

TEST_F(Outputs, AFailureInTheMiddleLeavesTheOldSet) {
  const auto old = write("net.list", {{"net.s0", "one"}, {"net.s1", "two"}});
  const Names before = names();
  {
    auto set = OutputSet::open(path("net.list"), read_plain_list, false);
    ASSERT_TRUE(set);
    ASSERT_TRUE(fill(**set, {{"net.s0", "three"}}));
    EXPECT_GT(names().size(), before.size());  // the folder in which the new set is made
  }
  EXPECT_EQ(names(), before);
  const Result<std::vector<SetFile>> failed =
      write("net.list", {{"net.s0", "three"}},
            {[]() -> Status { return Error{ErrorKind::Output, {}, "no", "none"}; }, [] { FAIL(); }});
  EXPECT_FALSE(failed);
  EXPECT_EQ(names(), before);
  expect_whole("net.list");
}

TEST_F(Outputs, UndoesWhatStandsBesideWhenTheListCannotBeReplaced) {
  ASSERT_TRUE(write("net.list", {{"net.s0", "one"}}));
  const Names before = names();
  bool undone = false;
  const auto failed = write("net.list", {{"net.s0", "two"}},
                            {[this]() -> Status {
                               fs::remove(path("net.list"));  // now a folder is in the way of the last step
                               fs::create_directories(path("net.list/full"));
                               return Done{};
                             },
                             [&undone] { undone = true; }});
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().what, "it is a folder");
  EXPECT_TRUE(undone);
  EXPECT_EQ(names(), before);
}

TEST_F(Outputs, AFolderOfAFilesNameIsAnError) {
  ASSERT_TRUE(write("net.list", {{"net.s0", "one"}}));
  auto set = OutputSet::open(path("net.list"), read_plain_list, false);
  const std::string name = (*set)->named("net.s1", ".onnx", 3, sha256_hex("two")).name;
  set->reset();
  fs::create_directories(path(name));
  const Names before = names();
  const auto failed = write("net.list", {{"net.s0", "three"}, {"net.s1", "two"}});
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().kind, ErrorKind::Output);
  EXPECT_EQ(failed.error().place.file, path(name));
  EXPECT_EQ(failed.error().what, "it is a folder");
  EXPECT_EQ(names(), before);
  expect_whole("net.list");
}

TEST_F(Outputs, ALinkIsFollowedToAFileAndReplacedWhenThereIsNone) {
  fs::create_directories(path("away"));
  put(path("away/real"), "");
  fs::create_symlink(path("away/real"), path("net"));
  ASSERT_TRUE(write("net", {{"a", "1"}}));
  EXPECT_TRUE(fs::is_symlink(path("net")));
  EXPECT_EQ(names(), (Names{"away", "net"}));  // the set stands beside the file
  EXPECT_NE(read(path("away/real")), "");
  fs::create_symlink(path("away/later"), path("new"));
  const Result<std::vector<SetFile>> files = write("new", {{"a", "1"}});
  ASSERT_TRUE(files);
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(path("new"))));
  EXPECT_FALSE(fs::exists(path("away/later")));
  EXPECT_EQ(names(), (Names{"away", "net", "new", (*files)[0].name}));
}

TEST_F(Outputs, RefusesAListThatItCannotReplace) {
  const auto what = [&](const std::string& list) {
    const auto failed = write(list, {{"net", "one"}});
    if (failed) return std::string("written");
    EXPECT_EQ(failed.error().kind, ErrorKind::Output);
    EXPECT_FALSE(failed.error().remedy.empty());
    EXPECT_FALSE(failed.error().place.file.empty());
    return failed.error().what;
  };
  fs::create_directory(path("folder"));
  EXPECT_EQ(what("folder"), "it is a folder");
  EXPECT_TRUE(what("absent/net.list").ends_with("is not there"));
  EXPECT_EQ(what(std::string(250, 'n')), "the name is too long");
  put(path("notes.txt"), "not a list\n");
  EXPECT_EQ(what("notes.txt"), "the file that is there is not the list of a set of files");
  EXPECT_EQ(read(path("notes.txt")), "not a list\n");
  put(path(".taken.graphopt"), "");
  EXPECT_TRUE(what("taken").starts_with("it is in the way"));
  fs::create_symlink(path("folder"), path(".linked.graphopt"));
  EXPECT_TRUE(what("linked").starts_with("it is in the way"));
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(what("pipe"), "the list of a set of files must be a file itself");
  EXPECT_EQ(names(), (Names{"folder", "notes.txt", ".taken.graphopt", ".linked.graphopt", "pipe"}));
  EXPECT_TRUE(write("notes.txt", {{"net", "one"}}, {}, true));
  expect_whole("notes.txt");
}

// Root may write everywhere: while this lives, the process is another user, who owns the folder.
class Unprivileged {
 public:
  explicit Unprivileged(const fs::path& folder) {
    constexpr uid_t kNobody = 65534;
    if (was_ != 0) return;
    EXPECT_EQ(::chown(folder.c_str(), kNobody, static_cast<gid_t>(-1)), 0);
    EXPECT_EQ(::seteuid(kNobody), 0);
  }
  ~Unprivileged() { EXPECT_EQ(::seteuid(was_), 0); }
  Unprivileged(const Unprivileged&) = delete;
  Unprivileged& operator=(const Unprivileged&) = delete;

 private:
  const uid_t was_ = ::geteuid();
};

TEST_F(Outputs, RefusesWhereNothingMayBeWritten) {
  const Unprivileged user(folder_);
  const auto old = write("net.list", {{"net", "one"}});
  const Names before = names();
  fs::permissions(folder_, fs::perms::owner_read | fs::perms::owner_exec);
  const auto folder = write("net.list", {{"net", "two"}});
  fs::permissions(folder_, fs::perms::owner_all);
  ASSERT_FALSE(folder);
  EXPECT_TRUE(folder.error().what.starts_with("nothing may be written there"));
  fs::permissions(path("net.list"), fs::perms::none);
  const auto list = write("net.list", {{"net", "two"}});
  EXPECT_FALSE(list);
  fs::permissions(path("net.list"), fs::perms::owner_all);
  EXPECT_EQ(names(), before);
  expect_whole("net.list");
}

// A limit on the size of files stands for a disk that is full.
TEST_F(Outputs, NoSpaceLeavesTheOldSet) {
  ASSERT_TRUE(write("net.list", {{"net", "one"}}));
  const Names before = names();
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &limit), 0);
  const rlimit small{4096, limit.rlim_max};
  auto* const old = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto failed = write("net.list", {{"net", "two"}, {"big", std::string(10'000, 'x')}});
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  std::signal(SIGXFSZ, old);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().what, "the file would be larger than this system allows");
  EXPECT_TRUE(failed.error().place.file.starts_with(path("big.")));
  EXPECT_EQ(names(), before);
  expect_whole("net.list");
}

// --- runs that are ended, and runs at the same time --------------------------------------------------------

// The child ends before, or after, the list is replaced, without any clean-up.
TEST_F(Outputs, ALaterRunRemovesWhatAnEndedOneLeft) {
  ASSERT_TRUE(write("net.list", {{"net.s0", "one"}, {"net.s1", "two"}}));
  const Names before = names();
  const pid_t child = ::fork();
  if (child == 0) {
    static_cast<void>(write("net.list", {{"net.s0", "three"}}, {[]() -> Status { ::_exit(0); }, {}}));
    ::_exit(1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  expect_whole("net.list");
  EXPECT_EQ(names().size(), before.size() + 2);  // the new file and the folder with the journal
  ASSERT_TRUE(write("net.list", {{"net.s0", "one"}, {"net.s1", "two"}}));
  EXPECT_EQ(names(), before);
}

TEST_F(Outputs, ASignalLeavesTheOldSet) {
  ASSERT_TRUE(write("net.list", {{"net.s0", "one"}}));
  const Names before = names();
  {
    auto set = OutputSet::open(path("net.list"), read_plain_list, false);
    ASSERT_TRUE(fill(**set, {{"net.s0", "two"}, {"net.s1", "three"}}));
    remove_temporary_files();  // the handler, while files are made
    EXPECT_EQ(names(), before);
  }
  {
    auto set = OutputSet::open(path("net.list"), read_plain_list, false);
    ASSERT_TRUE(fill(**set, {{"net.s0", "two"}}));
    remove_temporary_files();  // the process goes on for a moment
    bool placed = false;
    const Status failed = (*set)->commit("", {[&placed]() -> Status {
                                                placed = true;
                                                return Done{};
                                              },
                                              [] {}});
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.errors().front().what, "the run was interrupted");
    EXPECT_FALSE(placed);
  }
  EXPECT_EQ(names(), before);
  expect_whole("net.list");
}

// What stands beside the set may need its files: from there on a signal removes none of them.
TEST_F(Outputs, ASignalLeavesTheNewFilesToWhatStandsBeside) {
  ASSERT_TRUE(write("net.list", {{"net.s0", "one"}}));
  const pid_t child = ::fork();
  if (child == 0) {
    static_cast<void>(write("net.list", {{"net.s0", "two"}},
                            {[]() -> Status {
                               remove_temporary_files();
                               ::_exit(0);
                             },
                             {}}));
    ::_exit(1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  EXPECT_EQ(names().size(), 4u);  // the list, both files, the folder with the journal
  expect_whole("net.list");
  ASSERT_TRUE(write("net.list", {{"net.s0", "three"}}));
  EXPECT_EQ(names().size(), 2u);
}

// What an ended run left stays while it is in use, also after a run that fails, and goes with the next one.
TEST_F(Outputs, WhatIsInUseStaysUntilItIsNot) {
  ASSERT_TRUE(write("net.list", {{"net.s0", "one"}}));
  const Names before = names();
  const pid_t child = ::fork();
  if (child == 0) {
    static_cast<void>(
        write("net.list", {{"net.s0", "two"}, {"net.s1", "three"}}, {[]() -> Status { ::_exit(0); }, {}}));
    ::_exit(1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  bool used = true;
  std::string in_use;
  const auto opened = [&] {
    return OutputSet::open(path("net.list"), read_plain_list, false,
                           {{}, [&](const std::string& file) { return used && file == in_use; }});
  };
  for (const std::string& name : names())
    if (read(path(name)) == "two") in_use = path(name);
  Names left = before;
  left.insert(in_use.substr(folder_.string().size() + 1));
  left.insert(".net.list.graphopt");
  for (int i = 0; i < 3; ++i) {
    auto set = opened();  // ends before its files are made; then while they are; then when they have places
    ASSERT_TRUE(set);
    if (i == 1) {
      ASSERT_TRUE(fill(**set, {{"net.s0", "four"}}));
      remove_temporary_files();
      EXPECT_FALSE((*set)->commit("", {}));
    } else if (i == 2) {
      ASSERT_TRUE(fill(**set, {{"net.s0", "five"}}));
      EXPECT_FALSE(
          (*set)->commit("", {[]() -> Status { return Error{ErrorKind::Output, {}, "no", "none"}; }, {}}));
    }
    set->reset();
    EXPECT_EQ(names(), left);
    expect_whole("net.list");
  }
  {
    auto set = opened();
    const auto files = fill(**set, {{"net.s0", "four"}});
    ASSERT_TRUE(files);
    ASSERT_TRUE((*set)->commit(plain_list(*files), {[&used]() -> Status {
                                                      used = false;
                                                      return Done{};
                                                    },
                                                    [] {}}));
  }
  EXPECT_EQ(names().size(), 2u);
  expect_whole("net.list");
}

TEST_F(Outputs, ANewFileThatIsInUseStaysAfterAnError) {
  ASSERT_TRUE(write("net.list", {{"net.s0", "one"}}));
  const Names before = names();
  bool placed = false;
  {
    auto set = OutputSet::open(path("net.list"), read_plain_list, false,
                               {{}, [&](const std::string& file) { return placed && read(file) == "two"; }});
    const auto files = fill(**set, {{"net.s0", "two"}, {"net.s1", "three"}});
    ASSERT_TRUE(files);
    EXPECT_FALSE((*set)->commit(plain_list(*files), {[&]() -> Status {
                                                       placed = true;
                                                       fs::rename(path("net.list"), path("kept"));
                                                       fs::create_directories(path("net.list/full"));
                                                       return Done{};
                                                     },
                                                     [] {}}));
  }
  fs::remove_all(path("net.list"));
  fs::rename(path("kept"), path("net.list"));
  EXPECT_EQ(names().size(), before.size() + 2);  // the file and the folder with the journal
  expect_whole("net.list");
  ASSERT_TRUE(write("net.list", {{"net.s0", "one"}}));
  EXPECT_EQ(names(), before);
}

TEST_F(Outputs, RunsAtTheSameTimeWaitForEachOther) {
  constexpr int kRuns = 8;
  std::vector<std::thread> threads;
  std::vector<bool> written(kRuns);
  std::mutex lock;
  for (int i = 0; i < kRuns; ++i)
    threads.emplace_back([&, i] {
      const auto files = write("net.list", {{"net.s0", "of run " + std::to_string(i)}, {"net.s1", "of all"}});
      const std::scoped_lock hold(lock);
      written[static_cast<std::size_t>(i)] = files.ok();
    });
  for (std::thread& t : threads) t.join();
  for (const bool ok : written) EXPECT_TRUE(ok);
  expect_whole("net.list");
  EXPECT_EQ(names().size(), 3u);  // the list and the files of the last run
}

TEST(PlainList, IsReadAsItIsWritten) {
  const std::vector<SetFile> files = {{"a.onnx", 0, sha256_hex("a")}, {"b c.onnx", 0, sha256_hex("b")}};
  EXPECT_EQ(read_plain_list(plain_list(files)), files);
  EXPECT_EQ(read_plain_list(""), std::vector<SetFile>{});
  EXPECT_FALSE(read_plain_list("x"));
  EXPECT_FALSE(read_plain_list("x\n"));
  EXPECT_FALSE(read_plain_list(plain_list(files).substr(0, 100)));
}

}  // namespace
}  // namespace graphopt
