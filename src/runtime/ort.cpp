// ONNX Runtime through its C API: every object is held by an owner that releases it, every status becomes an
// Error. The C++ header of ONNX Runtime is not used, because it throws.
//
// The library is never closed, because its threads and static objects do not survive that. Its log is
// discarded: errors are in the status.
#include "runtime/ort.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <onnxruntime_session_options_config_keys.h>

#include <charconv>
#include <cstring>
#include <functional>
#include <set>
#include <string_view>
#include <system_error>

#include "runtime/ort_find.h"
#include "runtime/ort_values.h"

namespace graphopt {
namespace {

void ORT_API_CALL drop_message(void*, OrtLoggingLevel, const char*, const char*, const char*, const char*) {}

Error check_error(std::string what, std::string remedy) {
  return {.kind = ErrorKind::NotChecked, .place = {}, .what = std::move(what), .remedy = std::move(remedy)};
}

constexpr const char* kHowToGetOne =
    "install ONNX Runtime 1.21 or newer (tools/setup does), or name its library with --ort or GRAPHOPT_ORT";

// ONNX Runtime 1.x has the APIs 1 to x, and prints a line on stderr when it is asked for a later one.
bool is_too_old(std::string_view version) {
  constexpr std::string_view kMajor = "1.";
  int minor = 0;
  if (!version.starts_with(kMajor)) return false;
  const auto [end, error] =
      std::from_chars(version.data() + kMajor.size(), version.data() + version.size(), minor);
  return error == std::errc() && minor < ORT_API_VERSION;
}

}  // namespace

struct Runtime::State {
  std::string file, version;
  const OrtApi* api = nullptr;
  OrtEnv* env = nullptr;
  OrtMemoryInfo* cpu = nullptr;
  OrtAllocator* allocator = nullptr;  // the default one; owned by the library
};

Runtime::Runtime() : s_(std::make_unique<State>()) {}

Runtime::~Runtime() {
  if (s_->cpu != nullptr) s_->api->ReleaseMemoryInfo(s_->cpu);
  if (s_->env != nullptr) s_->api->ReleaseEnv(s_->env);
}

std::string Runtime::version() const { return s_->version; }
const std::string& Runtime::file() const { return s_->file; }

Result<std::shared_ptr<Runtime>> Runtime::open(const std::string& path) {
  const OrtPlaces places = ort_places(path);
  std::string why;  // of the first candidate that exists but cannot be used
  const auto note = [&why](std::string reason) {
    if (why.empty()) why = std::move(reason);
  };

  for (const std::string& file : places.files) {
    void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      const char* reason = dlerror();
      if (places.named) note(shorten(reason != nullptr ? reason : "cannot be opened"));
      continue;
    }
    void* symbol = dlsym(library, "OrtGetApiBase");
    if (symbol == nullptr) {
      dlclose(library);
      note(fmt::format("{} is not ONNX Runtime (no OrtGetApiBase in it)", file));
      continue;
    }
    const OrtApiBase*(ORT_API_CALL * get_base)() = nullptr;
    static_assert(sizeof get_base == sizeof symbol);
    std::memcpy(&get_base, &symbol, sizeof symbol);
    const OrtApiBase* base = get_base();
    const char* version = base != nullptr ? base->GetVersionString() : "?";
    const OrtApi* api = base != nullptr && !is_too_old(version) ? base->GetApi(ORT_API_VERSION) : nullptr;
    if (api == nullptr) {
      note(fmt::format("{} is ONNX Runtime {}, older than 1.{}", file, version, ORT_API_VERSION));
      continue;
    }
    std::shared_ptr<Runtime> runtime(new Runtime);
    State& s = *runtime->s_;
    s.file = file;
    s.version = version;
    s.api = api;
    auto failed = failure(*api, api->CreateEnvWithCustomLogger(drop_message, nullptr, ORT_LOGGING_LEVEL_FATAL,
                                                               "graphopt", &s.env));
    if (!failed)
      failed = failure(*api, api->CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &s.cpu));
    if (!failed) failed = failure(*api, api->GetAllocatorWithDefaultOptions(&s.allocator));
    if (failed) {
      note(fmt::format("{}: {}", file, *failed));
      continue;
    }
    return runtime;
  }
  if (places.named)
    return check_error(fmt::format("{}: ONNX Runtime cannot be opened: {}", places.origin, why),
                       kHowToGetOne);
  return check_error(why.empty() ? "ONNX Runtime was not found" : "ONNX Runtime was not found: " + why,
                     kHowToGetOne);
}

