// SPDX-License-Identifier: Apache-2.0
// Requests of callers who have an engine to themselves, and wait.
#include <optional>
#include <utility>

#include "engine/loop/engine.h"

namespace anemone::engine {
namespace {

// A flag that somebody else owns, who outlives the request.
CancelFlag borrowed(const std::atomic<bool>* flag) {
  return {std::shared_ptr<const void>(), flag};
}

// Submits a request and turns until `end` has come.
template <typename Value, typename Request>
Result<Value> run_alone(Engine& engine, Request request, std::optional<Result<Value>>& end) {
  ANEMONE_RETURN_IF_ERROR(engine.submit(std::move(request)));
  while (!end)
    if (!engine.turn() && !end) engine.wait();
  return *std::move(end);
}

}  // namespace

Result<GenerateResult> generate(Engine& engine, const std::shared_ptr<const Model>& model,
                                std::vector<std::int32_t> prompt, GenerateOptions options) {
  std::optional<Result<GenerateResult>> end;
  Request request;
  request.model = model;
  request.cancel = borrowed(options.cancel);
  request.choices.push_back({std::move(prompt), std::move(options),
                             [&](Result<GenerateResult> result) { end = std::move(result); }});
  return run_alone<GenerateResult>(engine, std::move(request), end);
}

Result<std::vector<float>> classify(Engine& engine, const std::shared_ptr<const Model>& model,
                                    std::vector<std::int32_t> ids, const BlockingOptions& options) {
  std::optional<Result<LabelRequest::Logits>> end;
  LabelRequest request;
  request.model = model;
  request.texts.push_back(std::move(ids));
  request.on_progress = options.on_progress;
  request.on_end = [&](Result<LabelRequest::Logits> result) { end = std::move(result); };
  request.cancel = borrowed(options.cancel);
  ANEMONE_ASSIGN_OR_RETURN(auto logits,
                           run_alone<LabelRequest::Logits>(engine, std::move(request), end));
  return std::move(logits.front());
}

Result<EmbedRequest::Embeddings> embed(Engine& engine, const std::shared_ptr<const Model>& model,
                                       std::vector<std::vector<std::int32_t>> texts,
                                       Pooling pooling, const BlockingOptions& options) {
  std::optional<Result<EmbedRequest::Embeddings>> end;
  EmbedRequest request;
  request.model = model;
  request.texts = std::move(texts);
  request.pooling = pooling;
  request.on_progress = options.on_progress;
  request.on_end = [&](Result<EmbedRequest::Embeddings> result) { end = std::move(result); };
  request.cancel = borrowed(options.cancel);
  return run_alone<EmbedRequest::Embeddings>(engine, std::move(request), end);
}

}  // namespace anemone::engine
