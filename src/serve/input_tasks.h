// SPDX-License-Identifier: Apache-2.0
// Requests that generate no text: embeddings and token labels. From the encoded request to the
// answer.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/loop/engine.h"
#include "serve/http/message.h"
#include "serve/metrics.h"
#include "serve/model_pool.h"
#include "serve/openai/error.h"

namespace anemone::serve {

// What both know of their request.
struct InputTask {
  ModelLease lease;  // until the answer was given
  std::shared_ptr<const engine::Model> model;
  std::string name;  // of the model, for the answer
  std::vector<std::vector<std::int32_t>> inputs;
  std::shared_ptr<Responder> responder;
  HeaderList headers;
  ModelMetrics* metrics = nullptr;  // outlives the request

  std::int64_t tokens() const;
};

struct EmbeddingForm {
  engine::Pooling pooling = engine::Pooling::kLast;
  std::size_t dimensions = 0;
  bool is_base64 = false;
};

// Each has the engine answer the request, or says at once why not; then the responder was not used.
std::optional<openai::ApiError> start_embedding(engine::Engine& engine, InputTask task,
                                                const EmbeddingForm& form);
// `texts` are those of the inputs, empty for one that came as ids.
std::optional<openai::ApiError> start_labelling(engine::Engine& engine, InputTask task,
                                                std::vector<std::string> texts);

}  // namespace anemone::serve
