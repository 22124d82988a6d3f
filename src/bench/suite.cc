// SPDX-License-Identifier: Apache-2.0
#include "bench/suite.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/machine.h"
#include "engine/chat/conversation.h"
#include "engine/loop/engine.h"

namespace anemone::bench {
namespace {

using SuiteClock = std::chrono::steady_clock;

constexpr std::string_view kParagraph =
    "A lighthouse stands on a rock two miles from the harbour. Its keeper climbs the stairs every "
    "evening, trims the lamp and writes the weather into a book: the wind, the height of the "
    "waves, the ships that went by and the hour at which the fog came in. ";
constexpr std::string_view kQuestion =
    "Tell what the keeper does, and why it matters to the ships.";

struct SuitePrompt {
  std::string_view name;
  int paragraphs;  // before the text
  std::string_view text;
  std::int64_t max_new;
};
constexpr SuitePrompt kSuitePrompts[] = {
    {"tiny", 0, "Hi", 10},
    {"short", 0, "What is the capital of France?", 20},
    {"medium", 0, "Explain how a compiler turns the text of a program into instructions.", 100},
    {"long", 2, kQuestion, 200},
    {"stress", 16, kQuestion, 50},
};
constexpr SuitePrompt kConsistency = {"consistency", 0, "Count from 1 to 10.", 50};
constexpr int kConsistencyRuns = 5;

double ms_between(SuiteClock::time_point from, SuiteClock::time_point to) {
  return std::chrono::duration<double, std::milli>(to - from).count();
}

std::string text_of(const SuitePrompt& prompt, int paragraphs) {
  std::string out;
  for (int i = 0; i < paragraphs; ++i) out += kParagraph;
  return out.append(prompt.text);
}

Result<std::vector<std::int32_t>> tokens_of(const engine::Model& model, const std::string& text) {
  if (!model.has_chat_template()) return model.tokenizer()->encode(text, {.add_special = true});
  Json messages = Json::array();
  messages.push_back({{"role", "user"}, {"content", text}});
  return engine::chat_prompt(model, messages);
}

class Suite {
 public:
  Suite(std::shared_ptr<const engine::Model> model, const SuiteOptions& options)
      : model_(std::move(model)), options_(options) {}

  // How many paragraphs leave room for the answer.
  Result<int> paragraphs_that_fit(const SuitePrompt& prompt) const {
    for (int count = prompt.paragraphs;; count /= 2) {
      ANEMONE_ASSIGN_OR_RETURN(const auto ids, tokens_of(*model_, text_of(prompt, count)));
      const auto length = static_cast<std::int64_t>(ids.size());
      if (length + std::min<std::int64_t>(prompt.max_new, 2) <= model_->context() &&
          (count == 0 || length + prompt.max_new <= model_->context()))
        return count;
      if (count == 0)
        return invalid_argument("[--suite] expected a context of {} tokens and more, got {}",
                                length + 2, model_->context());
    }
  }

  Result<SuiteResult::Prompt> run(const SuitePrompt& prompt) {
    ANEMONE_ASSIGN_OR_RETURN(const int paragraphs, paragraphs_that_fit(prompt));
    const std::string text = text_of(prompt, paragraphs);
    // A new one, so that nothing of the prompt has been read before.
    engine::Engine engine({});
    SuiteClock::time_point first;
    bool has_first = false;
    engine::GenerateOptions generate;
    generate.max_new_tokens = prompt.max_new;
    generate.ignore_eos = true;
    generate.cancel = options_.cancel;
    generate.on_piece = [&](const engine::TextPiece&) {
      if (!has_first) first = SuiteClock::now();
      has_first = true;
      return Status();
    };
    const auto start = SuiteClock::now();
    ANEMONE_ASSIGN_OR_RETURN(const auto ids, tokens_of(*model_, text));
    const auto tokenized = SuiteClock::now();
    ANEMONE_ASSIGN_OR_RETURN(const auto result, engine::generate(engine, model_, ids, generate));
    const auto end = SuiteClock::now();
    if (result.finish == engine::FinishReason::kCancelled) return cancelled("[bench] interrupted");
    SuiteResult::Prompt out;
    out.name = prompt.name;
    out.prompt_tokens = result.timing.prompt_tokens;
    out.gen_tokens = result.timing.new_tokens;
    out.prefill_tps = result.timing.prefill_tok_s();
    out.decode_tps = result.timing.decode_tok_s();
    out.ttft_ms = ms_between(start, has_first ? first : end);
    out.inference_ms = ms_between(tokenized, end);
    out.roundtrip_ms = ms_between(start, end);
    return out;
  }

