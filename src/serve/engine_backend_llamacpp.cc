// SPDX-License-Identifier: Apache-2.0
// The requests of the backend that only llama.cpp's API has.
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
std::optional<openai::ApiError> respond(const Json& value,
                                        const std::shared_ptr<Responder>& responder,
                                        const HeaderList& headers) {
  HttpResponse response = openai::json_response(value, headers);
  if (!responder->hold(response.body.size()))
    return openai::api_error(no_room_for_answer("try again later"));
  responder->respond(std::move(response));
  return std::nullopt;
}

}  // namespace

Result<EngineBackend::Found> EngineBackend::find_with_tokenizer(const std::string& name) {
  ANEMONE_ASSIGN_OR_RETURN(Found found, find(name));
  if (found.model->tokenizer() == nullptr)
    return unsupported("[model] expected a model with a tokenizer, got one without");
  return found;
}

std::optional<openai::ApiError> EngineBackend::complete_native(llamacpp::CompletionRequest request,
                                                               std::shared_ptr<Responder> responder,
                                                               const HeaderList& headers,
                                                               WorkBudget& budget) {
  auto found = find_with_tokenizer(request.model);
  if (!found.ok()) return openai::api_error(found.status());
  llamacpp::CompletionPlan plan;
  plan.model = found->model;
  plan.name = found->name;
  plan.is_stream = request.is_stream;
  plan.returns_tokens = request.returns_tokens;
  if (const Status status = plan.model->check_generates(); !status.ok())
    return prompt_error(status, "model");
  auto options = engine::resolve_request(std::move(request.text), options_.defaults, *plan.model,
                                         engine::GenerateOptions::kUntilFull);
  if (!options.ok()) return openai::api_error(options.status());
  plan.options = *std::move(options);
  for (openai::Prompt& prompt : request.prompts) {
    auto ids = prompt_ids(*plan.model, prompt, budget);
    if (!ids.ok()) return prompt_error(ids.status(), "prompt");
    if (auto error = check_prompt(*plan.model, *ids, "prompt")) return error;
    plan.prompts.push_back(*std::move(ids));
  }

  const auto job = std::make_shared<llamacpp::CompletionJob>(std::move(plan), responder, headers);
  Status status = job->hold_plan();
  if (status.ok()) {
    engine::Request asked = job->request();
    watch_request(asked, /*choices=*/1, found->name, responder, *found->metrics);
    status = submit_for(responder, engine_, std::move(asked), job->cancel_flag());
  }
  if (!status.ok()) return openai::api_error(status);
  return std::nullopt;
}

std::optional<openai::ApiError> EngineBackend::tokenize(llamacpp::TokenizeRequest request,
                                                        std::shared_ptr<Responder> responder,
                                                        const HeaderList& headers,
                                                        WorkBudget& budget) {
  const auto found = find_with_tokenizer(request.model);
  if (!found.ok()) return openai::api_error(found.status());
  const text::Tokenizer& tokenizer = *found->model->tokenizer();
  const auto ids =
      tokenizer.encode(request.content, {request.adds_special, request.parses_special, &budget});
  if (!ids.ok()) return prompt_error(ids.status(), "content");
  const auto json = llamacpp::tokens_json(tokenizer, *ids, request.has_pieces, budget);
  if (!json.ok()) return openai::api_error(json.status());
  return respond(*json, responder, headers);
}

std::optional<openai::ApiError> EngineBackend::detokenize(llamacpp::DetokenizeRequest request,
                                                          std::shared_ptr<Responder> responder,
                                                          const HeaderList& headers,
                                                          WorkBudget& budget) {
  const auto found = find_with_tokenizer(request.model);
  if (!found.ok()) return openai::api_error(found.status());
  for (const std::int32_t id : request.tokens)
    if (const Status status = found->model->check_id(id); !status.ok())
      return prompt_error(status, "tokens");
  auto text = found->model->tokenizer()->decode(request.tokens, /*skip_special=*/false, &budget);
  if (!text.ok()) return prompt_error(text.status(), "tokens");
  return respond({{"content", *std::move(text)}}, responder, headers);
}

std::optional<openai::ApiError> EngineBackend::apply_template(openai::ChatRequest request,
                                                              std::shared_ptr<Responder> responder,
                                                              const HeaderList& headers,
                                                              WorkBudget& budget) {
  const auto found = find(request.generation.model);
  if (!found.ok()) return openai::api_error(found.status());
  const Status placed = place_tools(*found->model, request);
  if (!placed.ok()) return openai::api_error(placed);
  auto text = found->model->render_chat(std::move(request.messages), /*add_generation_prompt=*/true,
                                        std::move(request.variables), &budget);
  if (!text.ok()) return prompt_error(text.status(), "messages");
  return respond({{"prompt", *std::move(text)}}, responder, headers);
}

Json EngineBackend::props() const {
  const ServedModel& first = models_.models().front();
  const engine::Model& model = *first.model;
  Json settings = {{"n_ctx", model.context()}};
  const auto options =
      engine::resolve_request({}, options_.defaults, model, engine::GenerateOptions::kUntilFull);
  if (options.ok()) settings["params"] = llamacpp::settings_json(*options);
  // "model_path" has no path: who may ask this need not know the folders of the machine.
  Json out = {{"default_generation_settings", std::move(settings)},
              {"total_slots", engine_.counts().max_texts},
              {"model_alias", first.names.front()},
              {"model_path", first.names.front()},
              {"modalities", {{"vision", false}, {"audio", false}}},
              {"build_info", "anemone " + std::string(version())}};
  if (const auto& source = model.chat_template_source()) {
    out["chat_template"] = source->source;
    out["bos_token"] = source->bos_token.value_or("");
    out["eos_token"] = source->eos_token.value_or("");
  }
  return out;
}

Json EngineBackend::slots() const {
  const engine::Engine::Counts counts = engine_.counts();
  std::int64_t context = 0;
  for (const ServedModel& model : models_.models())
    context = std::max(context, model.model->context());
  Json out = Json::array();
  for (std::size_t i = 0; i < counts.max_texts; ++i)
    out.push_back({{"id", i}, {"n_ctx", context}, {"is_processing", i < counts.texts}});
  return out;
}

}  // namespace anemone::serve
