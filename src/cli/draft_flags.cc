// SPDX-License-Identifier: Apache-2.0
#include "cli/draft_flags.h"

#include <functional>
#include <utility>

#include "api/executors.h"
#include "base/progress.h"
#include "cli/model_folder.h"
#include "cli/number_range.h"
#include "cli/output.h"
#include "engine/speculation/ngram_proposer.h"

namespace anemone::cli {

void add_draft_flags(CLI::App& command, DraftFlags& flags) {
  CLI::Option* ngram =
      command
          .add_flag(
              "--draft-ngram{4}", flags.ngram,
              "Propose the next tokens from runs of up to N tokens (--draft-ngram=N; default: "
              "4) that the\ntext repeats, and verify them in one step: on the CPU the "
              "same text, faster where it repeats itself")
          ->check(
              whole_numbers(engine::NgramProposer::kShortest, engine::NgramProposer::kMaxLongest));
  command
      .add_option(
          "--draft", flags.model,
          "Propose the next tokens with this smaller model of the same vocabulary (artifact "
          "or\ncheckpoint folder, or GGUF file), and verify them in one step: on the CPU the same "
          "text")
      ->excludes(ngram);
}

Result<engine::SpeculationOptions> load_speculation(
    const DraftFlags& flags, std::span<const std::shared_ptr<const engine::Model>> models,
    const Context& context) {
  engine::SpeculationOptions out;
  out.ngram = flags.ngram;
  if (!flags.model.empty()) {
    ANEMONE_ASSIGN_OR_RETURN(const auto executor, api::make_executor(context.executor()));
    ANEMONE_ASSIGN_OR_RETURN(out.draft, load_model(flags.model, {context.threads, false}, *executor,
                                                   {}, "loading the draft model"));
  }
  for (const auto& model : models)
    ANEMONE_RETURN_IF_ERROR(engine::check_speculation(out, *model).with("--draft"));
  return out;
}

}  // namespace anemone::cli
