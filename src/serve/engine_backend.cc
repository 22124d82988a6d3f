// SPDX-License-Identifier: Apache-2.0
#include "serve/engine_backend.h"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <random>
#include <utility>

#include "base/error.h"
#include "base/json_release.h"
#include "base/mapped_file.h"
#include "engine/chat/conversation.h"
#include "engine/constraint/call_grammar.h"
#include "serve/answer_room.h"
#include "serve/prompt_check.h"
#include "serve/request_watch.h"

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

// The prompt of a chat, fitted to the context as the request asks for.
Result<engine::FittedPrompt> fitted_chat_prompt(const engine::Model& model,
                                                const openai::Generation& generation, Json messages,
                                                Json variables, WorkBudget& budget) {
  const JsonReleaser messages_releaser(messages), variables_releaser(variables);
  const std::int64_t limit = engine::prompt_limit(model, generation.max_tokens);
  if (generation.truncation == engine::Truncation::kDropOldest)
    return engine::fit_chat_prompt(model, messages, variables, limit, &budget);
  ANEMONE_ASSIGN_OR_RETURN(auto prompt, engine::make_chat_prompt(model, std::move(messages),
                                                                 std::move(variables), &budget));
  engine::FittedPrompt out{std::move(prompt)};
  if (generation.truncation == engine::Truncation::kSliding) {
    ANEMONE_ASSIGN_OR_RETURN(auto slid, engine::slide_prompt(model, std::move(out.ids), limit));
    out.ids = std::move(slid.ids);
    out.dropped = slid.dropped;
  }
  return out;
}

}  // namespace

Status EngineBackend::check_health() const {
  if (check_mapped_files().ok()) return {};
  return io_error(
      "[models] a file of the model was cut short while it was in use: restart the server");
}

Json EngineBackend::counts() const {
  const engine::Engine::Counts counts = engine_.counts();
  return {{"waiting", counts.waiting + models_.waiting()},
          {"running", counts.running},
          {"finished", counts.finished},
          {"cancelled", counts.cancelled}};
}

std::string EngineBackend::metrics() const {
  engine::Engine::Counts counts = engine_.counts();
  counts.waiting += models_.waiting();
  return metrics_.text(counts, models_.list());
}

std::vector<std::string> EngineBackend::first_names(const ModelPool& models) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < models.size(); ++i) names.push_back(models.names(i).front());
  return names;
}

Result<std::size_t> EngineBackend::find(const std::string& name) const {
  auto known = models_.find(name);
  const bool is_lenient = !options_.is_strict_model && models_.size() == 1;
  if (!known.ok() && is_lenient) return std::size_t{0};
  return known;
}

std::string EngineBackend::answer_name(const std::string& asked, const ServedModel& model) {
  const bool is_known = std::ranges::find(model.names, asked) != model.names.end();
  return is_known ? asked : model.names.front();
}

Status EngineBackend::choose_model(const ModelChoice& choice, openai::Call& call) {
  ANEMONE_ASSIGN_OR_RETURN(const std::size_t model, find(choice.model));
  if (call.model == nullptr) call.model = models_.try_lease(model);
  if (call.model == nullptr)
    call.awaited = model;
  else if (choice.keep_alive)
    models_.set_keep_alive(model, choice.keep_alive->time);
  return {};
}

Json EngineBackend::placement() const {
  Json out;
  for (std::size_t i = 0; i < models_.size(); ++i)
    if (const ModelLease model = models_.peek(i); model != nullptr && model->placement)
      out[model->names.front()] = exec::placement_json(*model->placement);
  return out;
}

Result<GenerationPlan> EngineBackend::make_plan(const openai::Generation& generation,
                                                const openai::Call& call, openai::Protocol protocol,
                                                std::int64_t default_tokens) {
  GenerationPlan plan;
  plan.lease = call.model;
  plan.model = call.model->model;
  plan.metrics = &metrics_of(*call.model);
  if (plan.model->manifest().classifies())
    return unsupported(
        "[model] expected a model that generates text, got one that labels tokens (see "
        "/v1/classify)");
  if (plan.model->tokenizer() == nullptr)
    return unsupported("[model] expected a model with a tokenizer, got one without");
  plan.head = {protocol, new_id(protocol), unix_time(), answer_name(generation.model, *call.model)};
  ANEMONE_ASSIGN_OR_RETURN(plan.options, engine::resolve_request(generation, options_.defaults,
                                                                 *plan.model, default_tokens));
  plan.choices = generation.choices;
  plan.is_stream = generation.is_stream;
  plan.has_stream_usage = generation.has_stream_usage;
  return plan;
}

