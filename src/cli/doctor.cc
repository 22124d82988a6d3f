// SPDX-License-Identifier: Apache-2.0
// `anemone doctor`: what the machine has, what anemone would use of it, and whether it works.
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "api/executors.h"
#include "api/residency.h"
#include "artifact/manifest.h"
#include "artifact/ownership.h"
#include "base/error.h"
#include "base/escape.h"
#include "base/file.h"
#include "base/machine.h"
#include "base/progress.h"
#include "base/scratch_folder.h"
#include "base/thread_pool.h"
#include "base/version.h"
#include "cli/command.h"
#include "cli/inspect.h"
#include "cli/model_folder.h"
#include "cli/output.h"
#include "cli/settings.h"
#include "cli/smoke_test.h"
#include "cli/usage.h"
#include "engine/model/model.h"

namespace anemone::cli {
namespace {

constexpr const char* kVariables[] = {"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "HOME"};

// A variable that anemone reads itself, and that sets no flag.
struct OwnVariable {
  std::string_view name;
  std::string_view meaning;
};
constexpr OwnVariable kOwnVariables[] = {
    {"ANEMONE_API_KEY", "the key of serve"},
    {"ANEMONE_CACHE", "the folder of the cache"},
    {"ANEMONE_CONFIG", "the settings file"},
    {"ANEMONE_FSYNC", "whether files are waited for until they are on the disk"},
    {"ANEMONE_HISTORY", "the history of the chat"},
    {"ANEMONE_HUB_PAUSE_MS", "the pause before a download is tried again"},
    {"ANEMONE_LOG", "what is logged"},
    {"ANEMONE_PROGRESS", "whether progress is shown"},
    {"ANEMONE_SERVE_ARGUMENTS", "the arguments of the systemd unit"},
    {"ANEMONE_SHARED", "data of the tests"},
};

struct DoctorFlags {
  std::optional<std::string> artifact;
  bool is_json = false;
};

// Gathers what is printed as rows and as JSON, and what is wrong.
class Doctor {
 public:
  Doctor(const CLI::App& app, const Context& context)
      : app_(app),
        threads_(context.threads > 0 ? context.threads : default_thread_count()),
        executor_(context.executor()),
        machine_(describe_machine()),
        settings_(context.settings) {}

  void examine(const std::optional<std::string>& artifact) {
    system();
    memory();
    cache();
    executors();
    environment();
    settings();
    if (artifact) check_artifact(*artifact);
    json_["problems"] = problems_;
    json_["ok"] = problems_.empty();
  }

  std::string text() const {
    std::string out = fmt::format("anemone {}\n", version()) + table(rows_, "  ");
    for (const std::string& problem : problems_) out += "  problem: " + escaped(problem) + "\n";
    return out + (problems_.empty() ? "  all is well\n" : "");
  }
  const Json& json() const { return json_; }
  Status status() const {
    if (problems_.empty()) return {};
    return check_not_met("[doctor] expected no problem, got {}: {}", problems_.size(),
                         problems_.front());
  }

 private:
  void system() {
    const CgroupLimits& cgroup = machine_.cgroup;
    std::string sets = fmt::format("{}", fmt::join(machine_.instruction_sets, ", "));
    if (sets.empty()) sets = "no instruction sets that kernels could use";
    rows_.push_back({"system", fmt::format("{}, {}, {}", escaped(machine_.system),
                                           escaped(machine_.kernel), machine_.architecture)});
    rows_.push_back(
        {"processor", machine_.processor.empty() ? "not named" : escaped(machine_.processor)});
    rows_.push_back({"", sets});
    rows_.push_back(
        {"cores",
         fmt::format("{}, of which {} allowed; container limit {}; {} used", machine_.cores,
                     machine_.cores_allowed,
                     cgroup.cores ? fmt::format("{:.2g}", *cgroup.cores) : "none",
                     threads_ == 1 ? "1 thread is" : fmt::format("{} threads are", threads_))});
    json_["version"] = version();
    json_["system"] = machine_.system;
    json_["kernel"] = machine_.kernel;
    json_["architecture"] = machine_.architecture;
    json_["processor"] = machine_.processor;
    json_["instruction_sets"] = machine_.instruction_sets;
    json_["cores"] = machine_.cores;
    json_["cores_allowed"] = machine_.cores_allowed;
    json_["container_cores"] = cgroup.cores ? Json(*cgroup.cores) : Json();
    json_["threads"] = threads_;
  }

  void memory() {
    const auto& limit = machine_.cgroup.memory_bytes;
    rows_.push_back({"memory", fmt::format("{}, {} available; container limit {}",
                                           format_bytes(machine_.memory_bytes),
                                           format_bytes(machine_.memory_available_bytes),
                                           limit ? format_bytes(*limit) : "none")});
    json_["memory_bytes"] = machine_.memory_bytes;
    json_["memory_available_bytes"] = machine_.memory_available_bytes;
    json_["container_memory_bytes"] = limit ? Json(*limit) : Json();
  }

  void cache() {
    Json& json = json_["cache"] = Json::object();
    const auto folder = cache_folder();
    if (!folder.ok()) return problem("cache", folder.status());
    if (const Status made = make_cache_folder().status(); !made.ok())
      problem("cache", made);
    else
      cache_ = *folder;
    const std::uint64_t bytes = folder_bytes(cache_);
    const auto free = free_disk_bytes(cache_);
    rows_.push_back(
        {"cache", fmt::format("{}, {} in use, {} free", escaped(cache_), format_bytes(bytes),
                              free.ok() ? format_bytes(*free) : "unknown")});
    json = {{"path", cache_},
            {"bytes", bytes},
            {"free_bytes", free.ok() ? Json(*free) : Json()},
            {"writable", false}};
  }

  // The smoke test writes into the cache, so it also says whether that is possible.
  void executors() {
    Json& json = json_["executors"] = Json::array();
    for (const api::ExecutorChoice& choice : api::executor_choices()) {
      rows_.push_back({"executor", fmt::format("{}: {} ({})", choice.name,
                                               choice.is_available ? "available" : "not available",
                                               choice.note)});
      json.push_back(
          {{"name", choice.name}, {"available", choice.is_available}, {"note", choice.note}});
    }
    json_["smoke_test"] = "not run";
    if (cache_.empty()) return;
    const auto scratch = ScratchFolder::create(cache_, "doctor");
    if (!scratch.ok()) return problem("cache", scratch.status());
    json_["cache"]["writable"] = true;
    const auto executor = api::make_executor(executor_);
    const Status status =
        executor.ok() ? run_smoke_test(**executor, scratch->path()) : executor.status();
    json_["smoke_test"] = status.ok() ? "passed" : "failed";
    if (!status.ok()) return problem("smoke test", status);
    rows_.push_back({"smoke test", "passed: a package was built, written, read and run"});
  }

  void environment() {
    Json& json = json_["environment"] = Json::object();
    for (const char* name : kVariables) {
      const char* value = std::getenv(name);
      json[name] = value == nullptr ? Json() : Json(value);
      if (value != nullptr)
        rows_.push_back({"environment", fmt::format("{}={}", name, escaped(value))});
    }
    std::vector<std::string> known = flag_variables(app_);
    for (const OwnVariable& own : kOwnVariables) known.emplace_back(own.name);
    for (const auto& [name, text] : anemone_variables()) {
      // Reports are sent to others, so no key is in them, under a wrong name neither.
      const std::string value = name.ends_with("API_KEY") ? "(a key)" : text;
      json[name] = value;
      const std::string meaning = meaning_of(name);
      rows_.push_back(
          {"environment",
           fmt::format("{}={}: {}", escaped(name), escaped(value),
                       meaning.empty() ? "sets nothing: no flag has this name" : meaning)});
      if (meaning.empty())
        problems_.push_back(fmt::format("[{}] expected a variable that sets a flag, got another{}",
                                        name, did_you_mean(name, known)));
    }
  }

  // What a variable sets; empty if it sets nothing.
  std::string meaning_of(const std::string& variable) const {
    for (const OwnVariable& own : kOwnVariables)
      if (variable == own.name) return std::string(own.meaning);
    return flag_of_variable(app_, variable);
  }

  void settings() {
    Json& json = json_["settings"] = Json::object();
    json["file"] = settings_.path().empty() ? Json() : Json(settings_.path());
    Json& values = json["values"] = Json::object();
    rows_.push_back({"settings", settings_.path().empty()
                                     ? fmt::format("no file ({} would be read)",
                                                   escaped(default_settings_path()))
                                     : escaped(settings_.path())});
    problems_.insert(problems_.end(), settings_.problems().begin(), settings_.problems().end());
    for (const auto& [command, flags] : settings_.tables())
      for (const auto& [flag, value] : flags) {
        const std::string name = command.empty() ? flag : command + "." + flag;
        values[name] = value.texts;
        rows_.push_back(
            {"", fmt::format("{} = {}", name,
                             escaped(fmt::format("{}", fmt::join(value.texts, ", "))))});
      }
  }

  void check_artifact(const std::string& path) {
    Json& json = json_["artifact"] = {{"path", path}, {"ok", false}};
    std::error_code error;
    if (!std::filesystem::exists(path, error))
      return problem("artifact", io_error("[{}] no such file or folder", path));
    if (!artifact::is_artifact(path))
      return problem("artifact",
                     unsupported("[{}] expected a compiled model, got something else: anemone "
                                 "inspect says what it is, anemone compile makes one of a "
                                 "checkpoint",
                                 path));
    const auto manifest = artifact::read_manifest(path);
    if (!manifest.ok()) return problem("artifact", manifest.status());
    const Status files = artifact::check_files(path, *manifest, /*check_hashes=*/true);
    if (!files.ok()) return problem("artifact", files);
    const std::string_view quality = artifact::verdict_name(manifest->verification);
    rows_.push_back({"artifact", fmt::format("{}: {} files with the right size and hash; {}",
                                             escaped(path), manifest->files.size(), quality)});
    json["ok"] = true;
    json["files"] = manifest->files.size();
    json["verification"] = manifest->verification ? Json(manifest->verification->passed) : Json();
    if (executor_.kind == "coreml") place_artifact(path, json);
  }

  // Says where Core ML plans to run the model. Core ML compiles the packages for that, unless they
  // are in the cache.
  void place_artifact(const std::string& path, Json& json) {
    const auto executor = api::make_executor(executor_);
    if (!executor.ok()) return problem("placement", executor.status());
    engine::ModelLoadOptions load;
    load.load_text = false;
    const auto model = engine::Model::load(path, **executor, load);
    if (!model.ok()) return problem("placement", model.status());
    const auto placed = api::residency_of(**model);
    if (!placed.ok()) return problem("placement", placed.status());
    rows_.push_back({"placement", placed->summary()});
    json["placement"] = exec::placement_json(placed->totals());
  }

  void problem(const char* what, const Status& status) {
    rows_.push_back({what, "see the problem below"});
    problems_.push_back(status.message());
  }

  const CLI::App& app_;
  const int threads_;
  const api::ExecutorOptions executor_;
  const Machine machine_;
  const Settings& settings_;
  std::string cache_;
  std::vector<std::vector<std::string>> rows_;
  Json json_ = Json::object();
  std::vector<std::string> problems_;
};

Status run_doctor(const DoctorFlags& flags, const CLI::App& app, const Context& context) {
  Doctor doctor(app, context);
  doctor.examine(flags.artifact);
  ANEMONE_RETURN_IF_ERROR(flags.is_json ? print_json(doctor.json(), 2)
                                        : print_report(doctor.text()));
  return doctor.status();
}

}  // namespace

void add_doctor_command(CLI::App& app, Context& context) {
  auto flags = std::make_shared<DoctorFlags>();
  CLI::App* command = app.add_subcommand(
      "doctor", "Show what this machine has, and check that anemone works on it");
  command->add_option("DIR", flags->artifact,
                      "An artifact folder whose files are checked against their hashes");
  command->add_flag("--json", flags->is_json, "Machine-readable output");
  command->footer(
      "Builds, writes, reads and runs a small package in the cache folder. Exit code 1 when "
      "something is wrong.\n"
      "\n"
      "Examples:\n"
      "  anemone doctor\n"
      "  anemone doctor model.anemone --json");
  command->callback([flags, &app, &context] {
    context.action = [flags, &app, &context] { return run_doctor(*flags, app, context); };
  });
}

}  // namespace anemone::cli
