// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "ane/chip.h"
#include "ane/form.h"
#include "ane/package_plan.h"
#include "artifact/ownership.h"
#include "base/ascii.h"
#include "base/error.h"
#include "base/json.h"
#include "base/path.h"
#include "base/progress.h"
#include "cli/cleanup.h"
#include "cli/command.h"
#include "cli/compile_flags.h"
#include "cli/compile_report.h"
#include "cli/interrupt.h"
#include "cli/model_path.h"
#include "cli/output.h"
#include "compiler/compiler.h"
#include "text/utf8.h"

namespace anemone::cli {
namespace {

std::string listed(const std::vector<std::string_view>& names) {
  std::string out;
  for (const auto name : names) out.append(out.empty() ? "" : ", ").append(name);
  return out;
}

// How others call a scheme.
std::string scheme_word(std::string_view text) {
  std::string word = ascii_lower(text);
  constexpr std::pair<std::string_view, std::string_view> kOthers[] = {
      {"int4", "int4-block"}, {"4bit", "lut4"}, {"6bit", "lut6"},
      {"8bit", "lut8"},       {"fp16", "none"}, {"off", "none"}};
  for (const auto& [theirs, ours] : kOthers)
    if (word == theirs) return std::string(ours);
  return word;
}

// "100mb" -> "100MB", the unit as it is known below.
std::string shards_word(std::string word) {
  const bool is_size = word.size() > 2 && word.front() >= '0' && word.front() <= '9' &&
                       (word.ends_with('b') || word.ends_with('B'));
  if (is_size)
    for (char& c : word)
      if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return word;
}

Result<compiler::Recipe> to_recipe(const CompileFlags& options, compiler::Processor processor) {
  const auto named = compiler::parse_recipe(scheme_word(options.quantization), processor);
  if (!named)
    return invalid_argument("[--quant] expected one of {}, got \"{}\"",
                            listed(compiler::recipe_names()), options.quantization);
  compiler::Recipe recipe = *named;
  if (options.lut_mode != "kmeans" && options.lut_mode != "uniform")
    return invalid_argument("[--lut-mode] expected kmeans or uniform, got \"{}\"",
                            options.lut_mode);
  recipe.quant.palette_mode =
      options.lut_mode == "kmeans" ? quant::PaletteMode::kKmeans : quant::PaletteMode::kUniform;
  recipe.quant.block_size = options.block_size;
  recipe.quant.group_size = options.group_size;
  recipe.quant.threshold = options.quant_threshold;
  for (const std::string& text : options.quant_for) {
    const std::size_t equals = text.find('=');
    const auto role = compiler::parse_role(std::string_view(text).substr(0, equals));
    if (equals == std::string::npos)
      return invalid_argument("[--quant-for] expected ROLE=SCHEME, such as head=int8, got \"{}\"",
                              text);
    if (!role)
      return invalid_argument("[--quant-for] expected a ROLE that is one of {}, got \"{}\"",
                              listed(compiler::role_names()), text);
    const auto scheme = quant::parse_scheme(scheme_word(text.substr(equals + 1)));
    if (!scheme)
      return invalid_argument("[--quant-for] expected a SCHEME that is one of {}, got \"{}\"",
                              listed(quant::scheme_names()), text);
    recipe.by_role[*role] = *scheme;
  }
  if (options.keep_head) recipe.by_role[models::WeightRole::kHead] = quant::Scheme::kNone;
  return recipe;
}

// The form that --form names, with the fields that have flags of their own.
Result<artifact::Form> to_form(const CompileFlags& options, compiler::Processor processor) {
  artifact::Form form = compiler::default_form(processor);
  if (!options.form.empty()) {
    ANEMONE_ASSIGN_OR_RETURN(form, ane::read_form(options.form));
  }
  // "soft" is the old name of dense.
  struct Flag {
    std::string_view name;
    std::string_view field;
    std::string_view value;
  };
  const Flag flags[] = {{"layout", "layout", options.layout},
                        {"kv-form", "cache", options.cache},
                        {"experts", "experts",
                         options.experts == "soft" ? std::string_view("dense") : options.experts},
                        {"argmax", "head", options.has_argmax ? "argmax" : ""}};
  for (const Flag& flag : flags) {
    if (flag.value.empty()) continue;
    const Status status = artifact::set_form_field(form, flag.field, flag.value);
    // "[layout] expected ..." of the field becomes that of the flag.
    if (!status.ok())
      return invalid_argument("[--{}{}", flag.name,
                              status.message().substr(status.message().find(']')));
  }
  return form;
}

Result<ir::Opset> to_target(const std::string& name) {
  // `check` takes these names, too, and those of systems for which nothing is compiled.
  const auto version = ane::parse_target(name);
  for (const ir::Opset opset : {ir::Opset::kIOS16, ir::Opset::kIOS17, ir::Opset::kIOS18})
    if (version.ok() && *version == ir::specification_version(opset)) return opset;
  return invalid_argument(
      "[--target] expected ios16, ios17 or ios18 (macos13, macos14 or macos15), got \"{}\"", name);
}

Result<compiler::CompileOptions> to_compile_options(const CompileFlags& options,
                                                    const Context& context) {
  compiler::CompileOptions out;
  constexpr std::size_t kMaxNameBytes = 200;
  if (options.name.size() > kMaxNameBytes || !text::is_valid_utf8(options.name))
    return invalid_argument("[--name] expected at most {} bytes of UTF-8, got {} bytes",
                            kMaxNameBytes, options.name.size());
  out.name = options.name;
  if (options.precision != "fp16" && options.precision != "fp32")
    return invalid_argument("[--precision] expected fp16 or fp32, got \"{}\"", options.precision);
  out.precision = options.precision == "fp16" ? DType::kFp16 : DType::kFp32;
  if (options.processor != "ane" && options.processor != "cpu")
    return invalid_argument("[--for] expected ane or cpu, got \"{}\"", options.processor);
  const auto processor =
      options.processor == "ane" ? compiler::Processor::kAne : compiler::Processor::kCpu;
  ANEMONE_ASSIGN_OR_RETURN(out.recipe, to_recipe(options, processor));
  ANEMONE_ASSIGN_OR_RETURN(out.target, to_target(options.target));
  ANEMONE_ASSIGN_OR_RETURN(out.form, to_form(options, processor));
  out.tiers = options.contexts;
  if (const auto largest = std::ranges::max_element(out.tiers); largest != out.tiers.end()) {
    out.context = *largest;
    std::erase(out.tiers, out.context);
  }
  out.prefill = options.prefill;
  if (out.prefill == 0 && processor == compiler::Processor::kCpu)
    out.prefill = compiler::kDefaultPrefill;
  out.draft_width = options.draft_width;
  out.range_dim = options.has_range_dim;
  out.resume = options.is_resumed;
  out.measure_errors = options.is_detailed;
  out.packages = ane::plan_of_shards(shards_word(options.shards));
  if (!options.plan.empty()) {
    ANEMONE_ASSIGN_OR_RETURN(out.packages, ane::read_plan(options.plan));
  }
  out.threads = options.jobs > 0 ? options.jobs : context.threads;
  out.dry_run = options.is_dry_run;
  out.check = options.is_dry_run;
  out.cancel = &interrupt_flag();
  return out;
}

// What somebody who compiles for the Neural Engine has to know of the recipe; may be empty.
std::string warning_of(const CompileFlags& options, const compiler::Recipe& recipe) {
  if (options.processor != "ane") return "";
  const auto has_blocks = [](quant::Scheme scheme) {
    return scheme == quant::Scheme::kInt8Block || scheme == quant::Scheme::kInt4Block ||
           scheme == quant::Scheme::kPassthrough;
  };
  // The host looks up the embeddings, so the chip does not see their blocks.
  const auto is_by_blocks = [&](const auto& role) {
    return role.first != models::WeightRole::kEmbedding && has_blocks(role.second);
  };
  if (!has_blocks(recipe.quant.scheme) && std::ranges::none_of(recipe.by_role, is_by_blocks))
    return "";
  return "weights with a scale for each block of inputs gave wrong numbers on the Neural Engine or "
         "ran on another processor: --quant auto, lut4, lut6, lut8 or int8-channel for it, or "
         "--for cpu";
}

Status run_compile(const CompileFlags& options, const Context& context) {
  ANEMONE_ASSIGN_OR_RETURN(compiler::CompileOptions compile_options,
                           to_compile_options(options, context));
  ANEMONE_ASSIGN_OR_RETURN(const NamedModel found, find_model(options.model));
  if (artifact::is_artifact(found.path))
    return unsupported(
        "[{}] expected a checkpoint or a GGUF file, got a model that is compiled already",
        found.path);
  const std::string& model = found.path;
  // A snapshot of the hub's cache is called by its commit.
  if (compile_options.name.empty() && found.name != last_name(model))
    compile_options.name = found.name;
  ProgressReport bar("compiling", Progress::Unit::kBytes);
  // --resume keeps what is finished, also after an interrupt.
  std::optional<Cleanup> cleanup;
  if (!options.is_resumed && !options.is_dry_run)
    cleanup.emplace(Cleanup::Kind::kOutput, options.output);
  auto report = compiler::compile(model, options.output, compile_options, std::ref(bar));
  bar.clear();
  if (!report.ok() && report.status().code() == Code::kCancelled)
    return cancelled("[compile] interrupted");
  if (!report.ok()) return report.status();
  const auto named = std::ranges::find(ane::named_plans(), options.plan, &ane::NamedPlan::name);
  if (named != ane::named_plans().end())
    report->notes.push_back(fmt::format("plan {}: {}", named->name, named->what));
  if (std::string text = warning_of(options, compile_options.recipe); !text.empty())
    report->notes.push_back(std::move(text));
  if (options.is_json) return print_json(report_json(*report, options.output), 2);
  ANEMONE_RETURN_IF_ERROR(print_report(report_text(*report, options.output, options.is_detailed)));
  return options.is_detailed ? print_report(details_text(*report)) : Status();
}

}  // namespace

void add_compile_command(CLI::App& app, Context& context) {
  auto options = std::make_shared<CompileFlags>();
  CLI::App* command = app.add_subcommand(
      "compile", "Compile a checkpoint to Core ML packages (an artifact folder)");
  add_compile_flags(*command, *options, context);
  command->footer(
      "Reads checkpoints of the types gemma3, gemma4, gpt_oss, granite, hunyuan_v1_dense, lfm2,\n"
      "lfm2_moe, llama, mistral, olmo2, openai_privacy_filter (labels of tokens), phi3, qwen2,\n"
      "qwen3, qwen3_moe, qwen3_next, qwen3_5, smollm3 and zaya. The folder\n"
      "appears when it is complete; an artifact of that name is replaced.\n"
      "\n"
      "Examples:\n"
      "  anemone compile Qwen2.5-0.5B-Instruct -o qwen.anemone\n"
      "  anemone compile Llama-3.2-1B -o llama.anemone --quant int8-channel --context 4096\n"
      "  anemone compile Qwen3-0.6B -o qwen3.anemone --quant lut6 --context 512,4096 "
      "--report\n"
      "  anemone compile Qwen3-0.6B-Q8_0.gguf -o qwen3.anemone\n"
      "  anemone compile tiny -o exact --precision fp32 --quant none      # to compare with "
      "transformers");
  command->callback([options, &context] {
    context.action = [options, &context] { return run_compile(*options, context); };
  });
}

}  // namespace anemone::cli
