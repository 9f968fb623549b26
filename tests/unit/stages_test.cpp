// The list of stages, and the text of a report, whose fields keep their order whatever stages are added.
#include "driver/stages/stage.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>

#include "graphopt/report.h"

namespace graphopt {
namespace {

TEST(Stages, StandInTheOrderOfTheEnum) {
  std::size_t i = 0;
  std::set<std::string_view> names;
  for (const StageEntry* s : all_stages()) {
    EXPECT_EQ(static_cast<std::size_t>(s->stage), i++) << s->name;
    EXPECT_EQ(stage_name(s->stage), s->name);
    EXPECT_EQ(writes_files(s->stage), s->writes_files);
    EXPECT_TRUE(names.insert(s->name).second) << s->name;
    EXPECT_TRUE(s->wanted && s->run) << s->name;
  }
  EXPECT_EQ(stage_name(Stage::CleanUp), "clean-up");
}

// A stage that fails after files were written would leave half of a result.
TEST(Stages, WriteFilesAfterAllThatMayRefuseTheModel) {
  bool writing = false;
  for (const StageEntry* s : all_stages()) {
    EXPECT_TRUE(!writing || s->writes_files) << s->name;
    writing = s->writes_files;
  }
  EXPECT_TRUE(writes_files(Stage::Save));
}

TEST(Stages, RunInferenceForThoseThatNeedTypes) {
  Options options;
  options.clean_up.level = 0;
  EXPECT_FALSE(is_wanted(Stage::Infer, options));
  options.regions.draw = true;
  EXPECT_TRUE(is_wanted(Stage::Infer, options));
  options.stop_after = Stage::Load;
  EXPECT_FALSE(is_wanted(Stage::Infer, options));
  options.check.seeds = 1;
  EXPECT_TRUE(is_wanted(Stage::Infer, options));
}

std::string fields(const std::string& text) {
  std::string out;
  const auto json = nlohmann::ordered_json::parse(text);
  for (const auto& [name, value] : json.items()) out += (value.is_null() ? "-" : "") + name + ' ';
  return out;
}

// "-": null, as docs/report.md says of what did not run.
TEST(Stages, ReportTheirFieldsInTheirOrder) {
  Report report;
  EXPECT_EQ(fields(to_json(report)),
            "format_number version input output before after seconds stages limits data_files -inference "
            "false_claims "
            "-buckets passes moves costs explain -fold rounds rewrites stopped -lowered -narrowed "
            "-specialize -region_form "
            "-regions -launches -partition -check files kept_data warnings errors ");
  report.regions.emplace().regions.push_back({"0", {"a", "y"}, "y", "Conv", {}});
  report.infer.emplace().false_claims.push_back({"v", "float[3]", "float[4]"});
  report.check.emplace();
  EXPECT_EQ(fields(to_json(report)),
            "format_number version input output before after seconds stages limits data_files inference "
            "false_claims "
            "-buckets passes moves costs explain -fold rounds rewrites stopped -lowered -narrowed "
            "-specialize region_form "
            "regions launches -partition check files kept_data warnings errors ");
}

TEST(Stages, ReportWhatTheyFound) {
  Report report;
  report.stages.push_back({Stage::CleanUp, 0.5});
  report.clean_up.passes.push_back({"drop-noop", 2, 3, 0.25, {{"dropped", 3}}});
  report.clean_up.stopped = CleanUpEnd::FixedPoint;
  report.check = CheckStage::Report{
      CheckVerdict::Same, "", "ONNX Runtime", 2, 1, {{"y", 1.0 / 0.0, 0, 0, false, false, true, ""}}};
  report.save.files.push_back({"out.onnx", 12});
  const nlohmann::json json = nlohmann::json::parse(to_json(report));
  EXPECT_EQ(json["stages"].dump(), R"([{"name":"clean-up","seconds":0.5}])");
  EXPECT_EQ(json["passes"].dump(),
            R"([{"counters":{"dropped":3},"name":"drop-noop","rewrites":3,"runs":2,"seconds":0.25}])");
  EXPECT_EQ(json["stopped"], "fixed point");
  EXPECT_EQ(json["check"]["outputs"][0]["max_abs"], "inf");
  EXPECT_EQ(json["files"].dump(), R"([{"bytes":12,"path":"out.onnx"}])");
}

}  // namespace
}  // namespace graphopt
