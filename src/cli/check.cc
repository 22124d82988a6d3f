// SPDX-License-Identifier: Apache-2.0
// `anemone check`: whether a program has forms that the chip refuses, or that are slow on it, by
// the rules of ane/rules.cc.
#include "ane/check.h"

#include <filesystem>
#include <fmt/ranges.h>
#include <memory>
#include <span>
#include <utility>

#include "artifact/manifest.h"
#include "base/error.h"
#include "cli/check_report.h"
#include "cli/command.h"
#include "cli/inspect.h"
#include "cli/output.h"
#include "mlpackage/package_reader.h"

namespace anemone::cli {
namespace {

namespace fs = std::filesystem;
using ane::CheckedPackage;

struct CheckFlags {
  std::string path;
  bool is_json = false;
};

Result<CheckedPackage> check_file(const std::string& path, std::string name, std::int64_t layers) {
  ANEMONE_ASSIGN_OR_RETURN(const mlpackage::Model model, mlpackage::read_package(path));
  return ane::check_package(std::move(name), model, layers);
}

// One package is in memory at a time.
Result<std::vector<CheckedPackage>> check_artifact(const std::string& folder) {
  ANEMONE_ASSIGN_OR_RETURN(const artifact::Manifest manifest, artifact::read_manifest(folder));
  std::vector<CheckedPackage> out;
  const auto add = [&](const std::string& package, std::int64_t layers) -> Status {
    ANEMONE_ASSIGN_OR_RETURN(CheckedPackage checked,
                             check_file((fs::path(folder) / package).string(), package, layers));
    out.push_back(std::move(checked));
    return {};
  };
  for (const artifact::Shard& shard : manifest.shards) {
    ANEMONE_RETURN_IF_ERROR(add(shard.package, shard.layers.end - shard.layers.begin));
    if (!shard.experts) continue;
    for (const artifact::ExpertPack& pack : shard.experts->packs)
      ANEMONE_RETURN_IF_ERROR(add(pack.package, 1));
  }
  for (const std::span<const artifact::Head> heads : manifest.head_packages())
    ANEMONE_RETURN_IF_ERROR(add(heads.front().package, 0));
  if (manifest.embed) ANEMONE_RETURN_IF_ERROR(add(manifest.embed->package, 0));
  return out;
}

Result<std::vector<CheckedPackage>> check_path(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status))
    return io_error("[{}] expected a package or a folder, got nothing", path);
  if (fs::is_directory(status) && !is_package_folder(path)) {
    if (!fs::exists(fs::path(path) / artifact::kManifestName, error))
      return unsupported("[{}] expected a package or a compiled model, got another folder", path);
    return check_artifact(path);
  }
  if (!fs::is_directory(status) && fs::path(path).extension() != ".mlmodel")
    return unsupported("[{}] expected a .mlpackage, .mlmodel or compiled model, got another file",
                       path);
  ANEMONE_ASSIGN_OR_RETURN(CheckedPackage package, check_file(path, path, 0));
  std::vector<CheckedPackage> out;
  out.push_back(std::move(package));
  return out;
}

Status run_check(const CheckFlags& flags) {
  ANEMONE_ASSIGN_OR_RETURN(const std::vector<CheckedPackage> packages, check_path(flags.path));
  const Report report = check_report(flags.path, packages);
  ANEMONE_RETURN_IF_ERROR(flags.is_json ? print_json(report.json, 2) : print_report(report.text));
  const auto refused = broken_rules(packages, ane::Severity::kRefused);
  if (refused.empty()) return {};
  return check_not_met("[{}] expected nothing that the chip refuses, got {}", flags.path,
                       fmt::join(refused, ", "));
}

}  // namespace

void add_check_command(CLI::App& app, Context& context) {
  auto flags = std::make_shared<CheckFlags>();
  CLI::App* command = app.add_subcommand(
      "check", "Look in packages for forms that the Neural Engine refuses or runs slowly");
  command
      ->add_option("FILE", flags->path,
                   "A .mlpackage of any writer, or the folder that compile wrote")
      ->required();
  command->add_flag("--json", flags->is_json, "Machine-readable output: every finding");
  command->footer(
      "Each broken rule is shown with its places, who measured it, and what to change.\n"
      "refused: the chip or Core ML was seen to refuse it or to compute wrong numbers;\n"
      "slow: it runs, with more bytes or steps on the CPU; contested: sources\n"
      "disagree, or nobody measured it. The last line counts the broken rules. Exit\n"
      "code 1 when one is refused. Nothing is run, and no chip is needed.\n"
      "\n"
      "Examples:\n"
      "  anemone check model.anemone\n"
      "  anemone check model.mlpackage\n"
      "  anemone check --json model.mlpackage");
  command->callback([flags, &context] { context.action = [flags] { return run_check(*flags); }; });
}

}  // namespace anemone::cli
