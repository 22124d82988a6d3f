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

// From this interface the routes of the API get models and answers; EngineBackend implements it.
// Thread-safe.
class Backend {
 public:
  virtual ~Backend() = default;

  // The io thread, which moves the bytes of all connections, calls these functions and props() and
  // slots(): they return at once.
  virtual std::vector<ModelInfo> models() const = 0;
  // An error while requests of some model fail until it is loaded again. The message does not say
  // which model. Clients see it, so it names no paths.
  virtual Status check_health() const = 0;
  // How many requests wait, run, have finished and were cancelled, for /health.
  virtual Json counts() const = 0;
  // On which devices the loaded models run, by name; null where nothing is known of any.
  virtual Json placement() const { return nullptr; }
  // In the text format of Prometheus.
  virtual std::string metrics() const = 0;

  // The answers of llama.cpp's routes /props (settings of the server and of a model) and /slots (an
  // entry for each text that can run at a time, with the context of a model). The model need not be
  // loaded; then its settings are not known and left out. The errors are those of choose_model().
  virtual Result<Json> props(const std::string& name) const = 0;
  virtual Result<Json> slots(const std::string& name) const = 0;

  // Takes a lease on the model that is asked for, unless the call has a lease already, and has the
  // model stay loaded for as long as the request says. If the model has to be loaded first, sets
  // Call::awaited instead. kNotFound for an unknown name; kInvalidArgument for the empty one if
  // there are several models.
  virtual Status choose_model(const ModelChoice& choice, Call& call) = 0;
  // Loads the model with this index, which is that of Call::awaited, and then calls `then` with the
  // lease. Once the flag `cancel` is set and look_again() is called, `then` gets kCancelled. `then`
  // is not called where lease_later() gives an error, one of those of ModelPool::lease_later().
  virtual Status lease_later(std::size_t model, ModelPool::CancelFlag cancel,
                             ModelPool::Then then) = 0;
  virtual void look_again() = 0;

  // Each takes over a request for the model that `call` has a lease on, and answers later through
  // Call::responder. If it cannot, it returns the error at once and leaves the responder unused.
  virtual std::optional<ApiError> chat(ChatRequest request, const Call& call) = 0;
  virtual std::optional<ApiError> complete(CompletionRequest request, const Call& call) = 0;
  virtual std::optional<ApiError> embed(EmbeddingRequest request, const Call& call) = 0;
  virtual std::optional<ApiError> classify(ClassifyRequest request, const Call& call) = 0;
  // llama.cpp's own /completion.
  virtual std::optional<ApiError> complete_native(llamacpp::CompletionRequest request,
                                                  const Call& call) = 0;
  virtual std::optional<ApiError> tokenize(llamacpp::TokenizeRequest request, const Call& call) = 0;
  virtual std::optional<ApiError> detokenize(llamacpp::DetokenizeRequest request,
                                             const Call& call) = 0;
  virtual std::optional<ApiError> apply_template(ChatRequest request, const Call& call) = 0;
  // Says to the client that the model is loaded, which choose_model() and lease_later() have done.
  virtual std::optional<ApiError> load(ModelRequest request, const Call& call) = 0;
  // Here the call has no lease, because the model need not be loaded.
  virtual std::optional<ApiError> unload(ModelRequest request, const Call& call) = 0;
};

}  // namespace anemone::serve::openai
