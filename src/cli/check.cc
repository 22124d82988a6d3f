// SPDX-License-Identifier: Apache-2.0
// `anemone check`: where the operations of a package will run, and which forms of it the chip
// refuses or runs slowly, by the laws of ane/laws_*.cc.
#include "ane/check.h"

#include <array>
#include <filesystem>
#include <fmt/ranges.h>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "ane/laws_page.h"
#include "api/residency.h"
#include "artifact/manifest.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "cli/check_html.h"
#include "cli/check_measured.h"
#include "cli/check_report.h"
#include "cli/command.h"
#include "cli/inspect.h"
#include "cli/output.h"
#include "cli/output_place.h"
#include "exec/coreml/plan_file.h"
#include "mlpackage/compiled_reader.h"
#include "mlpackage/package_writer.h"

namespace anemone::cli {
namespace {

// What a Mac measured: results of probes, and lists of all operations of packages.
constexpr JsonLimits kMeasuredFile = {.max_file_bytes = 64 << 20};

namespace fs = std::filesystem;
using ane::CheckedPackage;

struct CheckFlags {
  std::string path;
  std::string chip;
  std::string target;
  std::string html;
  std::string measured;
  std::string measure;
  bool is_json = false;
  bool is_strict = false;
  bool has_notes = false;
  bool has_hints = false;
  bool shows_laws = false;
};

struct Checked {
  std::vector<CheckedPackage> packages;
  std::vector<std::string> paths;              // of the packages
  std::optional<artifact::Manifest> manifest;  // of a compiled model
  bool is_anemone = true;                      // anemone wrote the packages
};

// True for a package of `compile` or `probe`, which write the version into its metadata.
bool is_from_anemone(const mlpackage::Model& model) {
  return model.metadata.user_defined.contains(mlpackage::kVersionKey);
}

// One package is in memory at a time.
Result<Checked> check_artifact(const std::string& folder, const ane::CheckOptions& options) {
  Checked out;
  ANEMONE_ASSIGN_OR_RETURN(out.manifest, artifact::read_manifest(folder));
  const artifact::Manifest& manifest = *out.manifest;
  const auto add = [&](const std::string& package, std::int64_t layers,
                       bool is_auxiliary = false) -> Status {
    const std::string path = (fs::path(folder) / package).string();
    ANEMONE_ASSIGN_OR_RETURN(const mlpackage::Model model, mlpackage::read_model(path));
    ane::CheckOptions of_package = options;
    of_package.is_auxiliary = is_auxiliary;
    out.packages.push_back(ane::check_package(package, model, layers, of_package));
    out.paths.push_back(path);
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
  if (manifest.embed) ANEMONE_RETURN_IF_ERROR(add(manifest.embed->package, 0, true));
  return out;
}

Result<Checked> check_path(const std::string& path, const ane::CheckOptions& options) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status))
    return io_error("[{}] expected a package or a folder, got nothing", path);
  if (fs::is_directory(status) && !is_package_folder(path) &&
      !mlpackage::is_compiled_folder(path)) {
    if (!fs::exists(fs::path(path) / artifact::kManifestName, error))
      return unsupported("[{}] expected a package or a compiled model, got another folder{}", path,
                         fs::exists(fs::path(path) / "config.json", error)
                             ? ": compile it first (--dry-run says what that gives)"
                             : "");
    return check_artifact(path, options);
  }
  if (!fs::is_directory(status) && fs::path(path).extension() != ".mlmodel")
    return unsupported("[{}] expected a .mlpackage, .mlmodel or compiled model, got another file",
                       path);
  ANEMONE_ASSIGN_OR_RETURN(const mlpackage::Model model, mlpackage::read_model(path));
  Checked out;
  out.is_anemone = is_from_anemone(model);
  out.packages.push_back(ane::check_package(path, model, 0, options));
  out.paths.push_back(path);
  return out;
}

