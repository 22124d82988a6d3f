// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/escape.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/label_spans.h"
#include "cli/output.h"
#include "cli/run.h"
#include "cli/token_ids.h"
#include "engine/loop/engine.h"
#include "text/text_work.h"

namespace anemone::cli {

Status run_labels(const RunOptions& options, std::shared_ptr<const engine::Model> model) {
  if (options.text.max_tokens.value_or(0) != 0)
    return invalid_argument("[--max-new] expected 0 for a model that labels tokens, got {}",
                            *options.text.max_tokens);
  std::vector<std::int32_t> ids;
  if (options.prompt_ids) {
    ANEMONE_ASSIGN_OR_RETURN(ids, parse_token_ids(*options.prompt_ids, "--prompt-ids"));
  } else if (options.prompt) {
    ANEMONE_ASSIGN_OR_RETURN(const std::string text, prompt_text(*options.prompt));
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
  std::vector<std::string> labels;
  std::string lines;
  WorkBudget work("text", text::text_limits(ids.size()));  // of the table
  for (std::size_t t = 0; t < ids.size(); ++t) {
    const auto row = std::span(*logits).subspan(t * names.size(), names.size());
    const std::string& label =
        names[static_cast<std::size_t>(std::ranges::max_element(row) - row.begin())];
    labels.push_back(label);
    std::string piece = std::to_string(ids[t]);
    if (options.prompt) {
      ANEMONE_ASSIGN_OR_RETURN(
          piece, model->tokenizer()->decode({&ids[t], 1}, /*skip_special=*/false, &work));
    }
    lines += fmt::format("{}\t{}\n", escaped(label), escaped(piece));
  }
  if (!options.as_json && !options.has_spans) return print_report(lines);
  Json spans = Json::array();
  lines.clear();
  for (const LabelSpan& span : label_spans(labels)) {
    const std::span<const std::int32_t> part(ids.data() + span.begin, span.end - span.begin);
    std::string text = fmt::format("{}", fmt::join(part, " "));
    if (options.prompt) {
      ANEMONE_ASSIGN_OR_RETURN(text,
                               model->tokenizer()->decode(part, /*skip_special=*/true, &work));
    }
    lines += fmt::format("{}\t{}\n", escaped(span.label), escaped(text));
    spans.push_back({{"label", span.label},
                     {"begin", span.begin},
                     {"end", span.end},
                     {"text", std::move(text)}});
  }
  if (!options.as_json) return print_report(lines);
  return print_json({{"ids", ids}, {"labels", labels}, {"spans", std::move(spans)}});
}

}  // namespace anemone::cli
