// SPDX-License-Identifier: Apache-2.0
#include "bench/speculation.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <random>
#include <utility>

#include "base/error.h"
#include "bench/plan_report.h"
#include "bench/speed.h"
#include "engine/loop/engine.h"

namespace anemone::bench {
namespace {

constexpr std::int64_t kPromptTokens = 64;
constexpr std::int64_t kBlock = 16;  // tokens that the repeating prompt repeats

struct TextKind {
  const char* name;
  bool is_repeating;
};

std::vector<std::int32_t> prompt_of(const engine::Model& model, const TextKind& kind) {
  std::mt19937 random(1);
  const auto rows =
      static_cast<std::uint32_t>(std::min(model.manifest().embedding.rows, model.vocab_size()));
  std::vector<std::int32_t> ids;
  while (std::ssize(ids) < kPromptTokens)
    ids.push_back(kind.is_repeating && std::ssize(ids) >= kBlock
                      ? ids[ids.size() - static_cast<std::size_t>(kBlock)]
                      : static_cast<std::int32_t>(random() % rows));
  return ids;
}

Result<engine::GenerateResult> make_text(const std::shared_ptr<const engine::Model>& model,
                                         const TextKind& kind, const SpeculationTest& test,
                                         bool speculates) {
  engine::EngineOptions options;
  if (speculates) options.speculation = test.speculation;
  engine::Engine engine(options);
  engine::GenerateOptions generate;
  generate.max_new_tokens = test.tokens;
  generate.ignore_eos = true;
  generate.as_text = false;
  generate.cancel = test.cancel;
  // A model compiled with --argmax cannot sample.
  if (!kind.is_repeating && !model->manifest().is_greedy()) {
    generate.sampling.greedy = false;
    generate.sampling.temperature = 2;
    generate.sampling.seed = 1;
  }
  ANEMONE_ASSIGN_OR_RETURN(auto result,
                           engine::generate(engine, model, prompt_of(*model, kind), generate));
  if (result.finish == engine::FinishReason::kCancelled) return cancelled("[bench] interrupted");
  if (test.on_run) test.on_run();
  return result;
}

Result<SpeculationSpeed> measure(const std::shared_ptr<const engine::Model>& model,
                                 const TextKind& kind, const SpeculationTest& test) {
  SpeculationSpeed out;
  out.text = kind.name;
  std::vector<double> plain_speeds, speeds, ratios;
  // The first pair is not timed, and every other one comes in the other order.
  for (int i = 0; i <= test.repetitions; ++i) {
    ANEMONE_ASSIGN_OR_RETURN(auto first, make_text(model, kind, test, i % 2 == 0));
    ANEMONE_ASSIGN_OR_RETURN(auto second, make_text(model, kind, test, i % 2 != 0));
    const engine::GenerateResult& plain = i % 2 == 0 ? second : first;
    const engine::GenerateResult& result = i % 2 == 0 ? first : second;
    if (plain.ids != result.ids)
      return internal_error("[speculation] the {} text is not the same with speculation",
                            kind.name);
    if (i == 0) continue;
    plain_speeds.push_back(plain.timing.decode_tok_s());
    speeds.push_back(result.timing.decode_tok_s());
    ratios.push_back(speeds.back() / plain_speeds.back());
    out.prompt_tokens = result.timing.prompt_tokens;
    out.new_tokens = result.timing.new_tokens;
    out.proposed_tokens = result.timing.proposed_tokens;
    out.accepted_tokens = result.timing.accepted_tokens;
  }
  out.least_speed_up = *std::ranges::min_element(ratios);
  out.plain_tok_s = speed_of(std::move(plain_speeds)).tok_s;
  out.tok_s = speed_of(std::move(speeds)).tok_s;
  out.speed_up = speed_of(std::move(ratios)).tok_s;
  return out;
}

}  // namespace

Result<std::vector<SpeculationSpeed>> measure_speculation(
    const std::shared_ptr<const engine::Model>& model, const SpeculationTest& test) {
  if (test.tokens < 2 || test.tokens > model->context() - kPromptTokens)
    return invalid_argument("[--decode] expected 2 to {} tokens after a prompt of {}, got {}",
                            model->context() - kPromptTokens, kPromptTokens, test.tokens);
  std::vector<SpeculationSpeed> out;
  for (const TextKind& kind : {TextKind{"repeating", true}, TextKind{"random", false}}) {
    ANEMONE_ASSIGN_OR_RETURN(auto speed, measure(model, kind, test));
    out.push_back(std::move(speed));
  }
  return out;
}

Json to_json(const SpeculationSpeed& speed) {
  return {{"test", "speculation"},
          {"text", speed.text},
          {"prompt_tokens", speed.prompt_tokens},
          {"tokens", speed.new_tokens},
          {"plain_tok_s", speed.plain_tok_s},
          {"tok_s", speed.tok_s},
          {"speed_up", speed.speed_up},
          {"least_speed_up", speed.least_speed_up},
          {"proposed_tokens", speed.proposed_tokens},
          {"accepted_tokens", speed.accepted_tokens}};
}

std::string speculation_table(const std::vector<SpeculationSpeed>& speeds) {
  std::vector<std::vector<std::string>> rows = {
      {"text", "tokens", "tok/s without", "with", "speed-up", "least", "proposed", "accepted"}};
  for (const SpeculationSpeed& speed : speeds)
    rows.push_back({speed.text, std::to_string(speed.new_tokens),
                    fmt::format("{:.1f}", speed.plain_tok_s), fmt::format("{:.1f}", speed.tok_s),
                    fmt::format("{:.2f}", speed.speed_up),
                    fmt::format("{:.2f}", speed.least_speed_up),
                    std::to_string(speed.proposed_tokens), std::to_string(speed.accepted_tokens)});
  return aligned(rows, "", 1);
}

}  // namespace anemone::bench
