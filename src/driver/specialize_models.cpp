// A model for each bucket, several at a time.
//
// Problem: a dozen or more models of the same graph are wanted, each with other numbers for its symbols, and
// all passes have to run on each; loading, the analysis and the first clean-up are the same for all. Method:
// the buckets are clones of the model that clean-up left, so that weights are shared and most rewrites are
// done. Clones share nothing that anyone writes (Model::clone), so each thread takes the next bucket, binds
// its symbols, runs the passes and cuts it. The thread that called waits, and tells progress: only it may
// call the observer. Equal options give equal models, whatever the number of threads.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "buckets/marks/buckets.h"
#include "buckets/single/single_model.h"
#include "buckets/symbols.h"
#include "driver/clean_up.h"
#include "driver/load_check.h"
#include "driver/lowering.h"
#include "driver/reading.h"
#include "driver/regions.h"
#include "driver/shapes.h"
#include "driver/specialized.h"
#include "driver/stages/stage.h"
#include "ir/made_names.h"
#include "ir/node_names.h"
#include "ir/verify.h"
#include "shapes/bind.h"

namespace graphopt {
namespace {

// So many milliseconds pass at most until the caller's wish to stop is seen.
constexpr auto kPoll = std::chrono::milliseconds(20);

class Specializer {
 public:
  Specializer(const Run& run, const Specialized& s) : run_(run), base_(s.base ? *s.base : *run.work), s_(s) {}

  Result<std::vector<SpecializedModel>> all() {
    const std::size_t count = s_.buckets().size();
    models_.resize(count);
    errors_.resize(count);
    std::vector<std::thread> threads;
    const std::size_t wanted =
        std::min<std::size_t>(count, std::max(1u, std::thread::hardware_concurrency()));
    threads.reserve(wanted);
    try {
      while (threads.size() < wanted) threads.emplace_back([this] { work(); });
    } catch (const std::system_error&) {  // --max-memory may leave no room for a stack
      if (threads.empty()) work();
    }
    wait();
    for (std::thread& t : threads) t.join();
    for (std::optional<Errors>& e : errors_)
      if (e) return *std::move(e);
    if (stop_) return run_.stopped();
    return std::move(models_);
  }

 private:
  void wait() {
    std::unique_lock lock(mutex_);
    for (std::size_t told = 0; done_ < models_.size();) {
      changed_.wait_for(lock, kPoll);
      const std::size_t done = done_;
      lock.unlock();
      if (done != told) run_.observer.step("bucket", done, models_.size());
      told = done;
      if (run_.out_of_time()) stop_ = true;
      lock.lock();
    }
  }

  void work() {
    for (std::size_t i = next_++; i < models_.size(); i = next_++) {
      if (!stop_ && i < first_failed_) {
        if (Status made = guarded(i); !made) {
          errors_[i] = made.errors();
          std::size_t first = first_failed_;
          while (i < first && !first_failed_.compare_exchange_weak(first, i)) {
          }
        }
      }
      const std::lock_guard lock(mutex_);
      ++done_;
      changed_.notify_one();
    }
  }

  Status guarded(std::size_t i) {
    try {
      return make(i);
    } catch (const std::bad_alloc&) {  // no exception may leave a thread
      Error e = out_of_memory(run_.options.input);
      e.what += " (while models of buckets were made)";
      e.remedy += "; or make fewer buckets";
      return e;
    }
  }

  // Errors say which bucket it is.
  Status make(std::size_t i) {
    const auto sizes = s_.buckets().at(i);
    Status made = make_model(sizes, models_[i]);
    if (made) return made;
    Errors errors = made.errors();
    for (Error& e : errors) e.what = "bucket " + shape_text(s_.buckets().symbols, sizes) + ": " + e.what;
    return errors;
  }

