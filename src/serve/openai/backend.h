// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/work_budget.h"
#include "serve/http/message.h"
#include "serve/llamacpp/request.h"
#include "serve/openai/error.h"
#include "serve/openai/request.h"

namespace anemone::serve::openai {

// What stands behind the API: it has the models. Thread-safe.
class Backend {
 public:
  virtual ~Backend() = default;

  // These are quick, as they are called on the thread of the connections.
  virtual std::vector<std::string> model_names() const = 0;
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

  // Each takes a request over, with the headers that its answer is to have; or says at once why
  // not, and then the responder was not used. The budget is for all that is done before the call
  // returns.
  virtual std::optional<ApiError> chat(ChatRequest request, std::shared_ptr<Responder> responder,
                                       const HeaderList& headers, WorkBudget& budget) = 0;
  virtual std::optional<ApiError> complete(CompletionRequest request,
                                           std::shared_ptr<Responder> responder,
                                           const HeaderList& headers, WorkBudget& budget) = 0;
  virtual std::optional<ApiError> embed(EmbeddingRequest request,
                                        std::shared_ptr<Responder> responder,
                                        const HeaderList& headers, WorkBudget& budget) = 0;
  virtual std::optional<ApiError> classify(ClassifyRequest request,
                                           std::shared_ptr<Responder> responder,
                                           const HeaderList& headers, WorkBudget& budget) = 0;
  virtual std::optional<ApiError> complete_native(llamacpp::CompletionRequest request,
                                                  std::shared_ptr<Responder> responder,
                                                  const HeaderList& headers,
                                                  WorkBudget& budget) = 0;
  virtual std::optional<ApiError> tokenize(llamacpp::TokenizeRequest request,
                                           std::shared_ptr<Responder> responder,
                                           const HeaderList& headers, WorkBudget& budget) = 0;
  virtual std::optional<ApiError> detokenize(llamacpp::DetokenizeRequest request,
                                             std::shared_ptr<Responder> responder,
                                             const HeaderList& headers, WorkBudget& budget) = 0;
  virtual std::optional<ApiError> apply_template(ChatRequest request,
                                                 std::shared_ptr<Responder> responder,
                                                 const HeaderList& headers, WorkBudget& budget) = 0;
};

}  // namespace anemone::serve::openai
