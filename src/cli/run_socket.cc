// SPDX-License-Identifier: Apache-2.0
#include "cli/run_socket.h"

#include <array>
#include <chrono>
#include <fmt/format.h>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "artifact/manifest.h"
#include "artifact/ownership.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "base/escape.h"
#include "base/log.h"
#include "cli/interrupt.h"
#include "cli/model_path.h"
#include "cli/number_range.h"
#include "cli/output.h"
#include "cli/token_ids.h"
#include "engine/constraint/stage_counts.h"
#include "serve/jsonl/line_channel.h"
#include "serve/jsonl/request.h"
#include "serve/socket_file.h"

namespace anemone::cli {
namespace {

using serve::jsonl::LineChannel;

// Larger than the longest answer line, which holds its text and its ids.
constexpr std::size_t kMaxLineBytes = std::size_t{256} << 20;
// How often Ctrl-C is checked while waiting for the server.
constexpr std::chrono::milliseconds kLookAgain{100};

// The flag that the protocol has no field for; empty: none is given.
std::string_view without_field(const RunOptions& options) {
  const engine::SamplingRequest& sampling = options.text.sampling;
  const std::array<std::pair<std::string_view, bool>, 17> asked = {
      {{"a chat", !options.prompt && !options.prompt_ids},
       {"--logits-out", !options.logits_out.empty()},
       {"--chat-template-file", !options.chat_template_file.empty()},
       {"--profile", options.shows_profile},
       {"--trace", !options.trace.empty()},
       {"--warmup", options.warms_up},
       {"--draft or --draft-ngram", options.drafts.is_on()},
       {"--require-ane", options.requires_ane},
       {"--check-hashes", options.checks_hashes},
       {"more --stop", options.text.stop.size() > serve::jsonl::kMaxStops},
       {"--context", options.context > 0},
       {"--logit-bias", !options.logit_bias.empty()},
       {"--logprobs", options.text.top_logprobs.has_value()},
       {"--presence-penalty", sampling.presence_penalty != 0},
       {"--frequency-penalty", sampling.frequency_penalty != 0},
       {"--no-repeat-ngram", sampling.no_repeat_ngram.has_value()},
       {"--spans", options.has_spans}}};
  for (const auto& [what, is_asked] : asked)
    if (is_asked) return what;
  return {};
}

// The code of this name; kInternal for one that is none, as of a newer server.
Code code_of(std::string_view name) {
  for (int i = 1; i < static_cast<int>(Code::kInternal); ++i)
    if (code_name(static_cast<Code>(i)) == name) return static_cast<Code>(i);
  return Code::kInternal;
}

// One connection. Single-thread.
class Server {
 public:
  explicit Server(Descriptor socket)
      : socket_(std::move(socket)),
        channel_(socket_.get(), socket_.get(), /*stop=*/-1, kMaxLineBytes,
                 {.idle = kLookAgain, .line = kLookAgain}) {}

  // Sends a request, and gives the answer to it; `on_delta` gets the text that comes before. An
  // answer that says that the request failed is an error with its code.
  Result<Json> ask(std::string_view request,
                   const std::function<void(std::string_view)>& on_delta = nullptr) {
    ANEMONE_RETURN_IF_ERROR(channel_.write_line(request).with("--socket"));
    std::string line;
    while (true) {
      ANEMONE_ASSIGN_OR_RETURN(const LineChannel::Outcome outcome, channel_.read_line(line));
      // The server ends the text when this process is gone.
      if (interrupt_flag()) return cancelled("[run] interrupted");
      if (outcome == LineChannel::Outcome::kTimeout) continue;
      if (outcome == LineChannel::Outcome::kTooLong)
        return io_error("[--socket] expected an answer of at most {} bytes", kMaxLineBytes);
      if (outcome != LineChannel::Outcome::kLine)
        return io_error("[--socket] the server closed the connection before its answer");
      ANEMONE_ASSIGN_OR_RETURN(Json answer, parse_json(line, "answer of the server"));
      if (!answer.is_object())
        return parse_error("[--socket] expected an object as the answer of the server, got {}",
                           answer.type_name());
      const auto delta = answer.find("delta");
      if (delta != answer.end()) {
        if (on_delta) on_delta(delta->get<std::string>());
      } else if (answer.at("ok").get<bool>()) {
        return answer;
      } else {
        return Status(code_of(answer.at("code").get<std::string>()),
                      answer.at("error").get<std::string>());
      }
    }
  }