  Status make_model(std::span<const std::int64_t> sizes, SpecializedModel& out) {
    out.sizes.assign(sizes.begin(), sizes.end());
    out.work = work_beside(base_, base_.model);
    Work& work = *out.work;
    work.assigned = base_.assigned;
    if (!s_.base)  // which was prepared
      if (Status named = prepare_symbols(work.model, s_.marks); !named) return named;
    Bindings bindings = bindings_of(run_.options.infer);
    for (std::size_t k = 0; k < sizes.size(); ++k)
      bindings.symbols.push_back({s_.buckets().symbols[k].name, sizes[k], sizes[k]});
    Result<InferOptions> bound = bind(work.model, bindings);
    if (!bound) return bound.errors();
    work.inference.emplace(work.model, *std::move(bound));
    work.inference->run();
    if (work.model.dims.contradicted())
      return Error{ErrorKind::Input,
                   {work.model.file, {}, {}, {}, {}},
                   "no run of the model has these extents: its nodes contradict each other",
                   "leave this size out, or say with 'where' which combinations are wanted"};
    if (is_wanted(Stage::CleanUp, run_.options)) {
      CleanUpHooks hooks;
      hooks.should_stop = [this] { return stop_.load(); };
      hooks.bound = true;
      if (Status clean = clean_up(run_.options, work, hooks); !clean) return clean;
      if (work.pipeline.stopped == StopReason::Stopped) return Done{};  // all() says so
      if (Status done = lower_model(run_.options, work, hooks.should_stop, true, out.lowered); !done)
        return done;
      if (work.pipeline.stopped == StopReason::Stopped) return Done{};
    } else {
      plan_loading(work);
      bool changed = false;
      if (Status loads = keep_loading(run_.options, work, true, changed); !loads) return loads;
    }
    // Short names are not those of the file, and stay.
    if (run_.options.strip.names) name_nodes(work.model, Unnamed::Made, work.file_nodes);
    else name_made(work.model, work.file_names, work.file_nodes);
    write_regions(run_.options, work);
    if (Status cut = partition_model(run_.options, run_.partitioned->devices, work, out.cut); !cut)
      return cut;
    out.types = saved_types_of_bound(run_.options, work);
    if (auto broken = verify(work.model)) return *broken;
    return Done{};
  }

  const Run& run_;
  const Work& base_;
  const Specialized& s_;
  std::vector<SpecializedModel> models_;       // each written by one thread
  std::vector<std::optional<Errors>> errors_;  // the same
  std::atomic<std::size_t> next_ = 0;
  std::atomic<bool> stop_ = false;
  // Later buckets need not be made; earlier ones are, so that the error does not depend on threads.
  std::atomic<std::size_t> first_failed_ = std::numeric_limits<std::size_t>::max();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t done_ = 0;  // guarded by mutex_
};

}  // namespace

std::unique_ptr<Work> work_beside(const Work& work, const Model& model) {
  auto out = std::make_unique<Work>();
  out->file_ir_version = work.file_ir_version;
  out->model = model.clone();
  out->model.dims.forget();  // symbols that --dim made numbers are to be found by their names
  out->file_names = work.file_names;
  out->file_values = work.file_values;
  out->file_nodes = work.file_nodes;
  out->devices = work.devices;
  return out;
}

Result<std::vector<SpecializedModel>> specialize_models(const Run& run, const Specialized& s) {
  return Specializer(run, s).all();
}

Result<Model> single_model(const Run& run, const Specialized& s) {
  Result<DispatchPlan> plan =
      plan_dispatch(s.prepared->model, *s.prepared->inference, s.repaired.decision, s.marks);
  if (!plan) return plan.errors();
  const Model& m = s.prepared->model;
  for (const LengthInput& l : s.repaired.lengths) {
    std::string name(m.text(m.value(l.input).name));
    std::erase_if(plan->inputs, [&](const DispatchPlan::Input& i) { return i.name == name; });
    plan->lengths.push_back({std::move(name), l.symbol});
  }
  std::vector<BucketModel> buckets;
  for (const SpecializedModel& m : s.models) buckets.push_back({&m.work->model, m.sizes});
  return single_model(run.work->model, *plan, buckets);
}

}  // namespace graphopt