// What Core ML of this Mac says of the packages, which is written to a file as well.
Result<exec::coreml::PlanFile> measure(const CheckFlags& flags, const Checked& checked,
                                       const Context& context) {
  ANEMONE_ASSIGN_OR_RETURN(const auto executor, api::make_executor(context.executor()));
  std::vector<std::string> names;
  for (const CheckedPackage& package : checked.packages) names.push_back(package.name);
  ANEMONE_ASSIGN_OR_RETURN(exec::coreml::PlanFile plans,
                           api::plan_packages(*executor, checked.paths, names));
  ANEMONE_RETURN_IF_ERROR(write_file(flags.measure, exec::coreml::plan_text(plans)));
  return plans;
}

Status print_laws(bool is_json) {
  if (!is_json) return print_out(ane::laws_page());
  Json json = Json::array();
  for (const ane::Law* law : ane::laws()) {
    const std::vector<ane::Hint> hints = hints_for(*law, {});
    json.push_back(law_json(*law, law->severity, nullptr, &hints));
  }
  return print_json(json, 2);
}

Status run_check(const CheckFlags& flags, const Context& context) {
  if (flags.shows_laws) return print_laws(flags.is_json);
  if (flags.path.empty())
    return invalid_argument("[FILE] expected a package or a compiled model, got nothing");
  ane::CheckOptions options;
  if (!flags.chip.empty()) {
    ANEMONE_ASSIGN_OR_RETURN(options.chip, ane::parse_chip(flags.chip));
  }
  if (!flags.target.empty()) {
    ANEMONE_ASSIGN_OR_RETURN(options.target_version, ane::parse_target(flags.target));
  }
  std::optional<ane::Measurements> measured;
  std::optional<exec::coreml::PlanFile> plans;
  if (!flags.measured.empty()) {
    ANEMONE_ASSIGN_OR_RETURN(const Json json, read_json_file(flags.measured, kMeasuredFile));
    ANEMONE_ASSIGN_OR_RETURN(measured, ane::parse_measurements(json, flags.measured));
    options.measured = &*measured;
    ANEMONE_ASSIGN_OR_RETURN(plans, exec::coreml::parse_plan_file(json, flags.measured));
  }
  ANEMONE_RETURN_IF_ERROR(check_output_files(std::array{flags.html, flags.measure}, {flags.path}));
  ANEMONE_ASSIGN_OR_RETURN(const Checked checked, check_path(flags.path, options));
  const std::vector<CheckedPackage>& packages = checked.packages;
  CheckReportOptions shown = {.measured = options.measured,
                              .has_notes = flags.has_notes,
                              .has_operations = true,
                              .has_hints = flags.has_hints,
                              .is_anemone = checked.is_anemone};
  if (options.chip != nullptr) shown.chip = options.chip;
  if (checked.manifest) shown.manifest = &*checked.manifest;
  Report report = check_report(flags.path, packages, shown);
  if (!flags.measure.empty()) {
    ANEMONE_ASSIGN_OR_RETURN(plans, measure(flags, checked, context));
  }
  std::optional<MeasuredPlacement> placed;
  if (plans && !plans->functions.empty()) {
    placed = measured_placement(packages, checked.paths, *plans);
    if (placed->planned.functions.empty() && placed->failed.empty()) {
      // Probes say something about the laws of any package, and have plans of their own ones.
      if (!measured || measured->laws.empty())
        return not_found("[{}] expected plans of {}, got those of other packages", flags.measured,
                         flags.path);
      placed.reset();
    }
  }
  add_measured(options.measured, placed ? &*placed : nullptr, report);
  if (!flags.html.empty())
    ANEMONE_RETURN_IF_ERROR(
        write_file(flags.html, check_html(flags.path, packages, shown, options.chip != nullptr,
                                          report.json.value("measured", Json()))));
  ANEMONE_RETURN_IF_ERROR(flags.is_json ? print_json(report.json, 2) : print_report(report.text));
  if (const auto refused = broken_laws(packages, ane::Severity::kRefused); !refused.empty())
    return check_not_met("[{}] expected nothing that the chip refuses, got {}", flags.path,
                         fmt::join(refused, ", "));
  if (placed && flags.is_strict) ANEMONE_RETURN_IF_ERROR(placed->check_products(flags.path));
  if (const std::size_t count = products_off_chip(packages);
      flags.is_strict && !placed && count > 0)
    return check_not_met("[{}] expected all products on the chip, got {} on the CPU", flags.path,
                         count);
  return {};
}

}  // namespace

