// SPDX-License-Identifier: Apache-2.0
#include "cli/run_socket.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fmt/format.h>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <sys/un.h>
#include <utility>

#include "base/descriptor.h"
#include "base/error.h"
#include "base/log.h"
#include "cli/interrupt.h"
#include "cli/model_path.h"
#include "cli/number_range.h"
#include "cli/output.h"
#include "cli/token_ids.h"
#include "serve/jsonl/line_channel.h"

namespace anemone::cli {
namespace {

using serve::jsonl::LineChannel;

// More than the longest answer, which has a line for its text and its ids.
constexpr std::size_t kMaxLineBytes = std::size_t{256} << 20;
// While the server works, a Ctrl-C is noticed so often.
constexpr std::chrono::milliseconds kLookAgain{100};

// What the flags ask for that the protocol has no field for; empty: nothing.
std::string_view without_field(const RunOptions& options) {
  const engine::SamplingRequest& sampling = options.text.sampling;
  const std::array<std::pair<std::string_view, bool>, 15> asked = {
      {{"a chat", !options.prompt && !options.prompt_ids},
       {"--logits-out", !options.logits_out.empty()},
       {"--chat-template-file", !options.chat_template_file.empty()},
       {"--profile", options.shows_profile},
       {"--trace", !options.trace.empty()},
       {"--warmup", options.warms_up},
       {"--draft or --draft-ngram", options.drafts.is_on()},
       {"--require-ane", options.requires_ane},
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

// Closed: nobody listens on this path.
Result<Descriptor> connect_to(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    return invalid_argument("[--socket] expected a path of at most {} bytes, got {}",
                            sizeof address.sun_path - 1, path.size());
  std::memcpy(address.sun_path, path.c_str(), path.size());
  Descriptor out(::socket(AF_UNIX, SOCK_STREAM, 0));
  if (!out.is_open()) return errno_error(path, "make a socket for");
  if (::connect(out.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
    return out;
  if (errno == ENOENT || errno == ECONNREFUSED) return Descriptor();
  return errno_error(path, "connect to");
}

// One connection. Single-thread.
class Server {
 public:
  explicit Server(Descriptor socket)
      : socket_(std::move(socket)),
        channel_(socket_.get(), socket_.get(), /*stop=*/-1, kMaxLineBytes,
                 {.idle = kLookAgain, .line = kLookAgain}) {}

  // Sends a request, and gives the answer to it; `on_delta` gets the text that comes before.
  Result<Json> ask(const Json& request, const std::function<void(std::string_view)>& on_delta) {
    ANEMONE_RETURN_IF_ERROR(channel_.write_line(dump_json(request)).with("--socket"));
    std::string line;
    while (true) {
      ANEMONE_ASSIGN_OR_RETURN(const LineChannel::Outcome outcome, channel_.read_line(line));
      // The server ends the text when this process is gone.
      if (interrupt_flag()) return cancelled("[run] interrupted");
      if (outcome == LineChannel::Outcome::kTimeout) continue;
      if (outcome != LineChannel::Outcome::kLine)
        return io_error("[--socket] the server closed the connection before its answer");
      ANEMONE_ASSIGN_OR_RETURN(Json answer, parse_json(line, "answer of the server"));
      if (!answer.is_object())
        return parse_error("[--socket] expected an object as the answer of the server, got {}",
                           answer.type_name());
      const auto delta = answer.find("delta");
      if (delta == answer.end()) return answer;
      if (delta->is_string()) on_delta(delta->get_ref<const std::string&>());
    }
  }

 private:
  const Descriptor socket_;
  LineChannel channel_;
};

Status add_format(Json& request, const RunOptions& options) {
  using Kind = engine::ResponseFormat::Kind;
  ANEMONE_ASSIGN_OR_RETURN(const auto format, response_format(options));
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
    default:
      ANEMONE_ASSIGN_OR_RETURN(out["json"], parse_json(format->source, "--json-schema"));
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
    ANEMONE_ASSIGN_OR_RETURN(const std::string text, prompt_text(options));
    if (is_chat)
      out["messages"] = chat_messages(options, text);
    else
      out["prompt"] = text;
    out["stream"] = !options.as_json;
  }
  const engine::SamplingRequest& sampling = options.text.sampling;
  if (sampling.is_greedy) out["temperature"] = 0;
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

// What an answer says, as a text that was made here.
engine::GenerateResult result_of(const Json& answer) {
  engine::GenerateResult out;
  out.ids = answer.at("generated_ids").get<std::vector<std::int32_t>>();
  out.text = answer.at("text").get<std::string>();
  for (const auto reason : {engine::FinishReason::kStop, engine::FinishReason::kRepeat,
                            engine::FinishReason::kLength, engine::FinishReason::kCancelled})
    if (engine::finish_reason_name(reason) == answer.at("finish_reason")) out.finish = reason;
  const Json& timing = answer.at("timing");
  out.timing.prompt_tokens = timing.at("prompt_tokens");
  out.timing.reused_tokens =
      out.timing.prompt_tokens - timing.at("prefill_tokens").get<std::int64_t>();
  out.timing.prefill_s = timing.at("prefill_s");
  out.timing.decode_s = timing.at("decode_s");
  out.timing.decode_steps = timing.at("decode_tokens");
  out.timing.new_tokens = std::ssize(out.ids);
  return out;
}

Status print_answer(const RunOptions& options, Server& server, const Json& request) {
  engine::GenerateOptions hooks;
  const bool streams = !options.as_json && !options.prompt_ids;
  AnswerPrinter printer(hooks, streams);
  auto answer = server.ask(request, [&](std::string_view text) {
    if (hooks.on_piece) static_cast<void>(hooks.on_piece({.text = text}));
  });
  ANEMONE_RETURN_IF_ERROR(printer.finish());
  ANEMONE_RETURN_IF_ERROR(answer.status());
  if (!answer->value("ok", false))
    return invalid_argument("{}", answer->value("error", "[--socket] the server gave no reason"));
  engine::GenerateResult result;
  try {
    result = result_of(*answer);
  } catch (const nlohmann::json::exception& error) {
    return parse_error("[--socket] expected an answer of anemone serve, got another one ({})",
                       error.what());
  }
  if (options.as_json) return print_json(result_json(result, hooks));
  if (!streams) ANEMONE_RETURN_IF_ERROR(print_out(fmt::format("{}\n", fmt::join(result.ids, " "))));
  print_stats(result);
  return {};
}

}  // namespace

Result<bool> run_on_server(const RunOptions& options) {
  if (const std::string_view what = without_field(options); !what.empty()) {
    ANEMONE_INFO("[--socket] is left alone: a server has no {}", what);
    return false;
  }
  ANEMONE_ASSIGN_OR_RETURN(Descriptor socket, connect_to(options.socket));
  if (!socket.is_open()) {
    ANEMONE_INFO("[{}] nobody listens here: the model is loaded", options.socket);
    return false;
  }
  Server server(std::move(socket));
  const std::string name = served_name(options.model);
  ANEMONE_ASSIGN_OR_RETURN(const Json about, server.ask({{"describe", name}}, [](auto) {}));
  const bool has_text = about.value("has_tokenizer", false) || options.prompt_ids;
  if (!about.value("ok", false) || about.value("labels_tokens", true) || !has_text) {
    ANEMONE_INFO("[{}] has no model {} that can answer this: it is loaded", options.socket, name);
    return false;
  }
  const bool is_chat = !options.is_raw && about.value("has_chat_template", false);
  if (!options.system.empty() && !is_chat)
    return invalid_argument("[--system] expected a model with a chat template, got {}", name);
  ANEMONE_INFO("[{}] answers", options.socket);
  ANEMONE_ASSIGN_OR_RETURN(const Json request, request_of(options, name, is_chat));
  ANEMONE_RETURN_IF_ERROR(print_answer(options, server, request));
  return true;
}

}  // namespace anemone::cli