std::vector<std::string> Runtime::providers() const {
  const OrtApi& api = *s_->api;
  char** names = nullptr;
  int count = 0;
  if (failure(api, api.GetAvailableProviders(&names, &count))) return {};
  std::vector<std::string> out(names, names + count);
  static_cast<void>(failure(api, api.ReleaseAvailableProviders(names, count)));
  return out;
}

namespace {

// What the generic call of the C API names providers (onnxruntime, core/session/provider_registration.cc).
constexpr std::pair<std::string_view, const char*> kGenericProviders[] = {
    {"QNNExecutionProvider", "QNN"},       {"XnnpackExecutionProvider", "XNNPACK"},
    {"CoreMLExecutionProvider", "CoreML"}, {"WebNNExecutionProvider", "WEBNN"},
    {"WebGpuExecutionProvider", "WebGPU"}, {"OpenVINOExecutionProvider", "OpenVINO"},
    {"SNPEExecutionProvider", "SNPE"},     {"VitisAIExecutionProvider", "VitisAI"},
};

const char* generic_name(std::string_view provider) {
  const auto* found =
      std::ranges::find(kGenericProviders, provider, &std::pair<std::string_view, const char*>::first);
  return found == std::end(kGenericProviders) ? nullptr : found->second;
}

}  // namespace

bool can_open_provider(std::string_view name) { return generic_name(name) != nullptr; }

namespace {

// `value`: may be null.
RuntimeValue shared(const OrtApi& api, OrtValue* value) {
  return {value, [&api](const OrtValue* v) {
            if (v != nullptr) api.ReleaseValue(const_cast<OrtValue*>(v));
          }};
}

}  // namespace

Result<RuntimeValue> Runtime::make_value(const std::shared_ptr<const HostValue>& value) const {
  if (value->kind == HostValue::Kind::Absent) return RuntimeValue();
  const OrtApi& api = *s_->api;
  OwnedValue made(api, &OrtApi::ReleaseValue);
  if (auto failed = OrtValues(api, s_->cpu, s_->allocator).make(*value, made))
    return check_error(*failed, "give values that this ONNX Runtime can hold");
  const OrtValue* p = made.release();
  return RuntimeValue(p, [&api, value](const OrtValue* v) { api.ReleaseValue(const_cast<OrtValue*>(v)); });
}

Result<HostValue> Runtime::read_value(const RuntimeValue& value) const {
  HostValue out;
  if (auto failed = OrtValues(*s_->api, s_->cpu, s_->allocator).read(value.get(), out))
    return check_error(*failed, "look at the types that this ONNX Runtime supports");
  return out;
}

struct RuntimeRun::State {
  explicit State(const OrtApi& a) : api(a), options(a, &OrtApi::ReleaseRunOptions) {}
  const OrtApi& api;
  Owned<OrtRunOptions> options;  // null where they cannot be made: then stop() does nothing
  bool may_pass = false;
};

RuntimeRun::RuntimeRun(const Runtime& runtime) : s_(std::make_unique<State>(*runtime.state().api)) {
  static_cast<void>(failure(s_->api, s_->api.CreateRunOptions(s_->options.out())));
}
RuntimeRun::~RuntimeRun() = default;
bool RuntimeRun::may_pass() const { return s_->may_pass; }
void RuntimeRun::stop() {
  if (s_->options.get() != nullptr)
    static_cast<void>(failure(s_->api, s_->api.RunOptionsSetTerminate(s_->options.get())));
}

