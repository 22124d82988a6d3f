// SPDX-License-Identifier: Apache-2.0
// The bytes of a connection of `serve`: the parser with its limits, the API handler with all its
// checks, and the decoders of the requests. Every request gets one answer, whole or handed to the
// backend, and every error has the four members that clients read. The first byte chooses how the
// bytes are cut into reads, which must not matter.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "base/error.h"
#include "base/json.h"
#include "fuzz/support.h"
#include "serve/http/request_parser.h"
#include "serve/jsonl/request.h"
#include "serve/openai/answer.h"
#include "serve/openai/api_handler.h"

namespace {

using namespace anemone;
using namespace anemone::serve;

// Small, so that inputs reach them.
constexpr RequestLimits kLimits = {.header_bytes = 2048, .header_fields = 16, .body_bytes = 4096};

class RecordingResponder : public Responder {
 public:
  bool hold(std::size_t /*bytes*/) override { return true; }
  void respond(HttpResponse answer) override {
    ++answers;
    response = std::move(answer);
  }
  void begin_stream(HttpResponse /*head*/) override { ANEMONE_CHECK(false); }
  bool write(std::string /*piece*/) override {
    ANEMONE_CHECK(false);
    return false;
  }
  bool is_backed_up() const override { return false; }
  void end(std::string /*last_piece*/) override { ANEMONE_CHECK(false); }
  void on_disconnect(std::function<void()> /*callback*/) override {}
  const std::atomic<bool>& is_cancelled() const override { return is_cancelled_; }

  int answers = 0;
  HttpResponse response;

 private:
  std::atomic<bool> is_cancelled_ = false;
};

// Holds the models and checks what comes through, as far as one can without running it.
class StubBackend : public openai::Backend {
 public:
  std::vector<ModelInfo> models() const override {
    ModelInfo info;
    info.names = {"m", "a/b"};
    return {info};
  }
  Status check_health() const override { return {}; }
  Json counts() const override { return {{"running", 0}}; }
  std::string metrics() const override { return "m 0\n"; }
  Result<Json> props(const std::string& name) const override {
    if (name.size() > 3) return not_found("[model] expected a model of this server");
    return Json::object();
  }
  Result<Json> slots(const std::string& /*name*/) const override { return Json::array(); }
  Status choose_model(const ModelChoice& /*choice*/, openai::Call& /*call*/) override { return {}; }
  Status lease_later(std::size_t /*model*/, ModelPool::CancelFlag /*cancel*/,
                     ModelPool::Then /*then*/) override {
    ANEMONE_CHECK(false);
    return {};
  }
  void look_again() override {}
  std::optional<openai::ApiError> chat(openai::ChatRequest request,
                                       const openai::Call& call) override {
    check(request.generation);
    ANEMONE_CHECK(request.messages.is_array() && !request.messages.empty());
    ANEMONE_CHECK(request.generation.max_tokens.value_or(1) >= 1);
    // The answer has one function_call.
    ANEMONE_CHECK(!request.has_functions || request.tools == nullptr || !request.is_parallel);
    for (const Json& message : request.messages)
      ANEMONE_CHECK(message.at("role").is_string() &&
                    (message.at("content").is_string() || message.at("content").is_null()));
    return respond(call);
  }
  std::optional<openai::ApiError> complete(openai::CompletionRequest request,
                                           const openai::Call& call) override {
    check(request.generation);
    ANEMONE_CHECK(!request.prompts.empty() && request.prompts.size() <= openai::kMaxPrompts);
    return respond(call);
  }

  std::optional<openai::ApiError> embed(openai::EmbeddingRequest request,
                                        const openai::Call& call) override {
    check_inputs(request.inputs);
    ANEMONE_CHECK(request.dimensions.value_or(1) >= 1);
    return respond(call);
  }
  std::optional<openai::ApiError> classify(openai::ClassifyRequest request,
                                           const openai::Call& call) override {
    check_inputs(request.inputs);
    return respond(call);
  }
  std::optional<openai::ApiError> complete_native(llamacpp::CompletionRequest request,
                                                  const openai::Call& call) override {
    ANEMONE_CHECK(!request.prompts.empty() && request.prompts.size() <= openai::kMaxPrompts);
    ANEMONE_CHECK(request.text.max_tokens.value_or(0) >= 0);
    ANEMONE_CHECK(request.text.top_logprobs.value_or(1) >= 1 &&
                  request.text.top_logprobs.value_or(1) <= llamacpp::kMaxProbabilities);
    ANEMONE_CHECK(request.text.sampling.top_k.value_or(0) >= 0);
    ANEMONE_CHECK(request.text.stop.size() <= llamacpp::kMaxStops);
    for (const auto& [id, bias] : request.text.sampling.logit_bias) ANEMONE_CHECK(id >= 0);
    return respond(call);
  }
  std::optional<openai::ApiError> tokenize(llamacpp::TokenizeRequest /*request*/,
                                           const openai::Call& call) override {
    return respond(call);
  }
  std::optional<openai::ApiError> detokenize(llamacpp::DetokenizeRequest request,
                                             const openai::Call& call) override {
    for (const std::int32_t id : request.tokens) ANEMONE_CHECK(id >= 0);
    return respond(call);
  }
  std::optional<openai::ApiError> apply_template(openai::ChatRequest request,
                                                 const openai::Call& call) override {
    return chat(std::move(request), call);
  }

