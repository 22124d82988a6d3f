// SPDX-License-Identifier: Apache-2.0
#include "serve/engine_backend.h"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <random>
#include <utility>

#include "base/error.h"
#include "base/mapped_file.h"
#include "engine/chat/conversation.h"
#include "engine/constraint/call_grammar.h"

namespace anemone::serve {
namespace {

// OpenAI's, for texts that are only continued.
constexpr std::int64_t kDefaultContinuationTokens = 16;

std::string new_id(openai::Protocol protocol) {
  std::random_device device;
  return fmt::format("{}-{:08x}{:08x}{:08x}",
                     protocol == openai::Protocol::kChat ? "chatcmpl" : "cmpl", device(), device(),
                     device());
}

std::int64_t unix_time() {
  using std::chrono::system_clock;
  return std::chrono::duration_cast<std::chrono::seconds>(system_clock::now().time_since_epoch())
      .count();
}

// A prompt that the model cannot take; `field` is where the client gave it.
std::optional<openai::ApiError> check_prompt(const engine::Model& model,
                                             const std::vector<std::int32_t>& ids,
                                             const char* field) {
  const auto refuse = [&](std::string message, std::string code) {
    openai::ApiError error;
    error.message = std::move(message);
    error.param = field;
    error.code = std::move(code);
    return error;
  };
  if (ids.empty()) return refuse(fmt::format("[{}] expected at least one token", field), "");
  if (static_cast<std::int64_t>(ids.size()) > model.context())
    return refuse(fmt::format("[{}] expected at most {} tokens (the model's context), got {}",
                              field, model.context(), ids.size()),
                  "context_length_exceeded");
  for (const std::int32_t id : ids)
    if (const Status status = model.check_id(id); !status.ok()) return refuse(status.message(), "");
  return std::nullopt;
}

// Whatever is wrong with a prompt is wrong with the request.
openai::ApiError prompt_error(const Status& status, const char* field) {
  openai::ApiError error = openai::api_error(status);
  const bool is_input = status.code() == Code::kNotFound || error.status == 400;
  if (!is_input) return error;
  error = {};
  error.message = status.message();
  error.param = field;
  return error;
}

}  // namespace

std::vector<std::string> EngineBackend::model_names() const {
  std::vector<std::string> out;
  for (const ServedModel& model : models_.models())
    out.insert(out.end(), model.names.begin(), model.names.end());
  return out;
}

Status EngineBackend::check_health() const {
  if (check_mapped_files().ok()) return {};
  return io_error(
      "[models] a file of the model was cut short while it was in use: restart the server");
}

Json EngineBackend::counts() const {
  const engine::Engine::Counts counts = engine_.counts();
  return {{"waiting", counts.waiting},
          {"running", counts.running},
          {"finished", counts.finished},
          {"cancelled", counts.cancelled}};
}

Result<GenerationPlan> EngineBackend::make_plan(const openai::Generation& generation,
                                                openai::Protocol protocol,
                                                std::int64_t default_tokens) const {
  ANEMONE_ASSIGN_OR_RETURN(const ServedModel* served, models_.find(generation.model));
  GenerationPlan plan;
  plan.model = served->model;
  if (plan.model->tokenizer() == nullptr)
    return unsupported("[model] expected a model with a tokenizer, got one without");
  plan.head = {protocol, new_id(protocol), unix_time(),
               generation.model.empty() ? served->names.front() : generation.model};
  ANEMONE_ASSIGN_OR_RETURN(
      plan.options, engine::resolve_request(generation, defaults_, *plan.model, default_tokens));
  plan.choices = generation.choices;
  plan.is_stream = generation.is_stream;
  plan.has_stream_usage = generation.has_stream_usage;
  return plan;
}

std::optional<openai::ApiError> EngineBackend::submit(GenerationPlan plan,
                                                      const std::shared_ptr<Responder>& responder,
                                                      const HeaderList& headers) {
  auto job = std::make_shared<GenerationJob>(std::move(plan), responder, headers);
  Status status = job->hold_plan();
  if (status.ok()) status = engine_.submit(job->request());
  if (!status.ok()) return openai::api_error(status);
  // Weak: the job holds the responder.
  responder->on_disconnect([weak = std::weak_ptr<GenerationJob>(job)] {
    if (const auto alive = weak.lock()) alive->cancel();
  });
  return std::nullopt;
}

Status EngineBackend::plan_parts(const openai::ChatRequest& request,
                                 std::optional<engine::ResponseFormat> format,
                                 const engine::ChatPrompt& prompt, GenerationPlan& plan) const {
  using Calls = engine::AnswerForm::Calls;
  const engine::Model& model = *plan.model;
  engine::AnswerForm form;
  form.syntax = model.answer_syntax();
  form.is_in_reasoning = prompt.is_in_reasoning;
  form.format = std::move(format);
  form.calls = request.calls;
  form.tools = request.callable;
  form.is_parallel = request.is_parallel;
  // "strict" holds where it can: a model that the client did not choose for it still answers.
  const bool takes_strict =
      engine::can_be_strict(form.syntax.calls) && !model.manifest().is_greedy();
  if (form.calls == Calls::kStrict && !takes_strict) form.calls = Calls::kAllowed;
  if (form.is_constrained()) {
    // A model that was told not to think does not begin to.
    engine::AnswerForm rest = form;
    if (prompt.is_behind_reasoning) rest.syntax = {form.syntax.calls};
    ANEMONE_ASSIGN_OR_RETURN(plan.options.constraint, model.constraints().make(rest));
  }
  plan.options.kept_special =
      text::marker_tokens(form.syntax, *model.tokenizer(), request.tools != nullptr);
  plan.parts = {form.syntax, request.tools, prompt.is_in_reasoning};
  plan.is_single_call = request.tools != nullptr && !request.is_parallel;
  return {};
}

std::optional<openai::ApiError> EngineBackend::chat(openai::ChatRequest request,
                                                    std::shared_ptr<Responder> responder,
                                                    const HeaderList& headers, WorkBudget& budget) {
  // The form of the content becomes part of that of the answer, which is known with the prompt.
  auto format = std::exchange(request.generation.format, std::nullopt);
  auto plan =
      make_plan(request.generation, openai::Protocol::kChat, engine::GenerateOptions::kUntilFull);
  if (!plan.ok()) return openai::api_error(plan.status());
  const std::string* chat_template = plan->model->tool_template_text();
  if (request.tools != nullptr && chat_template != nullptr) {
    if (!text::takes_tools(*chat_template))
      return openai::api_error(unsupported(
          "[tools] expected a model whose chat template takes tools, got one whose template does "
          "not"));
    if (text::takes_tools_in_message(*chat_template))
      engine::put_tools_into_message(request.messages, request.variables);
  }
  auto prompt = engine::make_chat_prompt(*plan->model, std::move(request.messages),
                                         std::move(request.variables), &budget);
  if (!prompt.ok()) return prompt_error(prompt.status(), "messages");
  if (auto error = check_prompt(*plan->model, prompt->ids, "messages")) return error;
  const Status parts = plan_parts(request, std::move(format), *prompt, *plan);
  if (!parts.ok()) return openai::api_error(parts);
  plan->prompts.push_back({std::move(prompt->ids), ""});
  return submit(*std::move(plan), responder, headers);
}

std::optional<openai::ApiError> EngineBackend::complete(openai::CompletionRequest request,
                                                        std::shared_ptr<Responder> responder,
                                                        const HeaderList& headers,
                                                        WorkBudget& budget) {
  auto plan = make_plan(request.generation, openai::Protocol::kText, kDefaultContinuationTokens);
  if (!plan.ok()) return openai::api_error(plan.status());
  const text::Tokenizer& tokenizer = *plan->model->tokenizer();
  plan->is_echo = request.is_echo;
  for (openai::CompletionRequest::Prompt& prompt : request.prompts) {
    GenerationPlan::Prompt& out = plan->prompts.emplace_back();
    if (const auto* text = std::get_if<std::string>(&prompt)) {
      auto ids = tokenizer.encode(*text, {.add_special = true, .budget = &budget});
      if (!ids.ok()) return prompt_error(ids.status(), "prompt");
      out.ids = *std::move(ids);
    } else {
      out.ids = std::get<std::vector<std::int32_t>>(std::move(prompt));
    }
    if (const Status status = budget.check(); !status.ok()) return openai::api_error(status);
    if (auto error = check_prompt(*plan->model, out.ids, "prompt")) return error;
    if (!request.is_echo) continue;
    if (auto* text = std::get_if<std::string>(&prompt)) {
      out.echo = std::move(*text);
      continue;
    }
    auto echo = tokenizer.decode(out.ids, /*skip_special=*/false, &budget);
    if (!echo.ok()) return prompt_error(echo.status(), "prompt");
    out.echo = *std::move(echo);
  }
  return submit(*std::move(plan), responder, headers);
}

}  // namespace anemone::serve
