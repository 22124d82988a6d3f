// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/escape.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/run.h"
#include "cli/token_ids.h"
#include "engine/labels/label_spans.h"
#include "engine/loop/engine.h"
#include "text/text_work.h"

namespace anemone::cli {

Status run_labels(const RunOptions& options, std::shared_ptr<const engine::Model> model) {
  if (options.text.max_tokens.value_or(0) != 0)
    return invalid_argument("[--max-new] expected 0 for a model that labels tokens, got {}",
                            *options.text.max_tokens);
  std::vector<std::int32_t> ids;
  std::string text;  // empty where the ids were given
  if (options.prompt_ids) {
    ANEMONE_ASSIGN_OR_RETURN(ids, parse_token_ids(*options.prompt_ids, "--prompt-ids"));
  } else if (options.prompt) {
    ANEMONE_ASSIGN_OR_RETURN(text, prompt_text(options));
    ANEMONE_ASSIGN_OR_RETURN(ids, model->tokenizer()->encode(text, {.add_special = true}));
  } else {
    return invalid_argument("[PROMPT] expected a text, got none: {} labels tokens and cannot chat",
                            options.model);
  }
  ProgressReport bar("reading", Progress::Unit::kItems);
  engine::BlockingOptions classify;
  classify.cancel = &interrupt_flag();
  classify.on_progress = [&](std::int64_t done, std::int64_t total) {
    bar(static_cast<std::uint64_t>(done), static_cast<std::uint64_t>(total));
  };
  engine::Engine engine({});
  const auto logits = engine::classify(engine, model, ids, classify);
  bar.clear();
  if (!logits.ok()) return logits.status();

  const std::vector<std::string>& names = model->manifest().labels;
  LogitsFile file(options.logits_out);
  file.add(*logits, static_cast<std::int64_t>(names.size()));
  ANEMONE_RETURN_IF_ERROR(file.write({}));
  const std::vector<engine::ScoredLabel> scored = engine::score_labels(*logits, names.size());
  const text::Tokenizer* tokenizer = model->tokenizer().get();
  std::string lines;
  Json labels = Json::array(), scores = Json::array();
  std::vector<std::string> pieces(ids.size());
  WorkBudget work("text", text::text_limits(ids.size()));  // of the table
  for (std::size_t t = 0; t < ids.size(); ++t) {
    const std::string& label = names[scored[t].label];
    labels.push_back(label);
    scores.push_back(scored[t].score);
    if (tokenizer != nullptr && !tokenizer->is_special(ids[t])) {
      ANEMONE_ASSIGN_OR_RETURN(pieces[t], tokenizer->token_bytes(ids[t], work));
    }
    std::string piece = std::to_string(ids[t]);
    if (options.prompt) {
      ANEMONE_ASSIGN_OR_RETURN(piece,
                               tokenizer->decode({&ids[t], 1}, /*skip_special=*/false, &work));
    }
    lines += fmt::format("{}\t{}\n", escaped(label), escaped(piece));
  }
  if (!options.as_json && !options.has_spans) return print_report(lines);
  const std::vector<engine::LabelSpan> spans = engine::spans_of(scored, names);
  Json found = engine::spans_json(spans, {text, pieces});
  if (options.as_json)
    return print_json({{"ids", ids},
                       {"labels", std::move(labels)},
                       {"scores", std::move(scores)},
                       {"spans", std::move(found)}});
  lines.clear();
  for (std::size_t i = 0; i < spans.size(); ++i) {
    const auto part = std::span(ids).subspan(spans[i].first, spans[i].count);
    const std::string shown = options.prompt ? found[i]["text"].get<std::string>()
                                             : fmt::format("{}", fmt::join(part, " "));
    lines += fmt::format("{}\t{}\n", escaped(spans[i].label), escaped(shown));
  }
  return print_report(lines);
}

}  // namespace anemone::cli