 private:
  const std::shared_ptr<const engine::Model> model_;
  const SuiteOptions& options_;
};

double tenth(double value) {
  return std::round(value * 100) / 100;
}

}  // namespace

double SuiteResult::mean(double Prompt::*field) const {
  double sum = 0;
  for (const Prompt& prompt : prompts) sum += prompt.*field;
  return prompts.empty() ? 0 : sum / static_cast<double>(prompts.size());
}

Result<SuiteResult> run_suite(std::shared_ptr<const engine::Model> model,
                              const SuiteOptions& options) {
  if (model->tokenizer() == nullptr)
    return not_found("[{}] expected a model with a tokenizer.json for --suite, got one without",
                     model->path());
  Suite suite(model, options);
  constexpr std::size_t kTotal = std::size(kSuitePrompts) + kConsistencyRuns + 1;
  std::size_t done = 0;
  const auto report = [&](std::string_view what) {
    if (options.on_progress) options.on_progress(done++, kTotal, what);
  };
  report("warm-up");
  ANEMONE_RETURN_IF_ERROR(suite.run(kSuitePrompts[0]).status());
  SuiteResult out;
  for (const SuitePrompt& prompt : kSuitePrompts) {
    report(prompt.name);
    ANEMONE_ASSIGN_OR_RETURN(auto result, suite.run(prompt));
    out.prompts.push_back(std::move(result));
  }
  for (int i = 0; i < kConsistencyRuns; ++i) {
    report(kConsistency.name);
    ANEMONE_ASSIGN_OR_RETURN(const auto result, suite.run(kConsistency));
    out.consistency_tps.push_back(result.decode_tps);
  }
  out.consistency = speed_of(out.consistency_tps);
  report("");
  return out;
}

Json to_json(const SuiteResult& result, std::string_view model, std::string_view mode) {
  const Machine machine = describe_machine();
  using Prompt = SuiteResult::Prompt;
  Json out = {{"hardware", machine.processor},
              {"system", machine.system},
              {"macos", machine.system.starts_with("macOS") ? Json(machine.system) : Json()},
              {"memory_gb", tenth(static_cast<double>(machine.memory_bytes) * 1e-9)},
              {"model", model},
              {"mode", mode},
              {"cold_start_ms", tenth(result.cold_start_ms)},
              {"avg_prefill_tps", tenth(result.mean(&Prompt::prefill_tps))},
              {"avg_decode_tps", tenth(result.mean(&Prompt::decode_tps))},
              {"avg_inference_ms", tenth(result.mean(&Prompt::inference_ms))},
              {"avg_roundtrip_ms", tenth(result.mean(&Prompt::roundtrip_ms))},
              {"avg_ttft_ms", tenth(result.mean(&Prompt::ttft_ms))}};
  Json& list = out["results"] = Json::array();
  for (const Prompt& prompt : result.prompts)
    list.push_back({{"name", prompt.name},
                    {"prompt_tokens", prompt.prompt_tokens},
                    {"gen_tokens", prompt.gen_tokens},
                    {"prefill_tps", tenth(prompt.prefill_tps)},
                    {"decode_tps", tenth(prompt.decode_tps)},
                    {"ttft_ms", tenth(prompt.ttft_ms)},
                    {"inference_ms", tenth(prompt.inference_ms)},
                    {"roundtrip_ms", tenth(prompt.roundtrip_ms)}});
  Json runs = Json::array();
  for (const double tps : result.consistency_tps) runs.push_back(tenth(tps));
  out["consistency"] = {{"prompt", kConsistency.text},
                        {"gen_tokens", kConsistency.max_new},
                        {"decode_tps", std::move(runs)},
                        {"median_tps", tenth(result.consistency.tok_s)},
                        {"stddev_tps", tenth(result.consistency.stddev)}};
  return out;
}

}  // namespace anemone::bench
