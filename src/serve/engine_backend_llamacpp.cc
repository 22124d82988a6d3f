// SPDX-License-Identifier: Apache-2.0
// The requests of the backend that llama.cpp's API has beside OpenAI's.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/version.h"
#include "serve/answer_room.h"
#include "serve/engine_backend.h"
#include "serve/llamacpp/answer.h"
#include "serve/llamacpp/completion_job.h"
#include "serve/openai/response.h"
#include "serve/prompt_check.h"
#include "serve/request_watch.h"

namespace anemone::serve {
namespace {

// Answers with a value that is ready. The text of a value takes less memory than the value, which
// the budget of the request bounds.
std::optional<openai::ApiError> respond(const Json& value, const openai::Call& call) {
  HttpResponse response = openai::json_response(value, call.headers);
  if (!call.responder->hold(response.body.size()))
    return openai::api_error(no_room_for_answer("try again later"));
  call.responder->respond(std::move(response));
  return std::nullopt;
}

// The tokenizer of the model of a call. kUnsupported for one without.
Result<const text::Tokenizer*> tokenizer_of(const openai::Call& call) {
  const text::Tokenizer* tokenizer = call.model->model->tokenizer().get();
  if (tokenizer == nullptr)
    return unsupported("[model] expected a model with a tokenizer, got one without");
  return tokenizer;
}

}  // namespace

std::optional<openai::ApiError> EngineBackend::complete_native(llamacpp::CompletionRequest request,
                                                               const openai::Call& call) {
  if (const auto tokenizer = tokenizer_of(call); !tokenizer.ok())
    return openai::api_error(tokenizer.status());
  llamacpp::CompletionPlan plan;
  plan.lease = call.model;
  plan.model = call.model->model;
  plan.name = answer_name(request.model, *call.model);
  plan.is_stream = request.is_stream;
  plan.returns_tokens = request.returns_tokens;
  if (const Status status = plan.model->check_generates(); !status.ok())
    return prompt_error(status, "model");
  auto options = engine::resolve_request(std::move(request.text), options_.defaults, *plan.model,
                                         engine::GenerateOptions::kUntilFull);
  if (!options.ok()) return openai::api_error(options.status());
  plan.options = *std::move(options);
  for (openai::Prompt& prompt : request.prompts) {
    auto ids = prompt_ids(*plan.model, prompt, call.budget);
    if (!ids.ok()) return prompt_error(ids.status(), "prompt");
    if (auto error = check_prompt(*plan.model, *ids, "prompt")) return error;
    plan.prompts.push_back(*std::move(ids));
  }

  const std::string name = plan.name;
  const auto job =
      std::make_shared<llamacpp::CompletionJob>(std::move(plan), call.responder, call.headers);
  Status status = job->hold_plan();
  if (status.ok()) {
    engine::Request asked = job->request();
    watch_request(asked, /*choices=*/1, name, call.responder, metrics_of(*call.model));
    status = submit_for(call.responder, engine_, std::move(asked), job->cancel_flag());
  }
  if (!status.ok()) return openai::api_error(status);
  return std::nullopt;
}

std::optional<openai::ApiError> EngineBackend::tokenize(llamacpp::TokenizeRequest request,
                                                        const openai::Call& call) {
  const auto tokenizer = tokenizer_of(call);
  if (!tokenizer.ok()) return openai::api_error(tokenizer.status());
  const auto ids =
      (*tokenizer)
          ->encode(request.content, {request.adds_special, request.parses_special, &call.budget});
  if (!ids.ok()) return prompt_error(ids.status(), "content");
  const auto json = llamacpp::tokens_json(**tokenizer, *ids, request.has_pieces, call.budget);
  if (!json.ok()) return openai::api_error(json.status());
  return respond(*json, call);
}

std::optional<openai::ApiError> EngineBackend::detokenize(llamacpp::DetokenizeRequest request,
                                                          const openai::Call& call) {
  const auto tokenizer = tokenizer_of(call);
  if (!tokenizer.ok()) return openai::api_error(tokenizer.status());
  for (const std::int32_t id : request.tokens)
    if (const Status status = call.model->model->check_id(id); !status.ok())
      return prompt_error(status, "tokens");
  auto text = (*tokenizer)->decode(request.tokens, /*skip_special=*/false, &call.budget);
  if (!text.ok()) return prompt_error(text.status(), "tokens");
  return respond({{"content", *std::move(text)}}, call);
}

std::optional<openai::ApiError> EngineBackend::apply_template(openai::ChatRequest request,
                                                              const openai::Call& call) {
  const engine::Model& model = *call.model->model;
  const Status placed = place_tools(model, request);
  if (!placed.ok()) return openai::api_error(placed);
  auto text = model.render_chat(std::move(request.messages), /*add_generation_prompt=*/true,
                                std::move(request.variables), &call.budget);
  if (!text.ok()) return prompt_error(text.status(), "messages");
  return respond({{"prompt", *std::move(text)}}, call);
}

std::optional<openai::ApiError> EngineBackend::load(openai::ModelRequest request,
                                                    const openai::Call& call) {
  return respond({{"success", true}, {"model", answer_name(request.model, *call.model)}}, call);
}

std::optional<openai::ApiError> EngineBackend::unload(openai::ModelRequest request,
                                                      const openai::Call& call) {
  const auto model = find(request.model);
  if (!model.ok()) return openai::api_error(model.status());
  const auto& names = models_.names(*model);
  const bool is_known = std::ranges::find(names, request.model) != names.end();
  Json answer = {{"success", true}, {"model", is_known ? request.model : names.front()}};
  models_.unload(*model, [responder = call.responder, headers = call.headers,
                          answer = std::move(answer)](const Result<ModelLease>& done) {
    responder->respond(done.ok()
                           ? openai::json_response(answer, headers)
                           : openai::error_response(openai::api_error(done.status()), headers));
  });
  return std::nullopt;
}

Result<Json> EngineBackend::props(const std::string& asked) const {
  Json out = {{"default_generation_settings", Json::object()},
              {"total_slots", engine_.counts().max_texts},
              {"modalities", {{"vision", false}, {"audio", false}}},
              {"build_info", "anemone " + std::string(version())}};
  // Programs ask without a name whether the server is there.
  if (asked.empty() && models_.size() > 1) return out;
  ANEMONE_ASSIGN_OR_RETURN(const std::size_t index, find(asked));
  // "model_path" has no path: who may ask this need not know the folders of the machine.
  out["model_alias"] = out["model_path"] = models_.names(index).front();
  // What only a model tells that is loaded.
  const ModelLease lease = models_.peek(index);
  if (lease == nullptr) return out;
  const engine::Model& model = *lease->model;
  Json& settings = out["default_generation_settings"];
  settings["n_ctx"] = model.context();
  const auto options =
      engine::resolve_request({}, options_.defaults, model, engine::GenerateOptions::kUntilFull);
  if (options.ok()) settings["params"] = llamacpp::settings_json(*options);
  if (const auto& source = model.chat_template_source()) {
    out["chat_template"] = source->source;
    out["bos_token"] = source->bos_token.value_or("");
    out["eos_token"] = source->eos_token.value_or("");
  }
  return out;
}

Result<Json> EngineBackend::slots(const std::string& asked) const {
  ModelLease model;
  if (!asked.empty() || models_.size() == 1) {
    ANEMONE_ASSIGN_OR_RETURN(const std::size_t index, find(asked));
    model = models_.peek(index);
  }
  const engine::Engine::Counts counts = engine_.counts();
  const std::int64_t context = model == nullptr ? 0 : model->model->context();
  Json out = Json::array();
  for (std::size_t i = 0; i < counts.max_texts; ++i)
    out.push_back({{"id", i}, {"n_ctx", context}, {"is_processing", i < counts.texts}});
  return out;
}

}  // namespace anemone::serve
