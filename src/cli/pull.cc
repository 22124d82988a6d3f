// SPDX-License-Identifier: Apache-2.0
#include "hub/pull.h"

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/escape.h"
#include "base/json.h"
#include "base/progress.h"
#include "cli/command.h"
#include "cli/number_range.h"
#include "cli/output.h"
#include "hub/model_reference.h"

namespace anemone::cli {
namespace {

struct PullFlags {
  std::string model;
  std::string revision;  // empty: that of the address, else main
  std::vector<std::string> include;
  std::vector<std::string> exclude;
  int jobs = 4;
  bool is_json = false;
};

Json pulled_json(const hub::RepoName& repo, const hub::Pulled& pulled) {
  Json out = Json::object();
  out["model"] = repo.text();
  out["commit"] = pulled.commit;
  out["folder"] = pulled.folder;
  out["bytes"] = pulled.bytes;
  out["files"] = Json::array();
  for (const hub::RemoteFile& file : pulled.files)
    out["files"].push_back({{"path", file.path}, {"bytes", file.size}, {"hash", file.etag}});
  return out;
}

Status run_pull(const PullFlags& flags) {
  const auto reference = hub::parse_model_reference(flags.model);
  if (!reference)
    return invalid_argument(
        "[{}] expected a model of the hub: OWNER/NAME, OWNER/NAME:Q4_K_M or its address",
        flags.model);
  const hub::RepoName& repo = reference->repo;
  hub::PullOptions options;
  options.revision = flags.revision.empty() ? reference->revision : flags.revision;
  options.patterns = {flags.include, flags.exclude, reference->variant};
  options.jobs = flags.jobs;
  ProgressReport bar("downloading " + repo.text(), Progress::Unit::kBytes);
  const auto pulled =
      hub::pull(repo, options, [&](std::uint64_t done, std::uint64_t total) { bar(done, total); });
  bar.clear();
  if (!pulled.ok()) return pulled.status();
  if (flags.is_json) return print_json(pulled_json(repo, *pulled), 2);
  return print_report(escaped(pulled->folder) + "\n");
}

}  // namespace

void add_pull_command(CLI::App& app, Context& context) {
  auto flags = std::make_shared<PullFlags>();
  CLI::App* command = app.add_subcommand("pull", "Download a model from the Hugging Face hub");
  command
      ->add_option("MODEL", flags->model,
                   "OWNER/NAME, OWNER/NAME:Q4_K_M for one GGUF model of several, or the address of "
                   "its page")
      ->required();
  command->add_option("--revision", flags->revision, "Branch, tag or commit (default: main)");
  command->add_option(
      "--include", flags->include,
      "Download only files that match the pattern, such as '*Q4_0*.gguf' (repeatable)");
  command->add_option("--exclude", flags->exclude,
                      "Download no files that match the pattern (repeatable)");
  command->add_option("--jobs", flags->jobs, "Files that are downloaded at a time")
      ->check(whole_numbers(1, 32))
      ->capture_default_str();
  command->add_flag("--json", flags->is_json, "Machine-readable output");
  command->footer(
      "Prints the folder. Takes the configuration, the tokenizer and the weights: safetensors, "
      "else\n"
      "GGUF, else ONNX. An interrupted download continues where it stopped; every file is checked\n"
      "against its hash. The cache is that of the hub's own tools. Afterwards OWNER/NAME can "
      "stand\n"
      "wherever a command takes a MODEL.\n"
      "\n"
      "Environment: HF_ENDPOINT, HF_TOKEN, HF_HOME, HF_HUB_CACHE, HF_HUB_OFFLINE; proxies as "
      "curl.\n"
      "\n"
      "Examples:\n"
      "  anemone pull Qwen/Qwen2.5-0.5B-Instruct\n"
      "  anemone pull Qwen/Qwen2.5-0.5B-Instruct-GGUF:Q4_0\n"
      "  anemone compile Qwen/Qwen2.5-0.5B-Instruct -o qwen.anemone");
  command->callback([flags, &context] { context.action = [flags] { return run_pull(*flags); }; });
}

}  // namespace anemone::cli