  std::optional<openai::ApiError> load(openai::ModelRequest /*request*/,
                                       const openai::Call& call) override {
    return respond(call);
  }
  std::optional<openai::ApiError> unload(openai::ModelRequest /*request*/,
                                         const openai::Call& call) override {
    return respond(call);
  }

 private:
  static std::optional<openai::ApiError> respond(const openai::Call& call) {
    call.responder->respond({200, call.headers, "{}"});
    return std::nullopt;
  }
  static void check_inputs(const std::vector<openai::Prompt>& inputs) {
    ANEMONE_CHECK(!inputs.empty() && inputs.size() <= openai::kMaxInputs);
  }
  static void check(const openai::Generation& g) {
    ANEMONE_CHECK(g.choices >= 1 && g.choices <= openai::kMaxChoices);
    ANEMONE_CHECK(g.stop.size() <= openai::kMaxStops);
    ANEMONE_CHECK(g.top_logprobs.value_or(0) >= 0 &&
                  g.top_logprobs.value_or(0) <= openai::kMaxTopLogprobs);
    const double temperature = g.sampling.temperature.value_or(0);
    ANEMONE_CHECK(temperature >= 0 && temperature <= 2);
    for (const auto& [id, bias] : g.sampling.logit_bias)
      ANEMONE_CHECK(id >= 0 && bias >= -100 && bias <= 100);
  }
};

void check_response(const HttpResponse& response) {
  ANEMONE_CHECK(response.status >= 200 && response.status < 600);
  for (const auto& [name, value] : response.headers)
    ANEMONE_CHECK((name + value).find_first_of("\r\n") == std::string::npos);
  if (response.status < 400) return;
  const auto json = parse_json(response.body, "answer");
  ANEMONE_CHECK(json.ok());
  const Json& error = json->at("error");
  ANEMONE_CHECK(error.size() == 4 && error.at("message").is_string() &&
                error.at("type").is_string() && error.contains("param") && error.contains("code"));
}

// What a connection answers to these bytes: the statuses, in order.
std::vector<int> statuses_of(std::string_view bytes, std::size_t read_size) {
  StubBackend backend;
  openai::ApiHandlerOptions options;
  options.api_keys = {{"key", {.concurrency = 1}}};
  options.access.cors_origins = {"https://page"};
  options.access.hosts = {"localhost"};
  const RequestLog log(LogFormat::kNone, -1);
  openai::ApiHandler handler(options, log, 0);
  handler.set_backend(backend);
  std::vector<int> out;
  RequestParser parser(kLimits);
  std::string buffer;
  while (true) {
    buffer.erase(0, parser.put(buffer));
    if (parser.state() == RequestParser::State::kHeader) {
      ANEMONE_CHECK(parser.head().headers.size() <= kLimits.header_fields);
      const auto answer = handler.answer_head(parser.head());
      if (!answer) {
        parser.read_body();
        continue;
      }
      check_response(*answer);
      out.push_back(answer->status);
      if (parser.has_body()) return out;  // the connection closes
      parser.take();
    } else if (parser.state() == RequestParser::State::kDone) {
      HttpRequest request = parser.take();
      ANEMONE_CHECK(request.body.size() <= kLimits.body_bytes);
      ANEMONE_CHECK(request.headers.size() <= kLimits.header_fields);
      const auto responder = std::make_shared<RecordingResponder>();
      handler.handle(std::move(request), responder);
      ANEMONE_CHECK(responder->answers == 1);
      check_response(responder->response);
      out.push_back(responder->response.status);
    } else if (parser.state() == RequestParser::State::kFailed) {
      const int status = parser.error_status();
      ANEMONE_CHECK(status == 400 || status == 413 || status == 431);
      check_response(handler.refuse(status, parser.error()));
      out.push_back(status);
      return out;
    } else {
      if (bytes.empty()) return out;
      const std::size_t count = std::min(read_size, bytes.size());
      buffer.append(bytes.substr(0, count));
      bytes.remove_prefix(count);
      ANEMONE_CHECK(buffer.size() <= kLimits.header_bytes + kLimits.body_bytes + read_size);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes = fuzz::text_of(data + 1, size - 1);
  statuses_of(bytes, 1 + data[0]);
  // The decoders alone, for inputs that are no HTTP.
  if (const auto chat = openai::parse_chat_request(bytes); !chat.ok())
    ANEMONE_CHECK(openai::api_error(chat.status()).status == 400);
  if (const auto text = openai::parse_completion_request(bytes); !text.ok())
    ANEMONE_CHECK(openai::api_error(text.status()).status == 400);
  const auto line = jsonl::parse_request(bytes);
  ANEMONE_CHECK(line.ok() || !line.status().message().empty());
  return 0;
}
