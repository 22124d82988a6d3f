// SPDX-License-Identifier: Apache-2.0
#include "cli/inspect.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include "artifact/manifest.h"
#include "artifact/ownership.h"
#include "base/error.h"
#include "base/mapped_file.h"
#include "checkpoint/file_kind.h"
#include "cli/command.h"
#include "cli/model_path.h"
#include "cli/output.h"
#include "mlpackage/compiled_reader.h"

namespace anemone::cli {
namespace {

namespace fs = std::filesystem;

using Inspector = Result<Report> (*)(const InspectOptions&);

bool has_file(const fs::path& folder, const char* name) {
  std::error_code error;
  return fs::exists(folder / name, error);
}

// Chooses by the name of the file if it tells the format, otherwise by the content.
Result<Inspector> inspector_of(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  const fs::path name(path);
  if (fs::is_directory(status)) {
    if (is_package_folder(path) || mlpackage::is_compiled_folder(path)) return &inspect_package;
    if (artifact::is_artifact(path)) return &inspect_artifact;
    if (has_file(name, "config.json") || has_file(name, "genai_config.json"))
      return &inspect_checkpoint;
    if (has_file(name, "model.safetensors") || has_file(name, "model.safetensors.index.json"))
      return &inspect_tensors;
    if (has_file(name, "tokenizer.json")) return &inspect_tokenizer;
    return unsupported(
        "[{}] expected a compiled model, a package, a checkpoint or a tokenizer, got another "
        "folder",
        path);
  }
  if (!fs::is_regular_file(status)) return io_error("[{}] expected a regular file", path);
  if (name.filename() == "config.json" || name.filename() == "genai_config.json" ||
      name.extension() == ".onnx")
    return checkpoint::not_a_model(path);
  if (name.extension() == ".safetensors") return &inspect_tensors;
  if (name.extension() == ".gguf") return &inspect_gguf;
  if (name.extension() == ".mlmodel") return &inspect_package;
  if (name.extension() == ".json") return &inspect_tokenizer;
  ANEMONE_ASSIGN_OR_RETURN(const auto file, MappedFile::open(path));
  if (checkpoint::is_safetensors(file->bytes())) return &inspect_tensors;
  return checkpoint::not_a_model(path);
}

Status run_inspect(InspectOptions options) {
  ANEMONE_ASSIGN_OR_RETURN(options.path, model_path(options.path));
  ANEMONE_ASSIGN_OR_RETURN(const Inspector inspector, inspector_of(options.path));
  for (const auto& [is_given, flag] :
       {std::pair(options.as_mil, "--mil"), {options.is_explain, "--explain"}})
    if (is_given && inspector != &inspect_package)
      return invalid_argument("[{}] expected a package for {}", options.path, flag);
  if (options.as_mil && options.is_explain)
    return invalid_argument(
        "[--mil] cannot be combined with --explain (see anemone inspect --help)");
  ANEMONE_ASSIGN_OR_RETURN(const Report report,
                           (options.is_explain ? &inspect_plan : inspector)(options));
  return options.as_json ? print_json(report.json, 2) : print_report(report.text);
}

}  // namespace

bool is_package_folder(const std::string& path) {
  return fs::path(path).extension() == ".mlpackage" || has_file(path, "Manifest.json");
}

void add_inspect_command(CLI::App& app, Context& context) {
  auto options = std::make_shared<InspectOptions>();
  CLI::App* command =
      app.add_subcommand("inspect", "Show what a file holds, and check that it is undamaged");
  command
      ->add_option(
          "FILE", options->path,
          "A compiled model, a .mlpackage or .mlmodelc, .safetensors, .gguf, checkpoint folder, "
          "tokenizer.json, or a model that was pulled (OWNER/NAME)")
      ->required();
  command->add_flag("--mil", options->as_mil, "The whole program of a package as MIL text");
  command->add_flag("--explain", options->is_explain,
                    "Print the CPU engine's execution plan of a package: fused operations, bytes "
                    "and\nFLOPs of each step");
  command->add_flag("--strict", options->is_strict,
                    "Also refuse a program that breaks a rule of an operation");
  command->add_flag("--json", options->as_json, "Machine-readable output");
  command->footer(
      "A damaged file is always refused (exit code 3). inspect checks the container, the manifest, "
      "every\nreference into a weight file, the versions, and the description against the "
      "program.\n"
      "\n"
      "Examples:\n"
      "  anemone inspect model.anemone                 packages, context, sampling; checks all "
      "hashes\n"
      "  anemone inspect model.mlpackage               functions, features, operations, weights\n"
      "  anemone inspect --mil model.mlpackage | less  every operation\n"
      "  anemone inspect --explain model.mlpackage     the plan that runs it here\n"
      "  anemone inspect --json model.safetensors      names, dtypes and shapes of all tensors\n"
      "  anemone inspect model.gguf                    metadata, types and shapes of all tensors\n"
      "  anemone inspect tokenizer.json");
  command->callback([options, &context] {
    context.action = [options, &context] {
      options->executor = context.executor();
      return run_inspect(*options);
    };
  });
}

}  // namespace anemone::cli
