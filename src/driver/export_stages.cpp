// OUT.stages.onnx: OUT's model in the form of the standard (onnx/device_configuration.h), whose weights are
// in the data file of the set. It is written with OUT, since it needs that file as OUT does.
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "driver/export_form.h"
#include "driver/partitioned.h"
#include "driver/run.h"
#include "onnx/device_configuration.h"
#include "support/file.h"

namespace graphopt {
namespace {

namespace fs = std::filesystem;

class StagesExport : public ExportForm {
 public:
  using ExportForm::ExportForm;

  // The model that is read is no export of an earlier run, even if it once was.
  bool is_ours() const override {
    std::error_code none;
    if (!fs::is_regular_file(fs::symlink_status(path_, none)) || file_is_mapped(path_)) return false;
    const auto image = FileImage::open(path_);
    return image && has_configuration((*image)->bytes(), kConfiguration);
  }

  Status plan() override {
    const Partitioned& p = *source_.run.partitioned;
    std::vector<std::string> devices;
    std::vector<NodeStage> stages;
    for (std::uint32_t s = 0; s < source_.parts.size(); ++s) {
      devices.push_back(p.devices[p.partition.devices[s]].id);
      for (const NodeId n : source_.parts[s].nodes) stages.push_back({n, s});
    }
    model_.emplace(source_.run.work->model.clone());
    set_pipeline_stages(*model_, kConfiguration, devices, stages);
    return Done{};
  }

  void join(SetOptions& set) override {
    SetModel form = *set.out;
    form.model = &*model_;
    form.options.path = path_;
    set.forms.push_back(std::move(form));
    set.out_shares_data = true;
  }

  Status stage(const SavedSet& saved, std::string_view) override {
    for (const SavedFiles& form : saved.forms)
      if (form.path == path_) files_ = {{form.path, form.bytes}};
    return Done{};
  }
  Status place() override { return Done{}; }  // it has its name

  void leave(SetOptions& set) override { set.gone.push_back(path_); }
  Status remove() override { return Done{}; }

 private:
  std::optional<Model> model_;
};

}  // namespace

std::unique_ptr<ExportForm> stages_export(const ExportSource& source, std::string path) {
  return std::make_unique<StagesExport>(source, std::move(path));
}

}  // namespace graphopt
