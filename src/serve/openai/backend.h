// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "serve/llamacpp/request.h"
#include "serve/openai/call.h"
#include "serve/openai/error.h"
#include "serve/openai/request.h"

namespace anemone::serve::openai {

// What stands behind the API: it has the models. Thread-safe.
class Backend {
 public:
  virtual ~Backend() = default;

  // These are quick, as they are called on the thread of the connections.
  virtual std::vector<ModelInfo> models() const = 0;
  // The reason why requests of a model fail until it is loaded again; ok otherwise. Clients see it,
  // so it names no paths.
  virtual Status check_health() const = 0;
  virtual Json counts() const = 0;
  // Where models run, by name; null where nothing is known of any.
  virtual Json placement() const { return nullptr; }
  // In the text format of Prometheus.
  virtual std::string metrics() const = 0;

  // As llama.cpp has them: what its clients ask of a server, and a list with each text that may run
  // at a time.
  virtual Json props() const = 0;
  virtual Json slots() const = 0;

  // Takes a lease on the model of this name for the call, unless it has one; or sets
  // Call::awaited. kNotFound and kInvalidArgument for a name that is none of a model.
  virtual Status choose_model(const std::string& name, Call& call) = 0;
  // As those of ModelPool.
  virtual Status lease_later(std::size_t model, ModelPool::CancelFlag cancel,
                             ModelPool::Then then) = 0;
  virtual void look_again() = 0;

  // Each takes a request over, whose model the call has; or says at once why not, and then the
  // responder was not used.
  virtual std::optional<ApiError> chat(ChatRequest request, const Call& call) = 0;
  virtual std::optional<ApiError> complete(CompletionRequest request, const Call& call) = 0;
  virtual std::optional<ApiError> embed(EmbeddingRequest request, const Call& call) = 0;
  virtual std::optional<ApiError> classify(ClassifyRequest request, const Call& call) = 0;
  virtual std::optional<ApiError> complete_native(llamacpp::CompletionRequest request,
                                                  const Call& call) = 0;
  virtual std::optional<ApiError> tokenize(llamacpp::TokenizeRequest request, const Call& call) = 0;
  virtual std::optional<ApiError> detokenize(llamacpp::DetokenizeRequest request,
                                             const Call& call) = 0;
  virtual std::optional<ApiError> apply_template(ChatRequest request, const Call& call) = 0;
  // Answers that the model is loaded, as it is.
  virtual std::optional<ApiError> load(ModelRequest request, const Call& call) = 0;
  // The call has no model: it may not be loaded.
  virtual std::optional<ApiError> unload(ModelRequest request, const Call& call) = 0;
};

}  // namespace anemone::serve::openai
