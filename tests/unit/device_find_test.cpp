// Profiles by name and by file, and lists of them.

#include "devices/find.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "device_case.h"
#include "onnx/reader.h"  // of device_case.h

namespace graphopt {
namespace {

namespace fs = std::filesystem;

class DeviceFind : public testing::Test {
 protected:
  void SetUp() override {
    top_ = fs::temp_directory_path() /
           ("graphopt_devices_" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::remove_all(top_);
    for (const char* folder : {"one", "two"}) {
      fs::create_directories(top_ / folder);
      folders_.push_back((top_ / folder).string());
    }
    put("one/cpu.json", "cpu", R"("host": true)");
    put("one/npu.json", "npu", R"("priority": 7)");
    put("two/gpu.json", "gpu", "");
    put("two/npu.json", "other-npu", "");
  }
  void TearDown() override { fs::remove_all(top_); }

  std::string put(const std::string& file, const std::string& id, const std::string& keys) {
    std::string text = profile_text(keys);
    text.replace(text.find("\"id\": \"npu\""), 11, "\"id\": \"" + id + "\"");
    std::ofstream(top_ / file) << text;
    return (top_ / file).string();
  }

  // "npu cpu*", the host with a star; or the first error.
  std::string load(const std::string& list) {
    const Result<std::vector<Profile>> devices = load_devices(list, folders_);
    if (!devices) return std::to_string(static_cast<int>(devices.error().kind)) + ": " + devices.error().what;
    std::string out;
    for (const Profile& p : *devices) {
      EXPECT_EQ(p.priority, &p - devices->data());
      out += (out.empty() ? "" : " ") + p.id + (p.host ? "*" : "");
    }
    return out;
  }

  fs::path top_;
  std::vector<std::string> folders_;
};

TEST_F(DeviceFind, TheOrderIsThatOfTheList) {
  EXPECT_EQ(load("npu,gpu"), "npu gpu cpu*");  // cpu is added
  EXPECT_EQ(load("gpu,npu"), "gpu npu cpu*");
  EXPECT_EQ(load("cpu,npu"), "cpu* npu");
  EXPECT_EQ(load("cpu"), "cpu*");
}

TEST_F(DeviceFind, FilesAreNamedByPath) {
  const std::string file = put("mine.json", "mine", R"("host": true)");
  EXPECT_EQ(load("npu," + file), "npu mine*");
  EXPECT_EQ(load("npu," + (top_ / "none.json").string()).substr(0, 3), "2: ");
  fs::rename(file, top_ / "mine");
  EXPECT_EQ(load((top_ / "mine").string()), "mine*");  // a '/' is enough
}

TEST_F(DeviceFind, WhatCannotBe) {
  EXPECT_EQ(load("ngpu"), "1: there is no device profile 'ngpu'");
  EXPECT_EQ(load(""), "1: '' has an empty name");
  EXPECT_EQ(load("npu,,gpu"), "1: 'npu,,gpu' has an empty name");
  EXPECT_EQ(load("npu,"), "1: 'npu,' has an empty name");
  EXPECT_EQ(load("npu,npu").substr(0, 32), "1: two devices have the id 'npu'");
  const std::string host = put("host.json", "host", R"("host": true)");
  EXPECT_EQ(load("cpu," + host).substr(0, 25), "1: two devices are hosts:");
  put("one/cpu.json", "cpu", "");
  EXPECT_EQ(load("npu").substr(0, 24), "1: no device is a host: ");
  folders_.clear();
  EXPECT_EQ(load("npu"), "1: there is no device profile 'npu'");
}

TEST_F(DeviceFind, TheFirstFolderWins) {
  const std::vector<FoundProfile> found = find_profiles(folders_);
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].name, "cpu");
  EXPECT_EQ(found[1].name, "gpu");
  EXPECT_EQ(found[2].name, "npu");
  EXPECT_EQ(found[2].path, (top_ / "one" / "npu.json").string());
  EXPECT_TRUE(find_profiles({(top_ / "none").string()}).empty());
}

TEST(DeviceFolders, ShippedOnesAreBesideTheBuild) {
  const std::vector<std::string> folders = device_folders();
  ASSERT_FALSE(folders.empty());
  EXPECT_TRUE(fs::exists(fs::path(folders[0]) / "cpu.json")) << folders[0];
  const Result<std::vector<Profile>> devices = load_devices("coreml,ort-cpu", folders);
  ASSERT_TRUE(devices);
  EXPECT_EQ(devices->back().id, "cpu");
}

}  // namespace
}  // namespace graphopt