// ---- sessions ---------------------------------------------------------------------------------------------

struct RuntimeSession::State {
  State(std::shared_ptr<Runtime> r)
      : runtime(std::move(r)), api(*runtime->state().api), session(api, &OrtApi::ReleaseSession) {}

  std::shared_ptr<Runtime> runtime;
  const OrtApi& api;
  Owned<::OrtSession> session;
  std::set<std::string, std::less<>> inputs;
  std::vector<std::string> outputs;
};

namespace {

using Names = std::vector<std::string>;

// Returns the names of a session's inputs, outputs or overridable initializers.
template <class Count, class Name>
std::optional<std::string> read_names(const OrtApi& api, const ::OrtSession* session, OrtAllocator* allocator,
                                      Count count, Name name, Names& out) {
  std::size_t n = 0;
  if (auto failed = failure(api, (api.*count)(session, &n))) return failed;
  for (std::size_t i = 0; i < n; ++i) {
    char* text = nullptr;
    if (auto failed = failure(api, (api.*name)(session, i, allocator, &text))) return failed;
    out.emplace_back(text);
    allocator->Free(allocator, text);
  }
  return std::nullopt;
}

}  // namespace

RuntimeSession::RuntimeSession() = default;
RuntimeSession::~RuntimeSession() = default;
const std::vector<std::string>& RuntimeSession::outputs() const { return s_->outputs; }
bool RuntimeSession::has_input(const std::string& name) const { return s_->inputs.contains(name); }
const std::shared_ptr<Runtime>& RuntimeSession::runtime() const { return s_->runtime; }

Result<std::unique_ptr<RuntimeSession>> RuntimeSession::load(std::shared_ptr<Runtime> runtime,
                                                             const ModelSource& model,
                                                             const SessionSettings& settings) {
  std::unique_ptr<RuntimeSession> made(new RuntimeSession);
  made->s_ = std::make_unique<State>(std::move(runtime));
  State& s = *made->s_;
  const OrtApi& api = s.api;
  const Runtime::State& r = s.runtime->state();

  Owned<OrtSessionOptions> options(api, &OrtApi::ReleaseSessionOptions);
  auto failed = failure(api, api.CreateSessionOptions(options.out()));
  const auto step = [&](auto call) {
    if (!failed) failed = failure(api, call());
  };
  step([&] {
    return api.SetSessionGraphOptimizationLevel(options.get(),
                                                settings.optimize ? ORT_ENABLE_ALL : ORT_DISABLE_ALL);
  });
  step([&] { return api.SetIntraOpNumThreads(options.get(), settings.threads); });
  step([&] { return api.SetSessionLogSeverityLevel(options.get(), ORT_LOGGING_LEVEL_FATAL); });
  // Waiting threads that spin would take time from whatever else runs during a build.
  step([&] {
    return api.AddSessionConfigEntry(options.get(), kOrtSessionOptionsConfigAllowIntraOpSpinning, "0");
  });
  step([&] {
    return api.AddSessionConfigEntry(options.get(), kOrtSessionOptionsConfigAllowInterOpSpinning, "0");
  });
  // Memory plans for given sizes do not pay off for a few runs with different sizes.
  step([&] { return api.DisableMemPattern(options.get()); });
  if (!settings.provider.empty()) {
    const char* name = generic_name(settings.provider);
    if (name == nullptr)
      return check_error("'" + settings.provider + "' is no execution provider that is opened by its name",
                         "run it on the CPU");
    std::vector<const char*> keys, values;
    for (const auto& [key, value] : settings.provider_options) {
      keys.push_back(key.c_str());
      values.push_back(value.c_str());
    }
    step([&] {
      return api.SessionOptionsAppendExecutionProvider(options.get(), name, keys.data(), values.data(),
                                                       keys.size());
    });
  }
  if (model.path.empty() && !model.external_folder.empty())
    step([&] {
      return api.AddSessionConfigEntry(options.get(),
                                       kOrtSessionOptionsModelExternalInitializersFileFolderPath,
                                       model.external_folder.c_str());
    });
  step([&] {
    if (!model.path.empty())
      return api.CreateSession(r.env, model.path.c_str(), options.get(), s.session.out());
    return api.CreateSessionFromArray(r.env, model.bytes.data(), model.bytes.size(), options.get(),
                                      s.session.out());
  });
  Names inputs;
  const auto names = [&](auto count, auto name, Names& out) {
    if (!failed) failed = read_names(api, s.session.get(), r.allocator, count, name, out);
  };
  names(&OrtApi::SessionGetInputCount, &OrtApi::SessionGetInputName, inputs);
  names(&OrtApi::SessionGetOverridableInitializerCount, &OrtApi::SessionGetOverridableInitializerName,
        inputs);
  names(&OrtApi::SessionGetOutputCount, &OrtApi::SessionGetOutputName, s.outputs);
  if (failed) return check_error(*failed, "look at the operators and types that this ONNX Runtime supports");
  s.inputs = {inputs.begin(), inputs.end()};
  return made;
}

