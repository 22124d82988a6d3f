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
#include "serve/openai/api_handler.h"
#include "serve/served_model.h"

namespace anemone::serve {

// The backend over real models: makes prompts of requests and queues them. Thread-safe.
class EngineBackend : public openai::Backend {
 public:
  // Models and engine outlive the backend.
  EngineBackend(const ModelSet& models, engine::Engine& engine, engine::RequestDefaults defaults)
      : models_(models), engine_(engine), defaults_(defaults) {}

  std::vector<std::string> model_names() const override;
  Status check_health() const override;
  Json counts() const override;
  std::optional<openai::ApiError> chat(openai::ChatRequest request,
                                       std::shared_ptr<Responder> responder,
                                       const HeaderList& headers, WorkBudget& budget) override;
  std::optional<openai::ApiError> complete(openai::CompletionRequest request,
                                           std::shared_ptr<Responder> responder,
                                           const HeaderList& headers, WorkBudget& budget) override;

 private:
  // The model, the head and the options of an answer; the prompts are left to the caller.
  Result<GenerationPlan> make_plan(const openai::Generation& generation, openai::Protocol protocol,
                                   std::int64_t default_tokens) const;
  // How the answer of a chat is constrained and taken apart.
  Status plan_parts(const openai::ChatRequest& request,
                    std::optional<engine::ResponseFormat> format, const engine::ChatPrompt& prompt,
                    GenerationPlan& plan) const;
  std::optional<openai::ApiError> submit(GenerationPlan plan,
                                         const std::shared_ptr<Responder>& responder,
                                         const HeaderList& headers);

  const ModelSet& models_;
  engine::Engine& engine_;
  const engine::RequestDefaults defaults_;
};

}  // namespace anemone::serve
