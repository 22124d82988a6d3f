// SPDX-License-Identifier: Apache-2.0
#include "serve/llamacpp/answer.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "text/utf8.h"

namespace anemone::serve::llamacpp {
namespace {

// The server has no slots that a client could name.
constexpr int kNoSlot = -1;
// Memory that the JSON of a token takes, with a piece or without.
constexpr std::size_t kTokenBytes = 32;
constexpr std::size_t kPieceBytes = 400;

const char* stop_type(const engine::GenerateResult& result) {
  if (result.finish == engine::FinishReason::kLength) return "limit";
  if (result.finish == engine::FinishReason::kCancelled) return "none";
  return result.stop.empty() ? "eos" : "word";
}

// The text of a token that is part of a character ends before that part.
std::string token_text(const std::string& bytes) {
  return text::replace_invalid_utf8(
      std::string_view(bytes).substr(0, text::complete_utf8_prefix(bytes)));
}

Json entry_json(std::int32_t id, const std::string& bytes, double logprob) {
  // JSON has no infinity.
  constexpr double kNever = std::numeric_limits<float>::lowest();
  Json list = Json::array();
  for (const char byte : bytes) list.push_back(static_cast<unsigned char>(byte));
  return {{"id", id},
          {"token", token_text(bytes)},
          {"bytes", std::move(list)},
          {"logprob", std::max(logprob, kNever)}};
}

double per(double amount, double of) {
  return of > 0 ? amount / of : 0;
}

Json timings_json(const engine::Timing& timing) {
  const std::int64_t read = timing.prompt_tokens - timing.reused_tokens;
  const double prompt_ms = 1000 * timing.prefill_s;
  const double predicted_ms = 1000 * timing.decode_s;
  return {{"cache_n", timing.reused_tokens},
          {"prompt_n", read},
          {"prompt_ms", prompt_ms},
          {"prompt_per_token_ms", per(prompt_ms, static_cast<double>(read))},
          {"prompt_per_second", timing.prefill_tok_s()},
          {"predicted_n", timing.new_tokens},
          {"predicted_ms", predicted_ms},
          {"predicted_per_token_ms", per(predicted_ms, static_cast<double>(timing.decode_steps))},
          {"predicted_per_second", timing.decode_tok_s()}};
}

}  // namespace

Json probability_json(std::int32_t id, const engine::TokenLogprobs& logprobs,
                      const openai::ScoredToken& scored) {
  Json out = entry_json(id, scored.bytes, logprobs.logprob);
  Json& top = out["top_logprobs"] = Json::array();
  for (std::size_t i = 0; i < scored.top.size(); ++i)
    top.push_back(entry_json(logprobs.top[i].first, scored.top[i].first, scored.top[i].second));
  return out;
}

std::string answer_text(const Json& answer, std::string_view probabilities) {
  std::string out = dump_json(answer);
  if (probabilities.empty()) return out;
  out.pop_back();  // the brace
  return out.append(R"(,"completion_probabilities":[)").append(probabilities).append("]}");
}

Json piece_json(std::size_t index, std::string_view text, std::span<const std::int32_t> tokens) {
  Json out = {{"index", index}, {"content", text}, {"id_slot", kNoSlot}, {"stop", false}};
  out["tokens"] = Json(std::vector<std::int32_t>(tokens.begin(), tokens.end()));
  return out;
}

Json completion_json(const Completion& completion, const engine::GenerateResult& result,
                     const engine::GenerateOptions& options) {
  const engine::Timing& timing = result.timing;
  // Fewer than were asked for: the context is full.
  const bool is_full = result.finish == engine::FinishReason::kLength &&
                       (options.max_new_tokens < 0 || timing.new_tokens < options.max_new_tokens);
  Json out = {{"index", completion.index},
              {"content", completion.content},
              {"tokens", completion.has_tokens ? Json(completion.tokens) : Json::array()},
              {"id_slot", kNoSlot},
              {"stop", true},
              {"model", completion.model},
              {"tokens_predicted", timing.new_tokens},
              {"tokens_evaluated", timing.prompt_tokens},
              {"tokens_cached", timing.prompt_tokens + timing.decode_steps},
              {"generation_settings", settings_json(options)},
              {"has_new_line", completion.content.find('\n') != std::string::npos},
              {"truncated", is_full},
              {"stop_type", stop_type(result)},
              {"stopping_word", result.stop},
              {"timings", timings_json(timing)}};
  if (result.stages) out["structured_cot"] = engine::stage_counts_json(*result.stages);
  return out;
}

Result<Json> tokens_json(const text::Tokenizer& tokenizer, std::span<const std::int32_t> ids,
                         bool has_pieces, WorkBudget& budget) {
  ANEMONE_RETURN_IF_ERROR(budget.take(ids.size() * (has_pieces ? kPieceBytes : kTokenBytes)));
  Json list = Json::array();
  for (const std::int32_t id : ids) {
    if (!has_pieces) {
      list.push_back(id);
      continue;
    }
    ANEMONE_ASSIGN_OR_RETURN(const std::string bytes, tokenizer.token_bytes(id, budget));
    Json piece = bytes;
    if (!text::is_valid_utf8(bytes)) {
      piece = Json::array();
      for (const char byte : bytes) piece.push_back(static_cast<unsigned char>(byte));
    }
    list.push_back({{"id", id}, {"piece", std::move(piece)}});
  }
  return Json{{"tokens", std::move(list)}};
}

Json settings_json(const engine::GenerateOptions& options) {
  const engine::SamplingOptions& sampling = options.sampling;
  Json out = {{"temperature", sampling.is_greedy() ? 0 : sampling.temperature},
              {"top_k", sampling.top_k},
              {"top_p", sampling.top_p},
              {"min_p", sampling.min_p},
              {"n_predict", options.max_new_tokens},
              {"stop", options.stop},
              {"ignore_eos", options.ignore_eos}};
  // A greedy text has no use for one.
  if (!sampling.is_greedy()) out["seed"] = sampling.seed;
  return out;
}

}  // namespace anemone::serve::llamacpp
