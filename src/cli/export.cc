// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <functional>
#include <memory>

#include "base/error.h"
#include "base/escape.h"
#include "base/progress.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/export_tensors.h"
#include "cli/command.h"
#include "cli/model_path.h"
#include "cli/output.h"
#include "cli/output_place.h"

namespace anemone::cli {
namespace {

struct ExportFlags {
  std::string source;
  std::string output;
  std::string dtype = "f32";
};

Result<DType> float_dtype(const std::string& name) {
  if (name == "f32") return DType::kFp32;
  if (name == "f16") return DType::kFp16;
  if (name == "bf16") return DType::kBf16;
  return invalid_argument("[--dtype] expected f32, f16 or bf16, got \"{}\"", name);
}

Status run_export(const ExportFlags& options) {
  ANEMONE_ASSIGN_OR_RETURN(const DType dtype, float_dtype(options.dtype));
  ANEMONE_ASSIGN_OR_RETURN(const std::string path, model_path(options.source));
  ANEMONE_RETURN_IF_ERROR(check_output_file(options.output, path));
  ANEMONE_ASSIGN_OR_RETURN(const auto source, checkpoint::open_tensors(path));
  ProgressReport bar("exporting", Progress::Unit::kBytes);
  const Status status = checkpoint::export_tensors(*source, options.output, dtype, std::ref(bar));
  bar.clear();
  ANEMONE_RETURN_IF_ERROR(status);
  std::error_code error;
  return print_report(fmt::format("{}: {} tensors as {}, {}\n", escaped(options.output),
                                  source->all().size(), options.dtype,
                                  format_bytes(std::filesystem::file_size(options.output, error))));
}

}  // namespace

void add_export_command(CLI::App& app, Context& context) {
  auto options = std::make_shared<ExportFlags>();
  CLI::App* command =
      app.add_subcommand("export", "Write the tensors of a checkpoint as one safetensors file");
  command->add_option("MODEL", options->source, "Checkpoint folder, .safetensors or GGUF file")
      ->required();
  command->add_option("-o,--output", options->output, "File to write")->required();
  context.words[command
                    ->add_option("--dtype", options->dtype,
                                 "Floats become f32 (exact), f16 or bf16; integers stay as they "
                                 "are.\nQuantized blocks are floats, whose f32 is exact")
                    ->capture_default_str()] = {{"f32", "f16", "bf16"}};
  command->footer(
      "Tensors keep their names. The file appears when it is complete.\n"
      "\n"
      "Example:\n"
      "  anemone export Qwen2.5-0.5B-Instruct -o qwen.safetensors --dtype f16");
  command->callback(
      [options, &context] { context.action = [options] { return run_export(*options); }; });
}

}  // namespace anemone::cli
