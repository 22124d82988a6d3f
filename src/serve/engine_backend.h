// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/chat/conversation.h"
#include "engine/generation/text_request.h"
#include "engine/loop/engine.h"
#include "serve/generation_job.h"
#include "serve/metrics.h"
#include "serve/openai/backend.h"
#include "serve/served_model.h"

namespace anemone::serve {

struct BackendOptions {
  engine::RequestDefaults defaults;
  bool is_strict_model = false;                      // as in OpenAiServerOptions
  engine::Pooling pooling = engine::Pooling::kLast;  // of requests that name none
};

// The backend over real models: makes prompts of requests and queues them. Thread-safe.
class EngineBackend : public openai::Backend {
 public:
  // Models and engine outlive the backend.
  EngineBackend(const ModelSet& models, engine::Engine& engine, const BackendOptions& options)
      : models_(models), engine_(engine), options_(options), metrics_(first_names(models)) {}

  std::vector<std::string> model_names() const override;
  Status check_health() const override;
  Json counts() const override;
  std::string metrics() const override;
  Json props() const override;
  Json slots() const override;
  Json placement() const override;
  std::optional<openai::ApiError> chat(openai::ChatRequest request,
                                       std::shared_ptr<Responder> responder,
                                       const HeaderList& headers, WorkBudget& budget) override;
  std::optional<openai::ApiError> complete(openai::CompletionRequest request,
                                           std::shared_ptr<Responder> responder,
                                           const HeaderList& headers, WorkBudget& budget) override;
  std::optional<openai::ApiError> embed(openai::EmbeddingRequest request,
                                        std::shared_ptr<Responder> responder,
                                        const HeaderList& headers, WorkBudget& budget) override;
  std::optional<openai::ApiError> classify(openai::ClassifyRequest request,
                                           std::shared_ptr<Responder> responder,
                                           const HeaderList& headers, WorkBudget& budget) override;
  std::optional<openai::ApiError> complete_native(llamacpp::CompletionRequest request,
                                                  std::shared_ptr<Responder> responder,
                                                  const HeaderList& headers,
                                                  WorkBudget& budget) override;
  std::optional<openai::ApiError> tokenize(llamacpp::TokenizeRequest request,
                                           std::shared_ptr<Responder> responder,
                                           const HeaderList& headers, WorkBudget& budget) override;
  std::optional<openai::ApiError> detokenize(llamacpp::DetokenizeRequest request,
                                             std::shared_ptr<Responder> responder,
                                             const HeaderList& headers,
                                             WorkBudget& budget) override;
  std::optional<openai::ApiError> apply_template(openai::ChatRequest request,
                                                 std::shared_ptr<Responder> responder,
                                                 const HeaderList& headers,
                                                 WorkBudget& budget) override;

 private:
  static std::vector<std::string> first_names(const ModelSet& models);
  // A model, and the name of it that the answer has.
  struct Found {
    std::shared_ptr<const engine::Model> model;
    std::string name;
    ModelMetrics* metrics = nullptr;
  };
  // kNotFound for a name that is none of the server's, unless it does not matter.
  Result<Found> find(const std::string& name);
  Result<Found> find_with_tokenizer(const std::string& name);
  // The model, the head and the options of an answer; the prompts are left to the caller.
  Result<GenerationPlan> make_plan(const openai::Generation& generation, openai::Protocol protocol,
                                   std::int64_t default_tokens);
  // How the answer of a chat is constrained and taken apart.
  Status plan_parts(const openai::ChatRequest& request,
                    std::optional<engine::ResponseFormat> format, const engine::ChatPrompt& prompt,
                    GenerationPlan& plan) const;
  std::optional<openai::ApiError> submit(GenerationPlan plan,
                                         const std::shared_ptr<Responder>& responder,
                                         const HeaderList& headers);

  const ModelSet& models_;
  engine::Engine& engine_;
  const BackendOptions options_;
  Metrics metrics_;
};

}  // namespace anemone::serve
