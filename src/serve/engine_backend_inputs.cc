// SPDX-License-Identifier: Apache-2.0
// The requests of the backend that make no text: embeddings and labels.
#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "base/error.h"
#include "serve/engine_backend.h"
#include "serve/input_tasks.h"
#include "serve/prompt_check.h"

namespace anemone::serve {
namespace {

// The ids of all inputs, each checked; the error of the first one that cannot be used.
std::optional<openai::ApiError> encode_inputs(std::vector<openai::Prompt>& inputs, InputTask& task,
                                              WorkBudget& budget) {
  constexpr const char* kField = "input";
  for (openai::Prompt& input : inputs) {
    auto ids = prompt_ids(*task.model, input, budget);
    if (!ids.ok()) return prompt_error(ids.status(), kField);
    // A model that labels reads longer texts window by window.
    const auto shown = task.model->manifest().classifies()
                           ? std::span(*ids).first(std::min<std::size_t>(
                                 ids->size(), static_cast<std::size_t>(task.model->context())))
                           : std::span(*ids);
    if (auto error = check_prompt(*task.model, shown, kField)) return error;
    task.inputs.push_back(*std::move(ids));
  }
  return std::nullopt;
}

}  // namespace

InputTask EngineBackend::input_task(const std::string& asked, const openai::Call& call) {
  const ServedModel& served = *call.model;
  return {call.model,     served.model, answer_name(asked, served), {},
          call.responder, call.headers, &metrics_of(served)};
}

std::optional<openai::ApiError> EngineBackend::embed(openai::EmbeddingRequest request,
                                                     const openai::Call& call) {
  const auto& model = call.model->model;
  if (model->manifest().classifies())
    return openai::api_error(
        unsupported("[model] expected a model that gives embeddings, got one that labels tokens "
                    "(see /v1/classify)"));
  if (const Status status = model->check_gives_hidden(); !status.ok())
    return prompt_error(status, "model");
  const std::int64_t columns = model->manifest().hidden_size;
  const std::int64_t dimensions = request.dimensions.value_or(columns);
  if (dimensions > columns)
    return openai::api_error(invalid_argument("[dimensions] expected a number from 1 to {}, got {}",
                                              columns, dimensions));
  InputTask task = input_task(request.model, call);
  if (auto error = encode_inputs(request.inputs, task, call.budget)) return error;
  return start_embedding(engine_, std::move(task),
                         {request.pooling.value_or(options_.pooling),
                          static_cast<std::size_t>(dimensions), request.is_base64});
}

std::optional<openai::ApiError> EngineBackend::classify(openai::ClassifyRequest request,
                                                        const openai::Call& call) {
  const auto& model = call.model->model;
  if (!model->manifest().classifies())
    return openai::api_error(
        unsupported("[model] expected a model that labels tokens, got one that generates text"));
  InputTask task = input_task(request.model, call);
  std::vector<std::string> texts;
  for (const openai::Prompt& input : request.inputs) {
    const auto* text = std::get_if<std::string>(&input);
    texts.push_back(text == nullptr ? std::string() : *text);
  }
  if (auto error = encode_inputs(request.inputs, task, call.budget)) return error;
  return start_labelling(engine_, std::move(task), std::move(texts));
}

}  // namespace anemone::serve
