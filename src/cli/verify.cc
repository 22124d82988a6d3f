// SPDX-License-Identifier: Apache-2.0
// `anemone verify`: runs an artifact beside its source weights in fp32 and says whether it is near
// enough. The reference is the same checkpoint, compiled exactly into a folder that goes away, and
// run by the same engine.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "api/executors.h"
#include "artifact/manifest.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/escape.h"
#include "base/file.h"
#include "base/path.h"
#include "base/progress.h"
#include "base/scratch_folder.h"
#include "base/version.h"
#include "cli/cleanup.h"
#include "cli/command.h"
#include "cli/inspect.h"
#include "cli/interrupt.h"
#include "cli/model_folder.h"
#include "cli/model_path.h"
#include "cli/number_range.h"
#include "cli/output.h"
#include "cli/token_ids.h"
#include "cli/verify_text.h"
#include "compiler/compiler.h"
#include "engine/agreement.h"
#include "text/tokenizer/tokenizer.h"

namespace anemone::cli {
namespace {

// Tokens that are compared by default: the built-in text is shorter, and attention over many more
// costs minutes on the interpreter.
constexpr std::int64_t kDefaultTokens = 512;

struct VerifyFlags {
  api::ExecutorOptions executor;
  std::string artifact;
  std::string against;
  std::optional<std::string> text;
  std::optional<std::string> ids;
  std::int64_t tokens = kDefaultTokens;
  artifact::AgreementLimits limits;
  bool no_record = false;
  bool is_json = false;
};

struct Subject {
  std::string name;  // as Verification::text has it
  std::vector<std::int32_t> ids;
};

Result<Subject> read_subject(const VerifyFlags& flags, const artifact::Manifest& manifest) {
  Subject out;
  if (flags.ids) {
    out.name = "ids";
    ANEMONE_ASSIGN_OR_RETURN(out.ids, parse_token_ids(*flags.ids, "--ids"));
  } else {
    std::string text(verify_text());
    out.name = "built-in";
    if (flags.text) {
      out.name = flags.text->substr(flags.text->find_last_of('/') + 1);
      ANEMONE_ASSIGN_OR_RETURN(text, read_file(*flags.text));
    }
    const auto has_tokenizer = [&] {
      for (const artifact::FileEntry& file : manifest.files)
        if (file.path == "tokenizer.json") return true;
      return false;
    };
    if (!has_tokenizer())
      return invalid_argument(
          "[{}] expected a model with a tokenizer.json, or --ids beside it, got neither",
          flags.artifact);
    ANEMONE_ASSIGN_OR_RETURN(const auto tokenizer, text::Tokenizer::load(flags.artifact));
    ANEMONE_ASSIGN_OR_RETURN(out.ids, tokenizer->encode(text, {.add_special = true}));
  }
  const auto most = static_cast<std::size_t>(std::min(flags.tokens, manifest.context));
  if (out.ids.size() > most) out.ids.resize(most);
  if (out.ids.size() < 2)
    return invalid_argument("[{}] expected two tokens or more, got {}", out.name, out.ids.size());
  for (const std::int32_t id : out.ids)
    if (id < 0 || id >= manifest.vocab_size)
      return invalid_argument("[{}] expected ids from 0 to {}, got {}", out.name,
                              manifest.vocab_size - 1, id);
  return out;
}

compiler::CompileOptions reference_options(const artifact::Manifest& manifest, int threads) {
  compiler::CompileOptions options;
  options.precision = DType::kFp32;
  options.recipe.quant.scheme = quant::Scheme::kNone;
  options.context = manifest.context;
  options.threads = threads;
  options.cancel = &interrupt_flag();
  return options;
}

// Whether the checkpoint can be what the artifact was made from, before its weights are read.
Status check_source(const VerifyFlags& flags, const artifact::Manifest& manifest,
                    compiler::CompileOptions options) {
  options.dry_run = true;
  ANEMONE_ASSIGN_OR_RETURN(const auto plan, compiler::compile(flags.against, "", options));
  const artifact::Manifest& source = plan.manifest;
  const auto shape = [](const artifact::Manifest& of) {
    return fmt::format("{} with {} layers, hidden size {}, vocabulary {} and context {}",
                       of.model_type, of.layers, of.hidden_size, of.vocab_size, of.context);
  };
  if (shape(source) == shape(manifest)) return {};
  return invalid_argument("[{}] expected the source of {}: {}, got {}", flags.against,
                          flags.artifact, shape(manifest), shape(source));
}

Result<std::shared_ptr<const engine::Model>> load_quietly(const std::string& folder,
                                                          exec::Executor& executor) {
  ProgressReport bar("loading", Progress::Unit::kItems);
  engine::ModelLoadOptions options;
  options.load_text = false;
  options.on_progress = std::ref(bar);
  ANEMONE_ASSIGN_OR_RETURN(auto model, engine::Model::load(folder, executor, options));
  ANEMONE_RETURN_IF_ERROR(model->check_generates());
  return model;
}

Result<artifact::Agreement> measure(const VerifyFlags& flags, const Subject& subject,
                                    const compiler::CompileOptions& options) {
  ANEMONE_ASSIGN_OR_RETURN(const auto executor, api::make_executor(flags.executor));
  // The artifact is loaded first, since it may be refused and takes the least time.
  ANEMONE_ASSIGN_OR_RETURN(const auto model, load_quietly(flags.artifact, *executor));
  ANEMONE_ASSIGN_OR_RETURN(const std::string cache, make_cache_folder());
  // The folder is never committed, so it goes when this function ends.
  ANEMONE_ASSIGN_OR_RETURN(const auto scratch, ScratchFolder::create(cache, "verify"));
  const Cleanup cleanup(Cleanup::Kind::kScratch, scratch.path());
  const std::string folder = scratch.path() + "/reference";
  {
    ProgressReport bar("compiling the reference", Progress::Unit::kBytes);
    const auto compiled = compiler::compile(flags.against, folder, options, std::ref(bar));
    if (!compiled.ok()) return compiled.status();
  }
  ANEMONE_ASSIGN_OR_RETURN(const auto reference, load_quietly(folder, *executor));
  ProgressReport bar("comparing", Progress::Unit::kItems);
  engine::CompareOptions compare;
  compare.cancel = options.cancel;
  compare.on_progress = [&](std::int64_t done, std::int64_t total) {
    bar(static_cast<std::uint64_t>(done), static_cast<std::uint64_t>(total));
  };
  return engine::compare_models(reference, model, subject.ids, compare);
}

std::string verification_text(const VerifyFlags& flags, const artifact::Verification& verdict) {
  const artifact::Agreement& value = verdict.agreement;
  const artifact::AgreementLimits& limits = verdict.limits;
  std::string text = lines_for_terminal(
      fmt::format("{}: {} against {} over {} tokens ({})\n", escaped(flags.artifact),
                  verdict.passed ? "passed" : "FAILED", escaped(verdict.against), value.tokens,
                  escaped(verdict.text)));
  return text +
         table({{"cosine of logits",
                 fmt::format("mean {:.6f}, median {:.6f}, lowest {:.6f}", value.cosine_mean,
                             value.cosine_median, value.cosine_min),
                 fmt::format("mean at least {}", limits.min_cosine)},
                {"same first choice",
                 fmt::format("{:.1f} %; or nearly as likely {:.1f} %", 100 * value.top1,
                             100 * value.top1_near),
                 fmt::format("nearly as likely at least {:.1f} %", 100 * limits.min_top1)},
                {"perplexity",
                 fmt::format("{:.6g}; reference {:.6g}; ratio {:.4g}", value.perplexity,
                             value.reference_perplexity,
                             value.perplexity / value.reference_perplexity),
                 fmt::format("ratio at most {}", limits.max_perplexity_ratio)}},
               "  ") +
         (flags.no_record ? "  not recorded\n" : "  recorded in manifest.json\n");
}

// The manifest as it is now: another process may have replaced the artifact in the meantime.
Status record(const VerifyFlags& flags, const artifact::Verification& verdict) {
  ANEMONE_ASSIGN_OR_RETURN(artifact::Manifest manifest, artifact::read_manifest(flags.artifact));
  // A pass is about the files that the manifest describes, not about what took their place.
  if (verdict.passed)
    ANEMONE_RETURN_IF_ERROR(artifact::check_files(flags.artifact, manifest, /*check_hashes=*/true));
  manifest.verification = verdict;
  return artifact::write_manifest(flags.artifact, manifest);
}

Status failed_gate(const VerifyFlags& flags, const artifact::Verification& verdict) {
  const artifact::Agreement& value = verdict.agreement;
  const artifact::AgreementLimits& limits = verdict.limits;
  if (value.cosine_mean < limits.min_cosine)
    return check_not_met("[{}] expected a mean cosine of at least {}, got {:.6f}", flags.artifact,
                         limits.min_cosine, value.cosine_mean);
  if (value.top1_near < limits.min_top1)
    return check_not_met("[{}] expected a top-1 agreement of at least {}, got {:.4f}",
                         flags.artifact, limits.min_top1, value.top1_near);
  return check_not_met("[{}] expected a perplexity of at most {} times {:.6g}, got {:.6g}",
                       flags.artifact, limits.max_perplexity_ratio, value.reference_perplexity,
                       value.perplexity);
}

Status check_limits(const artifact::AgreementLimits& limits) {
  for (const auto& [flag, value] : {std::pair("--min-cosine", limits.min_cosine),
                                    {"--min-top1", limits.min_top1},
                                    {"--max-perplexity-ratio", limits.max_perplexity_ratio}})
    if (std::isnan(value)) return invalid_argument("[{}] expected a number, got nan", flag);
  return {};
}

Status run_verify(VerifyFlags flags, const Context& context) {
  ANEMONE_RETURN_IF_ERROR(check_limits(flags.limits));  // the range checks let a NaN through
  const std::string against = last_name(flags.against);
  ANEMONE_ASSIGN_OR_RETURN(flags.against, model_path(flags.against));
  ANEMONE_ASSIGN_OR_RETURN(const artifact::Manifest manifest,
                           artifact::read_manifest(flags.artifact));
  const compiler::CompileOptions options = reference_options(manifest, context.threads);
  ANEMONE_RETURN_IF_ERROR(check_source(flags, manifest, options));
  ANEMONE_ASSIGN_OR_RETURN(const Subject subject, read_subject(flags, manifest));
  const auto agreement = measure(flags, subject, options);
  if (!agreement.ok() && agreement.status().code() == Code::kCancelled)
    return cancelled("[verify] interrupted");
  if (!agreement.ok()) return agreement.status();

  artifact::Verification verdict;
  verdict.producer = std::string("anemone ") + std::string(version());
  verdict.against = against;
  verdict.text = subject.name;
  Digest hash;
  hash.update(fmt::format("{}", fmt::join(subject.ids, " ")));
  verdict.ids_sha256 = hash.hex();
  verdict.agreement = *agreement;
  verdict.limits = flags.limits;
  verdict.passed = artifact::meets(*agreement, flags.limits);
  if (!flags.no_record) ANEMONE_RETURN_IF_ERROR(record(flags, verdict));
  Json json = artifact::to_json(verdict);
  json["artifact"] = flags.artifact;
  json["recorded"] = !flags.no_record;
  ANEMONE_RETURN_IF_ERROR(flags.is_json ? print_json(json, 2)
                                        : print_report(verification_text(flags, verdict)));
  return verdict.passed ? ok_status() : failed_gate(flags, verdict);
}

}  // namespace

void add_verify_command(CLI::App& app, Context& context) {
  auto flags = std::make_shared<VerifyFlags>();
  CLI::App* command =
      app.add_subcommand("verify", "Compare a compiled model with its source weights in fp32");
  command->add_option("DIR", flags->artifact, "Artifact folder that compile wrote")->required();
  command
      ->add_option("--against", flags->against,
                   "The checkpoint folder or GGUF file that it was made from")
      ->required();
  CLI::Option* text = command->add_option("--text", flags->text,
                                          "Text file to read (default: a built-in mixed text)");
  command
      ->add_option("--ids", flags->ids,
                   "Token ids \"1 2 3\" or @FILE instead of a text; for models without tokenizer")
      ->excludes(text);
  command
      ->add_option("--tokens", flags->tokens,
                   "Read at most this many tokens, and at most the context")
      ->check(whole_numbers(2, std::int64_t{1} << 24))
      ->capture_default_str();
  command
      ->add_option("--min-cosine", flags->limits.min_cosine,
                   "Least mean cosine of the logits with the reference's")
      ->check(numbers(-1.0, 1.0))
      ->capture_default_str();
  command
      ->add_option("--min-top1", flags->limits.min_top1,
                   "Least share of positions whose most likely token the reference finds at least "
                   "nine\ntenths as likely as its own")
      ->check(numbers(0.0, 1.0))
      ->capture_default_str();
  command
      ->add_option("--max-perplexity-ratio", flags->limits.max_perplexity_ratio,
                   "Largest ratio of the perplexity to the reference's")
      ->check(numbers(0.0, 1e9))
      ->capture_default_str();
  command->add_flag("--no-record", flags->no_record, "Leave manifest.json as it is");
  command->add_flag("--json", flags->is_json, "Print the verdict as JSON");
  command->footer(
      "The verdict goes into manifest.json, where inspect shows it. Exit code 1 when a limit is "
      "not met.\nWhile this runs, the reference's weights in fp32 take disk space in the cache "
      "folder\n(ANEMONE_CACHE).\n"
      "\n"
      "Examples:\n"
      "  anemone verify model.anemone --against Qwen2.5-0.5B-Instruct\n"
      "  anemone verify model.anemone --against Qwen2.5-0.5B-Instruct --text mine.txt --tokens "
      "2000\n"
      "  anemone verify tiny.anemone --against tiny --ids \"1 2 3 4\" --min-cosine 0.999");
  command->callback([flags, &context] {
    context.action = [flags, &context] {
      flags->executor = context.executor();
      return run_verify(*flags, context);
    };
  });
}

}  // namespace anemone::cli