void add_check_command(CLI::App& app, Context& context) {
  auto flags = std::make_shared<CheckFlags>();
  CLI::App* command = app.add_subcommand(
      "check", "Predict where the Neural Engine's operations run, and what it refuses");
  command->add_option(
      "FILE", flags->path,
      "A .mlpackage of any writer, what coremlcompiler made of it (.mlmodelc), or the\n"
      "folder that compile wrote");
  const CLI::Option* chip = command->add_option(
      "--chip", flags->chip,
      "Judge and estimate for one chip, such as m1, m4-max or a17-pro (default:\n"
      "the laws of all chips, times of an M4)");
  for (const ane::Chip& each : ane::chips()) context.words[chip].words.emplace_back(each.id);
  context.words[command->add_option(
      "--target", flags->target,
      "Oldest system that is to load it, such as ios17 or macos14: what needs a later\n"
      "one is refused")] = {{"ios15", "ios16", "ios17", "ios18", "ios26", "macos12", "macos13",
                             "macos14", "macos15", "macos26"}};
  command->add_option("--html", flags->html,
                      "Write a report that a browser shows: each operation with its device");
  CLI::Option* measured_option = command->add_option(
      "--measured", flags->measured,
      "What a Mac wrote: results of `anemone probe`, which override what others\n"
      "reported, or a file of --measure, which is compared with the prediction");
  CLI::Option* measure_option = command->add_option(
      "--measure", flags->measure,
      "Ask Core ML of this Mac where each operation would run, write it to this file and\n"
      "compare it with the prediction (with --executor coreml)");
  measure_option->excludes(measured_option);
  command->add_flag(
      "--strict", flags->is_strict,
      "Exit code 1, too, when a product (convolution, linear operation, matrix product,\n"
      "attention, recurrent layer) leaves the chip, as predicted or, where there is\n"
      "one, by the plan of Core ML");
  command->add_flag("--notes", flags->has_notes,
                    "Explain conventions that are not kept, which later reports go beyond");
  command->add_flag("--hints", flags->has_hints,
                    "Name the options of compile, the fields of --form or the change of the graph\n"
                    "that take each finding away; only what is not in force yet, and for packages\n"
                    "of other writers changes of the graph alone");
  command->add_flag("--laws", flags->shows_laws, "Print all laws with their sources (Markdown)");
  command->add_flag("--json", flags->is_json, "Machine-readable output: every finding");
  command->footer(
      "First a line for each function: how many operations stay on the chip, and the\n"
      "least time that a run takes by its bytes and multiplications. Then each broken\n"
      "law with its places, who measured it, and what to change. refused: the chip or\n"
      "Core ML was seen to refuse it or to compute wrong numbers; slow: it runs, with\n"
      "more bytes or steps on the CPU; contested: sources disagree, or nobody measured\n"
      "it. The last line counts the broken laws. Exit code 1 when one is refused.\n"
      "Nothing is run, and no chip is needed: it is a prediction. --measure, on a Mac,\n"
      "asks Core ML itself.\n"
      "\n"
      "Examples:\n"
      "  anemone check model.anemone\n"
      "  anemone check model.mlpackage --chip m1 --strict\n"
      "  anemone check model.anemone --hints\n"
      "  anemone check model.anemone --html report.html\n"
      "  anemone check --json model.mlpackage\n"
      "  anemone check model.anemone --measure plan.json --executor coreml\n"
      "  anemone check model.anemone --measured plan.json");
  command->callback([flags, &context] {
    context.action = [flags, &context] { return run_check(*flags, context); };
  });
}

}  // namespace anemone::cli
