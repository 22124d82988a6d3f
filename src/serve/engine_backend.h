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
#include "serve/input_tasks.h"
#include "serve/metrics.h"
#include "serve/model_pool.h"
#include "serve/openai/backend.h"

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
  EngineBackend(ModelPool& models, engine::Engine& engine, const BackendOptions& options)
      : models_(models), engine_(engine), options_(options), metrics_(first_names(models)) {}

  std::vector<ModelInfo> models() const override { return models_.list(); }
  Status check_health() const override;
  Json counts() const override;
  std::string metrics() const override;
  Result<Json> props(const std::string& name) const override;
  Result<Json> slots(const std::string& name) const override;
  Json placement() const override;
  Status choose_model(const ModelChoice& choice, openai::Call& call) override;
  Status lease_later(std::size_t model, ModelPool::CancelFlag cancel,
                     ModelPool::Then then) override {
    return models_.lease_later(model, std::move(cancel), std::move(then));
  }
  void look_again() override { models_.look_again(); }
  std::optional<openai::ApiError> chat(openai::ChatRequest request,
                                       const openai::Call& call) override;
  std::optional<openai::ApiError> complete(openai::CompletionRequest request,
                                           const openai::Call& call) override;
  std::optional<openai::ApiError> embed(openai::EmbeddingRequest request,
                                        const openai::Call& call) override;
  std::optional<openai::ApiError> classify(openai::ClassifyRequest request,
                                           const openai::Call& call) override;
  std::optional<openai::ApiError> complete_native(llamacpp::CompletionRequest request,
                                                  const openai::Call& call) override;
  std::optional<openai::ApiError> tokenize(llamacpp::TokenizeRequest request,
                                           const openai::Call& call) override;
  std::optional<openai::ApiError> detokenize(llamacpp::DetokenizeRequest request,
                                             const openai::Call& call) override;
  std::optional<openai::ApiError> apply_template(openai::ChatRequest request,
                                                 const openai::Call& call) override;
  std::optional<openai::ApiError> load(openai::ModelRequest request,
                                       const openai::Call& call) override;
  std::optional<openai::ApiError> unload(openai::ModelRequest request,
                                         const openai::Call& call) override;

 private:
  static std::vector<std::string> first_names(const ModelPool& models);
  // The index of the model that a request names; any name is that of an only model, unless it
  // matters.
  Result<std::size_t> find(const std::string& name) const;
  // The name that the answer has: the one that was asked for, if it is one of the model's.
  static std::string answer_name(const std::string& asked, const ServedModel& model);
  // A task without its inputs, of the call's model, which the client calls `asked`.
  InputTask input_task(const std::string& asked, const openai::Call& call);
  ModelMetrics& metrics_of(const ServedModel& model) { return metrics_.of(model.names.front()); }
  // The model, the head and the options of an answer; the prompts are left to the caller.
  Result<GenerationPlan> make_plan(const openai::Generation& generation, const openai::Call& call,
                                   openai::Protocol protocol, std::int64_t default_tokens);
  // How the answer of a chat is constrained and taken apart.
  Status plan_parts(const openai::ChatRequest& request,
                    std::optional<engine::ResponseFormat> format, const engine::ChatPrompt& prompt,
                    GenerationPlan& plan) const;
  std::optional<openai::ApiError> submit(GenerationPlan plan, const openai::Call& call);

  ModelPool& models_;
  engine::Engine& engine_;
  const BackendOptions options_;
  Metrics metrics_;
};

}  // namespace anemone::serve