Result<std::vector<RuntimeValue>> RuntimeSession::run(const Feeds& feeds, RuntimeRun* run) const {
  const OrtApi& api = s_->api;
  std::vector<const char*> names, outputs;
  std::vector<const OrtValue*> values;
  for (std::size_t i = 0; i < feeds.values.size(); ++i) {
    if (!feeds.values[i]) continue;
    names.push_back(feeds.names[i]);
    values.push_back(feeds.values[i].get());
  }
  for (const std::string& name : s_->outputs) outputs.push_back(name.c_str());
  std::vector<OrtValue*> results(outputs.size(), nullptr);
  const OrtRunOptions* options = run != nullptr ? run->s_->options.get() : nullptr;
  OrtStatus* status = api.Run(s_->session.get(), options, names.data(), values.data(), values.size(),
                              outputs.data(), outputs.size(), results.data());
  if (run != nullptr && status != nullptr) {
    const OrtErrorCode code = api.GetErrorCode(status);
    run->s_->may_pass = code == ORT_EP_FAIL || code == ORT_ENGINE_ERROR;
  }
  const auto failed = failure(api, status);
  std::vector<RuntimeValue> out;
  for (OrtValue* result : results) out.push_back(shared(api, result));
  if (failed) return check_error(*failed, "see which inputs the model takes");
  return out;
}

Result<std::vector<HostValue>> RuntimeSession::run(std::span<const NamedValue> feeds) {
  const OrtApi& api = s_->api;
  const OrtValues values(api, s_->runtime->state().cpu, s_->runtime->state().allocator);
  const std::string remedy = "see which inputs the model takes";

  Feeds fed;
  for (const NamedValue& feed : feeds) {
    if (feed.value.kind == HostValue::Kind::Absent || !s_->inputs.contains(feed.name)) continue;
    OwnedValue value(api, &OrtApi::ReleaseValue);
    if (auto failed = values.make(feed.value, value))
      return check_error(fmt::format("input '{}': {}", feed.name, *failed), remedy);
    fed.names.push_back(feed.name.c_str());
    fed.values.push_back(shared(api, value.release()));
  }
  const Result<std::vector<RuntimeValue>> ran = run(fed);
  if (!ran) return ran.errors();
  const std::vector<RuntimeValue>& results = *ran;
  std::vector<HostValue> out(results.size());
  for (std::size_t i = 0; i < results.size(); ++i)
    if (auto failed = values.read(results[i].get(), out[i]))
      return check_error(fmt::format("output '{}': {}", s_->outputs[i], *failed), remedy);
  return out;
}

}  // namespace graphopt
