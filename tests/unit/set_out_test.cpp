// A model of the user's name that is saved with a set: with a data file of its own, or in that of the set.
#include <gtest/gtest.h>

#include <set>

#include "onnx/set_writer.h"
#include "saved_sets.h"
#include "support/sha256.h"

namespace graphopt {
namespace {

// --- the model beside the set ------------------------------------------------------------------------------

class Beside : public Sets {
 protected:
  SavedSet save_both(const Model& member, const Model& out) {
    SetModel beside{&out, {}, ""};
    beside.options.path = path("net.onnx");
    beside.options.external = SaveOptions::External::Always;
    SetOptions o = options();
    o.out = &beside;
    return save({{&member, {}, "net.a"}}, o);
  }
  std::set<std::string> names() const {
    std::set<std::string> out;
    for (const auto& [name, bytes] : folder()) out.insert(name);
    return out;
  }
};

TEST_F(Beside, NeedsNoFileOfTheSet) {
  const Model a = model({{"w", 1000, 1}}), b = model({{"w", 1000, 1}, {"v", 1000, 2}});
  const SavedSet saved = save_both(a, b);
  const std::string data = saved.out->data_path.substr(folder_.string().size() + 1);
  EXPECT_EQ(names(),
            (std::set<std::string>{"net.list", "net.onnx", data, saved.data->name, saved.models[0].name}));
  EXPECT_EQ(places(path("net.onnx")).at("w"), (Place{data, 0, 4000}));
  for (const std::string& name : names()) EXPECT_EQ(fs::hard_link_count(path(name)), 1u) << name;
  const std::string weights = read(path(data));
  // The set goes, the model stays.
  const SavedSet next = save({{&a, {}, "net.a"}});
  EXPECT_EQ(names(),
            (std::set<std::string>{"net.list", "net.onnx", data, next.data->name, next.models[0].name}));
  EXPECT_EQ(read(path(data)), weights);
  // The model is replaced alone, the set stays.
  SaveOptions alone;
  alone.path = path("net.onnx");
  ASSERT_TRUE(save_model(a, alone));
  EXPECT_EQ(names(), (std::set<std::string>{"net.list", "net.onnx", next.data->name, next.models[0].name}));
}

TEST_F(Beside, IsReplacedWithItsData) {
  const Model a = model({{"w", 1000, 1}}), b = model({{"w", 1000, 2}});
  save_both(a, a);
  const SavedSet saved = save_both(b, b);
  EXPECT_EQ(names(), (std::set<std::string>{"net.list", "net.onnx",
                                            saved.out->data_path.substr(folder_.string().size() + 1),
                                            saved.data->name, saved.models[0].name}));
}

TEST_F(Beside, IsBroughtBackWithTheOldSet) {
  const Model a = model({{"w", 1000, 1}}), b = model({{"w", 1000, 2}, {"v", 1000, 3}});
  save_both(a, a);
  const auto before = folder();
  SetModel beside{&b, {}, ""};
  beside.options.path = path("net.onnx");
  beside.options.external = SaveOptions::External::Always;
  SetOptions o = options();
  o.out = &beside;
  // The last rename fails: a folder has the place of the list by then.
  const auto take_place = [this] {
    fs::remove_all(path("net.list"));
    fs::create_directories(path("net.list/full"));
  };
  const std::vector<SetModel> models = {{&b, {}, "net.a"}};
  EXPECT_FALSE(commits(models, o, take_place));
  auto after = folder();
  after["net.list"] = before.at("net.list");
  EXPECT_EQ(after, before);
  fs::remove_all(path("net.list"));
  beside.options.path = path("new.onnx");  // where none was
  EXPECT_FALSE(commits(models, o, take_place));
  after = folder();
  after["net.list"] = before.at("net.list");
  EXPECT_EQ(after, before);
}

TEST_F(Beside, HasAnotherNameThanTheList) {
  const Model a = model({{"w", 1000, 1}});
  SetModel beside{&a, {}, ""};
  SetOptions o = options();
  o.out = &beside;
  const std::vector<SetModel> models = {{&a, {}, "net.a"}};
  beside.options.path = (folder_ / "." / "net.list").string();
  ASSERT_FALSE(save_set(models, o));
  EXPECT_EQ(save_set(models, o).error().what, "the model and the list of the set have the same name");
  beside.options.path = "-";
  ASSERT_FALSE(save_set(models, o));
  EXPECT_EQ(save_set(models, o).error().what,
            "a model next to a set of files cannot go to a pipe or a device");
  beside.options.path = path("absent/net.onnx");
  EXPECT_FALSE(save_set(models, o));
  EXPECT_TRUE(folder().empty());
}

// --- OUT in the set's data file ----------------------------------------------------------------------------

class Sharing : public Beside {
 protected:
  SetOptions sharing(SetModel& out, const Model& m) {
    out.model = &m;
    if (out.options.path.empty()) out.options.path = path("net.onnx");
    SetOptions o = options();
    o.out = &out;
    o.out_shares_data = true;
    return o;
  }
  SavedSet save_shared(const Model& member, const Model& out) {
    SetModel beside;
    return save({{&member, {}, "net.s0"}}, sharing(beside, out));
  }
  static bool loads(const std::string& file) {
    std::vector<Warning> warnings;
    return load_model({file, {}, 0, true}, warnings).ok();
  }
  static std::string data_of(const std::string& file) { return places(file).at("w").location; }
  std::set<std::string> names_of(const SavedSet& saved) const {
    std::set<std::string> out{"net.list", "net.onnx"};
    for (const SetFile& f : saved.files()) out.insert(f.name);
    return out;
  }
  // Returns true if the set is saved, though its last step must fail; restore_list() undoes what makes it
  // fail.
  bool commits_without_list(const std::vector<SetModel>& models, const SetOptions& o) {
    return commits(models, o, [this] {
      fs::rename(path("net.list"), path("kept"));
      fs::create_directories(path("net.list/full"));
    });
  }
  void restore_list() {
    fs::remove_all(path("net.list"));
    fs::rename(path("kept"), path("net.list"));
  }
};

TEST_F(Sharing, OutHasItsWeightsInTheDataFileOfTheSet) {
  const Model a = model({{"v", 500, 2}, {"w", 1000, 1}, {"only_a", 300, 7}});
  const Model out = model({{"w", 1000, 1}, {"v", 500, 2}});
  SetModel own{&a, {}, "net.own"}, beside;  // a member that carries its weights
  own.options.external = SaveOptions::External::Never;
  SetOptions o = sharing(beside, out);
  const SavedSet saved = save({{&a, {}, "net.s0"}, own}, o);
  EXPECT_EQ(saved.out_file->name, "net.onnx");
  EXPECT_EQ(names(), names_of(saved));
  EXPECT_TRUE(saved.data->name.starts_with("net.onnx."));
  const auto in_out = places(path("net.onnx")), in_a = places(path(saved.models[0].name));
  EXPECT_EQ(in_out.at("w"), (Place{saved.data->name, 0, 4000}));  // first, in the order of OUT
  EXPECT_EQ(in_out.at("v"), (Place{saved.data->name, 4032, 2000}));
  EXPECT_EQ(in_a.at("w"), in_out.at("w"));
  EXPECT_EQ(in_a.at("v"), in_out.at("v"));
  EXPECT_EQ(in_a.at("only_a"), (Place{saved.data->name, 6080, 1200}));
  for (const auto& [name, place] : places(path(saved.models[1].name))) EXPECT_EQ(place.location, "") << name;
  EXPECT_TRUE(loads(path("net.onnx")));
  EXPECT_TRUE(loads(path(saved.models[1].name)));
  const std::string bytes = read(path("net.onnx"));
  EXPECT_EQ(saved.out_file->sha256, sha256_hex(bytes));
  EXPECT_EQ(saved.out_file->bytes, bytes.size());
  EXPECT_EQ(saved.out->data_path, "");
  EXPECT_TRUE(saved.out->kept_data.empty());
  const auto before = folder();
  save({{&a, {}, "net.s0"}, own}, sharing(beside, out));
  EXPECT_EQ(folder(), before);
}

TEST_F(Sharing, ReplacesTheDataOfAModelThatWasSavedAlone) {
  const Model a = model({{"w", 1000, 1}}), b = model({{"w", 1000, 2}});
  SaveOptions alone;
  alone.path = path("net.onnx");
  alone.external = SaveOptions::External::Always;
  const Result<SavedFiles> first = save_model(a, alone);
  ASSERT_TRUE(first);
  const SavedSet last = save_shared(b, b);  // before the folder is looked at
  EXPECT_EQ(names(), names_of(last));
  EXPECT_FALSE(fs::exists(first->data_path));
  // And alone over the model of a set: the set is still whole.
  const SavedSet set = save_shared(a, a);
  const Result<SavedFiles> second = save_model(b, alone);
  ASSERT_TRUE(second);
  std::set<std::string> expected = names_of(set);
  expected.insert(second->data_path.substr(folder_.string().size() + 1));
  EXPECT_EQ(names(), expected);
  EXPECT_TRUE(loads(path("net.onnx")));
  EXPECT_TRUE(loads(path(set.models[0].name)));
}

// The input is OUT, and its weights are mapped from the old set's data file, which goes with it.
TEST_F(Sharing, OutCanBeTheModelThatWasRead) {
  const Model a = model({{"w", 1000, 1}}), b = model({{"w", 1000, 1}, {"x2", 600, 3}});
  const SavedSet old = save_shared(a, a);
  std::vector<Warning> warnings;
  const Result<Model> in = load_model({path("net.onnx"), {}, 0, true}, warnings);
  ASSERT_TRUE(in);
  SetModel beside;
  const SavedSet saved = save({{&*in, {}, "net.s0"}, {&*in, {}, "net.s1"}}, sharing(beside, *in));
  EXPECT_EQ(saved.data->name, old.data->name);  // the same content
  const SavedSet other = save({{&*in, {}, "net.s0"}}, [&] {
    SetOptions o = sharing(beside, *in);
    beside.options.external = SaveOptions::External::Never;
    return o;
  }());
  ASSERT_TRUE(other.data);  // that of the member
  EXPECT_EQ(data_of(path("net.onnx")), "");
  beside.options.external = SaveOptions::External::Auto;
  const Result<Model> again = load_model({path(other.models[0].name), {}, 0, true}, warnings);
  ASSERT_TRUE(again);
  const SavedSet next = save({{&b, {}, "net.s0"}}, sharing(beside, b));
  EXPECT_TRUE(loads(path("net.onnx")));
  // What was read from a file of the old set that nothing replaces stays with its weights.
  std::set<std::string> expected = names_of(next);
  expected.insert({other.models[0].name, other.data->name});
  EXPECT_EQ(names(), expected);
}

TEST_F(Sharing, TheWeightsOfAnInputThatIsReplacedGo) {
  const Model a = model({{"w", 1000, 1}});
  const SavedSet old = save_shared(a, a);
  std::vector<Warning> warnings;
  Result<Model> in = load_model({path("net.onnx"), {}, 0, true}, warnings);
  ASSERT_TRUE(in);
  SetModel out{&*in, {}, {}}, member{&*in, {}, "net.s0"};
  out.options.path = path("net.onnx");
  out.options.external = member.options.external = SaveOptions::External::Never;
  SetOptions o = sharing(out, *in);
  const SavedSet saved = save({member}, o);
  EXPECT_FALSE(saved.data);
  EXPECT_EQ(names(), names_of(saved));
  EXPECT_TRUE(loads(path("net.onnx")));
}

TEST_F(Sharing, OutIsBroughtBackWithTheOldDataFile) {
  const Model a = model({{"w", 1000, 1}}), b = model({{"w", 1000, 2}, {"v", 1000, 3}});
  save_shared(a, a);
  const auto before = folder();
  SetModel beside;
  const SetOptions o = sharing(beside, b);
  const std::vector<SetModel> models = {{&b, {}, "net.s0"}};
  EXPECT_FALSE(commits_without_list(models, o));
  restore_list();
  EXPECT_EQ(folder(), before);
}

TEST_F(Sharing, ADataFileStaysWithAnOutThatCannotBeBroughtBack) {
  const Model a = model({{"w", 1000, 1}}), b = model({{"w", 1000, 2}, {"v", 1000, 3}});
  const SavedSet old = save_shared(a, a);
  SetModel beside;
  SetOptions o = sharing(beside, b);
  std::string data;
  const std::vector<SetModel> models = {{&b, {}, "net.s0"}};
  {
    Result<WrittenSet> set = write_set(models, o);
    ASSERT_TRUE(set);
    data = set->saved().data->name;
    std::ofstream(path(".net.list.graphopt/.graphopt-out.tmp")) << "taken";
    fs::rename(path("net.list"), path("kept"));
    fs::create_directories(path("net.list/full"));
    EXPECT_FALSE(set->commit(plain_list(set->saved().files())));
  }
  restore_list();
  std::set<std::string> expected = names_of(old);
  expected.insert({data, ".net.list.graphopt"});
  EXPECT_EQ(names(), expected);
  EXPECT_EQ(data_of(path("net.onnx")), data);
  EXPECT_TRUE(loads(path("net.onnx")));
  // A run that fails leaves it, one that replaces OUT removes it.
  SetOptions fails = sharing(beside, a);
  EXPECT_FALSE(commits_without_list(models, fails));
  restore_list();
  EXPECT_EQ(names(), expected);
  EXPECT_TRUE(loads(path("net.onnx")));
  const SavedSet last = save_shared(a, a);  // before the folder is looked at
  EXPECT_EQ(names(), names_of(last));
}

// What a run leaves that is killed after OUT was renamed, before the list.
TEST_F(Sharing, ADataFileOfAKilledRunStaysUntilOutIsReplaced) {
  const Model a = model({{"w", 1000, 1}}), b = model({{"w", 1000, 2}});
  const SavedSet old = save_shared(a, a);
  const auto before = folder();
  const SavedSet killed = save_shared(b, b);
  for (const auto& [name, bytes] : before)
    if (name != "net.onnx") std::ofstream(path(name), std::ios::binary) << bytes;
  fs::create_directory(path(".net.list.graphopt"));
  std::ofstream(path(".net.list.graphopt/journal")) << plain_list(killed.files());
  const Model c = model({{"w", 1000, 4}});
  SetModel beside;
  SetOptions o = sharing(beside, c);
  const std::vector<SetModel> models = {{&c, {}, "net.s0"}};
  EXPECT_FALSE(commits_without_list(models, o));
  restore_list();
  std::set<std::string> expected = names_of(old);
  expected.insert({killed.data->name, ".net.list.graphopt"});
  EXPECT_EQ(names(), expected);
  EXPECT_TRUE(loads(path("net.onnx")));
  const SavedSet last = save_shared(c, c);  // before the folder is looked at
  EXPECT_EQ(names(), names_of(last));
}

// The list gets another OUT: the old one is a model of the user's and keeps its weights.
TEST_F(Sharing, ADataFileStaysWithAModelThatNeedsIt) {
  const Model a = model({{"w", 1000, 1}}), b = model({{"w", 1000, 2}});
  SetModel first, second;
  first.options.path = path("my net.onnx");
  second.options.path = path("net.onnx");
  const SavedSet old = save({{&a, {}, "net.s0"}}, sharing(first, a));
  const SavedSet now = save({{&b, {}, "net.s0"}}, sharing(second, b));
  std::set<std::string> expected = names_of(now);
  expected.insert({"my net.onnx", old.data->name});
  EXPECT_EQ(names(), expected);
  EXPECT_TRUE(loads(path("my net.onnx")));
}

TEST_F(Sharing, FilesStandBesideWhatOutLeadsTo) {
  fs::create_directories(path("real"));
  std::ofstream(path("real/deep.onnx")) << "old";
  fs::create_symlink("real/deep.onnx", path("net.onnx"));
  const Model a = model({{"w", 1000, 1}});
  SetModel beside;
  SetOptions o = sharing(beside, a);
  const SavedSet saved = save({{&a, {}, "net.s0"}}, o);
  EXPECT_EQ(saved.out_file->name, "real/deep.onnx");
  EXPECT_TRUE(fs::is_symlink(path("net.onnx")));
  EXPECT_TRUE(saved.data->name.starts_with("real/deep.onnx."));
  EXPECT_EQ(data_of(path("real/deep.onnx")), saved.data->name.substr(5));
  EXPECT_EQ(folder(path("real")).size(), 3u);
  EXPECT_TRUE(loads(path("real/deep.onnx")));
  EXPECT_TRUE(loads(path(saved.models[0].name)));
  // A list that is not above OUT could not name them.
  o.list = path("other/net.list");
  fs::create_directories(path("other"));
  const std::vector<SetModel> models = {{&a, {}, "net.s0"}};
  const Result<SavedSet> refused = save_set(models, o);
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().what.ends_with("which is not below its own folder"));
  EXPECT_TRUE(fs::is_empty(path("other")));
}

}  // namespace
}  // namespace graphopt
