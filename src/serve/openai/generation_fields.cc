// SPDX-License-Identifier: Apache-2.0
#include "serve/openai/generation_fields.h"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "engine/generation/generation.h"
#include "serve/openai/response_format.h"

namespace anemone::serve::openai {
namespace {

constexpr std::int64_t kAnyInteger = std::numeric_limits<std::int64_t>::max();

// Fields of OpenAI, vLLM and llama.cpp that would change the answer.
constexpr std::array kUnsupported = {"audio", "min_tokens", "stop_token_ids", "prompt_logprobs"};

void refuse_unsupported(JsonFields& fields) {
  for (const char* key : kUnsupported) {
    const Json* value = fields.member(key);
    const bool is_empty = value == nullptr || (value->is_array() && value->empty()) ||
                          (value->is_number() && value->get<double>() == 0);
    if (!is_empty) fields.fail(unsupported("[{}] is not supported by this server", key));
  }
  if (const Json* modalities = fields.member("modalities");
      modalities != nullptr && *modalities != Json::array({"text"}))
    fields.fail(unsupported("[modalities] expected [\"text\"]: this server gives text only"));
}

void read_logit_bias(JsonFields& fields, engine::SamplingRequest& sampling) {
  const Json* bias = fields.member("logit_bias");
  if (bias == nullptr) return;
  if (!bias->is_object())
    return fields.fail(invalid_argument("[logit_bias] expected an object of token ids, got {}",
                                        describe_json(*bias)));
  LogitBias out(/*most=*/100, sampling.logit_bias);
  for (const auto& [key, value] : bias->items()) {
    std::int32_t id = 0;
    const char* end = key.data() + key.size();
    const auto read = std::from_chars(key.data(), end, id);
    // "05" is no id: each token has one key, so that there are no more of them than tokens.
    const bool is_padded = key.size() > 1 && key.front() == '0';
    if (key.empty() || is_padded || read.ec != std::errc() || read.ptr != end || id < 0)
      return fields.fail(invalid_argument("[logit_bias] expected token ids as keys, got {}",
                                          describe_json(Json(key))));
    if (Status status = out.add(id, value); !status.ok()) return fields.fail(std::move(status));
  }
}

engine::SamplingRequest read_sampling(JsonFields& fields) {
  engine::SamplingRequest out;
  out.temperature = fields.number("temperature", 0, 2);
  out.top_p = fields.number("top_p", 0, 1);
  out.min_p = fields.number("min_p", 0, 1);
  out.top_k = fields.integer("top_k", -1, kAnyInteger);
  if (out.top_k == -1) out.top_k = 0;  // vLLM's "all"
  out.presence_penalty = fields.number("presence_penalty", -2, 2).value_or(0);
  out.frequency_penalty = fields.number("frequency_penalty", -2, 2).value_or(0);
  // vLLM's name, then llama.cpp's.
  out.repetition_penalty = fields.number("repetition_penalty", 0.01, 100);
  if (!out.repetition_penalty) out.repetition_penalty = fields.number("repeat_penalty", 0.01, 100);
  if (const auto seed = fields.integer("seed", -kAnyInteger - 1, kAnyInteger))
    out.seed = static_cast<std::uint64_t>(*seed);
  read_logit_bias(fields, out);
  return out;
}

// Clients of llama.cpp write -1 where they want no limit.
std::optional<std::int64_t> read_max_tokens(JsonFields& fields, const char* name,
                                            std::int64_t least) {
  constexpr std::int64_t kNoLimit = engine::GenerateOptions::kUntilFull;
  if (const Json* value = fields.member(name); value != nullptr && *value == kNoLimit)
    return kNoLimit;
  return fields.integer(name, least, kAnyInteger);
}

}  // namespace

Status LogitBias::add(std::int32_t id, const Json& bias) {
  const double number = bias.is_number() ? bias.get<double>() : std::nan("");
  if (!(number >= -most_ && number <= most_))
    return invalid_argument("[logit_bias] expected a number from {} to {}, got {}", -most_, most_,
                            describe_json(bias));
  if (!ids_.insert(id).second)
    return invalid_argument("[logit_bias] expected each token once, got {} again", id);
  out_.emplace_back(id, static_cast<float>(number));
  return {};
}

Generation read_generation(JsonFields& fields, std::int64_t least_tokens) {
  Generation out;
  refuse_unsupported(fields);
  read_model(fields, out);
  out.sampling = read_sampling(fields);
  out.max_tokens = read_max_tokens(fields, "max_completion_tokens", least_tokens);
  const auto older = read_max_tokens(fields, "max_tokens", least_tokens);
  if (!out.max_tokens) out.max_tokens = older;
  out.stop = fields.strings("stop", kMaxStops);
  for (const std::string& stop : out.stop) {
    if (stop.empty()) fields.fail(invalid_argument("[stop] expected strings, got an empty one"));
    if (stop.size() > kMaxStopBytes)
      fields.fail(
          invalid_argument("[stop] expected strings of at most {} bytes each, got one of {} bytes",
                           kMaxStopBytes, stop.size()));
  }
  out.ignore_eos = fields.boolean("ignore_eos").value_or(false);
  out.format = read_response_format(fields);
  if (const auto name = fields.string("truncation")) {
    const auto truncation = engine::parse_truncation(*name);
    if (truncation.ok())
      out.truncation = *truncation;
    else
      fields.fail(truncation.status());
  }
  out.choices = fields.integer("n", 1, kMaxChoices).value_or(1);
  out.is_stream = fields.boolean("stream").value_or(false);
  if (const Json* options = fields.member("stream_options")) {
    if (!out.is_stream)
      fields.fail(invalid_argument("[stream_options] works only together with \"stream\": true"));
    if (!options->is_object())
      fields.fail(
          invalid_argument("[stream_options] expected an object, got {}", describe_json(*options)));
    const Json* usage = json_member(*options, "include_usage");
    if (usage != nullptr && !usage->is_boolean())
      fields.fail(invalid_argument("[stream_options.include_usage] expected true or false, got {}",
                                   describe_json(*usage)));
    out.has_stream_usage = usage != nullptr && *usage == true;
  }
  return out;
}

}  // namespace anemone::serve::openai
