// SPDX-License-Identifier: Apache-2.0
#include "serve/jsonl/request.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/error.h"
#include "base/json_release.h"
#include "serve/json_fields.h"
#include "serve/openai/request.h"
#include "serve/openai/response_format.h"

namespace anemone::serve::jsonl {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

void read_prompt(JsonFields& fields, Request& request, WorkBudget* budget) {
  const bool has_ids = fields.member("prompt_ids") != nullptr;
  const bool has_text = fields.member("prompt") != nullptr;
  const bool has_messages = fields.member("messages") != nullptr;
  const bool has_describe = fields.member("describe") != nullptr;
  request.is_token_form = fields.member("tokens") != nullptr;
  if (has_ids + has_text + has_messages + has_describe + request.is_token_form != 1)
    return fields.fail(invalid_argument(
        "[request] expected one of prompt_ids, prompt, messages, tokens and describe"));
  if (has_describe) {
    request.prompt = Request::Describe{fields.string("describe").value_or("")};
  } else if (has_text) {
    request.prompt = Request::Text{fields.string("prompt").value_or("")};
  } else if (has_messages) {
    auto messages = openai::read_messages(fields.member("messages"), budget);
    if (!messages.ok()) return fields.fail(messages.status());
    request.prompt = Request::Messages(*std::move(messages));
  } else {
    request.prompt = fields.ids(has_ids ? "prompt_ids" : "tokens").value_or(Request::Ids());
  }
}

// The field in which this protocol takes an answer in stages, besides structured_outputs.
void read_stages(JsonFields& fields, Request& request) {
  constexpr std::string_view kName = "structured_cot";
  const Json* manifest = fields.member(kName);
  if (manifest == nullptr) return;
  if (request.format)
    return fields.fail(invalid_argument("[{}] expected one form of the answer, got two", kName));
  request.format = openai::stages_of(*manifest, kName);
}

// Answers of this protocol have no field for log-probabilities.
void refuse_logprobs(JsonFields& fields) {
  for (const char* name : {"logprobs", "top_logprobs"})
    if (const Json* value = fields.member(name); value != nullptr && *value != false && *value != 0)
      fields.fail(unsupported(
          "[{}] expected none: JSON lines give no log-probabilities, /v1/completions does", name));
}

}  // namespace

Result<Request> parse_request(std::string_view line, WorkBudget* budget) {
  ANEMONE_ASSIGN_OR_RETURN(Json json, parse_json(line, "request", JsonLimits{.budget = budget}));
  const JsonReleaser releaser(json);
  JsonFields fields(json);
  Request out;
  read_prompt(fields, out, budget);
  out.model = fields.string("model").value_or("");
  out.keep_alive = read_keep_alive(fields);
  // Two names: OpenAI's, which HTTP clients know, and this protocol's.
  out.max_tokens = fields.integer("max_tokens", 0, kMost);
  if (const auto count = fields.integer("max_new", 0, kMost)) out.max_tokens = count;
  refuse_logprobs(fields);
  out.sampling.is_greedy = fields.boolean("greedy").value_or(false);
  out.sampling.temperature = fields.number("temperature", 0, 100);
  out.sampling.top_k = fields.integer("top_k", 0, kMost);
  out.sampling.top_p = fields.number("top_p", 0, 1);
  out.sampling.min_p = fields.number("min_p", 0, 1);
  out.sampling.repetition_penalty = fields.number("rep_penalty", 0.01, 100);
  if (const auto seed = fields.integer("seed", -kMost - 1, kMost))
    out.sampling.seed = static_cast<std::uint64_t>(*seed);
  out.stop = fields.strings("stop", kMaxStops);
  for (const std::string& stop : out.stop)
    if (stop.size() > openai::kMaxStopBytes)
      fields.fail(
          invalid_argument("[stop] expected strings of at most {} bytes each, got one of {} bytes",
                           openai::kMaxStopBytes, stop.size()));
  out.stop_repeat_ngram = fields.integer("stop_repeat_ngram", 0, 1 << 20).value_or(0);
  out.ignore_eos = fields.boolean("ignore_eos").value_or(false);
  out.format = openai::read_response_format(fields);
  read_stages(fields, out);
  out.has_reset = fields.boolean("reset").value_or(true);
  out.is_streamed = fields.boolean("stream").value_or(false) && !out.is_token_form;
  ANEMONE_RETURN_IF_ERROR(fields.status());
  return out;
}

}  // namespace anemone::serve::jsonl
