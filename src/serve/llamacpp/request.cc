// SPDX-License-Identifier: Apache-2.0
#include "serve/llamacpp/request.h"

#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "serve/json_fields.h"
#include "serve/openai/generation_fields.h"
#include "serve/openai/prompts.h"
#include "serve/openai/response_format.h"

namespace anemone::serve::llamacpp {
namespace {

constexpr std::int64_t kAnyInteger = std::numeric_limits<std::int64_t>::max();
constexpr double kMaxTemperature = 100;

// Fields that would change the answer, with the value of each that leaves it as it is.
struct Unsupported {
  const char* name;
  double off;
};
constexpr std::array kUnsupported = {
    Unsupported{"mirostat", 0}, Unsupported{"typical_p", 1}, Unsupported{"xtc_probability", 0},
    Unsupported{"dry_multiplier", 0}, Unsupported{"dynatemp_range", 0}};

void refuse_unsupported(JsonFields& fields) {
  for (const auto& [name, off] : kUnsupported) {
    const Json* value = fields.member(name);
    if (value != nullptr && !(value->is_number() && value->get<double>() == off))
      fields.fail(unsupported("[{}] is not supported by this server", name));
  }
  if (fields.boolean("post_sampling_probs").value_or(false))
    fields.fail(unsupported(
        "[post_sampling_probs] is not supported by this server: the probabilities are the "
        "model's"));
}

// {"id": bias} or [[id, bias], ...]; a bias of false means never.
void read_logit_bias(JsonFields& fields, engine::SamplingRequest& sampling) {
  constexpr float kNever = -100;
  const Json* bias = fields.member("logit_bias");
  if (bias == nullptr) return;
  const auto refuse = [&](const Json& got) {
    fields.fail(
        invalid_argument("[logit_bias] expected pairs of a token id and a number or false, "
                         "got {}",
                         describe_json(got)));
  };
  if (!bias->is_array()) return refuse(*bias);
  openai::LogitBias out(std::numeric_limits<float>::max(), sampling.logit_bias);
  for (const Json& pair : *bias) {
    const bool is_pair = pair.is_array() && pair.size() == 2;
    const auto id = is_pair ? ids_of(Json::array({pair[0]})) : std::nullopt;
    const bool is_never = is_pair && pair[1] == false;
    if (!id || !(is_never || pair[1].is_number())) return refuse(pair);
    if (Status status = out.add(id->front(), is_never ? Json(kNever) : pair[1]); !status.ok())
      return fields.fail(std::move(status));
  }
}

engine::SamplingRequest read_sampling(JsonFields& fields) {
  engine::SamplingRequest out;
  out.temperature = fields.number("temperature", 0, kMaxTemperature);
  out.top_k = fields.integer("top_k", std::numeric_limits<std::int32_t>::min(), kAnyInteger);
  if (out.top_k.value_or(0) < 0) out.top_k = 0;  // all
  out.top_p = fields.number("top_p", 0, 1);
  out.min_p = fields.number("min_p", 0, 1);
  out.repetition_penalty = fields.number("repeat_penalty", 0.01, 100);
  out.presence_penalty = fields.number("presence_penalty", -2, 2).value_or(0);
  out.frequency_penalty = fields.number("frequency_penalty", -2, 2).value_or(0);
  // -1 stands for one of its own.
  if (const auto seed = fields.integer("seed", -1, kAnyInteger); seed && *seed >= 0)
    out.seed = static_cast<std::uint64_t>(*seed);
  read_logit_bias(fields, out);
  return out;
}

}  // namespace

Result<CompletionRequest> parse_completion_request(std::string_view body, WorkBudget* budget) {
  return read_body<CompletionRequest>(body, budget, [](JsonFields& fields, CompletionRequest& out) {
    refuse_unsupported(fields);
    read_model(fields, out);
    out.prompts = openai::read_prompts(fields, "prompt", openai::kMaxPrompts);
    out.text.sampling = read_sampling(fields);
    // -1 and -2: until the end of the text, or of the context.
    if (const auto count = fields.integer("n_predict", -2, kAnyInteger); count && *count >= 0)
      out.text.max_tokens = *count;
    out.text.stop = fields.strings("stop", kMaxStops);
    for (const std::string& stop : out.text.stop)
      if (stop.empty() || stop.size() > openai::kMaxStopBytes)
        fields.fail(
            invalid_argument("[stop] expected strings of 1 to {} bytes each, got one of {} bytes",
                             openai::kMaxStopBytes, stop.size()));
    if (const auto count = fields.integer("n_probs", 0, kMaxProbabilities); count.value_or(0) > 0)
      out.text.top_logprobs = count;
    out.text.ignore_eos = fields.boolean("ignore_eos").value_or(false);
    out.text.format = openai::read_response_format(fields);
    out.is_stream = fields.boolean("stream").value_or(false);
    out.returns_tokens = fields.boolean("return_tokens").value_or(false);
  });
}

Result<TokenizeRequest> parse_tokenize_request(std::string_view body, WorkBudget* budget) {
  return read_body<TokenizeRequest>(body, budget, [](JsonFields& fields, TokenizeRequest& out) {
    read_model(fields, out);
    auto content = fields.string("content");
    if (!content) fields.fail(invalid_argument("[content] expected a string, got none"));
    out.content = std::move(content).value_or("");
    out.adds_special = fields.boolean("add_special").value_or(false);
    out.parses_special = fields.boolean("parse_special").value_or(true);
    out.has_pieces = fields.boolean("with_pieces").value_or(false);
  });
}

Result<DetokenizeRequest> parse_detokenize_request(std::string_view body, WorkBudget* budget) {
  return read_body<DetokenizeRequest>(body, budget, [](JsonFields& fields, DetokenizeRequest& out) {
    read_model(fields, out);
    auto tokens = fields.ids("tokens");
    if (!tokens) fields.fail(invalid_argument("[tokens] expected a list of token ids, got none"));
    out.tokens = std::move(tokens).value_or(std::vector<std::int32_t>());
  });
}

}  // namespace anemone::serve::llamacpp