 private:
  const Descriptor socket_;
  LineChannel channel_;
};

Status add_format(Json& request, const RunOptions& options) {
  using Kind = engine::ResponseFormat::Kind;
  const std::optional<engine::ResponseFormat>& format = options.text.format;
  if (!format) return {};
  Json& out = request["structured_outputs"] = Json::object();
  switch (format->kind) {
    case Kind::kRegex:
      out["regex"] = format->source;
      break;
    case Kind::kGrammar:
      out["grammar"] = format->source;
      break;
    case Kind::kChoice:
      out["choice"] = format->choices;
      break;
    default: {
      Json& value = out[format->kind == Kind::kStages ? "stages" : "json"];
      ANEMONE_ASSIGN_OR_RETURN(value, parse_json(format->source, format->subject));
    }
  }
  return {};
}

Result<Json> request_of(const RunOptions& options, const std::string& model, bool is_chat) {
  Json out = {{"model", model}};
  const bool continues = options.prompt_ids || !is_chat;
  out["max_new"] = options.text.max_tokens.value_or(continues ? kDefaultContinuation : kManyTokens);
  if (options.prompt_ids) {
    ANEMONE_ASSIGN_OR_RETURN(out["prompt_ids"],
                             parse_token_ids(*options.prompt_ids, "--prompt-ids"));
  } else {
    if (is_chat)
      out["messages"] = chat_messages(options, *options.prompt);
    else
      out["prompt"] = *options.prompt;
    out["stream"] = !options.as_json;
  }
  const engine::SamplingRequest& sampling = options.text.sampling;
  out["greedy"] = sampling.is_greedy;
  if (sampling.temperature) out["temperature"] = *sampling.temperature;
  if (sampling.top_k) out["top_k"] = *sampling.top_k;
  if (sampling.top_p) out["top_p"] = *sampling.top_p;
  if (sampling.min_p) out["min_p"] = *sampling.min_p;
  if (sampling.repetition_penalty) out["rep_penalty"] = *sampling.repetition_penalty;
  if (sampling.seed) out["seed"] = static_cast<std::int64_t>(*sampling.seed);
  if (!options.text.stop.empty()) out["stop"] = options.text.stop;
  out["stop_repeat_ngram"] = options.text.stop_repeat_ngram;
  out["ignore_eos"] = options.text.ignore_eos;
  ANEMONE_RETURN_IF_ERROR(add_format(out, options));
  return out;
}

// The answer of the server in the form of a local one. `hooks` gets the sampling that it says.
Result<engine::GenerateResult> result_of(const Json& answer, engine::GenerateOptions& hooks) {
  engine::GenerateResult out;
  out.ids = answer.at("generated_ids").get<std::vector<std::int32_t>>();
  out.text = answer.at("text").get<std::string>();
  const auto finish = answer.at("finish_reason").get<std::string>();
  for (const auto reason : {engine::FinishReason::kStop, engine::FinishReason::kRepeat,
                            engine::FinishReason::kLength, engine::FinishReason::kCancelled})
    if (engine::finish_reason_name(reason) == finish) out.finish = reason;
  if (answer.contains("stop")) out.stop = answer.at("stop").get<std::string>();
  hooks.sampling.greedy = !answer.contains("seed");
  if (answer.contains("seed")) hooks.sampling.seed = answer.at("seed").get<std::uint64_t>();
  const Json& timing = answer.at("timing");
  out.timing.prompt_tokens = timing.at("prompt_tokens");
  out.timing.reused_tokens =
      out.timing.prompt_tokens - timing.at("prefill_tokens").get<std::int64_t>();
  out.timing.prefill_s = timing.at("prefill_s");
  out.timing.decode_s = timing.at("decode_s");
  out.timing.decode_steps = timing.at("decode_tokens");
  out.timing.new_tokens = std::ssize(out.ids);
  if (answer.contains("structured_cot")) {
    ANEMONE_ASSIGN_OR_RETURN(out.stages, engine::parse_stage_counts(answer.at("structured_cot")));
  }
  return out;
}

Status print_answer(const RunOptions& options, Server& server, std::string_view request) {
  engine::GenerateOptions hooks;
  const bool streams = !options.as_json && !options.prompt_ids;
  AnswerPrinter printer(hooks, streams);
  auto answer = server.ask(request, [&](std::string_view text) {
    if (hooks.on_piece) static_cast<void>(hooks.on_piece({.text = text}));
  });
  ANEMONE_RETURN_IF_ERROR(printer.finish());
  ANEMONE_RETURN_IF_ERROR(answer.status());
  ANEMONE_ASSIGN_OR_RETURN(engine::GenerateResult result, result_of(*answer, hooks));
  // Ids in, ids out.
  if (options.prompt_ids) result.text.clear();
  if (options.as_json) return print_json(result_json(result, hooks));
  if (!streams) ANEMONE_RETURN_IF_ERROR(print_out(fmt::format("{}\n", fmt::join(result.ids, " "))));
  print_stats(result);
  return {};
}

// Whether the server's model is that of the command line: an artifact has to be the same, since
// others may have its name. What a checkpoint or the name of a model is compiled to is not known
// here, so its name decides, and a note says who answers.
Result<bool> is_same_model(const RunOptions& options, const Json& about) {
  if (artifact::is_artifact(options.model)) {
    ANEMONE_ASSIGN_OR_RETURN(const std::string digest, artifact::manifest_digest(options.model));
    return about.at("manifest_sha256") == digest;
  }
  print_err("note: the server on {} answers with its model {}\n", escaped(options.socket),
            escaped(about.at("model").get<std::string>()));
  return true;
}

Result<bool> answer_on(const RunOptions& options, Server& server) {
  const std::string name = served_name(options.model);
  const auto about = server.ask(dump_json({{"describe", name}}));
  // Any other error is one of this run, too: the server is stopping, or memory is missing.
  if (about.status().code() != Code::kNotFound) ANEMONE_RETURN_IF_ERROR(about.status());
  const bool can_answer = about.ok() && !about->at("labels_tokens").get<bool>() &&
                          (about->at("has_tokenizer").get<bool>() || options.prompt_ids);
  bool is_same = false;
  if (can_answer) {
    ANEMONE_ASSIGN_OR_RETURN(is_same, is_same_model(options, *about));
  }
  if (!is_same) {
    ANEMONE_INFO("[{}] has no model {} that can answer this: it is loaded", options.socket, name);
    return false;
  }
  const bool is_chat = !options.is_raw && about->at("has_chat_template").get<bool>();
  if (!options.system.empty() && !is_chat) return no_template_for_system(name);
  ANEMONE_ASSIGN_OR_RETURN(const Json fields, request_of(options, name, is_chat));
  const std::string request = dump_json(fields);
  if (request.size() > serve::jsonl::LineOptions().max_line_bytes) {
    ANEMONE_INFO("[{}] takes no line of {} bytes: the model is loaded", options.socket,
                 request.size());
    return false;
  }
  if (!is_chat && !options.is_raw && options.prompt) note_no_template(options.model);
  ANEMONE_INFO("[{}] answers", options.socket);
  ANEMONE_RETURN_IF_ERROR(print_answer(options, server, request));
  return true;
}

}  // namespace

Result<bool> run_on_server(const RunOptions& options) {
  if (const std::string_view what = without_field(options); !what.empty()) {
    ANEMONE_INFO("[--socket] is not used: its requests have no field for {}", what);
    return false;
  }
  auto socket = serve::connect_to_socket(options.socket);
  ANEMONE_RETURN_IF_ERROR(socket.status().with("--socket"));
  if (!socket->is_open()) {
    ANEMONE_INFO("[{}] nobody listens here: the model is loaded", options.socket);
    return false;
  }
  Server server(*std::move(socket));
  try {
    return answer_on(options, server);
  } catch (const nlohmann::json::exception& error) {
    return parse_error("[--socket] expected an answer of anemone serve, got another one ({})",
                       error.what());
  }
}

}  // namespace anemone::cli