std::optional<openai::ApiError> EngineBackend::submit(GenerationPlan plan,
                                                      const openai::Call& call) {
  const std::string name = plan.head.model;
  const std::int64_t choices = plan.choices;
  ModelMetrics& metrics = *plan.metrics;
  auto job = std::make_shared<GenerationJob>(std::move(plan), call.responder, call.headers);
  Status status = job->hold_plan();
  if (status.ok()) {
    engine::Request request = job->request();
    watch_request(request, choices, name, call.responder, metrics);
    status = submit_for(call.responder, engine_, std::move(request), job->cancel_flag());
  }
  if (!status.ok()) return openai::api_error(status);
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
  plan.is_only_calls = form.calls == Calls::kRequired;
  plan.is_single_call = request.tools != nullptr && !request.is_parallel;
  plan.head.has_function_call = request.has_functions;
  return {};
}

std::optional<openai::ApiError> EngineBackend::chat(openai::ChatRequest request,
                                                    const openai::Call& call) {
  // The form of the content becomes part of that of the answer, which is known with the prompt.
  auto format = std::exchange(request.generation.format, std::nullopt);
  auto plan = make_plan(request.generation, call, openai::Protocol::kChat,
                        engine::GenerateOptions::kUntilFull);
  if (!plan.ok()) return openai::api_error(plan.status());
  const Status placed = place_tools(*plan->model, request);
  if (!placed.ok()) return openai::api_error(placed);
  auto prompt = fitted_chat_prompt(*plan->model, request.generation, std::move(request.messages),
                                   std::move(request.variables), call.budget);
  if (!prompt.ok()) return prompt_error(prompt.status(), "messages");
  if (auto error = check_prompt(*plan->model, prompt->ids, "messages")) return error;
  plan->truncated_tokens = prompt->dropped;
  const Status parts = plan_parts(request, std::move(format), *prompt, *plan);
  if (!parts.ok()) return openai::api_error(parts);
  plan->prompts.push_back({std::move(prompt->ids), ""});
  return submit(*std::move(plan), call);
}

std::optional<openai::ApiError> EngineBackend::complete(openai::CompletionRequest request,
                                                        const openai::Call& call) {
  auto plan =
      make_plan(request.generation, call, openai::Protocol::kText, kDefaultContinuationTokens);
  if (!plan.ok()) return openai::api_error(plan.status());
  const text::Tokenizer& tokenizer = *plan->model->tokenizer();
  plan->is_echo = request.is_echo;
  if (request.generation.truncation == engine::Truncation::kDropOldest)
    return openai::api_error(invalid_argument(
        "[truncation] expected error or sliding for a text, which has no turns, got drop_oldest"));
  const std::int64_t max_tokens =
      request.generation.max_tokens.value_or(kDefaultContinuationTokens);
  for (openai::Prompt& prompt : request.prompts) {
    GenerationPlan::Prompt& out = plan->prompts.emplace_back();
    auto ids = prompt_ids(*plan->model, prompt, call.budget);
    if (!ids.ok()) return prompt_error(ids.status(), "prompt");
    out.ids = *std::move(ids);
    std::int64_t dropped = 0;
    if (request.generation.truncation == engine::Truncation::kSliding) {
      auto fitted = engine::slide_prompt(*plan->model, std::move(out.ids),
                                         engine::prompt_limit(*plan->model, max_tokens));
      if (!fitted.ok()) return prompt_error(fitted.status(), "prompt");
      out.ids = std::move(fitted->ids);
      dropped = fitted->dropped;
      plan->truncated_tokens += dropped;
    }
    if (auto error = check_prompt(*plan->model, out.ids, "prompt")) return error;
    if (!request.is_echo) continue;
    // What was left out is not echoed either.
    if (auto* text = std::get_if<std::string>(&prompt); text != nullptr && dropped == 0) {
      out.echo = std::move(*text);
      continue;
    }
    auto echo = tokenizer.decode(out.ids, /*skip_special=*/false, &call.budget);
    if (!echo.ok()) return prompt_error(echo.status(), "prompt");
    out.echo = *std::move(echo);
  }
  return submit(*std::move(plan), call);
}

}  // namespace anemone::serve
